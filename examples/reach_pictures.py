"""Pictures of planned reaches: paths and postures in space, controls over time, cost by iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from arm_control.maths import Array
from arm_control.report import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    limit,
    link_points,
    new_figure,
    save_in_few_colours,
    style,
)

if TYPE_CHECKING:
    from ilqr_reaches import Reach

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY)
POSTURES = (0.0, 0.35, 0.7, 1.0)
"""Of the arm, by shares of the hand's way, in a drawing in space."""
DT = 0.01
"""Step of every plan that is drawn [s]."""
FROM_ABOVE, FROM_BEHIND, PLANE, UPRIGHT = (1, 0), (1, 2), (0, 1), (0, 2)
"""Axes to the right and upwards; from above and from behind the first one is reversed."""


def draw_planar(
    path: Path,
    steps: Mapping[str, Reach],
    running: Mapping[str, Reach],
    changed: Mapping[str, Reach],
    stars: Mapping[str, Sequence[Reach]],
) -> None:
    """Draw the plans of planar arms.

    Parameters
    ----------
    path : Path
        The PNG file.
    steps : dict of str to Reach
        The same reach, by its number of steps.
    running : dict of str to Reach
        The same reach, by the weight of the distance on the way.
    changed : dict of str to Reach
        ``old``, and ``warm`` from half way of it to another target.
    stars : dict of str to list of Reach
        Reaches for eight targets: of ``three_links``, of ``three_links_heavy``, and with the ``third_locked``.
    """
    figure: Any = new_figure(15.0, 8.6)
    title = "Iterative LQR: reaches of planar arms, planned at once from start to end"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    grid = figure.subplots(2, 3)
    in_time = {f"{name} steps ({int(name) * DT:g} s)": reach for name, reach in steps.items()}
    _paths(grid[0, 0], "100, 50 or 10 steps of 10 ms", in_time, PLANE)
    weighed = {"nothing, only at the end" if name == "0" else f"weight {name}": x for name, x in running.items()}
    _paths(grid[0, 1], "The same, 100 steps: what distance costs on the way", weighed, PLANE)
    _changed(grid[0, 2], changed["old"], changed["warm"])
    _largest_torque(grid[1, 0], in_time)
    _iterations(grid[1, 1], in_time)
    titles = {"three_links": "three joints", "three_links_heavy": "heavy rotors", "third_locked": "third joint locked"}
    _stars(grid[1, 2], {text: stars[name] for name, text in titles.items()})
    save_in_few_colours(figure, path)


def draw_ur5(path: Path, limits: Mapping[str, Reach], ball: Mapping[str, Reach]) -> None:
    """Draw the plans of a UR5.

    Parameters
    ----------
    path : Path
        The PNG file.
    limits : dict of str to Reach
        ``free`` and ``limited``, with the limit that only the second one takes into account.
    ball : dict of str to Reach
        ``without`` and ``with`` the obstacle's cost.
    """
    figure: Any = new_figure(15.0, 8.6)
    title = "Iterative LQR: a UR5 with an obstacle on its way (above), and with tight effort limits (below)"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    grid = figure.subplots(2, 3)
    named = {"obstacle has no cost": ball["without"], "obstacle has a cost": ball["with"]}
    _paths(grid[0, 0], "Path of the hand, from behind", named, FROM_BEHIND, posture=1)
    _paths(grid[0, 1], "From above", named, FROM_ABOVE, posture=1)
    _clearance(grid[0, 2], named)
    both = {"no limits": limits["free"], "limits": limits["limited"]}
    _torques(grid[1, :2], both)
    _iterations(grid[1, 2], {**both, **named})
    save_in_few_colours(figure, path)


