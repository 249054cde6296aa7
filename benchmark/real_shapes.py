"""An arm by the shapes of its URDF in coal, meshes and all: what free postures are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import coal
import numpy as np

from arm_control import RobotModel
from arm_control.maths import Array, Pose
from arm_control.model import State, mesh_path, shape_pose


def shape_of(geometry: Any, model: RobotModel) -> Any:
    """A collision shape of a URDF in coal."""
    match type(geometry).__name__:
        case "Box":
            return coal.Box(*geometry.size)
        case "Cylinder":
            return coal.Cylinder(geometry.radius, geometry.length)
        case "Sphere":
            return coal.Sphere(geometry.radius)
    path = mesh_path(str(geometry.filename), model.urdf.folders)
    return coal.MeshLoader().load(str(path), np.array(geometry.scale or [1.0, 1.0, 1.0], dtype=float))


class RealArm:
    """The links of an arm."""

    def __init__(self, model: RobotModel) -> None:
        self.model, self._shapes = model, {}
        for link in model.urdf.robot.links:
            X_BF = model.tree.frames[link.name].X_BF
            self._shapes[link.name] = [(shape_of(c.geometry, model), X_BF @ shape_pose(c)) for c in link.collisions]

    def touches(self, q: Array, pairs: Iterable[tuple[str, str]]) -> bool:
        """Whether some pair of links touches."""
        X_W = [*State(self.model.tree, {"q": q}).X_W, Pose.identity()]  # the last one is the world's
        placed = {}
        for name, shapes in self._shapes.items():
            X_WB = X_W[self.model.tree.frames[name].body]
            poses = [X_WB @ X_BS for _, X_BS in shapes]
            placed[name] = [(s, coal.Transform3s(X.R, X.p)) for (s, _), X in zip(shapes, poses, strict=True)]
        request = coal.CollisionRequest()
        return any(
            coal.collide(one, X, other, Y, request, coal.CollisionResult())
            for a, b in pairs
            for one, X in placed[a]
            for other, Y in placed[b]
        )
