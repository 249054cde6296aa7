"""Draw the picture of docs/execution.md.

``python docs/draw_execution.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity, from_time, present
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.motion import JointReference
from arm_control.planning import Action, MotionMonitor, PathLimits, Plan, PlannerInTime
from arm_control.report import BLUE, GREEN, INK, ORANGE, new_figure, style

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "execution.png"
START, GOAL = np.array([-0.8, 0.3]), np.array([1.2, 0.3])
BALL = Obstacle(Sphere(0.05), Pose.at([0.6, -0.1, 0.0]), (0.0, 0.25, 0.0, 0.0, 0.0, 0.0))
CHANGE, TURNED = 0.6, (-0.3, 0.1, 0.0, 0.0, 0.0, 0.0)
"""Time at which the ball turns [s], and its twist from then on."""
DURATION, STEP = 5.0, 0.01


def draw_speeds(axes: Axes, plan: Plan) -> None:
    """Draw joint speeds of a plan's states and of its motion.

    Parameters
    ----------
    axes : Axes
    plan : Plan
    """
    trajectory = plan.trajectory
    assert trajectory is not None
    t = np.arange(0.0, trajectory.duration, 2e-3)
    v = np.array([trajectory.sample(s).v_des for s in t.tolist()])
    steps = np.diff(plan.path, axis=0) / np.diff(plan.times)[:, None]
    for j, (name, color) in enumerate((("shoulder", BLUE), ("elbow", GREEN))):
        heights = np.concatenate([[0.0], steps[:, j], [0.0]])
        axes.step(plan.times, heights[:-1], color=color, lw=0.8, ls="--", where="pre")
        axes.plot([plan.times[-1]] * 2, [heights[-2], 0.0], color=color, lw=0.8, ls="--")
        axes.plot(t, v[:, j], color=color, lw=2.0, label=name)
    style(axes, "Steps of the plan (dashed), motion", "time [s]", "speed [rad/s]")
    axes.legend(loc="best", frameon=False, fontsize=8)


def draw_distances(axes: Axes, planner: PlannerInTime, timed: Plan) -> None:
    """Draw distances from the ball that turns.

    Parameters
    ----------
    axes : Axes
    planner : PlannerInTime
    timed : Plan
        The motion before.
    """
    trajectory = timed.trajectory
    assert trajectory is not None
    truth = from_time([Obstacle(BALL.shape, present([BALL], CHANGE)[0].X_WO, TURNED)], -CHANGE)
    monitor, times = MotionMonitor(planner, GOAL), np.arange(0.0, DURATION, STEP)
    monitor.start(trajectory, 0.0, [BALL])
    watched, plain, events = [], [], []
    for t in times.tolist():
        there = present([BALL] if t < CHANGE else truth, t)
        decision = monitor.look(t, there)
        if decision.action is not Action.KEPT:
            events.append((t, decision.action.value))
        states = monitor.trajectory.sample(t - monitor.begin).q_des, trajectory.sample(t).q_des
        planner.validity.place(there)
        near = planner.validity.distances(np.array(states)).to_obstacles.min(axis=1)
        watched.append(near[0])
        plain.append(near[1])
    axes.plot(times, plain, color=ORANGE, lw=1.2, label="as planned")
    axes.plot(times, watched, color=BLUE, lw=2.0, label="watched")
    axes.axhline(0.0, color=INK, lw=0.8)
    for k, (t, name) in enumerate(events[:4]):
        axes.axvline(t, color="0.6", lw=0.8)
        axes.text(t + 0.04, 0.6 - 0.05 * k, name, fontsize=8, color="0.3")
    style(axes, f"A ball turns after {CHANGE} s", "time [s]", "distance [m]")
    axes.legend(loc="lower right", frameon=False, fontsize=8)


def main() -> None:
    """Draw and save the picture."""
    arm = RobotModel.from_urdf(urdf_path("planar2"))
    limits = PathLimits(np.full(2, 1.5), 0.9 * arm.tau_max, np.full(2, 10.0))
    planner = PlannerInTime(Validity(arm, margin=0.01), limits, horizon=6.0)
    timed = planner.plan(JointReference.at_rest(START), GOAL, [BALL])
    figure = new_figure(9.0, 3.2)
    left, right = figure.subplots(1, 2)
    draw_speeds(left, timed)
    draw_distances(right, planner, timed)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
