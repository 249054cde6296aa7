"""How the charts look: colours that colour-blind readers can tell apart, light grids, no global state."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
"""The colours of M. Okabe and K. Ito, Color Universal Design, 2008."""
JOINT_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)
AXIS_COLOURS = (RED, GREEN, BLUE)
INK, GREY, GRID = "#2B2F36", "#8A9099", "#E3E6EA"
DPI = 150
DASHES = (0, (5, 3))


def new_figure(width: float, height: float) -> Figure:
    """A white figure of this size [inch] that lays itself out."""
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def style(axes: Any, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Label a chart; a grid behind the data, no box around it."""
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")
    if xlabel:
        axes.set_xlabel(xlabel, fontsize=10, color=INK)
    axes.set_ylabel(ylabel, fontsize=10, color=INK)
    axes.tick_params(labelsize=9, colors=INK)
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)


def time_axis(axes: Any, end: float, label: str = "time [s]") -> None:
    """A horizontal axis from zero to the end of a run [s]."""
    axes.set_xlim(-0.005 * end, 1.01 * max(end, 1e-3))
    axes.xaxis.set_major_locator(MaxNLocator(12, steps=[1, 2, 5, 10]))
    axes.set_xlabel(label, fontsize=10, color=INK)


def log_axis(axes: Any, lowest: float, highest: float) -> None:
    """A logarithmic vertical axis with plain numbers, from ``lowest`` to twice ``highest``."""
    axes.set_yscale("log")
    axes.set_ylim(lowest, 2.0 * highest)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def limit(axes: Any, value: float, label: str = "") -> None:
    """A dashed line at a limit."""
    axes.axhline(value, color=INK, linewidth=1.3, linestyle=DASHES, label=label or None, zorder=2.5)


def moments(axes: Any, times: Any, label: str = "") -> None:
    """Thin vertical lines at these times [s]."""
    for number, time in enumerate(times):
        axes.axvline(time, color=GREY, linewidth=0.8, alpha=0.7, label=label if number == 0 else None, zorder=1)
