"""A simulated run in space, viewed along an axis: paths, postures of the arm, targets, obstacles and pushes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Polygon
from matplotlib.patheffects import withStroke

from arm_control.collision import ContactMonitor, Margins, NearPair
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Hull, Pose, Shape, Sphere
from arm_control.model import RobotModel
from arm_control.report.contacts import ObservedState
from arm_control.report.pictures.sketch import link_points
from arm_control.report.pictures.style import BLUE, GREEN, GREY, INK, ORANGE, RED, new_figure, style
from arm_control.simulation import Push, Trace, World

POSTURES, GHOSTS = (0.0, 0.19, 0.41, 0.64, 0.87, 1.0), 6
"""Of the arm, by shares of its way, and of an obstacle that moves, in each drawing in space."""
SHAPE = 1.45
"""Width by height of a drawing in space."""
NUMBERED = 12
"""More targets than these have no numbers."""
HALO = (withStroke(linewidth=3.0, foreground="white"),)
View = tuple[int, int, bool, str]
"""Axis to the right, axis upwards, whether the first one is reversed, and the name of the view."""

ABOVE: View = (1, 0, True, "from above")
SIDES: dict[int, View] = {0: (0, 2, False, "from the side"), 1: (1, 2, True, "from behind")}


def arm_points(qs: Array, model: RobotModel, n: int) -> Array:
    """Return the points of the arm in about n of many postures, shape (n, nq) [rad or m], as rows [m]."""
    return np.concatenate([link_points(model, q) for q in qs[:: max(1, len(qs) // n)]])


def views(points: Array, moving: Array) -> tuple[View, ...]:
    """Return the views of a run: of a planar arm from its side, of others from above and across their motion.

    Parameters
    ----------
    points, moving : ndarray, shape (n, 3)
        Points of the arm, and of what moves [m].
    """
    flat = np.flatnonzero(np.ptp(points, axis=0) < 1e-3)
    if flat.size:
        x, y = (axis for axis in range(3) if axis != flat[0])
        return ((x, y, False, ""),)
    return ABOVE, SIDES[int(np.argmax(np.ptp(moving[:, :2], axis=0)))]


def draw_runs(
    axes: Any, view: View, runs: Mapping[str, Trace], model: RobotModel, world: World, colours: Mapping[str, str]
) -> None:
    """Draw one run with several postures of the arm, or the paths of several with the first and last one of the first.

    Parameters
    ----------
    colours : mapping of str to str
        Of the paths, by the names of the runs.
    """
    x, y, backwards, _ = view
    is_alone, (name, first) = len(runs) == 1, next(iter(runs.items()))
    _obstacles(axes, view, first, world)
    *before, end = _spread(first) if is_alone else (0, -1)
    for k in before:
        label = None if is_alone else "arm, at the start"
        _stick(axes, link_points(model, first.q[k])[:, [x, y]], 0.25 if is_alone else 0.35, label)
    label = "arm, at the end" if is_alone else f"arm, at the end ({name})"
    _stick(axes, link_points(model, first.q[end])[:, [x, y]], 0.9, label)
    if is_alone and not first.goals:
        p = first.p_des
        axes.plot(p[:, x], p[:, y], color=INK, linewidth=1.0, linestyle=":", label="where it should be")
    for number, (name, trace) in enumerate(runs.items()):
        up = lifted(trace)
        drawn = np.where(up[:, None], np.nan, trace.p)
        width = 2.0 if is_alone else 1.2 + 0.9 * (len(runs) - 1 - number)
        label = "path of the end effector" if is_alone else f"path, {name}"
        axes.plot(drawn[:, x], drawn[:, y], color=colours[name], linewidth=width, label=label)
        if up.any():
            air = np.where(up[:, None], trace.p, np.nan)
            axes.plot(air[:, x], air[:, y], color=colours[name], linewidth=0.8, alpha=0.5, label="pen lifted")
    _goals(axes, view, first)
    _pushes(axes, view, first, world)
    if backwards:
        axes.invert_xaxis()


def _stick(axes: Any, points: Array, tone: float, label: str | None) -> None:
    """The arm as a line."""
    axes.plot(*points.T, color=GREY, alpha=tone, linewidth=4.0, solid_capstyle="round", label=label)


def _spread(trace: Trace) -> list[int]:
    """States at which the arm is drawn, spread over the way of the end effector."""
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(trace.p, axis=0), axis=1))])
    return [*np.searchsorted(way, way[-1] * np.array(POSTURES[:-1])).tolist(), len(way) - 1]


def lifted(trace: Trace) -> Any:
    """Whether the end effector is off the sheet that it writes on, in each state, shape (n,); nowhere if there is none.

    There is a sheet when a motion spends a fifth of its time at its lowest level.
    """
    height = trace.p_des[:, 2] - trace.p_des[:, 2].min()
    up = height > 5e-4
    return up if not trace.goals and up.any() and np.mean(up) < 0.8 else np.zeros_like(up)


def _goals(axes: Any, view: View, trace: Trace) -> None:
    if not trace.goals:
        return
    p = np.array([X.p for X in trace.goals])
    axes.plot(
        p[:, view[0]], p[:, view[1]], "o", color="white", markeredgecolor=INK, markersize=6, zorder=5, label="targets"
    )
    if len(p) > NUMBERED:
        return
    for number, place in enumerate(p, start=1):
        where = {"xytext": (5, 5), "textcoords": "offset points", "fontsize": 9, "color": INK, "zorder": 6}
        axes.annotate(str(number), (place[view[0]], place[view[1]]), path_effects=HALO, **where)


def _obstacles(axes: Any, view: View, trace: Trace, world: World) -> None:
    """Outlines; of one that moves, several, the later the darker."""
    label: str | None = "obstacle"
    for mover in world.movers:
        end = min(mover.span.end, float(trace.t[-1]))
        moves = bool(np.any(mover.obstacle.V_WO))
        for number, t in enumerate(np.linspace(mover.span.begin, end, GHOSTS) if moves else [mover.span.begin]):
            obstacle = mover.at(t)
            tone = 0.15 + 0.5 * number / GHOSTS if moves else 0.6
            corners = outline(surface(obstacle.shape), obstacle.X_WO, view)
            axes.add_patch(Polygon(corners, facecolor=RED, edgecolor=RED, alpha=tone, zorder=0.5, label=label))
            label = None
        if moves:
            ends = np.array([mover.at(t).X_WO.p[list(view[:2])] for t in (mover.span.begin, end)])
            axes.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.2})


def _pushes(axes: Any, view: View, trace: Trace, world: World) -> None:
    """An arrow along each force, which ends where the end effector was when it began."""
    for push in (each for each in world.pushes if isinstance(each, Push)):
        force = push.wrench[list(view[:2])]
        k = min(int(np.searchsorted(trace.t, push.span.begin)), len(trace.t) - 1)
        if np.linalg.norm(force) < 0.1 * np.linalg.norm(push.wrench[:3]):
            continue
        tip = trace.p[k][list(view[:2])]
        tail = tip - 0.2 * force / np.linalg.norm(push.wrench[:3])
        arrow = {"arrowstyle": "-|>", "color": RED, "linewidth": 2.0}
        text = f"{np.linalg.norm(push.wrench[:3]):.3g} N"
        axes.annotate(text, tip, tail, color=RED, fontsize=9, ha="center", arrowprops=arrow, path_effects=HALO)


def surface(shape: Shape) -> Array:
    """Return points, shape (n, 3) [m], whose convex hull is a shape, in its own frame."""
    turn = np.linspace(0.0, 2 * np.pi, 25)[:-1]
    ring = np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
    tilt = np.linspace(-np.pi / 2, np.pi / 2, 13)
    ball = np.concatenate([ring * np.cos(a) + [0.0, 0.0, np.sin(a)] for a in tilt])
    match shape:
        case Hull(vertices):
            return vertices
        case Sphere(radius):
            return radius * ball
        case Box(size):
            return np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * size
        case Cylinder(radius, length):
            return np.concatenate([radius * ring + [0, 0, z] for z in (-length / 2, length / 2)])
        case Cone(radius, length):
            return np.concatenate([radius * ring - [0, 0, length / 2], [[0, 0, length / 2]]])
        case Capsule(radius, length):
            return np.concatenate([radius * ball + [0, 0, z] for z in (-length / 2, length / 2)])


def outline(points: Array, X: Pose, view: View) -> Array:
    """Return the corners of the outline of points in a frame with the pose X, shape (m, 2) [m]."""
    return hull((points @ X.R.T + X.p)[:, list(view[:2])])


def hull(points: Array) -> Array:
    """Return the corners of the convex hull of points in the plane, shape (m, 2) (A. M. Andrew, 1979)."""
    ordered = sorted(map(tuple, points.round(12).tolist()))
    halves: list[list[tuple[float, ...]]] = []
    for run in (ordered, ordered[::-1]):
        half: list[tuple[float, ...]] = []
        for c in run:
            while len(half) > 1 and _turn(half[-2], half[-1], c) <= 0.0:
                half.pop()
            half.append(c)
        halves.append(half[:-1])
    return np.array(halves[0] + halves[1])


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def same_frame(row: Any) -> None:
    """Let the drawings of one view show the same part of space, to scale."""
    edges = np.array([[sorted(axes.get_xlim()), sorted(axes.get_ylim())] for axes in row])
    low, high = edges[:, :, 0].min(axis=0), edges[:, :, 1].max(axis=0)
    middle, span = (low + high) / 2, high - low
    span = np.maximum(span, span[::-1] * [SHAPE, 1.0 / SHAPE])
    for axes in row:
        ends = [middle[0] - span[0] / 2, middle[0] + span[0] / 2]
        axes.set_xlim(ends[::-1] if axes.xaxis_inverted() else ends)
        axes.set_ylim(middle[1] - span[1] / 2, middle[1] + span[1] / 2)
        axes.set_aspect("equal", adjustable="box")


VIEWS: tuple[View, ...] = ((0, 2, False, "from the side"), (0, 1, False, "from above"))
DRAWN = 6
"""Largest number of pairs that are drawn."""
LETTERS = "xyz"


def draw_nearest_points(path: Path, monitor: ContactMonitor, state: ObservedState, margins: Margins) -> None:
    """Draw the nearest pairs of a state: red in contact, orange within the margin, else dark."""
    pairs = monitor.near(state.q, state.obstacles, state.names)[:DRAWN]
    arm = _capsules(monitor, state.q)
    obstacles = [surface(o.shape) @ o.X_WO.R.T + o.X_WO.p for o in state.obstacles]
    figure = new_figure(10.5, 5.0)
    for axes, view in zip(figure.subplots(1, len(VIEWS)), VIEWS, strict=True):
        for points, colour, alpha in (*((p, BLUE, 0.35) for p in arm), *((p, GREEN, 0.5) for p in obstacles)):
            axes.add_patch(Polygon(hull(points[:, list(view[:2])]), facecolor=colour, alpha=alpha, linewidth=0))
        lines = [_draw_pair(axes, view, pair, margins, number) for number, pair in enumerate(pairs, start=1)]
        axes.set_aspect("equal", adjustable="datalim")
        axes.autoscale_view()
        style(axes, view[3].capitalize(), f"{LETTERS[view[0]]} [m]", f"{LETTERS[view[1]]} [m]")
    texts = [f"{i}  {pair.label}: {1e3 * pair.distance:.0f} mm" for i, pair in enumerate(pairs, start=1)]
    figure.legend(lines, texts, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path)


def _capsules(monitor: ContactMonitor, q: Array) -> list[Array]:
    """Points in the world whose convex hulls are the capsules of the arm, shape (m, 3) each [m]."""
    poses = {capsule.link: monitor.model.pose(q, capsule.link) for capsule in monitor.proximity.capsules}
    return [
        np.concatenate([surface(Sphere(c.radius)) + poses[c.link].R @ end + poses[c.link].p for end in (c.a, c.b)])
        for c in monitor.proximity.capsules
    ]


def _draw_pair(axes: Any, view: View, pair: NearPair, margins: Margins, number: int) -> Any:
    """A numbered line between the nearest points of a pair."""
    colour = RED if pair.distance <= 0.0 else ORANGE if pair.is_contact(margins) else INK
    ends = np.array([pair.p, pair.p_other])[:, list(view[:2])]
    where = {"xytext": (5, 5), "textcoords": "offset points", "fontsize": 9, "color": colour, "zorder": 6}
    axes.annotate(str(number), ends[1], path_effects=HALO, **where)
    (line,) = axes.plot(*ends.T, "o-", color=colour, markersize=3, linewidth=1.6, zorder=5)
    return line
