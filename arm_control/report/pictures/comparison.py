"""One picture of a simulated scenario: its variants in space, and over time below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.control import OscParameters, rows_of, scaled_jacobian
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.report.figures import linear_angular_norms, torque_shares
from arm_control.report.pictures.in_space import arm_points, draw_runs, same_frame, views
from arm_control.report.pictures.style import (
    BLUE,
    DASHES,
    GREEN,
    INK,
    JOINT_COLOURS,
    ORANGE,
    PURPLE,
    RED,
    legend,
    limit,
    log_axis,
    moments,
    new_figure,
    style,
    time_axis,
)
from arm_control.report.simulation_figures import exerted_force
from arm_control.simulation import FreeTrace, Scenario, Trace

LENGTH, APART = OscParameters().characteristic_length, 20
"""Length that scales angles [m], and number of states between two samples, of singular values."""
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
SIDE_BY_SIDE = 2
"""More variants than these are drawn over each other, where there are two views of each."""
WIDTH, WIDEST, SHAPE = 6.2, 3.1, 1.35
"""Of a drawing in space [inch], of a row in such widths, and width by height."""
SMALLEST_ERROR, SMALLEST_SHARE = 1e-3, 1e-2
"""Where the logarithmic axes begin [mm], [1]."""
MOST_MARGIN = 400.0
"""Where the chart of constraints ends [mm]: what is farther away does not count."""
BEYOND = 1.05
"""A law that asks for more than this share of the limit gets a logarithmic axis."""


def draw_comparison(path: Path, scenario: Scenario, runs: Mapping[str, Trace], model: RobotModel) -> None:
    """Draw the variants of a scenario, side by side or over each other.

    Parameters
    ----------
    runs : dict of str to Trace
        A run of each variant, by its name.
    """
    first = next(iter(runs.values()))
    all_views = views(arm_points(first.q, model, 50), first.p)
    is_overlaid = len(runs) > SIDE_BY_SIDE and len(all_views) > 1
    drawn = [(view, [""] if is_overlaid else list(runs)) for view in all_views]
    rows, columns = (len(all_views), len(runs)) if len(runs) > 1 and not is_overlaid else (1, len(all_views))
    width = WIDTH * min(max(columns, 2), WIDEST)
    height = rows * min(WIDTH, width / columns) / SHAPE
    figure: Any = new_figure(width, height + 3.4)
    figure.suptitle(scenario.description, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    space, time = figure.subfigures(2, 1, height_ratios=(height, 3.2))
    grid = space.subplots(rows, columns, squeeze=False)
    colours = dict(zip(runs, COLOURS, strict=False))
    places = [(view, name) for view, names in drawn for name in names]
    for axes, (view, name) in zip(grid.ravel(), places, strict=True):
        shown = runs if is_overlaid else {name: runs[name]}
        draw_runs(axes, view, shown, model, scenario.world, colours)
        style(axes, f"{name}, {view[3]}".strip(", "), f"{'xyz'[view[0]]} [m]", f"{'xyz'[view[1]]} [m]")
    legend(grid[0, 0])
    for row in grid if len(runs) > 1 and not is_overlaid else grid.reshape(-1, 1):
        same_frame(row)
    _over_time(time, scenario, runs, model, colours)
    figure.savefig(path)


Chart = Callable[[Any, Scenario, Mapping[str, Trace], RobotModel, Mapping[str, str]], None]


def charts(scenario: Scenario) -> list[Chart]:
    """Return the charts over time: error and torque, and those of the variants' parameters."""
    varied = " ".join(key for changes in scenario.variants.values() for part in changes.values() for key in part)
    selected: list[Chart] = [_error, _torque]
    has_free_obstacles = len(scenario.world.movers) > len(scenario.world.solids)
    selected += [_force] if scenario.world.solids else []
    selected += [_margins] if "constraints" in varied else [_distance] if has_free_obstacles else []
    selected += [_speed] if "speed_limit" in varied else []
    selected += [_joints] if "posture" in varied or "null_space" in varied else []
    selected += [_singular_value] if "singularity" in varied else []
    return selected


