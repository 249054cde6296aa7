"""Changes of a checked URDF: the part of a robot that moves, and other inertias.

A robot description often contains more than one arm: a torso, a second arm, fingers. Every joint outside the
selection is locked at a position, which is part of the model: the position goes into the joint's origin, and the
joint becomes fixed. The result is an ordinary URDF. With the joint's origin ``X_PJ``, its unit axis ``n`` and its
position ``s``, the new origin is

    R = R_PJ exp(s n),  p = p_PJ          revolute, continuous      (1)
    R = R_PJ,           p = p_PJ + s R_PJ n          prismatic      (2)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from arm_control.exceptions import FrameNotFound, JointNotFound, ModelError
from arm_control.maths import Array, Pose, rotation_from_vector, rpy_from_rotation
from arm_control.model.spatial_vectors import Inertia
from arm_control.model.urdf.load import Urdf, normalise, parse, write
from arm_control.model.urdf.xml import INERTIA, number, numbers, pose_in, read_robot

ROUNDING = 1e-12
"""Entries of an inertia about the centre of mass that are smaller, relative to that about the frame, are 0.

MuJoCo refuses them, and takes none."""


def select(urdf: Urdf, *, base: str | None, joints: Sequence[str], locked: Mapping[str, float]) -> tuple[Urdf, Array]:
    """Keep the part of a robot below a base link, and lock all but some of its joints.

    Parameters
    ----------
    base : str or None
        Link that becomes the root; None for the present root.
    joints : sequence of str
        Joints that move. A joint that mimics one of them moves with it.
    locked : mapping of str to float
        Positions [rad or m] of locked joints, by name; by default 0, or the limit nearest to 0. The position of a
        joint that mimics a locked joint follows from it.

    Returns
    -------
    Urdf
        The base and the links below it; only the selected joints, and joints that mimic them, can move.
    ndarray, shape (3, 3)
        Rotation R of the base link in the root frame of the whole robot: gravity in the axes of the base is
        ``R.T @ gravity``.

    Raises
    ------
    FrameNotFound, JointNotFound
        There is no such link, or no such movable joint.
    ModelError
        A selected joint is not below the base, or moves the base; a position is not finite, is outside the joint's
        limits, or names a selected joint; a name is that of a mimic joint instead of its leader.
    """
    base = urdf.root if base is None else base
    if base not in urdf.robot.link_map:
        raise FrameNotFound(base, urdf.robot.link_map)
    robot = read_robot(urdf.text)
    above = urdf.above(base)
    below = dict(urdf.below(base))
    part = {joint.attrib["name"]: joint for joint in robot.iterfind("joint")}
    movable = {name: joint for name, joint in part.items() if joint.get("type") != "fixed"}
    _check_names(movable, joints, locked)
    _check_base(movable, joints, base, above, below)
    others = [name for name, joint in movable.items() if _leader(joint) not in joints]
    relevant = [name for name in others if name in below or name in above or name in locked]
    positions = {name: _position(name, movable, locked) for name in relevant}
    for name, position in positions.items():
        _fix(movable[name], position)
    R_root_base = np.eye(3)
    for name in above:
        R_root_base = R_root_base @ pose_in(part[name]).R
    _keep(robot, below.keys(), {base, *below.values()})
    normalise(robot, {})
    text = write(robot)
    return (urdf if text == urdf.text else parse(text, urdf.warnings, urdf.folders)), R_root_base


def _check_names(movable: Mapping[str, Element], joints: Sequence[str], locked: Mapping[str, float]) -> None:
    for name in (*joints, *locked):
        if name not in movable:
            raise JointNotFound(name, movable)
        leader = _leader(movable[name])
        if leader != name:
            raise ModelError(f"joint {name!r} mimics {leader!r} and cannot be selected or locked; name {leader!r}")
        if name in joints and name in locked:
            raise ModelError(
                f"joint {name!r} is selected to move and locked at {locked[name]!r}; allowed: one of the two"
            )


def _check_base(
    movable: Mapping[str, Element], joints: Sequence[str], base: str, above: Sequence[str], below: Mapping[str, str]
) -> None:
    for name in joints:
        if name not in below:
            names = ", ".join(joint for joint in below if joint in movable) or "none"
            raise ModelError(f"joint {name!r} is not below the base {base!r}; the movable joints there are: {names}")
    for name in above:
        leader = _leader(movable[name]) if name in movable else None
        if leader in joints:
            raise ModelError(f"joint {name!r} mimics {leader!r} and so moves the base {base!r}; select a base above it")


def _leader(joint: Element) -> str:
    """Name of the joint that determines a joint's position: the joint itself, or the joint it mimics."""
    mimic = joint.find("mimic")
    return joint.attrib["name"] if mimic is None else mimic.attrib["joint"]


