"""The kinematic tree: the numbers of a URDF, in the order and the frames of the recursions.

Links connected by fixed joints form one body. Body i is connected to its parent P, the body ``parent(i) < i`` or the
world W (parent -1), by one joint about or along the z axis of its own frame B. A joint axis of any direction becomes
z by a rotation of the frame it is written in. J is the joint's frame at position zero.

    X_PB(q) = X_PJ Rot_z(q)  (revolute, continuous)      X_PJ Trans_z(q)  (prismatic)

A joint that mimics another joint has a body of its own, which moves with the other joint's coordinate:
``q_i = ratio q[coordinate] + offset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arm_control.maths import Array, Pose, cos, rotation_with_z, sin
from arm_control.model.spatial_vectors import Inertia
from arm_control.model.urdf.load import Urdf, origin_pose

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Body:
    """A rigid body and the joint that carries it.

    Attributes
    ----------
    parent : int
        Index of the parent body; -1 for the world.
    X_PJ : Pose
        Pose of the joint's frame at position zero, in the parent's frame.
    inertia : Inertia
        In the body's own frame.
    coordinate : int
        Index of the joint position that moves the body.
    ratio, offset : float
        1 and 0 [rad or m], except for a joint that mimics another one.
    is_prismatic : bool
        Whether the joint translates; else it rotates.
    """

    name: str
    parent: int
    X_PJ: Pose
    inertia: Inertia
    coordinate: int
    ratio: float = 1
    offset: float = 0
    is_prismatic: bool = False

    def X_PB(self, q: Array) -> Pose:
        """Pose of the body in its parent's frame, at joint positions q, shape (n,)."""
        x = q[self.coordinate] * self.ratio + self.offset
        if self.is_prismatic:
            return self.X_PJ @ Pose(np.eye(3), np.array([0.0, 0.0, x]))
        s = sin(x)
        c = cos(x)
        return self.X_PJ @ Pose(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))


@dataclass(frozen=True)
class Frame:
    """The frame F of a link: the body it is fixed to (-1: the world), and its pose on that body."""

    body: int
    X_BF: Pose


@dataclass(frozen=True)
class Tree:
    """The moving bodies of an arm, from the base outwards.

    Attributes
    ----------
    bodies : tuple of Body
        Every body after its parent.
    joint_names : tuple of str
        Joints with a coordinate of their own: the order of every joint-space array.
    armature : array, shape (n,)
        Inertia of the motors' rotors, as seen at the joints [kg m^2 or kg].
    gravity : array, shape (3,)
        Acceleration of free fall in W [m/s^2].
    """

    bodies: tuple[Body, ...]
    joint_names: tuple[str, ...]
    frames: Mapping[str, Frame]
    tip: Frame
    armature: Array
    gravity: Array

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return len(self.joint_names)

    @property
    def has_mimic(self) -> bool:
        """Whether a joint mimics another one."""
        return len(self.bodies) > self.n

    def path(self, i: int) -> list[int]:
        """Indices of body i and of the bodies between it and the base, in this order."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.bodies[i].parent
        return path

    def with_tool(self, X_BE: Pose, load: Inertia) -> Tree:
        """Return the tree with another end effector and a load on the same body B.

        Parameters
        ----------
        X_BE : Pose
            Pose of the new end effector E in the frame of the body that carries the tip.
        load : Inertia
            Inertia to add to that body, in its frame.
        """
        carrier = self.tip.body
        bodies = list(self.bodies)
        bodies[carrier] = replace(bodies[carrier], inertia=bodies[carrier].inertia + load)
        return replace(self, bodies=tuple(bodies), tip=Frame(carrier, X_BE))


def build_tree(urdf: Urdf, tip: str, armature: Array, gravity: Array) -> Tree:
    """Return the kinematic tree of a URDF, in which every movable joint gets a body.

    Parameters
    ----------
    armature : ndarray, shape (n,)
        Rotor inertia of each joint that mimics none, in the order of ``urdf.movable_joints`` [kg m^2 or kg].
    gravity : ndarray, shape (3,)
        Acceleration of free fall in the frame of the root link [m/s^2].
    """
    joints = [urdf.robot.joint_map[name] for name in urdf.movable_joints]
    names = tuple(joint.name for joint in joints if joint.mimic is None)
    frames: dict[str, Frame] = {urdf.root: Frame(-1, Pose.identity())}
    bodies: list[Body] = []
    for name, _ in urdf.below(urdf.root):
        joint = urdf.robot.joint_map[name]
        parent = frames[joint.parent]
        X_PF = parent.X_BF @ origin_pose(joint.origin)  # F: the frame of the joint's child link, at position zero
        if joint.type == "fixed":
            frames[joint.child] = Frame(parent.body, _rounded(X_PF))
            continue
        X_FJ = Pose(rotation_with_z(np.array(joint.axis, dtype=float)), np.zeros(3))
        bodies.append(_body(joint, parent.body, _rounded(X_PF @ X_FJ), names))
        frames[joint.child] = Frame(len(bodies) - 1, X_FJ.inverse())
    bodies = _with_inertias(bodies, urdf, frames)
    return Tree(tuple(bodies), names, frames, frames[tip], armature, np.array(gravity, dtype=float))


def _body(joint: Any, parent: int, X_PJ: Pose, names: tuple[str, ...]) -> Body:
    leader = joint.name if joint.mimic is None else joint.mimic.joint
    body = Body(joint.name, parent, X_PJ, Inertia.zero(), names.index(leader))
    if joint.mimic is not None:
        multiplier, offset = joint.mimic.multiplier, joint.mimic.offset
        body = replace(body, ratio=1 if multiplier is None else float(multiplier), offset=float(offset or 0.0))
    return replace(body, is_prismatic=joint.type == "prismatic")


def _with_inertias(bodies: list[Body], urdf: Urdf, frames: Mapping[str, Frame]) -> list[Body]:
    """Add the inertia of every link to the body it is fixed to."""
    bodies = list(bodies)
    for link in urdf.robot.links:
        frame = frames[link.name]
        if link.inertial is not None and frame.body >= 0:
            body = bodies[frame.body]
            X_BC = frame.X_BF @ origin_pose(link.inertial.origin)  # C: the centre of mass
            bodies[frame.body] = replace(body, inertia=body.inertia + _inertia(link.inertial).in_parent(X_BC))
    return [replace(body, inertia=_rounded_inertia(body.inertia)) for body in bodies]


def _inertia(inertial: Any) -> Inertia:
    i = inertial.inertia
    J = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]], dtype=float)
    return Inertia(float(inertial.mass), np.zeros(3), J)


def _rounded(X: Pose) -> Pose:
    """Make entries within rounding of zero or one exact: the tape then drops products with them."""
    R = np.where(np.abs(X.R) < 1e-15, 0.0, X.R)
    is_one = np.abs(np.abs(R) - 1.0) < 1e-15
    return Pose(np.where(is_one, np.sign(R), R), np.where(np.abs(X.p) < 1e-15, 0.0, X.p))


def _rounded_inertia(inertia: Inertia) -> Inertia:
    size = max(float(np.abs(inertia.J).max()), 1e-300)
    h = np.where(np.abs(inertia.h) < 1e-16 * max(inertia.m, 1.0), 0.0, inertia.h)
    return Inertia(inertia.m, h, np.where(np.abs(inertia.J) < 1e-16 * size, 0.0, inertia.J))
