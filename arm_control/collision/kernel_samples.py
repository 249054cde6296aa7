"""States and obstacles to compare new kernels on: near and far, at rest, moving and turning, there and not there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.collision.hulls import Hull, HullObstacle
from arm_control.collision.obstacle_rows import obstacle_tables
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Mover,
    Obstacle,
    Pose,
    Shape,
    Span,
    Sphere,
    rotation_from_vector,
)
from arm_control.model import RobotModel

SHAPES: dict[str, tuple[Shape, Shape]] = {
    "sphere": (Sphere(0.1), Sphere(0.2)),
    "capsule": (Capsule(0.05, 0.3), Capsule(0.1, 0.2)),
    "box": (Box((0.1, 0.2, 0.3)), Box((0.4, 0.2, 0.1))),
    "turned": (Cylinder(0.1, 0.3), Cone(0.2, 0.3)),
}
_HULLS = tuple(
    Hull(size * np.array([[[0, 0, 0], [0, 1, 0], [1, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 0, 1]]]) - 0.3 * size)
    for size in (0.3, 0.6)
)
_HULL_POSES = (Pose.at([0.2, 0.1, 0.3]), Pose.at([-0.2, 0.2, 0.5]))


def sample_states(model: RobotModel, n: int) -> Array:
    """Joint positions within the limits, shape (nq, n) [rad or m]."""
    low, high = np.maximum(model.q_min, -2.0), np.minimum(model.q_max, 2.0)
    return np.random.default_rng(0).uniform(low[:, None], high[:, None], (model.nq, n))


def sample_tables(kinds: Sequence[str]) -> dict[str, Array]:
    """Two obstacles of each kind; the second one is there for half a second only."""
    rng = np.random.default_rng(1)
    obstacles: list[Obstacle | HullObstacle | Mover] = []
    for kind in kinds:
        is_turning = kind.startswith("turning")
        if kind.endswith("facet"):
            turn = (0.1, -0.2, 0.1, 0.2 * is_turning, 0.0, 0.1 * is_turning)
            obstacles += [HullObstacle(hull, X_WO, turn) for hull, X_WO in zip(_HULLS, _HULL_POSES, strict=True)]
            continue
        for i, shape in enumerate(SHAPES[kind.removeprefix("turning ")]):
            twist = rng.uniform(-0.3, 0.3, 6) * np.repeat([1.0, float(is_turning)], 3)
            X = Pose(rotation_from_vector(rng.normal(size=3)), rng.uniform(-0.4, 0.4, 3))
            obstacle = Obstacle(shape, X, twist)
            obstacles.append(obstacle if i == 0 else Mover(obstacle, Span(0.3, 0.8)))
    tables = obstacle_tables(obstacles)
    return {kind: tables[kind] for kind in kinds}
