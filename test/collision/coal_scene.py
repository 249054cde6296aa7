"""The same arm and obstacles in coal: what distances and contacts are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np

from arm_control.collision import ArmShape
from arm_control.maths import Array, Obstacle, Pose
from arm_control.model import LinkCapsule
from arm_control.simulation import coal_capsule, coal_shape


def placed_capsule(capsule: LinkCapsule, X_WB: Pose) -> tuple[coal.ShapeBase, coal.Transform3s]:
    shape, X = coal_capsule(capsule, X_WB)
    return shape, coal.Transform3s(X.R, X.p)


def distance(a: tuple[coal.ShapeBase, coal.Transform3s], b: tuple[coal.ShapeBase, coal.Transform3s]) -> float:
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance, request.gjk_max_iterations = 1e-12, 1000
    return coal.distance(*a, *b, request, result)


class CoalScene:
    """An arm's capsules and obstacles."""

    def __init__(self, shape: ArmShape, obstacles: Sequence[Obstacle]) -> None:
        self.shape, self.model = shape, shape.model
        self.obstacles = [(coal_shape(o.shape), coal.Transform3s(o.X_WO.R, o.X_WO.p)) for o in obstacles]

    def _links(self, q: Array) -> list[list[tuple[coal.ShapeBase, coal.Transform3s]]]:
        poses = {}
        for link in self.shape.links:
            frame = self.model.tree.frames[link.link]
            poses[link.link] = self.model.pose(q, link.link) @ frame.X_BF.inverse()
        return [[placed_capsule(c, poses[link.link]) for c in link.whole.capsules] for link in self.shape.links]

    def to_obstacles(self, q: Array) -> Array:
        """Distances of the moving links, shape (L, number of obstacles) [m]."""
        links = self._links(q)
        return np.array([[min(distance(c, o) for c in links[k]) for o in self.obstacles] for k in self.shape.moving])

    def between(self, q: Array, pairs: Sequence[tuple[int, int]]) -> Array:
        """Distances of pairs of links [m]."""
        links = self._links(q)
        return np.array([min(distance(c, d) for c in links[g] for d in links[h]) for g, h in pairs])
