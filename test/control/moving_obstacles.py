"""Random obstacles around an arm."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Hull, Obstacle, Pose, Sphere, rotation_from_vector

STONE = Hull.of_points(np.random.default_rng(0).normal(size=(20, 3)) * [0.05, 0.04, 0.06])
SHAPES = (Sphere(0.06), Capsule(0.05, 0.2), Box((0.1, 0.12, 0.14)), Cylinder(0.06, 0.2), Cone(0.08, 0.2), STONE)
NEARBY = np.array([0.3, 0.1, 0.4])
"""A place near a UR5 that stands as in most tests."""


def moving_obstacles(n: int, rng: np.random.Generator, centre: Array = NEARBY, spread: float = 0.6) -> list[Obstacle]:
    """Obstacles of all shapes, all moving."""
    return [
        Obstacle(
            SHAPES[rng.integers(len(SHAPES))],
            Pose(rotation_from_vector(rng.normal(size=3)), centre + rng.uniform(-spread, spread, 3)),
            rng.uniform(-0.2, 0.2, 6),
        )
        for _ in range(n)
    ]
