"""A small arm for the tests of validity: two joints that turn, one that slides, a ball, a cylinder and a box."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel

LINKS = {
    "base": ('<box size="0.2 0.2 0.1"/>', "0 0 0"),
    "lower": ('<cylinder radius="0.05" length="0.4"/>', "0 0 0.25"),
    "upper": ('<box size="0.5 0.06 0.08"/>', "0.3 0 0"),
    "tool": ('<sphere radius="0.06"/>', "0.1 0 0"),
}
JOINTS = (
    ("turn", "revolute", "base", "lower", "0 0 0.05", "0 0 1", "-3 3"),
    ("lift", "revolute", "lower", "upper", "0 0 0.5", "0 1 0", "-2.5 2.5"),
    ("slide", "prismatic", "upper", "tool", "0.5 0 0", "1 0 0", "0 0.3"),
)


def small_arm() -> RobotModel:
    """The arm."""
    links = [
        f'<link name="{name}"><collision><origin xyz="{xyz}"/><geometry>{shape}</geometry></collision></link>'
        for name, (shape, xyz) in LINKS.items()
    ]
    joints = []
    for name, of_type, parent, child, xyz, axis, travel in JOINTS:
        low, high = travel.split()
        joints.append(
            f'<joint name="{name}" type="{of_type}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
            f'<limit lower="{low}" upper="{high}" effort="9" velocity="9"/></joint>'
        )
    text = f'<robot name="small">{"".join(links)}{"".join(joints)}</robot>'
    return RobotModel.from_urdf(text, tip="tool", kinematics_only=True)


def random_pose(rng: np.random.Generator, size: float = 0.9) -> Pose:
    """A random pose within a cube around the arm."""
    return Pose(rotation_from_vector(rng.normal(size=3)), rng.uniform(-size, size, 3) + [0.0, 0.0, 0.4])


def random_states(model: RobotModel, n: int, seed: int) -> Array:
    """Joint positions within the limits, shape (n, nq)."""
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    return np.random.default_rng(seed).uniform(low, high, (n, model.nq))