def _over_time(
    figure: Any, scenario: Scenario, runs: Mapping[str, Trace], model: RobotModel, colours: Mapping[str, str]
) -> None:
    drawn = charts(scenario)
    grid = figure.subplots(1, len(drawn))
    end = max(float(trace.t[-1]) for trace in runs.values())
    new = {tuple(trace.target_times.tolist()) for trace in runs.values()}
    times = new.pop() if len(new) == 1 else ()
    for axes, draw in zip(grid, drawn, strict=True):
        draw(axes, scenario, runs, model, colours)
        time_axis(axes, end)
        moments(axes, times, "new target" if axes is grid[0] else "")
        for push in scenario.world.pushes:
            axes.axvspan(push.span.begin, min(push.span.end, end), color=RED, alpha=0.12, linewidth=0)
    legend(grid[0])


def _error(axes: Any, scenario: Scenario, runs: Mapping[str, Trace], _: Any, colours: Mapping[str, str]) -> None:
    highest, todo = 0.0, scenario.targets() or scenario.motion()
    for name, trace in runs.items():
        error = 1e3 * linear_angular_norms(trace.error)[0]
        highest = max(highest, float(error.max()))
        axes.plot(trace.t, np.maximum(error, 1e-6), color=colours[name], linewidth=1.3, label=name or None)
    style(axes, "Distance to where it should be", ylabel="[mm]")
    if todo is not None:
        limit(axes, 1e3 * todo.position_tolerance, "tolerance")
        highest = max(highest, 1e3 * todo.position_tolerance)
    log_axis(axes, SMALLEST_ERROR, highest)


def _torque(axes: Any, _: Any, runs: Mapping[str, Trace], model: RobotModel, colours: Mapping[str, str]) -> None:
    """Torque behind the gate, or of the law where that is above a limit; braking is shaded."""
    asked = {name: _share(trace.tau_asked, model) for name, trace in runs.items()}
    highest = max(float(share.max()) for share in asked.values())
    is_beyond = highest > BEYOND
    for name, trace in runs.items():
        share = np.maximum(asked[name], SMALLEST_SHARE) if is_beyond else _share(trace.tau, model)
        axes.plot(trace.t, share, color=colours[name], linewidth=1.0 if is_beyond else 1.3)
        if trace.braking.any():
            span = {"color": colours[name], "alpha": 0.15, "linewidth": 0, "transform": axes.get_xaxis_transform()}
            axes.fill_between(trace.t, 0.0, 1.0, where=trace.braking, label=f"the gate brakes ({name})", **span)
    style(axes, f"{'Torque that the law asks for' if is_beyond else 'Torque of the joints'} / limit, largest")
    if is_beyond:
        log_axis(axes, SMALLEST_SHARE, highest)
    else:
        axes.set_ylim(0.0, None)
    if highest > 0.5:
        limit(axes, 1.0, "limit")
    legend(axes)


def _share(tau: Array, model: RobotModel) -> Array:
    """Largest share of the limit, shape (n,); a value that is not finite counts as a million."""
    return np.nan_to_num(torque_shares(tau, model), nan=1e6, posinf=1e6).max(axis=1)


def _force(axes: Any, _: Any, runs: Mapping[str, Trace], __: Any, colours: Mapping[str, str]) -> None:
    """Measured and wanted force; the wanted one of the first run stands for all."""
    for name, trace in reversed(list(runs.items())):
        if len(trace.wanted):
            axes.plot(trace.t, exerted_force(trace), color=colours[name], linewidth=1.1)
    wanted = next(iter(runs.values())).wanted[:, :3]
    t = next(iter(runs.values())).t
    if len(wanted):
        force = np.linalg.norm(wanted, axis=1)
        axes.plot(t, force, color=INK, linewidth=1.2, linestyle=DASHES, label="wanted")
        legend(axes, "upper right", frame=False)
    style(axes, "Force on the surface", ylabel="[N]")
    axes.set_ylim(0.0, None)


def _distance(axes: Any, _: Any, runs: Mapping[str, Trace], __: Any, colours: Mapping[str, str]) -> None:
    for name, trace in runs.items():
        near = np.where(np.isfinite(trace.distance), trace.distance, np.nan)
        axes.plot(trace.coarse_stamps * 1e-9, 1e3 * near, color=colours[name], linewidth=1.3)
    style(axes, "Distance from the arm to the obstacle", ylabel="[mm]")
    limit(axes, 0.0)
    below = {"xytext": (0, -11), "textcoords": "offset points", "fontsize": 8, "ha": "right"}
    axes.annotate("touches below", (float(trace.t[-1]), 0.0), **below)


