"""The same arm and obstacles in coal: what distances and contacts are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np

from arm_control.collision import ArmShape, coal_shape
from arm_control.maths import Array, Obstacle, Pose
from arm_control.model import LinkCapsule, State
from arm_control.simulation import coal_capsule

Placed = tuple[coal.ShapeBase, coal.Transform3s]
REQUEST, RESULT = coal.DistanceRequest(), coal.DistanceResult()
REQUEST.gjk_tolerance, REQUEST.gjk_max_iterations = 1e-12, 1000


def placed_capsule(capsule: LinkCapsule, X_WB: Pose) -> Placed:
    shape, X = coal_capsule(capsule, X_WB)
    return shape, coal.Transform3s(X.R, X.p)


def distance(a: Placed, b: Placed) -> float:
    RESULT.clear()
    return coal.distance(*a, *b, REQUEST, RESULT)


class CoalScene:
    """An arm's capsules, and obstacles, which move with the linear part of their twists."""

    def __init__(self, shape: ArmShape, obstacles: Sequence[Obstacle]) -> None:
        self.shape, self.model = shape, shape.model
        self.obstacles = [(coal_shape(o.shape), o.X_WO, np.asarray(o.V_WO)[:3]) for o in obstacles]
        self.capsules = [[coal_capsule(c, Pose.identity()) for c in link.whole.capsules] for link in shape.links]

    def _links(self, q: Array) -> list[list[Placed]]:
        X_W = [*State(self.model.tree, {"q": q}).X_W, Pose.identity()]  # the last one is the world's
        poses = [X_W[link.body] for link in self.shape.links]
        return [
            [(shape, coal.Transform3s(X.R @ X_BC.R, X.R @ X_BC.p + X.p)) for shape, X_BC in capsules]
            for X, capsules in zip(poses, self.capsules, strict=True)
        ]

    def to_obstacles(self, q: Array, t: float = 0.0) -> Array:
        """Distances of the moving links at a time, shape (L, number of obstacles) [m]."""
        links = self._links(q)
        obstacles = [(shape, coal.Transform3s(X.R, X.p + t * V)) for shape, X, V in self.obstacles]
        return np.array([[min(distance(c, o) for c in links[k]) for o in obstacles] for k in self.shape.moving])

    def between(self, q: Array, pairs: Sequence[tuple[int, int]]) -> Array:
        """Distances of pairs of links [m]."""
        links = self._links(q)
        return np.array([min(distance(c, d) for c in links[g] for d in links[h]) for g, h in pairs])
