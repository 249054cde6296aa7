"""Charts of any recording: joints, tracking, torque by term, timing, power, model beside effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from arm_control.maths import Array
from arm_control.report.pictures.style import (
    BLUE,
    INK,
    JOINT_COLOURS,
    ORANGE,
    joint_colour,
    legend_below,
    limit,
    moments,
    new_figure,
    style,
    time_axis,
)

POINTS = 4000
"""Number of points of a line; a longer series is drawn by the extremes of its parts, so no peak is lost."""
MOST = 16
"""Largest number of joints in a chart."""


def draw_lines(
    path: Path,
    t: Array,
    rows: Mapping[str, tuple[Array, str]],
    names: Sequence[str] = (),
    goal_times: Sequence[float] | Array = (),
) -> None:
    """Draw charts below each other, with a line for each joint, or one line, and the times of new goals.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times [s].
    rows : mapping of str to (ndarray, shape (n, nj) or (n,), str)
        Values and label of the axis of each chart, by its title.
    names : sequence of str
        Names of the joints; without them there is no legend.
    goal_times : ndarray, shape (k,)
        [s].
    """
    figure = new_figure(12.0, 1.0 + 2.4 * len(rows))
    charts = np.atleast_1d(figure.subplots(len(rows), 1, sharex=True))
    for axes, (title, (values, label)) in zip(charts, rows.items(), strict=True):
        moments(axes, goal_times)
        for i, column in enumerate(np.where(np.isfinite(values), values, np.nan).reshape(len(t), -1).T[:MOST]):
            look = {"color": joint_colour(i), "linestyle": _line(i), "linewidth": 1.2}
            axes.plot(*_thin(t, column), label=_plain(names[i]) if names else None, **look)
        style(axes, title, ylabel=label)
    time_axis(charts[-1], float(t[-1]))
    if names:
        legend_below(figure, charts[:1])
    figure.savefig(path, dpi=100)


def draw_path(path: Path, p: Array, p_des: Array) -> None:
    """Draw the actual and the desired path of the end effector, from above and from the side.

    Parameters
    ----------
    p, p_des : ndarray, shape (n, 3)
        Actual and desired positions [m].
    """
    figure = new_figure(12.0, 5.0)
    for axes, (i, j) in zip(figure.subplots(1, 2), ((0, 1), (0, 2)), strict=True):
        axes.plot(p_des[:, i], p_des[:, j], ".", color=ORANGE, markersize=8, label="asked")
        axes.plot(p[:, i], p[:, j], color=BLUE, linewidth=1.4, label="was")
        axes.set_aspect("equal", adjustable="datalim")
        title = f"Path of the end effector, {'xyz'[i]} and {'xyz'[j]}"
        style(axes, title, f"{'xyz'[i]} [m]", f"{'xyz'[j]} [m]")
    legend_below(figure, figure.axes[:1])
    figure.savefig(path, dpi=100)


def draw_torque(
    path: Path,
    t: Array,
    torque: Array,
    names: Sequence[str],
    limits: Array | None,
    terms: Mapping[str, tuple[Array, Array]],
    unit: str,
) -> None:
    """Draw a chart per joint: torque with its terms and limits.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times [s].
    torque : ndarray, shape (n, nj)
        Torque of the joints.
    limits : ndarray, shape (nj,), or None
        Torque limits; NaN for a joint without one.
    terms : mapping of str to (ndarray, shape (m,), ndarray, shape (m, nj))
        Times [s] and values of each term, by its name.
    """
    n_joints = min(len(names), MOST)
    n_rows = -(-n_joints // 2)
    figure = new_figure(12.0, 1.0 + 2.2 * n_rows)
    charts = figure.subplots(n_rows, 2, sharex=True, squeeze=False).ravel()
    for i, axes in enumerate(charts[:n_joints]):
        axes.plot(*_thin(t, torque[:, i]), color=INK, linewidth=1.6, label="torque")
        for k, (term, (times, values)) in enumerate(terms.items()):
            look = {"color": joint_colour(k), "linestyle": _line(k), "linewidth": 1.1}
            axes.plot(*_thin(times, values[:, i]), label=_plain(term), **look)
        low, high = axes.get_ylim()
        for value in () if limits is None else (-limits[i], limits[i]):
            if low - 0.5 * (high - low) <= value <= high + 0.5 * (high - low):
                limit(axes, value)
        suffix = "" if limits is None or np.isnan(limits[i]) else f", limit {limits[i]:g}"
        style(axes, f"{_plain(names[i])}{suffix}", ylabel=unit)
        time_axis(axes, float(t[-1]), "" if i < n_joints - 2 else "time [s]")
    for axes in charts[n_joints:]:
        axes.set_visible(False)
    legend_below(figure, charts[:1])
    figure.savefig(path, dpi=100)


def draw_timing(path: Path, t: Array, steps: Mapping[str, Array], answers: Array) -> None:
    """Draw times between states, and from states to commands.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times of the states [s].
    steps : mapping of str to ndarray, shape (n,)
        Time since the state before [s], by the name of its clock.
    answers : ndarray, shape (m,)
        Times from states to their commands [s].
    """
    figure = new_figure(12.0, 4.6)
    charts = figure.subplots(1, 2, width_ratios=(2, 1)) if len(answers) else [figure.subplots()]
    for (name, values), colour, width in zip(steps.items(), (BLUE, ORANGE), (2.4, 1.0), strict=False):
        charts[0].plot(*_thin(t, 1e3 * values), color=colour, linewidth=width, label=name)
    style(charts[0], "Time between two states", ylabel="[ms]")
    charts[0].set_ylim(bottom=0.0)
    time_axis(charts[0], float(t[-1]))
    if len(answers):
        charts[1].hist(1e3 * np.clip(answers, 0.0, np.quantile(answers, 0.999)), bins=60, color=BLUE)
        style(charts[1], "From a state to its command", "[ms]", "commands")
    legend_below(figure, charts[:1])
    figure.savefig(path, dpi=100)


def _thin(t: Array, x: Array) -> tuple[Array, Array]:
    """A series with at most :data:`POINTS` points, and all peaks."""
    part = -(-len(t) // POINTS)
    if part < 2:
        return t, x
    n = len(t) // part
    parts = x[: n * part].reshape(n, part)
    ends = np.stack([parts.min(axis=1), parts.max(axis=1)], axis=1).ravel()
    return np.repeat(t[: n * part : part], 2), ends


def _plain(name: str) -> str:
    """A name from a recording without the characters that matplotlib takes for a formula or a hidden label."""
    return name.replace("\\", "/").replace("$", "S").lstrip("_")


def _line(i: int) -> str:
    """Style of a line: colours alone distinguish only as many joints as there are colours."""
    return ("-", "--", ":")[i // len(JOINT_COLOURS) % 3]
