"""Draw the picture of docs/inverse_kinematics.md: ``python docs/draw_inverse_kinematics.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from arm_control import RobotModel, urdf_path
from arm_control.kinematics import InverseKinematics

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from closed_loop import closed_loop, position_and_roll

matplotlib.use("agg")
PICTURE = Path(__file__).parent / "pictures" / "inverse_kinematics.png"
LINKS = ("base_link", "shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "tool0")
START, REST = (0.5, -1.5, 1.0, -np.pi), (np.pi, -np.pi / 8, -np.pi / 6, 0.0)


def draw_iterations(ax: Axes) -> None:
    """Errors of the lab's iteration over its steps."""
    model = RobotModel.from_urdf(urdf_path("ur4"))
    inside, outside = (position_and_roll(model, (x, -0.2, 0.5), np.pi / 3) for x in (-0.5, -1.0))
    runs = {
        "from q0": closed_loop(inside, REST),
        "line search": closed_loop(inside, START),
        "no line search": closed_loop(inside, START, line_search=False),
        r"unreachable, $\lambda$ = 1e-8": closed_loop(outside, START, max_iterations=40),
        r"unreachable, $\lambda$ = 0.01": closed_loop(outside, START, regularisation=0.01),
    }
    for (name, result), style in zip(runs.items(), ("-o", "-o", ":o", "--", "--"), strict=True):
        ax.semilogy(result.errors, style, markersize=3, label=name)
    ax.set(xlabel="step", ylabel="|e|", ylim=(1e-11, 10), title="the lab's iteration")
    ax.legend(fontsize=7)


def draw_postures(ax: Axes) -> None:
    """The eight postures of a UR5 at one pose, from the side."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    X_WT = model.pose([0.4, -1.1, 1.4, -0.9, -1.2, 0.3])
    for name, q in InverseKinematics(model).all(X_WT):
        points = np.array([model.pose(q, link).p for link in LINKS])
        ax.plot(np.hypot(points[:, 0], points[:, 1]), points[:, 2], "-o", markersize=3, label=name)
    ax.set(xlabel="distance from the axis of the base [m]", ylabel="z [m]", title="all postures of a UR5 at a pose")
    ax.set_aspect("equal")
    ax.set_ylim(top=1.0)
    ax.legend(fontsize=6, loc="upper right")


def draw_self_motion(ax: Axes) -> None:
    """Joints of a Panda along its self-motion."""
    model = RobotModel.from_urdf(urdf_path("panda"))
    q = np.array([0.3, 0.2, -0.1, -1.8, 0.2, 2.0, 0.5])
    curve = InverseKinematics(model).self_motion(model.pose(q), q)
    ax.plot(0.05 * np.arange(len(curve.q)), curve.q)
    ax.set(xlabel="way along the curve [rad]", ylabel="joint positions [rad]", title="self-motion of a Panda")


def main() -> None:
    """Draw the three parts beside each other."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for draw, ax in zip((draw_iterations, draw_postures, draw_self_motion), axes, strict=True):
        draw(ax)
        ax.grid(alpha=0.3)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