def _position(name: str, movable: Mapping[str, Element], locked: Mapping[str, float]) -> float:
    """Position of a locked joint [rad or m]."""
    leader = _leader(movable[name])
    mimic = movable[name].find("mimic")
    low, high = _range(movable[leader])
    value = locked.get(leader, min(max(0.0, low), high))
    if not (isinstance(value, Real) and math.isfinite(value)):
        raise ModelError(f"joint {leader!r} is locked at {value!r}; allowed: a finite number")
    if not low <= value <= high:
        raise ModelError(f"joint {leader!r} is locked at {float(value)!r}; its limits allow {low!r} to {high!r}")
    if mimic is None:
        return float(value)
    multiplier, offset = number(mimic, "multiplier"), number(mimic, "offset")
    return (1.0 if multiplier is None else multiplier) * float(value) + (offset or 0.0)


def _range(joint: Element) -> tuple[float, float]:
    """Position limits of a joint [rad or m]; a missing limit is 0, and without a range there is none."""
    if joint.get("type") == "continuous":
        return -math.inf, math.inf
    limit = joint.find("limit")
    lower, upper = number(limit, "lower") or 0.0, number(limit, "upper") or 0.0
    return (lower, upper) if lower < upper else (-math.inf, math.inf)


def _fix(joint: Element, position: float) -> None:
    """Make a joint a fixed one, locked at a position [rad or m]: (1), (2)."""
    is_prismatic = joint.get("type") == "prismatic"
    axis = np.array(numbers(joint.find("axis"), "xyz"))
    joint.set("type", "fixed")
    if position == 0.0:
        return  # the origin keeps its digits
    X_PJ = pose_in(joint)
    origin = joint.find("origin")
    if origin is None:
        origin = ElementTree.SubElement(joint, "origin")
    if is_prismatic:
        origin.set("xyz", _words(X_PJ.p + position * (X_PJ.R @ axis)))
    else:
        origin.set("rpy", _words(rpy_from_rotation(X_PJ.R @ rotation_from_vector(position * axis))))


def _keep(robot: Element, joints: Collection[str], links: Collection[str]) -> None:
    """Remove the joints and links that are not in these collections."""
    for tag, names in (("joint", joints), ("link", links)):
        for part in robot.findall(tag):
            if part.get("name") not in names:
                robot.remove(part)


# -- inertias ------------------------------------------------------------------------------------------


def with_payload(urdf: Urdf, link: str, mass: float, centre: Sequence[float]) -> Urdf:
    """Return the robot with a point mass [kg] at a link, its centre in the link's frame [m]; 0 kg: as it is.

    A ModelError when the mass is negative, or a number is not finite.
    """
    if not (math.isfinite(mass) and mass >= 0.0) or len(centre) != 3 or not np.isfinite(centre).all():
        raise ModelError(f"payload of {mass!r} kg at {list(centre)}; allowed: 0 kg or more, three finite numbers")
    if mass == 0.0:
        return urdf
    element = _link(read_robot(urdf.text), link)
    point = Inertia(mass, np.zeros(3), np.zeros((3, 3))).in_parent(Pose(np.eye(3), np.array(centre, dtype=float)))
    return with_inertias(urdf, {link: inertia_in(element) + point})


def with_inertias(urdf: Urdf, inertias: Mapping[str, Inertia]) -> Urdf:
    """Return the robot with other inertias of links, about their frames; without mass a link has none."""
    robot = read_robot(urdf.text)
    for name, inertia in inertias.items():
        _set(_link(robot, name), inertia)
    text = write(robot)
    return replace(parse(text), warnings=urdf.warnings, folders=urdf.folders)


def inertia_in(link: Element) -> Inertia:
    """Return the inertia that the XML of a link states, about the link's frame."""
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia.zero()
    J = np.zeros((3, 3))
    J[np.triu_indices(3)] = [number(inertial.find("inertia"), name) or 0.0 for name in INERTIA]
    own = Inertia(number(inertial.find("mass"), "value") or 0.0, np.zeros(3), J + J.T - np.diag(J.diagonal()))
    return own.in_parent(pose_in(inertial))


def _link(robot: Element, name: str) -> Element:
    return next(link for link in robot.iterfind("link") if link.get("name") == name)


def _set(link: Element, inertia: Inertia) -> None:
    for old in link.findall("inertial"):
        link.remove(old)
    if not inertia.m > 0.0:
        return
    c = inertia.h / inertia.m
    J = inertia.J - inertia.m * (c @ c * np.eye(3) - np.outer(c, c))
    J = np.where(np.abs(J) < ROUNDING * np.abs(inertia.J).max(), 0.0, J)
    inertial = ElementTree.Element("inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_words(c), rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=repr(float(inertia.m)))
    moments = dict(zip(INERTIA, map(repr, J[np.triu_indices(3)].tolist()), strict=True))
    ElementTree.SubElement(inertial, "inertia", moments)
    link.insert(0, inertial)


def _words(values: Array) -> str:
    return " ".join(map(repr, values.tolist()))
