"""The same arm and obstacles in coal: what distances and contacts are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np

from arm_control.collision import ArmShape, coal_shape
from arm_control.collision.joint_tables import real_shapes
from arm_control.maths import Array, Obstacle, Pose
from arm_control.model import LinkCapsule, RobotModel, State
from arm_control.simulation import coal_capsule

Placed = tuple[coal.ShapeBase, coal.Transform3s]
REQUEST, QUICK, RESULT = coal.DistanceRequest(), coal.DistanceRequest(), coal.DistanceResult()
REQUEST.gjk_tolerance, REQUEST.gjk_max_iterations = 1e-12, 1000


def placed(shape: coal.ShapeBase, X: Pose) -> Placed:
    return shape, coal.Transform3s(X.R, X.p)


def placed_capsule(capsule: LinkCapsule, X_WB: Pose) -> Placed:
    return placed(*coal_capsule(capsule, X_WB))


def real_links(model: RobotModel, names: Sequence[str], q: Array) -> list[list[Placed]]:
    """The shapes of the URDF of some links, by the model's own kinematics."""
    X_W = [*State(model.tree, {"q": q}).X_W, Pose.identity()]  # the last one is the world's
    frames = model.tree.frames
    return [[placed(s.shape, X_W[frames[name].body] @ s.X_BS) for s in real_shapes(model, name)] for name in names]


def distance(a: Placed, b: Placed, request: coal.DistanceRequest = REQUEST) -> float:
    RESULT.clear()
    return coal.distance(*a, *b, request, RESULT)


def smallest_distance(some: Sequence[Placed], others: Sequence[Placed]) -> float:
    """Of shapes, meshes among them [m]."""
    return min(distance(a, b, QUICK) for a in some for b in others)


class CoalScene:
    """An arm's capsules, and obstacles, which move with the linear part of their twists."""

    def __init__(self, shape: ArmShape, obstacles: Sequence[Obstacle]) -> None:
        self.shape, self.model = shape, shape.model
        self.obstacles = [(coal_shape(o.shape), o.X_WO, np.asarray(o.V_WO)[:3]) for o in obstacles]
        self.capsules = [[coal_capsule(c, Pose.identity()) for c in link.whole.capsules] for link in shape.links]

    def _links(self, q: Array) -> list[list[Placed]]:
        X_W = [*State(self.model.tree, {"q": q}).X_W, Pose.identity()]  # the last one is the world's
        poses = [X_W[link.body] for link in self.shape.links]
        return [[placed(shape, X @ X_BC) for shape, X_BC in c] for X, c in zip(poses, self.capsules, strict=True)]

    def to_obstacles(self, q: Array, t: float = 0.0) -> Array:
        """Distances of the moving links at a time, shape (L, number of obstacles) [m]."""
        links = self._links(q)
        obstacles = [(shape, coal.Transform3s(X.R, X.p + t * V)) for shape, X, V in self.obstacles]
        return np.array([[min(distance(c, o) for c in links[k]) for o in obstacles] for k in self.shape.moving])

    def between(self, q: Array, pairs: Sequence[tuple[int, int]]) -> Array:
        """Distances of pairs of links [m]."""
        links = self._links(q)
        return np.array([min(distance(c, d) for c in links[g] for d in links[h]) for g, h in pairs])
