"""Draw the pictures of docs/trajectories.md, and write the line of scenario ``ur4_line``.

``python docs/draw_trajectories.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator

from arm_control import Pose, RobotModel, urdf_path
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, rotation_from_rpy, rotation_from_vector
from arm_control.motion import (
    JointReference,
    JointTrajectory,
    PosePoints,
    PoseTrajectory,
    Waypoints,
    blended,
    follow_path,
)
from arm_control.planning import PathLimits, TimeScaler
from arm_control.report import BLUE, DASHES, GREEN, INK, ORANGE, PURPLE, RED, new_figure, style

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
LINE = ROOT / "config" / "trajectories" / "ur4_line.yaml"
Q_0 = np.array([-np.pi, -np.pi / 8, -np.pi / 6, 0.0])
TARGET = Pose(rotation_from_rpy([np.pi / 3, 0.0, -2.0]), np.array([-0.5, -0.2, 0.5]))
ANSWERS = {
    "from q0": (0.0, [-2.96708351, 0.03058404, -1.49040725, -0.6345719], BLUE),
    "other branch": (2 * np.pi, [0.58649959, -3.0960162, 1.10098371, -0.09936029], ORANGE),
    "wrapped": (2 * np.pi, [-2.96708351, 0.03058404, -1.49040725, -0.6345719], RED),
}
"""First joint's turn at the start, joint positions at the end, colour."""
DURATION = 3.0
PIECES = 50
A_MAX = 20.0
"""Limit of acceleration of the UR5's joints [rad/s^2]."""


def line_of_the_hand(model: RobotModel) -> JointTrajectory:
    """Return the straight motion of the Locosim lab, from rest to rest."""
    motion = PoseTrajectory(PosePoints(np.array([0.0, DURATION]), (model.pose(Q_0), TARGET)))
    return follow_path(InverseKinematics(model), motion, Q_0, PIECES)


def write_line(model: RobotModel) -> None:
    """Write the line's points to the file of the scenario."""
    joints = line_of_the_hand(model)
    states = [joints.sample(t) for t in joints.knots[1:]]
    lines = [
        "# Written by docs/draw_trajectories.py: inverse kinematics at all three levels, quintics between the points.",
        "description: A straight line of the hand by 0.207 m, from rest to rest, with a roll of the hand.",
        "robot: ur4",
        f"joints: [{', '.join(model.joint_names)}]",
        "points:",
    ]
    for t, state in zip(joints.knots[1:], states, strict=True):
        lines.append(f"  - time: {t:.2f}")
        for name, values in (("positions", state.q_des), ("velocities", state.v_des), ("accelerations", state.a_des)):
            lines.append(f"    {name}: [{', '.join(f'{x + 0.0:.15f}' for x in values)}]")
    LINE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def way_of_hand(model: RobotModel, motion: JointTrajectory) -> Array:
    """Return places of the hand along a motion, shape (n, 3) [m]."""
    return np.array([model.pose(motion.sample(t).q_des).p for t in np.linspace(0.0, motion.duration, 400)])


def draw_ways(model: RobotModel) -> None:
    """Draw the hand's ways from above, and the joints of two of them."""
    figure = new_figure(9.0, 4.2)
    above, beside = figure.subplots(1, 2)
    ways = {}
    for name, (turn, end, colour) in ANSWERS.items():
        start = JointReference.at_rest(Q_0 + [turn, 0.0, 0.0, 0.0])
        motion = JointTrajectory.through(start, Waypoints(np.array([DURATION]), np.array([end])))
        ways[name] = way_of_hand(model, motion), colour
    ways["line"] = way_of_hand(model, line_of_the_hand(model)), GREEN
    for axes, shown in ((above, ways), (beside, ("from q0", "line"))):
        for name in shown:
            p, colour = ways[name]
            length = np.linalg.norm(np.diff(p, axis=0), axis=1).sum()
            dashes = DASHES if name == "line" else "-"
            axes.plot(p[:, 0], p[:, 1], color=colour, linestyle=dashes, label=f"{name}, {length:.3g} m")
        for place, marker in ((model.pose(Q_0).p, "o"), (TARGET.p, "s")):
            axes.plot(*place[:2], marker, color=INK, markersize=5)
        axes.set_aspect("equal", adjustable="datalim")
        axes.legend(fontsize=8, frameon=False)
    style(above, "Way of the hand, from above", "x [m]", "y [m]")
    style(beside, "The same, closer", "x [m]", "y [m]")
    beside.xaxis.set_major_locator(MaxNLocator(5))
    figure.savefig(PICTURES / "trajectories_ways.png")


def draw_time_scaling() -> None:
    """Draw the fastest motion of a UR5 along a path of two lines and a blend: what limits it where."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    start = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
    X = model.pose(start)
    turned = rotation_from_vector([0.0, 0.0, 0.6]) @ X.R
    poses = (X, Pose(turned, X.p + [-0.1, 0.5, 0.0]), Pose(X.R, X.p + [-0.2, 0.5, 0.2]))
    path = follow_path(InverseKinematics(model), PoseTrajectory(blended(poses, 0.1)), start)
    limits = PathLimits(0.8 * model.v_max, 0.35 * model.tau_max, np.full(6, A_MAX), 0.8)
    motion = TimeScaler(model, limits).fastest(path)
    t = np.linspace(0.0, motion.duration, 1200)
    states = [motion.sample(x) for x in t]
    tau = np.array([model.inverse_dynamics(x.q_des, x.v_des, x.a_des) for x in states])
    tip = np.array([np.linalg.norm(model.jacobian(x.q_des)[:3] @ x.v_des) for x in states])
    shares = {
        "speed of a joint": (np.array([np.abs(x.v_des) / limits.v_max for x in states]).max(axis=1), BLUE),
        "acceleration of a joint": (np.array([np.abs(x.a_des) / A_MAX for x in states]).max(axis=1), ORANGE),
        "torque of a joint": ((np.abs(tau) / limits.tau_max).max(axis=1), RED),
        "speed of the tip": (tip / limits.tip_speed, GREEN),
    }
    figure = new_figure(9.0, 4.2)
    speed, share = figure.subplots(1, 2)
    speed.plot(motion.s, np.sqrt(motion.x), color=PURPLE)
    style(speed, "Speed along the path", "s [m]", "ds/dt [m/s]")
    for name, (values, colour) in shares.items():
        share.plot(t, values, color=colour, label=name, linewidth=1.2)
    share.axhline(1.0, color=INK, linestyle=DASHES, linewidth=0.8)
    share.set_ylim(0.0, 1.35)
    share.legend(fontsize=8, frameon=False, loc="upper center", ncols=2)
    style(share, "Largest share of each limit", "time [s]", "")
    figure.savefig(PICTURES / "trajectories_time_scaling.png")
    print(f"time scaling: {motion.duration:.3f} s, largest share {max(v.max() for v, _ in shares.values()):.6f}")


def main() -> None:
    """Write the file and both pictures."""
    model = RobotModel.from_urdf(urdf_path("ur4"))
    write_line(model)
    draw_ways(model)
    draw_time_scaling()


if __name__ == "__main__":
    main()
