"""A planar arm of two links of 1 m, and what coal says about its paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from coal_scene import CoalScene
from small_arm import small_arm
from urdf_parts import joint, link, robot_of

from arm_control.collision import AllowedPairs, ArmShape, Validity
from arm_control.maths import Array, Box, Obstacle, Pose
from arm_control.model import LinkCapsule, RobotModel
from arm_control.planning import Plan

__all__ = ["planar_validity", "plate", "small_arm", "smallest_distance", "wall_with_gap"]

RADIUS = 0.03


def planar_validity(margin: float = 0.0) -> Validity:
    """The arm with capsules around its links, joints from -3 to 3 rad and up to 2 rad/s."""
    limits: Any = {"travel": (-3, 3), "speed": 2, "effort": 50}
    text = robot_of(
        *(link("base"), link("upper", 1, centre="0.5 0 0"), link("lower", 1, centre="0.5 0 0"), link("tip")),
        joint("shoulder", "base", "upper", **limits),
        joint("elbow", "upper", "lower", xyz="1 0 0", **limits),
        joint("end", "lower", "tip", kind="fixed", xyz="1 0 0"),
    )
    model = RobotModel.from_urdf(text, tip="tip")
    a, b = np.zeros(3), np.array([1.0, 0.0, 0.0])
    shape = ArmShape(model, [LinkCapsule(name, a, b, RADIUS) for name in ("upper", "lower")])
    return Validity(shape.model, shape, AllowedPairs("planar", (("upper", "lower"),)), margin)


def plate(x: float, y: float, width: float, depth: float) -> Obstacle:
    """A box around a point of the plane."""
    return Obstacle(Box((width, depth, 1.0)), Pose(np.eye(3), np.array([x, y, 0.0])))


def wall_with_gap() -> list[Obstacle]:
    """A wall across the stretched arm with a gap of 0.4 m for its lower link."""
    return [plate(1.5, 1.7, 0.1, 3.0), plate(1.5, -1.7, 0.1, 3.0)]


def smallest_distance(validity: Validity, plan: Plan, obstacles: Sequence[Obstacle], step: float = 0.01) -> float:
    """Distance of the arm from obstacles along a path, by coal at small steps; obstacles move with their twist [m]."""
    smallest, scene = np.inf, CoalScene(validity.shape, obstacles)
    pairs: Sequence[tuple[Array, Array, float, float]] = list(
        zip(plan.path[:-1], plan.path[1:], plan.times[:-1], plan.times[1:], strict=True)
    )
    for a, b, t_a, t_b in pairs:
        n = 1 + int(np.ceil(max(np.abs(b - a).max() / step, (t_b - t_a) / step)))
        for share in np.linspace(0.0, 1.0, n + 1):
            distances = scene.to_obstacles(a + share * (b - a), t_a + share * (t_b - t_a))
            smallest = min(smallest, float(distances.min()))
    return smallest
