"""The arm and its path as lines in space, by matplotlib: needs no OpenGL."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MultipleLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.report.pictures.rendering import Frames, Shots
from arm_control.report.pictures.style import AXIS_COLOURS, BLUE, DPI, GREY, GRID, INK, ORANGE
from arm_control.simulation import MotionRecord

TRIAD = 0.08
"""Length of the axes drawn at a target [m]."""


def draw_path(path: Path, record: MotionRecord, model: RobotModel) -> None:
    """Draw the end effector's path, the straight lines it should follow, the targets and the arm."""
    figure = Figure(figsize=(9.0, 5.8), dpi=DPI, facecolor="white")
    axes: Any = figure.add_axes((-0.05, 0.035, 0.86, 1.04), projection="3d")
    first, last = link_points(model, record.q[0]), link_points(model, record.q[-1])
    stage(axes, np.concatenate([record.p, first, last, [X.p for X in record.goals] or record.p[:1]]))
    _stick(axes, first, "#C9CED4", "arm, first pose")
    _stick(axes, last, GREY, "arm, last pose")
    starts = record.p[record.at(record.target_times)]
    lines = np.array([[a, X.p] for a, X in zip(starts, record.goals, strict=True)]).reshape(-1, 2, 3)
    _add(axes, Line3DCollection(lines, colors=INK, linewidths=1.0, linestyles=(0, (4, 3))), len(lines))
    axes.plot([], [], color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label="straight line to target")
    axes.plot(*record.p.T, color=ORANGE, linewidth=2.2, label="path of the end effector")
    _add(axes, triads([X.matrix() for X in record.goals], TRIAD), len(lines))
    for colour, name in zip(AXIS_COLOURS, "xyz", strict=True):
        axes.plot([], [], color=colour, linewidth=2.4, label=f"target, {name} axis")
    _number(axes, record)
    figure.legend(loc="center right", bbox_to_anchor=(0.995, 0.5), fontsize=9, frameon=False, labelcolor=INK)
    figure.savefig(path)


def sketch(model: RobotModel, shots: Shots) -> Frames:
    """Draw frames of the arm as thick lines, where MuJoCo cannot render.

    Returns
    -------
    ndarray of uint8, shape (n, height, width, 3)
    """
    width, height = shots.size
    figure = Figure(figsize=(4.8, 4.8 * height / width), dpi=width / 4.8, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0.0, -0.04, 1.0, 1.08), projection="3d")
    arms = [link_points(model, q) for q in shots.qs]
    stage(axes, np.concatenate([*arms, shots.trail]), labels=False)
    for q in shots.ghosts:
        _stick(axes, link_points(model, q), GREY, alpha=0.25)
    frames = np.zeros((len(arms), height, width, 3), np.uint8)
    for i, arm in enumerate(arms):
        trail = axes.plot(*shots.trail[: shots.n_trail_points[i]].T, ".", markersize=4, color=ORANGE, zorder=7)
        moving = [*_thick_arm(axes, arm), *trail]
        targets = shots.targets[shots.visible[i]]
        moving += _add(axes, triads(targets, shots.triad), len(targets))
        canvas.draw()
        frames[i] = np.asarray(canvas.buffer_rgba())[..., :3]
        for artist in moving:
            artist.remove()
    return frames


def link_points(model: RobotModel, q: Array) -> Array:
    """Return the origins of the links from the base to the tip, shape (nv + 2, 3) [m].

    Parameters
    ----------
    q : ndarray, shape (nq,)
        Joint positions [rad or m].
    """
    links = [model.urdf.robot.joint_map[joint].child for joint in model.joint_names]
    return np.array([model.pose(q, frame).p for frame in (model.base, *links, model.tip)])


def triads(poses: Iterable[Array], length: float) -> Line3DCollection:
    """Return the axes x, y and z of every pose, shape (4, 4) in the world, as lines of this length [m]."""
    lines = [(X[:3, 3], X[:3, 3] + length * axis) for X in poses for axis in X[:3, :3].T]
    colours = AXIS_COLOURS * (len(lines) // 3)
    return Line3DCollection(np.array(lines).reshape(-1, 2, 3), colors=colours, linewidths=2.4)


def stage(axes: Any, points: Array, *, labels: bool = True) -> None:
    """Set equal axes around points, with the floor below, viewed from the side to which the arm reaches.

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        Points that must be visible [m].
    """
    low, high = np.minimum(points.min(axis=0), 0.0), points.max(axis=0)
    middle, span = 0.5 * (low + high), np.maximum(1.06 * (high - low), 0.1)
    axes.set(xlim=_around(middle[0], span[0]), ylim=_around(middle[1], span[1]), zlim=(low[2], low[2] + span[2]))
    axes.set_box_aspect(span, zoom=0.97 if labels else 1.2)
    axes.set_proj_type("persp", focal_length=0.6)
    axes.view_init(elev=22, azim=float(np.degrees(np.arctan2(middle[1], middle[0]))) - 65.0)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0) if axis is not axes.zaxis else (0.95, 0.96, 0.97, 1.0))
        axis._axinfo["grid"].update(color=GRID, linewidth=0.8)
        axis.line.set_color(GREY)
        axis.set_major_locator(MultipleLocator(0.2))
    axes.tick_params(labelsize=8, colors=INK)
    if labels:
        axes.set_xlabel("x [m]", color=INK)
        axes.set_ylabel("y [m]", color=INK)
        axes.set_zlabel("z [m]", color=INK)
    else:
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_ticklabels([])
            axis._axinfo["tick"].update(inward_factor=0.0, outward_factor=0.0)


def _add(axes: Any, lines: Line3DCollection, count: int) -> list[Any]:
    """Add lines to a drawing, if there are any: matplotlib refuses an empty collection."""
    return [axes.add_collection3d(lines)] if count else []


def _around(middle: float, span: float) -> tuple[float, float]:
    return float(middle - span / 2), float(middle + span / 2)


def _stick(axes: Any, points: Array, colour: str, label: str | None = None, alpha: float = 1.0) -> None:
    style = {"solid_capstyle": "round", "marker": "o", "markersize": 6, "markerfacecolor": "white"}
    axes.plot(*points.T, color=colour, linewidth=4.0, alpha=alpha, label=label, **style)


def _thick_arm(axes: Any, points: Array) -> list[Any]:
    """Lines from thick at the base to thin at the tip, dark outline first."""
    widths = np.linspace(15.0, 7.0, len(points) - 1)
    bones = np.stack([points[:-1], points[1:]], axis=1)
    outline = Line3DCollection(bones, colors=INK, linewidths=widths + 2.5, capstyle="round", zorder=4)
    metal = Line3DCollection(bones, colors="#C3C7CD", linewidths=widths, capstyle="round", zorder=5)
    joints = axes.plot(*points[1:-1].T, linestyle="", marker="o", markersize=7, color=BLUE, zorder=6)
    axes.computed_zorder = False
    return [axes.add_collection3d(outline), axes.add_collection3d(metal), *joints]


def _number(axes: Any, record: MotionRecord) -> None:
    halo = [withStroke(linewidth=3.0, foreground="white")]
    for number, X in enumerate(record.goals, start=1):
        place = X.p + [0.0, 0.0, 0.03]
        axes.text(*place, str(number), fontsize=10, color=INK, fontweight="bold", zorder=10, path_effects=halo)
