"""Charts of any recording: joints, tracking, torque by term, timing, power, model beside effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.pictures.style import BLUE, INK, JOINT_COLOURS, ORANGE, limit, moments, new_figure, style, time_axis
from arm_control.spatial import Array

POINTS = 4000
"""Of a line; of a longer series the largest and smallest of each part are drawn, so no peak is lost."""
MOST = 16
"""Joints that a chart has room for."""


def draw_lines(path: Path, t: Array, rows: Mapping[str, tuple[Array, str]], names: Sequence[str]) -> None:
    """Draw one chart below the other: by title values (n, nj) and what the axis says, a line for each joint."""
    figure = new_figure(12.0, 1.0 + 2.4 * len(rows))
    charts = np.atleast_1d(figure.subplots(len(rows), 1, sharex=True))
    for axes, (title, (values, label)) in zip(charts, rows.items(), strict=True):
        for i, name in enumerate(names[:MOST]):
            axes.plot(*_thin(t, values[:, i]), color=_colour(i), linewidth=1.2, label=_plain(name))
        style(axes, title, ylabel=label)
    time_axis(charts[-1], float(t[-1]))
    _legend(figure, charts[:1])
    figure.savefig(path, dpi=100)


def draw_task(path: Path, t: Array, rows: Mapping[str, tuple[Array, str]], goal_times: Array) -> None:
    """Draw one value over time in each chart, by title, with the moments of new orders."""
    figure = new_figure(12.0, 1.0 + 2.0 * len(rows))
    charts = np.atleast_1d(figure.subplots(len(rows), 1, sharex=True))
    for axes, (title, (values, label)) in zip(charts, rows.items(), strict=True):
        moments(axes, goal_times)
        axes.plot(t, np.where(np.isfinite(values), values, np.nan), color=BLUE, linewidth=1.4)
        style(axes, title, ylabel=label)
    time_axis(charts[-1], float(t[-1]))
    figure.savefig(path, dpi=100)


def draw_path(path: Path, p: Array, p_des: Array) -> None:
    """Draw where the end effector was and should have been, from above and from the side, shape (n, 3) [m]."""
    figure = new_figure(12.0, 5.0)
    for axes, (i, j) in zip(figure.subplots(1, 2), ((0, 1), (0, 2)), strict=True):
        axes.plot(p_des[:, i], p_des[:, j], ".", color=ORANGE, markersize=4, label="asked")
        axes.plot(p[:, i], p[:, j], color=BLUE, linewidth=1.4, label="was")
        axes.set_aspect("equal", adjustable="datalim")
        title = f"Path of the end effector, {'xyz'[i]} and {'xyz'[j]}"
        style(axes, title, f"{'xyz'[i]} [m]", f"{'xyz'[j]} [m]")
    _legend(figure, figure.axes[:1])
    figure.savefig(path, dpi=100)


def draw_torque(
    path: Path, t: Array, torque: Array, names: Sequence[str], limits: Array | None, terms: Mapping[str, Any]
) -> None:
    """Draw a chart per joint: torque (n, nj) with its terms, by name ``(t, values (m, nj))``, and its limits (nj,)."""
    shown = min(len(names), MOST)
    n_rows = -(-shown // 2)
    figure = new_figure(12.0, 1.0 + 2.2 * n_rows)
    charts = figure.subplots(n_rows, 2, sharex=True, squeeze=False).ravel()
    for i, axes in enumerate(charts[:shown]):
        axes.plot(*_thin(t, torque[:, i]), color=INK, linewidth=1.6, label="torque")
        for k, (term, (times, values)) in enumerate(terms.items()):
            axes.plot(times, values[:, i], color=_colour(k), linewidth=1.1, label=_plain(term))
        low, high = axes.get_ylim()
        for value in () if limits is None else (-limits[i], limits[i]):
            if low - 0.5 * (high - low) <= value <= high + 0.5 * (high - low):
                limit(axes, value)
        suffix = "" if limits is None else f", limit {limits[i]:g}"
        style(axes, f"{_plain(names[i])}{suffix}", ylabel="[N m]")
        time_axis(axes, float(t[-1]), "" if i < shown - 2 else "time [s]")
    for axes in charts[shown:]:
        axes.set_visible(False)
    _legend(figure, charts[:1])
    figure.savefig(path, dpi=100)


def draw_timing(path: Path, t: Array, steps: Array, stamp_steps: Array, answers: Array) -> None:
    """Draw times between states, as written and as stamped, and how long answers took, all [s]."""
    figure = new_figure(12.0, 5.4)
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    left.plot(*_thin(t, 1e3 * steps), color=BLUE, linewidth=0.9, label="as written")
    left.plot(*_thin(t, 1e3 * stamp_steps), color=ORANGE, linewidth=1.2, label="by stamps")
    style(left, "Time between two states", ylabel="[ms]")
    time_axis(left, float(t[-1]) if len(t) else 1.0)
    if len(answers):
        right.hist(1e3 * np.clip(answers, 0.0, np.quantile(answers, 0.999)), bins=60, color=BLUE)
        style(right, "From a state to its command", "[ms]", "commands")
    else:
        right.set_visible(False)
    _legend(figure, [left])
    figure.savefig(path, dpi=100)


def _thin(t: Array, x: Array) -> tuple[Array, Array]:
    """A series as so many points that a picture shows, with every peak."""
    part = -(-len(t) // POINTS)
    if part < 2:
        return t, x
    n = len(t) // part
    parts = x[: n * part].reshape(n, part)
    ends = np.stack([parts.min(axis=1), parts.max(axis=1)], axis=1).ravel()
    return np.repeat(t[: n * part : part], 2), ends


def _plain(name: str) -> str:
    """A name from a recording, without what a picture would take for a formula, or for something to hide."""
    return name.replace("\\", "/").replace("$", "S").lstrip("_")


def _colour(i: int) -> str:
    return JOINT_COLOURS[i % len(JOINT_COLOURS)]


def _legend(figure: Any, charts: Any) -> None:
    pairs = {label: handle for axes in charts for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    where = {"loc": "outside lower center", "ncols": min(6, max(1, len(pairs))), "handlelength": 1.5}
    figure.legend(pairs.values(), pairs.keys(), fontsize=9, frameon=False, labelcolor=INK, **where)
