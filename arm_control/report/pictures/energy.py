"""One picture of an arm without a controller: its energy over time, by the variants of the scenario, and its joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.maths import Array
from arm_control.report.pictures.style import (
    BLUE,
    GREEN,
    INK,
    JOINT_COLOURS,
    ORANGE,
    PURPLE,
    RED,
    legend,
    log_axis,
    new_figure,
    style,
    time_axis,
)
from arm_control.simulation import FreeTrace, Scenario

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED)
MOST_IN_A_ROW = 3
"""Charts."""
SPREAD = 1e3
"""Ratio of the variants' largest changes from which on they are drawn on a logarithmic axis, too."""
SMALLEST = 1e-10
"""Where the logarithmic axes begin, as a share of the largest value."""


def draw_energy(path: Path, scenario: Scenario, runs: Mapping[str, FreeTrace], joints: Sequence[str]) -> None:
    """Draw the energy of every variant, and the joints of the first one.

    Parameters
    ----------
    runs : dict of str to FreeTrace
        A run of each variant, by its name.
    joints : sequence of str
        Names of the joints.
    """
    charts = _charts(list(runs.values()))
    rows = -(-len(charts) // 2) if len(charts) > MOST_IN_A_ROW else 1
    figure: Any = new_figure(13.0, 3.7 * rows)
    figure.suptitle(scenario.description, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    end = max(float(trace.t[-1]) for trace in runs.values())
    for axes, draw in zip(np.ravel(figure.subplots(rows, -(-len(charts) // rows))), charts, strict=True):
        draw(axes, runs, joints)
        time_axis(axes, end)
        legend(axes)
    figure.savefig(path)


Chart = Callable[[Any, Mapping[str, FreeTrace], Sequence[str]], None]


def _charts(traces: Sequence[FreeTrace]) -> list[Chart]:
    """Charts that show something: the change on a logarithmic axis where it differs by orders of magnitude."""
    sizes = [max(float(np.abs(trace.energy_change).max()), 1e-300) for trace in traces]
    has_orders, has_stops = max(sizes) > SPREAD * min(sizes), any(trace.has_stops for trace in traces)
    charts: list[Chart] = [_change, *([_size] if has_orders else []), _kinetic]
    return [*charts, *([_beyond] if has_stops else []), _joints]


def _lines(runs: Mapping[str, FreeTrace]) -> Iterator[tuple[FreeTrace, dict[str, Any]]]:
    for (name, trace), colour in zip(runs.items(), COLOURS * len(runs), strict=False):
        yield trace, {"color": colour, "linewidth": 1.3, "label": name or None}


def _change(axes: Any, runs: Mapping[str, FreeTrace], _: Any) -> None:
    for trace, line in _lines(runs):
        axes.plot(trace.t, trace.energy_change, **line)
    style(axes, "Energy gained since the start", ylabel="[J]")


def _size(axes: Any, runs: Mapping[str, FreeTrace], _: Any) -> None:
    _plot_log(axes, runs, [np.abs(trace.energy_change) for trace in runs.values()])
    style(axes, "Its absolute value", ylabel="[J]")


def _kinetic(axes: Any, runs: Mapping[str, FreeTrace], _: Any) -> None:
    _plot_log(axes, runs, [trace.kinetic for trace in runs.values()])
    style(axes, "Kinetic energy", ylabel="[J]")


def _beyond(axes: Any, runs: Mapping[str, FreeTrace], _: Any) -> None:
    for trace, line in _lines(runs):
        axes.plot(trace.t, trace.beyond.max(axis=1), **line)
    style(axes, "How far a joint is beyond an end stop", ylabel="[rad]")


def _joints(axes: Any, runs: Mapping[str, FreeTrace], joints: Sequence[str]) -> None:
    name, trace = next(iter(runs.items()))
    for k, (joint, colour) in enumerate(zip(joints, JOINT_COLOURS * len(joints), strict=False)):
        axes.plot(trace.t, trace.q[:, k], color=colour, linewidth=1.3, label=joint)
    style(axes, f"Joints ({name})" if name else "Joints", ylabel="[rad]")


def _plot_log(axes: Any, runs: Mapping[str, FreeTrace], values: Sequence[Array]) -> None:
    """Plot what is above zero; the axis begins at the smallest value of the second half of the runs."""
    for x, (trace, line) in zip(values, _lines(runs), strict=True):
        axes.plot(trace.t, np.where(x > 0.0, x, np.nan), **{**line, "label": None})
    late = np.concatenate([x[len(x) // 2 :] for x in values])
    highest = max(float(x.max()) for x in values)
    if highest > 0.0 and (late > 0.0).any():
        log_axis(axes, max(float(late[late > 0.0].min()), SMALLEST * highest), highest)