def _margins(axes: Any, _: Any, runs: Mapping[str, Trace], __: Any, ___: Mapping[str, str]) -> None:
    """Of the first run with constraints."""
    trace = next(trace for trace in runs.values() if trace.margins)
    for colour, (name, margin) in zip(JOINT_COLOURS, trace.margins.items(), strict=False):
        axes.plot(trace.coarse_stamps * 1e-9, 1e3 * margin, color=colour, linewidth=1.3, label=name)
    style(axes, "What is left of each constraint", ylabel="[mm, mrad, mm/s]")
    limit(axes, 0.0)
    axes.set_ylim(-20.0, MOST_MARGIN)
    legend(axes, "upper center", frame=False, ncols=3, bbox_to_anchor=(0.5, -0.2))


def _speed(axes: Any, _: Any, runs: Mapping[str, Trace], __: Any, colours: Mapping[str, str]) -> None:
    for name, trace in runs.items():
        axes.plot(trace.t, linear_angular_norms(trace.V)[0], color=colours[name], linewidth=1.3)
    style(axes, "Speed of the end effector", ylabel="[m/s]")
    axes.set_ylim(0.0, None)


def _joints(axes: Any, _: Any, runs: Mapping[str, Trace], __: Any, colours: Mapping[str, str]) -> None:
    for name, trace in runs.items():
        axes.plot(trace.t, np.abs(trace.q - trace.q[0]).max(axis=1), color=colours[name], linewidth=1.3)
    style(axes, "Farthest joint from where it started", ylabel="[rad]")
    axes.set_ylim(0.0, None)


def _singular_value(
    axes: Any, scenario: Scenario, runs: Mapping[str, Trace], model: RobotModel, colours: Mapping[str, str]
) -> None:
    """Of the rows that are controlled, angular ones times a length as in the law's default."""
    rows = [row for level in rows_of(scenario.nodes["osc"].get("tasks", ())) for row in level] or list(range(6))
    highest = 0.0
    for name, trace in runs.items():
        J = [scaled_jacobian(model.jacobian(q), LENGTH)[rows] for q in trace.q[::APART]]
        sigma = np.linalg.svd(np.array(J), compute_uv=False)[:, -1]
        highest = max(highest, float(sigma.max()))
        axes.plot(trace.t[::APART], np.maximum(sigma, 1e-9), color=colours[name], linewidth=1.3)
    style(axes, "Smallest singular value of the Jacobian", ylabel="[m]")
    log_axis(axes, 1e-4, highest)


ENERGY_COLOURS = (*COLOURS, RED)
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
    """
    charts = _energy_charts(list(runs.values()))
    rows = -(-len(charts) // 2) if len(charts) > MOST_IN_A_ROW else 1
    figure: Any = new_figure(13.0, 3.7 * rows)
    figure.suptitle(scenario.description, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    end = max(float(trace.t[-1]) for trace in runs.values())
    for axes, draw in zip(np.ravel(figure.subplots(rows, -(-len(charts) // rows))), charts, strict=True):
        draw(axes, runs, joints)
        time_axis(axes, end)
        legend(axes)
    figure.savefig(path)


EnergyChart = Callable[[Any, Mapping[str, FreeTrace], Sequence[str]], None]


def _energy_charts(traces: Sequence[FreeTrace]) -> list[EnergyChart]:
    """Charts that show something: the change on a logarithmic axis where it differs by orders of magnitude."""
    sizes = [max(float(np.abs(trace.energy_change).max()), 1e-300) for trace in traces]
    has_orders, has_stops = max(sizes) > SPREAD * min(sizes), any(trace.has_stops for trace in traces)
    charts: list[EnergyChart] = [_change, *([_size] if has_orders else []), _kinetic]
    return [*charts, *([_beyond] if has_stops else []), _angles]


def _lines(runs: Mapping[str, FreeTrace]) -> Iterator[tuple[FreeTrace, dict[str, Any]]]:
    for (name, trace), colour in zip(runs.items(), ENERGY_COLOURS * len(runs), strict=False):
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


def _angles(axes: Any, runs: Mapping[str, FreeTrace], joints: Sequence[str]) -> None:
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