def draw_lqr(
    path: Path,
    one: Mapping[str, Reach],
    star: Sequence[Mapping[str, Reach]],
    ratios: Mapping[str, Mapping[float, Sequence[float]]],
) -> None:
    """Draw local LQR beside iterative LQR.

    Parameters
    ----------
    path : Path
        The PNG file.
    one : dict of str to Reach
        One reach: by ``iLQR`` first, then by LQR that is computed anew more and more rarely.
    star : sequence of dict of str to Reach
        Reaches by ``iLQR`` and ``LQR`` for several targets.
    ratios : dict of str to dict of float to sequence of float
        How many times as much LQR costs, by arm and distance.
    """
    figure: Any = new_figure(15.0, 4.9)
    title = "Local LQR, which takes arm and cost for linear, beside iterative LQR: the same cost, the same second"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold")
    first, second, third = figure.subplots(1, 3)
    _paths(first, "Two links: path of the hand", one, PLANE)
    for number, name in enumerate(("iLQR", "LQR")):
        for i, both in enumerate(star):
            label = name if i == 0 else None
            second.plot(*both[name].p[:, UPRIGHT].T, color=COLOURS[number], linewidth=1.6, label=label)
    for i, both in enumerate(star):
        _target(second, both["iLQR"].target, UPRIGHT, "targets" if i == 0 else None)
    _space(second, "Three links, 3.9 m: eight targets", UPRIGHT)
    for number, (arm, by_distance) in enumerate(ratios.items()):
        for factor, values in by_distance.items():
            label = arm if factor == min(by_distance) else None
            third.plot([factor] * len(values), values, "o", color=COLOURS[number], alpha=0.7, label=label)
    limit(third, 1.0)
    style(third, "Cost of LQR / cost of iLQR", "distance of the target / the star's", "logarithmic")
    _log(third)
    _legend(third)
    figure.savefig(path)


def _paths(axes: Any, title: str, reaches: Mapping[str, Reach], view: tuple[int, int], posture: int = 0) -> None:
    """Paths of the hand to one target, with the arm of reach number ``posture``."""
    x, y = view
    drawn = list(reaches.values())
    _arm(axes, drawn[posture], view)
    start, target = drawn[0].p[0], drawn[0].target
    if drawn[0].ball is not None:
        centre, radius = drawn[0].ball
        axes.add_patch(Circle((centre[x], centre[y]), radius, color=RED, alpha=0.3, linewidth=0, label="obstacle"))
    axes.plot(*np.array([start, target])[:, view].T, color=INK, linewidth=0.9, linestyle=":", label="straight line")
    for number, (name, reach) in enumerate(reaches.items()):
        axes.plot(
            reach.p[:, x], reach.p[:, y], color=COLOURS[number], linewidth=max(3.4 - 0.9 * number, 1.0), label=name
        )
        _end(axes, reach, view, COLOURS[number])
    _target(axes, target, view, "target")
    _space(axes, title, view)


def _end(axes: Any, reach: Reach, view: tuple[int, int], colour: str) -> None:
    """A dot where a path ends short of its target."""
    if np.linalg.norm(reach.p[-1] - reach.target) > 0.01:
        x, y = reach.p[-1][list(view)]
        axes.plot([x], [y], "s", color=colour, markersize=6, zorder=5)
        axes.annotate("stops here", (x, y), (8, -4), textcoords="offset points", fontsize=8, color=INK)


def _changed(axes: Any, old: Reach, new: Reach) -> None:
    half = len(old.p) // 2
    _arm(axes, new, PLANE)
    axes.plot(*old.p[half:, :2].T, color=BLUE, linewidth=1.6, linestyle=DASHES, label="first plan, given up")
    axes.plot(*old.p[: half + 1, :2].T, color=BLUE, linewidth=2.5, label="first plan, the half that is done")
    axes.plot(*new.p[:, :2].T, color=ORANGE, linewidth=2.5, label="second plan")
    _target(axes, old.target, PLANE, "first target")
    axes.plot(*new.target[:2], "o", color=INK, markersize=8, zorder=6, label="second target")
    _space(axes, "The target changes half way", PLANE)


def _stars(axes: Any, stars: Mapping[str, Sequence[Reach]]) -> None:
    for number, (name, reaches) in enumerate(stars.items()):
        colour = (ORANGE, GREEN, BLUE)[number]
        for i, reach in enumerate(reaches):
            label = name if i == 0 else None
            axes.plot(reach.p[:, 0], reach.p[:, 2], color=colour, linewidth=1.6, label=label)
    for i, reach in enumerate(next(iter(stars.values()))):
        _target(axes, reach.target, UPRIGHT, "targets" if i == 0 else None)
    axes.margins(y=0.25)
    _space(axes, "Three links, 3.9 m, 100 steps: eight targets", UPRIGHT)
    _legend(axes, loc="lower center", ncols=2)


