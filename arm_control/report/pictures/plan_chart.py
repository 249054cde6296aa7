"""One picture of a plan: the arm among the obstacles, s over time with the tree, shares of limits, and distances."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon

from arm_control.collision import Told, is_at_rest, movers_of
from arm_control.report.pictures.in_space import View, arm_points, outline, surface, views
from arm_control.report.pictures.sketch import link_points
from arm_control.report.pictures.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RED,
    legend,
    limit,
    new_figure,
    save_in_few_colours,
    style,
    time_axis,
)
from arm_control.simulation import FAR, PlanCheck, PlanRun, PlanScene

POSTURES = 7
"""Of the arm, and of obstacles that move, over time."""
MILLI = 1e3
OBSTACLES, AT_REST = 0.35, 0.6
"""Opacity of obstacles, and its share for one that rests."""
LARGEST_TREE = 5000
"""Edges of a tree that are drawn."""


def draw_plan(path: Path, scene: PlanScene, run: PlanRun) -> None:
    """Draw a plan."""
    check = run.check
    if check is None:
        return
    figure: Any = new_figure(12.0, 6.4)
    title = (
        f"{scene.name}, seed {run.seed}: {check.duration:.2f} s, searched for {MILLI * run.plan.effort.seconds:.0f} ms"
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    space, time = figure.subfigures(1, 2, width_ratios=(1.1, 1.0))
    points = arm_points(check.samples.q, scene.model, 20)
    all_views = views(points, points)
    grid = space.subplots(len(all_views), 1, squeeze=False)
    for axes, view in zip(grid[:, 0], all_views, strict=True):
        _draw_space(axes, view, scene, check)
    charts = time.subplots(3, 1)
    _draw_progress(charts[0], run, check)
    _draw_shares(charts[1], scene, check)
    _draw_distances(charts[2], scene, check)
    for axes in charts:
        time_axis(axes, check.duration)
    save_in_few_colours(figure, path)


def _draw_space(axes: Any, view: View, scene: PlanScene, check: PlanCheck) -> None:
    """Postures and obstacles that move, the later the darker."""
    x, y, backwards, name = view
    for told in filter(is_at_rest, scene.obstacles):
        _draw_obstacle(axes, view, told, 0.0, AT_REST)
    times = check.samples.times
    moments = np.linspace(0, len(times) - 1, POSTURES).round().astype(int).tolist()
    for number, k in enumerate(moments):
        tone = 0.15 + 0.75 * number / (POSTURES - 1)
        for told in itertools.filterfalse(is_at_rest, scene.obstacles):
            _draw_obstacle(axes, view, told, float(times[k]), tone)
        arm = link_points(scene.model, check.samples.q[k])
        label = {0: "arm, at the start", POSTURES - 1: "arm, at the end"}.get(number)
        line = {"color": GREY, "linewidth": 4.0, "solid_capstyle": "round", "alpha": tone}
        axes.plot(arm[:, x], arm[:, y], marker="o", markersize=3, label=label, **line)
    if scene.task is not None:
        y_d = np.zeros((200, 3))
        y_d[:, scene.task.numbers] = scene.task.at(np.linspace(0.0, 1.0, 200)).y
        axes.plot(y_d[:, x], y_d[:, y], color=INK, linewidth=1.0, linestyle=":", label="task path")
    axes.plot(check.samples.p[:, x], check.samples.p[:, y], color=ORANGE, linewidth=1.8, label="end effector")
    if backwards:
        axes.invert_xaxis()
    axes.set_aspect("equal", adjustable="datalim")
    style(axes, name, f"{'xyz'[x]} [m]", f"{'xyz'[y]} [m]")
    legend(axes)


def _draw_obstacle(axes: Any, view: View, told: Told, t: float, tone: float) -> None:
    there = [mover.at(t) for mover in movers_of(told) if mover.span.holds(t)]
    for obstacle in there[:1]:
        corners = outline(surface(obstacle.shape), obstacle.X_WO, view)
        axes.add_patch(Polygon(corners, facecolor=RED, edgecolor=RED, alpha=OBSTACLES * tone, zorder=0.5))


def _draw_progress(axes: Any, run: PlanRun, check: PlanCheck) -> None:
    """The place on the path over time, with the vertices of the tree; without a path the joints."""
    times = check.samples.times
    if run.plan.tree is None:
        axes.plot(times, check.samples.q, linewidth=1.3)
        style(axes, "Joint positions", ylabel="[rad or m]")
        return
    child = np.flatnonzero(run.plan.tree.parents >= 0)[-LARGEST_TREE:]
    ends = np.column_stack([run.plan.tree.t, run.plan.tree.s])
    edges = np.stack([ends[run.plan.tree.parents[child]], ends[child]], axis=1)
    axes.add_collection(LineCollection(list(edges), colors=BLUE, linewidths=0.4, alpha=0.35))
    axes.plot([], [], color=BLUE, linewidth=0.8, label=f"tree, {len(run.plan.tree.s)} vertices")
    axes.plot(times, check.samples.s, color=ORANGE, linewidth=2.0, label="plan")
    axes.set_ylim(-0.02, 1.02)
    style(axes, "Place s on the task path")
    legend(axes, "lower right", frame=False)


def _draw_shares(axes: Any, scene: PlanScene, check: PlanCheck) -> None:
    """Largest shares of the limits over time."""
    x = check.samples
    axes.plot(x.times, np.abs(x.v / scene.model.v_max).max(axis=1), color=BLUE, linewidth=1.1, label="joint speed")
    if scene.kind == "dynamic":
        axes.plot(x.times, np.abs(x.tau / scene.model.tau_max).max(axis=1), color=GREEN, linewidth=1.1, label="torque")
    limit(axes, 1.0)
    axes.set_ylim(0.0, None)
    style(axes, "Largest share of a limit")
    legend(axes, frame=False)


def _draw_distances(axes: Any, scene: PlanScene, check: PlanCheck) -> None:
    """Clearance and error of the task over time, on one logarithmic axis."""
    x = check.samples
    near = x.clearances[:, 0]
    if near.min() < FAR:
        axes.plot(x.times, MILLI * np.maximum(near, 1e-9), color=BLUE, linewidth=1.1, label="distance from obstacles")
    if scene.task is not None:
        axes.plot(
            x.times, MILLI * np.maximum(x.errors, 1e-9), color=ORANGE, linewidth=1.1, label="distance from the path"
        )
        limit(axes, MILLI * scene.tolerance, "allowed from the path")
    axes.set_yscale("log")
    style(axes, "Distances", ylabel="[mm]")
    legend(axes, frame=False)
