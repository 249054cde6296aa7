"""The tree of rigid bodies that moves: a URDF's numbers, in the order and the frames of the recursions.

Links that fixed joints connect are one body. Body i hangs on body ``parent(i) < i``, or on the world W
(parent -1), by one joint about or along the z axis of the body's own frame: a joint axis of any direction
becomes z by turning the frame it is written in.

    X_PB(q) = placement Rot_z(q)  (revolute, continuous)      placement Trans_z(q)  (prismatic)

A joint that mimics another one is a body of its own that moves with the other one's coordinate:
``q_i = ratio q[coordinate] + offset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arm_control.maths.poses import Array, rotation_from_rpy, rotation_with_z
from arm_control.maths.scalars import cos, sin
from arm_control.model.spatial_vectors import Inertia, Transform
from arm_control.model.urdf.load import Urdf

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Body:
    """A rigid body and the joint that carries it.

    Attributes
    ----------
    name : str
        The joint's.
    parent : int
        The body it hangs on; -1 for the world.
    placement : Transform
        The joint's frame at zero, in the parent's.
    inertia : Inertia
        In the body's own frame.
    coordinate : int
        Which joint position moves it.
    ratio, offset : float
        1 and 0, but for a joint that mimics.
    is_prismatic : bool
    """

    name: str
    parent: int
    placement: Transform
    inertia: Inertia
    coordinate: int
    ratio: float = 1
    offset: float = 0
    is_prismatic: bool = False

    def transform(self, q: Array) -> Transform:
        """``X_PB(q)``: where the body is, seen from its parent."""
        x = q[self.coordinate] * self.ratio + self.offset
        if self.is_prismatic:
            return self.placement @ Transform(np.eye(3), np.array([0.0, 0.0, x]))
        s, c = sin(x), cos(x)
        return self.placement @ Transform(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))


@dataclass(frozen=True)
class Frame:
    """A link: the body it is part of (-1: the world) and where it is on it."""

    body: int
    placement: Transform


@dataclass(frozen=True)
class Tree:
    """Bodies that move, from the base outwards.

    Attributes
    ----------
    bodies : tuple of Body
    joint_names : tuple of str
        Joints with a coordinate of their own; the order of every joint-space array.
    frames : mapping of str to Frame
        Every link.
    tip : Frame
        The end effector E.
    armature : array, shape (n,)
        Inertia of the motors' rotors seen at the joints [kg m^2 or kg].
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
        """Body i and those that carry it, inwards."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.bodies[i].parent
        return path

    def with_tool(self, X_BE: Transform, load: Inertia) -> Tree:
        """Return the tree with another end effector on the same body B, and a load (its inertia in B)."""
        carrier = self.tip.body
        bodies = list(self.bodies)
        bodies[carrier] = replace(bodies[carrier], inertia=bodies[carrier].inertia + load)
        return replace(self, bodies=tuple(bodies), tip=Frame(carrier, X_BE))


def build_tree(urdf: Urdf, tip: str, armature: Array, gravity: Array) -> Tree:
    """Return the tree of a URDF's movable joints.

    Parameters
    ----------
    urdf : Urdf
        The robot; all its movable joints move.
    tip : str
        Link of the end effector.
    armature : ndarray, shape (n,)
        Rotor inertia by joint, in the order of ``urdf.movable_joints`` without those that mimic.
    gravity : ndarray, shape (3,)
        In the frame of the root link [m/s^2].
    """
    joints = [urdf.robot.joint_map[name] for name in urdf.movable_joints]
    names = tuple(joint.name for joint in joints if joint.mimic is None)
    frames: dict[str, Frame] = {urdf.root: Frame(-1, Transform.identity())}
    bodies: list[Body] = []
    for name, _ in urdf.below(urdf.root):
        joint = urdf.robot.joint_map[name]
        link, at = frames[joint.parent], _origin(joint.origin)
        if joint.type == "fixed":
            frames[joint.child] = Frame(link.body, _tidy(link.placement @ at))
            continue
        turned = Transform(rotation_with_z(np.array(joint.axis, dtype=float)), np.zeros(3))
        bodies.append(_body(joint, link.body, _tidy(link.placement @ at @ turned), names))
        frames[joint.child] = Frame(len(bodies) - 1, turned.inverse())
    bodies = _with_inertias(bodies, urdf, frames)
    return Tree(tuple(bodies), names, frames, frames[tip], armature, np.array(gravity, dtype=float))


def _body(joint: Any, parent: int, placement: Transform, names: tuple[str, ...]) -> Body:
    leader = joint.name if joint.mimic is None else joint.mimic.joint
    body = Body(joint.name, parent, placement, Inertia.zero(), names.index(leader))
    if joint.mimic is not None:
        multiplier, offset = joint.mimic.multiplier, joint.mimic.offset
        body = replace(body, ratio=1 if multiplier is None else float(multiplier), offset=float(offset or 0.0))
    return replace(body, is_prismatic=joint.type == "prismatic")


def _with_inertias(bodies: list[Body], urdf: Urdf, frames: Mapping[str, Frame]) -> list[Body]:
    """Add what every link weighs to the body it is part of."""
    bodies = list(bodies)
    for link in urdf.robot.links:
        frame = frames[link.name]
        if link.inertial is not None and frame.body >= 0:
            body = bodies[frame.body]
            at = frame.placement @ _origin(link.inertial.origin)
            bodies[frame.body] = replace(body, inertia=body.inertia + at.push_inertia(_inertia(link.inertial)))
    return [replace(body, inertia=_tidy_inertia(body.inertia)) for body in bodies]


def _inertia(inertial: Any) -> Inertia:
    i = inertial.inertia
    J = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]], dtype=float)
    return Inertia(float(inertial.mass), np.zeros(3), J)


def _origin(origin: Any) -> Transform:
    """The transform of a URDF's origin."""
    if origin is None:
        return Transform.identity()
    xyz, rpy = origin.xyz or (0.0, 0.0, 0.0), origin.rpy or (0.0, 0.0, 0.0)
    return Transform(rotation_from_rpy(rpy), np.array(xyz, dtype=float))


def _tidy(X: Transform) -> Transform:
    """Round what is zero or one but for rounding: a right angle then costs nothing on a tape."""
    R = np.where(np.abs(X.R) < 1e-15, 0.0, X.R)
    whole = np.abs(np.abs(R) - 1.0) < 1e-15
    return Transform(np.where(whole, np.sign(R), R), np.where(np.abs(X.p) < 1e-15, 0.0, X.p))


def _tidy_inertia(inertia: Inertia) -> Inertia:
    size = max(float(np.abs(inertia.J).max()), 1e-300)
    h = np.where(np.abs(inertia.h) < 1e-16 * max(inertia.m, 1.0), 0.0, inertia.h)
    return Inertia(inertia.m, h, np.where(np.abs(inertia.J) < 1e-16 * size, 0.0, inertia.J))
