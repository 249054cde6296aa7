"""Style of the charts: colours that colour-blind readers can distinguish, light grids, no global state."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image

BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
"""The colours of M. Okabe and K. Ito, Color Universal Design, 2008."""
JOINT_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)
AXIS_COLOURS = (RED, GREEN, BLUE)
INK, GREY, GRID = "#2B2F36", "#8A9099", "#E3E6EA"
DPI = 150
DASHES = (0, (5, 3))
COLOURS_KEPT = 96
"""In a file of few colours."""


def new_figure(width: float, height: float) -> Figure:
    """Return a white figure of this width and height [inch], with an automatic layout; the arguments are its size."""
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def joint_colour(i: int) -> str:
    """Return the colour of joint i, the same for each sixth one."""
    return JOINT_COLOURS[i % len(JOINT_COLOURS)]


def save_in_few_colours(figure: Any, path: Path) -> None:
    """Save a figure in a third of the size."""
    file = BytesIO()
    figure.savefig(file, format="png")
    Image.open(file).convert("RGB").quantize(COLOURS_KEPT, dither=Image.Dither.NONE).save(path, optimize=True)


def style(axes: Any, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Label a chart, with a grid behind the data and no box around it.

    Parameters
    ----------
    title, xlabel, ylabel : str
        Its labels; empty for none.
    """
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


def legend(axes: Any, loc: str = "best", *, frame: bool = True, **place: Any) -> None:
    """Add a legend to a chart, where it has labels; with a translucent frame, or without any."""
    if axes.get_legend_handles_labels()[0]:
        look = {"frameon": True, "framealpha": 0.8, "edgecolor": "none"} if frame else {"frameon": False}
        axes.legend(fontsize=8, loc=loc, labelcolor=INK, **look, **place)


def legend_below(figure: Any, charts: Any, most: int = 6) -> None:
    """Add a legend of charts below them, in rows of the same length, at most so many, that read from left to right."""
    pairs = {label: handle for axes in charts for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    labels, n_rows = list(pairs), -(-len(pairs) // most)
    n_columns = -(-len(labels) // max(1, n_rows))
    by_columns = [label for column in range(n_columns) for label in labels[column::n_columns]]  # as legends are filled
    where = {"loc": "outside lower center", "ncols": max(1, n_columns), "handlelength": 2.0}
    handles = [pairs[label] for label in by_columns]
    figure.legend(handles, by_columns, fontsize=9, frameon=False, labelcolor=INK, **where)


def time_axis(axes: Any, end: float, label: str = "time [s]") -> None:
    """Set a horizontal axis of time.

    Parameters
    ----------
    end : float
        End of the run [s].
    """
    axes.set_xlim(-0.005 * end, 1.01 * max(end, 1e-3))
    axes.xaxis.set_major_locator(MaxNLocator(12, steps=[1, 2, 5, 10]))
    axes.set_xlabel(label, fontsize=10, color=INK)


def log_axis(axes: Any, lowest: float, highest: float) -> None:
    """Set a logarithmic vertical axis with plain numbers."""
    axes.set_yscale("log")
    axes.set_ylim(lowest, 2.0 * highest)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def limit(axes: Any, value: float, label: str = "") -> None:
    """Draw a dashed horizontal line.

    Parameters
    ----------
    label : str
        Its entry in the legend; empty for none.
    """
    axes.axhline(value, color=INK, linewidth=1.3, linestyle=DASHES, label=label or None, zorder=2.5)


def moments(axes: Any, times: Any, label: str = "") -> None:
    """Draw thin vertical lines at times [s], with an entry in the legend where they have a label."""
    for number, time in enumerate(times):
        axes.axvline(time, color=GREY, linewidth=0.8, alpha=0.7, label=label if number == 0 else None, zorder=1)
