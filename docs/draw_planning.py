"""Draw the picture of docs/planning.md.

``python docs/draw_planning.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.maths import Array, Box, Obstacle, Pose
from arm_control.planning import Plan, RrtConnect, rounded_paths, shorten
from arm_control.report import BLUE, GREEN, INK, ORANGE, new_figure, style

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "planning.png"
START, GOAL = np.array([0.0, 0.0]), np.array([1.6, 0.0])
WALL = ((0.44, 0.51), (0.44, -0.51))
"""Centres of both halves of the wall [m]."""
SIZE = (0.03, 0.9, 0.3)
"""Edges of each half [m]."""
LOW, HIGH, CELLS = np.array([-1.2, -3.0]), np.array([2.0, 3.0]), (220, 330)
"""The part of joint space that is drawn [rad]."""


def draw_joint_space(axes: Axes, validity: Validity, plan: Plan, short: Plan) -> None:
    """Draw states in contact, the path of the trees, and the shortened and rounded one.

    Parameters
    ----------
    axes : Axes
    validity : Validity
    plan, short : Plan
        Before and after shortcuts.
    """
    sides = [np.linspace(*ends, n) for *ends, n in zip(LOW, HIGH, CELLS, strict=True)]
    states = np.stack(np.meshgrid(*sides), axis=-1)
    is_free = validity.free_states(states.reshape(-1, 2)).reshape(states.shape[:2])
    axes.contourf(*sides, ~is_free, levels=[0.5, 1.5], colors=["0.8"])
    axes.plot(*plan.path.T, "o-", color=ORANGE, lw=1.2, ms=3, label="path of the trees")
    axes.plot(*points_of(validity, short, 300).T, color=BLUE, lw=2.2, label="shortcuts, rounded corners")
    axes.plot(*START, "s", color=INK)
    axes.plot(*GOAL, "*", color=INK, ms=11)
    style(axes, "Grey: joint positions in contact", "shoulder [rad]", "elbow [rad]")
    axes.legend(loc="lower right", frameon=False, fontsize=8)


def points_of(validity: Validity, plan: Plan, n: int) -> Array:
    """Points of the rounded path, shape (n, 2), evenly spread over each of its parts [rad].

    Parameters
    ----------
    validity : Validity
    plan : Plan
    n : int
        Points of each part.
    """
    parts = rounded_paths(validity, plan)
    return np.concatenate([[part.sample(s).q_des for s in np.linspace(0.0, part.duration, n)] for part in parts])


def draw_arm(axes: Axes, model: RobotModel, path: Array) -> None:
    """Draw the wall and the arm along a path.

    Parameters
    ----------
    axes : Axes
    model : RobotModel
    path : ndarray, shape (m, 2)
        Joint positions [rad].
    """
    for x, y in WALL:
        axes.add_patch(Rectangle((x - SIZE[0] / 2, y - SIZE[1] / 2), SIZE[0], SIZE[1], color="0.6"))
    for k, q in enumerate(path):
        elbow, tip = model.pose(q, "link1").p, model.pose(q).p
        is_end = k in (0, len(path) - 1)
        colour = INK if k == 0 else GREEN if is_end else BLUE
        axes.plot(*np.array([[0.0, 0.0], elbow[:2], tip[:2]]).T, "o-", color=colour, ms=2.5, lw=2.5 if is_end else 0.9)
    axes.set_aspect("equal")
    axes.set_xlim(-0.1, 0.65)
    axes.set_ylim(-0.5, 0.65)
    style(axes, "The arm draws back, then turns", "x [m]", "y [m]")


def main() -> None:
    """Draw the picture."""
    model = RobotModel.from_urdf(urdf_path("planar2"))
    validity = Validity(model)
    validity.place([Obstacle(Box(SIZE), Pose(np.eye(3), np.array([x, y, 0.0]))) for x, y in WALL])
    plan = RrtConnect(validity).plan(START, GOAL)
    short = shorten(validity, plan)
    figure = new_figure(9.0, 4.2)
    first, second = figure.subplots(1, 2)
    draw_arm(first, model, points_of(validity, short, 9))
    draw_joint_space(second, validity, plan, short)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
