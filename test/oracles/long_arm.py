"""An arm of more joints than any of the package has."""

from __future__ import annotations

from urdf_parts import joint, link, robot_of

from arm_control.model import RobotModel


def long_arm(n: int, strength: float = 300.0) -> RobotModel:
    """Links of 1 kg and 0.2 m, whose axes lie across each other in turns, and joints weaker from one to the next."""
    parts = [link("base")]
    for i in range(n):
        weak, axis = strength * (0.7**i + 0.03), f"0 {i % 2} {1 - i % 2}"
        parts.append(link(f"l{i}", 1, 0.01, "0.1 0 0"))
        ends = f"l{i - 1}" if i else "base", f"l{i}"
        parts.append(joint(f"j{i}", *ends, axis, xyz="0.2 0 0", travel=(-2, 2), speed=3, effort=weak))
    return RobotModel.from_urdf(robot_of(*parts))
