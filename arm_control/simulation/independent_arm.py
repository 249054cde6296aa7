"""An arm among obstacles in Pinocchio and coal: torque, end effector and distances, without this package's kernels.

Shapes are the collision shapes of the URDF, not capsules around them; of a mesh its capsule.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.collision import Told, coal_shape, movers_of
from arm_control.exceptions import ModelError
from arm_control.maths import Array, Pose, rotation_with_z
from arm_control.model import LinkCapsule, RobotModel, link_capsules, mesh_path, shape_pose
from arm_control.simulation.scene import FAR

try:
    import coal
    import pinocchio as pin
except ImportError as error:
    raise ModelError(f"Pinocchio or coal: {error}: {sys.executable} -m pip install pin") from error


class IndependentArm:
    """An arm and obstacles that move as told.

    Parameters
    ----------
    model : RobotModel
        Whose URDF, gravity and armature are taken; nothing is computed by it.
    link_pairs : sequence of tuple of str
        Names of links that must not touch each other.
    """

    def __init__(
        self, model: RobotModel, obstacles: Sequence[Told], link_pairs: Sequence[tuple[str, str]] = ()
    ) -> None:
        whole = pin.buildModelFromXML(model.urdf.text)
        locked = [whole.getJointId(name) for name in whole.names[1:] if name not in model.joint_names]
        self._arm = pin.buildReducedModel(whole, locked, pin.neutral(whole))
        self._columns = [self._arm.idx_vs[self._arm.getJointId(name)] for name in model.joint_names]
        self._arm.gravity.linear = np.array(model.tree.gravity)
        self._arm.armature = np.zeros(self._arm.nv)
        self._arm.armature[self._columns] = model.armature
        self._neutral, self._data = pin.neutral(self._arm), self._arm.createData()
        self._tip = self._arm.getFrameId(model.tip, pin.FrameType.BODY)
        self._spans = [movers_of(told) for told in obstacles]
        links = self._add_links(model, obstacles)
        pairs = [(g, h) for one, other in link_pairs for g in links[one] for h in links[other]]
        self._pairs, self._n_link_pairs = pairs + self._obstacle_pairs(links), len(pairs)
        self._placed = pin.GeometryData(self._shapes)
        self._geometries = [shape.geometry for shape in self._shapes.geometryObjects]

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """See :class:`~arm_control.simulation.plan_check.OwnArm`."""
        return pin.rnea(self._arm, self._data, self._state(q), self._column(v), self._column(a))[self._columns]

    def pose(self, q: Array) -> Pose:
        """See :class:`~arm_control.simulation.plan_check.OwnArm`."""
        pin.framesForwardKinematics(self._arm, self._data, self._state(q))
        X = self._data.oMf[self._tip]
        return Pose(X.rotation.copy(), X.translation.copy())

    def jacobian(self, q: Array) -> Array:
        """Jacobian of the end effector in world axes, shape (6, n)."""
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.computeFrameJacobian(self._arm, self._data, self._state(q), self._tip, axes)[:, self._columns]

    def distances(self, q: Array, t: float) -> tuple[float, float]:
        """See :class:`~arm_control.simulation.plan_check.OwnArm`."""
        for number, told in enumerate(self._spans):
            present = [mover for mover in told if mover.span.begin <= t <= mover.span.end]
            obstacle = self._shapes.geometryObjects[self._first + number]
            X = present[0].at(t).X_WO if present else Pose(np.eye(3), np.array([0.0, 0.0, -1e3]))
            obstacle.placement = pin.SE3(np.array(X.R), np.array(X.p))
        pin.updateGeometryPlacements(self._arm, self._data, self._shapes, self._placed, self._state(q))
        poses = [coal.Transform3s(X.rotation, X.translation) for X in self._placed.oMg]
        shapes = self._geometries
        found = [coal_distance(shapes[g], poses[g], shapes[h], poses[h]) for g, h in self._pairs]
        links, obstacles = found[: self._n_link_pairs], found[self._n_link_pairs :]
        return min(obstacles, default=FAR), min(links, default=FAR)

    def _state(self, q: Array) -> Array:
        """Joint positions as Pinocchio has them: continuous joints as cosine and sine."""
        return pin.integrate(self._arm, self._neutral, self._column(q))

    def _column(self, x: Array) -> Array:
        values = np.zeros(self._arm.nv)
        values[self._columns] = x
        return values

    def _add_links(self, model: RobotModel, obstacles: Sequence[Told]) -> dict[str, list[int]]:
        """Add the shapes of all links, and of the obstacles after them; returns the numbers of those of each link."""
        self._shapes, links = pin.GeometryModel(), {}
        capsules, _ = link_capsules(model.urdf)
        for link in model.urdf.robot.links:
            pieces = [piece for collision in link.collisions for piece in _pieces(collision, model.urdf.folders)]
            if len(pieces) < len(link.collisions):
                pieces = [coal_capsule(capsule, Pose.identity()) for capsule in capsules if capsule.link == link.name]
            links[link.name] = [self._add_shape(link.name, X, shape) for shape, X in pieces]
        self._first = self._shapes.ngeoms
        for number, (first, *_) in enumerate(self._spans):
            shape = coal_shape(first.obstacle.shape)
            self._shapes.addGeometryObject(pin.GeometryObject(f"obstacle {number}", 0, 0, pin.SE3.Identity(), shape))
        return links

    def _add_shape(self, link: str, X: Pose, shape: Any) -> int:
        frame = self._arm.frames[self._arm.getFrameId(link)]
        placement = frame.placement * pin.SE3(X.R, X.p)
        name = f"{link} {self._shapes.ngeoms}"
        return self._shapes.addGeometryObject(pin.GeometryObject(name, frame.parentJoint, 0, placement, shape))

    def _obstacle_pairs(self, links: dict[str, list[int]]) -> list[tuple[int, int]]:
        """Numbers of the shapes of what moves, each with those of all obstacles."""
        moving = [g for numbers in links.values() for g in numbers if self._shapes.geometryObjects[g].parentJoint > 0]
        return [(g, self._first + k) for g in moving for k in range(len(self._spans))]


def _pieces(collision: Any, folders: Sequence[Path]) -> list[tuple[Any, Pose]]:
    """Shape of a URDF and its pose; none for a mesh whose file is not found."""
    geometry, X = collision.geometry, shape_pose(collision)
    match type(geometry).__name__:
        case "Box":
            return [(coal.Box(*geometry.size), X)]
        case "Cylinder":
            return [(coal.Cylinder(geometry.radius, geometry.length), X)]
        case "Sphere":
            return [(coal.Sphere(geometry.radius), X)]
    if (path := mesh_path(str(geometry.filename), folders)) is None:
        return []
    scale = np.array(geometry.scale or [1.0, 1.0, 1.0], dtype=float)
    return [(coal.MeshLoader().load(str(path), scale), X)]


SHORTEST = 1e-12
"""Length of a capsule below which it is a ball [m]."""
TOLERANCES, NOT_FOUND = (1e-10, 1e-6), -1e6
"""Of the search for nearest points; where that fails, which gives a distance below NOT_FOUND [m], the next."""
MOST_STEPS = 1000
"""Steps of one search."""


def coal_capsule(capsule: LinkCapsule, X: Pose) -> tuple[Any, Pose]:
    """Return a capsule of a link in coal, a ball where it has no length, and its pose.

    Parameters
    ----------
    X : Pose
        Of the frame in which its ends are given.
    """
    a, b = (X.R @ end + X.p for end in (capsule.a, capsule.b))
    length = float(np.linalg.norm(b - a))
    if length < SHORTEST:
        return coal.Sphere(capsule.radius), Pose(np.eye(3), (a + b) / 2)
    return coal.Capsule(capsule.radius, length), Pose(rotation_with_z((b - a) / length), (a + b) / 2)


def coal_distance(one: Any, X: coal.Transform3s, other: Any, Y: coal.Transform3s) -> float:
    """Return the distance of shapes with poses X and Y in a common frame [m]; negative within each other.

    Each search starts anew: what Pinocchio's own functions keep of a pair from one call to the next makes some of their
    results wrong, by centimetres.
    """
    request = coal.DistanceRequest()
    request.gjk_max_iterations = MOST_STEPS
    for tolerance in TOLERANCES:
        request.gjk_tolerance = tolerance
        distance = float(coal.distance(one, X, other, Y, request, coal.DistanceResult()))
        if distance > NOT_FOUND:
            break
    return distance