def _arm(axes: Any, reach: Reach, view: tuple[int, int]) -> None:
    """Postures on the way, the last one darker."""
    way = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(reach.p, axis=0), axis=1)))
    knots = [*np.searchsorted(way, way[-1] * np.array(POSTURES[:-1])), len(way) - 1]
    for k in knots:
        points = link_points(reach.model, reach.plan.xs[k, : reach.model.nv])
        last = k == knots[-1]
        axes.plot(
            *points[:, view].T,
            color=GREY,
            alpha=0.75 if last else 0.25,
            linewidth=4.0,
            solid_capstyle="round",
            marker="o",
            markersize=4,
            label="arm, at the end" if last else None,
        )


def _target(axes: Any, target: Array, view: tuple[int, int], label: str | None) -> None:
    x, y = target[list(view)]
    axes.plot([x], [y], "o", color="white", markeredgecolor=INK, markersize=8, zorder=6, label=label)


def _space(axes: Any, title: str, view: tuple[int, int]) -> None:
    style(axes, title, f"{'xyz'[view[0]]} [m]", f"{'xyz'[view[1]]} [m]")
    axes.set_aspect("equal", adjustable="datalim")
    if view in (FROM_ABOVE, FROM_BEHIND):
        axes.invert_xaxis()
    _legend(axes)


def _legend(axes: Any, **place: Any) -> None:
    axes.legend(fontsize=8, framealpha=0.8, edgecolor="none", labelcolor=INK, **place)


def _largest_torque(axes: Any, reaches: Mapping[str, Reach]) -> None:
    _over_time(axes, reaches, lambda x: np.abs(x.plan.us).max(axis=1))
    style(axes, "Torque, larger of both joints", "time [s]", "[N m], logarithmic")
    _log(axes)
    axes.set_ylim(0.01, None)
    _legend(axes)


def _clearance(axes: Any, reaches: Mapping[str, Reach]) -> None:
    def distance(reach: Reach) -> Array:
        centre, radius = reach.ball or (np.zeros(3), 0.0)
        return 1e3 * (np.linalg.norm(reach.p - centre, axis=1) - radius)

    _over_time(axes, reaches, distance)
    limit(axes, 0.0, "touches below")
    style(axes, "Distance from the hand to the obstacle", "time [s]", "[mm]")
    _legend(axes)


def _torques(row: Any, reaches: Mapping[str, Reach]) -> None:
    """Of the two joints that come nearest to their limits."""
    first = next(iter(reaches.values()))
    top = np.ones(first.model.nv) if first.limit is None else first.limit
    for axes, j in zip(row, np.argsort(-np.abs(first.plan.us / top).max(axis=0)), strict=False):
        _over_time(axes, reaches, lambda x, j=j: x.plan.us[:, j])
        limit(axes, float(top[j]), "limit")
        limit(axes, -float(top[j]))
        style(axes, f"Torque of {first.model.joint_names[j]}", "time [s]", "[N m]")
        _legend(axes)


def _over_time(axes: Any, reaches: Mapping[str, Reach], values: Callable[..., Array]) -> None:
    """Draw values over time: torque is constant within a step, other values belong to its ends."""
    for number, (name, reach) in enumerate(reaches.items()):
        series = values(reach)
        n = len(reach.plan.us)
        drawstyle = "default"
        if len(series) == n:
            series = np.append(series, series[-1])
            drawstyle = "steps-post"
        t = DT * np.arange(n + 1)
        axes.plot(t, series, color=COLOURS[number], linewidth=1.8, drawstyle=drawstyle, label=name)


def _iterations(axes: Any, reaches: Mapping[str, Reach]) -> None:
    for number, (name, reach) in enumerate(reaches.items()):
        line = "o--" if reach.ball is not None else "o-"
        colour = COLOURS[number % 2 if reach.ball is not None else number]
        axes.plot(reach.plan.costs, line, color=colour, linewidth=1.4, markersize=3.5, label=name)
    style(axes, "Cost after each iteration", "iteration", "logarithmic")
    _log(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(axes)


def _log(axes: Any) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
