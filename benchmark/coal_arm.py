"""The capsules of an arm and obstacles in Pinocchio and coal: what motions are checked against.

Pairs of links that have a table of joints are checked by the shapes of the URDF, as their tables are made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from real_shapes import shape_of

from arm_control import RobotModel
from arm_control.collision import Validity, coal_shape
from arm_control.maths import Array, Mover, Obstacle, Span
from arm_control.model import shape_pose
from arm_control.simulation import coal_capsule


class CoalArm:
    """An arm among obstacles; each link is checked against each obstacle, and the pairs of links of a Validity.

    Parameters
    ----------
    validity : Validity
        Whose arm, capsules and pairs of links are taken; nothing is computed by it.
    obstacles : sequence of Obstacle or Mover
        An Obstacle moves with its twist from time 0 on.
    is_real : bool
        Whether all links have the shapes of the URDF, meshes and all; else only those with a table, between links.
    """

    def __init__(self, validity: Validity, obstacles: Sequence[Obstacle | Mover], is_real: bool = False) -> None:
        arm = validity.shape.model
        whole = pin.buildModelFromXML(arm.urdf.text)
        locked = [whole.getJointId(name) for name in whole.names[1:] if name not in arm.joint_names]
        # where a link has the name of a joint, Pinocchio cannot reduce the model
        self.model = pin.buildReducedModel(whole, locked, pin.neutral(whole)) if locked else whole
        joints = [self.model.getJointId(name) for name in arm.joint_names]
        self.order = [self.model.idx_qs[j] for j in joints]
        self.circling = [k for k, j in enumerate(joints) if self.model.nqs[j] == 2]
        self.data, self.shapes = self.model.createData(), pin.GeometryModel()
        names = set(validity.shape.names if is_real else {name for pair in validity.tables for name in pair})
        links = {} if is_real else {k.link: self._add_link(k.link, arm, k.whole) for k in validity.shape.links}
        real = {name: self._add_real(name, arm) for name in sorted(names)}
        links = links or real
        self.movers = [told if isinstance(told, Mover) else Mover(told, Span()) for told in obstacles]
        self.first = self.shapes.ngeoms
        for i, obstacle in enumerate(mover.obstacle for mover in self.movers):
            X = pin.SE3(np.array(obstacle.X_WO.R), np.array(obstacle.X_WO.p))
            self.shapes.addGeometryObject(pin.GeometryObject(f"obstacle {i}", 0, 0, X, coal_shape(obstacle.shape)))
        moving = [validity.shape.links[k].link for k in validity.shape.moving]
        of_pair = [real if frozenset(pair) in validity.tables else links for pair in validity.link_pairs]
        named = zip(validity.link_pairs, of_pair, strict=True)
        pairs = [(g, h) for (one, other), shapes in named for g in shapes[one] for h in shapes[other]]
        pairs += [(g, self.first + k) for link in moving for g in links[link] for k in range(len(obstacles))]
        for g, h in pairs:
            self.shapes.addCollisionPair(pin.CollisionPair(g, h))
        self.is_moving = any(np.any(mover.obstacle.V_WO) for mover in self.movers)
        self.placed = pin.GeometryData(self.shapes)

    def _frame(self, link: str) -> int:
        return self.model.getFrameId(link, pin.FrameType.BODY)

    def _add_link(self, name: str, arm: object, whole: object) -> list[int]:
        """Add the capsules of a link; returns their numbers."""
        frame = self.model.frames[self._frame(name)]
        numbers = []
        for capsule in whole.capsules:
            shape, X_FC = coal_capsule(capsule, arm.tree.frames[name].X_BF.inverse())
            X = frame.placement * pin.SE3(X_FC.R, X_FC.p)
            piece = pin.GeometryObject(f"{name} {len(numbers)}", frame.parentJoint, self._frame(name), X, shape)
            numbers.append(self.shapes.addGeometryObject(piece))
        return numbers

    def _add_real(self, name: str, arm: RobotModel) -> list[int]:
        """Add the shapes of a link in the URDF; returns their numbers."""
        frame, numbers = self.model.frames[self._frame(name)], []
        for collision in arm.urdf.robot.link_map[name].collisions:
            X_FS = shape_pose(collision)
            X = frame.placement * pin.SE3(np.array(X_FS.R), np.array(X_FS.p))
            of = shape_of(collision.geometry, arm)
            piece = pin.GeometryObject(f"{name} real {len(numbers)}", frame.parentJoint, 0, X, of)
            numbers.append(self.shapes.addGeometryObject(piece))
        return numbers

    def place(self, t: float) -> None:
        """Move the obstacles to where they are at a time [s]."""
        if self.is_moving:
            for k, mover in enumerate(self.movers):
                X = mover.at(t).X_WO
                self.shapes.geometryObjects[self.first + k].placement = pin.SE3(np.array(X.R), np.array(X.p))

    def configuration(self, q: Array) -> Array:
        """Joint positions in Pinocchio's order; joints without limits have a cosine and a sine there."""
        x = np.empty(self.model.nq)
        x[self.order] = q
        for k in self.circling:
            x[self.order[k] : self.order[k] + 2] = np.cos(q[k]), np.sin(q[k])
        return x

    def distance(self, q: Array, t: float = 0.0) -> float:
        """Smallest distance of all pairs [m]."""
        self.place(t)
        nearest = pin.computeDistances(self.model, self.data, self.shapes, self.placed, self.configuration(q))
        return min(result.min_distance for result in self.placed.distanceResults) if nearest >= 0 else np.inf

    def touches(self, q: Array, t: float = 0.0) -> bool:
        """Whether some pair is in contact; the first one is enough."""
        self.place(t)
        return pin.computeCollisions(self.model, self.data, self.shapes, self.placed, self.configuration(q), True)
