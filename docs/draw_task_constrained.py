"""Draw the picture of docs/task_constrained.md.

``python docs/draw_task_constrained.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from arm_control import Pose, RobotModel, urdf_path
from arm_control.collision import Validity, course
from arm_control.maths import Array, Sphere
from arm_control.planning import Plan, TaskConstrainedProblem, TaskPlanner, line
from arm_control.report import BLUE, GREEN, GREY, INK, ORANGE, RED, new_figure, style

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "task_constrained.png"
START = np.array([0.86549746, -1.23313677, -0.9210975, 0.2886459])
PATH = line([1.2, -0.7], [1.2, 0.7])
HORIZON, RADIUS, LINK_RADIUS = 12.0, 0.15, 0.04
TIMES, PLACES = np.array([0.0, 5.0, 7.0]), np.array([[1.2, -0.25], [1.2, -0.25], [2.2, 0.1]])
"""The disc rests on the line for five seconds, then leaves."""
SHOWN = ((0.0, INK), (4.0, BLUE), (6.0, ORANGE), (np.inf, GREEN))
"""Moments at which the arm is drawn, and their colours."""


def place_at(t: Array) -> Array:
    """Centre of the disc at times, shape (k, 2) [m]."""
    return np.stack([np.interp(t, TIMES, PLACES[:, j]) for j in range(2)], axis=-1)


def draw_tree(axes: Axes, plan: Plan) -> None:
    """Draw the tree over s and t, the plan, and where the disc covers the path."""
    s, t = np.linspace(0.0, 1.0, 400), np.linspace(0.0, HORIZON, 500)
    gaps = np.linalg.norm(PATH.at(s).y[None] - place_at(t)[:, None], axis=2)
    axes.contourf(s, t, gaps, levels=[0.0, RADIUS + LINK_RADIUS], colors=["0.8"])
    tree = plan.tree
    assert tree is not None
    child = np.flatnonzero(tree.parents >= 0)
    ends = np.stack([np.stack([tree.s[k], tree.t[k]], axis=1) for k in (tree.parents[child], child)], axis=1)
    axes.add_collection(LineCollection(list(ends), colors=GREY, linewidths=0.4, alpha=0.6))
    axes.plot(plan.at(plan.times)[1], plan.times, color=RED, lw=2.2)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, HORIZON)
    style(axes, "Grey: the disc is on the path", "place on the path s", "time [s]")


def draw_arm(axes: Axes, model: RobotModel, plan: Plan) -> None:
    """Draw the path, and arm and disc at some moments of the plan."""
    axes.plot(*PATH.at([0.0, 1.0]).y.T, color=RED, lw=1.2, ls="--")
    for moment, colour in SHOWN:
        t = min(moment, plan.duration)
        (q,), _ = plan.at([t])
        joints = [model.pose(q, f"link{k}").p[:2] for k in range(model.nq)] + [model.pose(q).p[:2]]
        axes.plot(*np.array(joints).T, "o-", color=colour, ms=3, lw=2.2, label=f"{t:.1f} s")
        axes.add_patch(Circle(place_at(np.array([t]))[0], RADIUS, fill=False, color=colour, lw=1.4))
    axes.set_aspect("equal")
    axes.set_xlim(-0.4, 2.0)
    axes.legend(loc="lower left", frameon=False, fontsize=8)
    style(axes, "The hand waits on its path", "x [m]", "y [m]")


def main() -> None:
    """Draw the picture."""
    model = RobotModel.from_urdf(urdf_path("planar4"))
    validity = Validity(model)
    validity.place([course(Sphere(RADIUS), TIMES, [Pose.at([x, y, 0.0]) for x, y in PLACES])])
    problem = TaskConstrainedProblem(validity, PATH, HORIZON, START, np.full(4, 0.5))
    plan = TaskPlanner(problem).plan(seed=2)
    figure = new_figure(9.0, 4.2)
    first, second = figure.subplots(1, 2)
    draw_arm(first, model, plan)
    draw_tree(second, plan)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
