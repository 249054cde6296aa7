"""Choose the part of a robot to control: a base link, and the joints that move.

A robot description often holds more than one arm: a torso, a second arm, fingers. What is not chosen has
to stand still somewhere, and where it does is part of the model. So the position of every other joint is
written into its origin and the joint becomes fixed; what comes out is an ordinary URDF again. With the
joint's origin ``X_PJ``, its unit axis ``n`` and its position ``s``, the new origin is

    R = R_PJ exp(s n),  p = p_PJ          revolute, continuous      (1)
    R = R_PJ,           p = p_PJ + s R_PJ n          prismatic      (2)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from arm_control.exceptions import FrameNotFound, JointNotFound, ModelError
from arm_control.maths.poses import Array, Pose, rotation_from_rpy, rotation_from_vector, rpy_from_rotation
from arm_control.model.urdf.load import Urdf, load_urdf
from arm_control.model.urdf.xml import number, numbers, read_robot


@dataclass(frozen=True)
class Selection:
    """The chosen part of a robot.

    Attributes
    ----------
    urdf : Urdf
        The links below the base; only the chosen joints, and those that mimic them, can move.
    R_root_base : ndarray, shape (3, 3)
        Rotation of the base link in the root frame of the whole robot. Gravity in the axes of the base
        is ``R_root_base.T @ gravity``.
    """

    urdf: Urdf
    R_root_base: Array


def select(urdf: Urdf, *, base: str | None, joints: Sequence[str], locked: Mapping[str, float]) -> Selection:
    """Keep what hangs on a base link, and let only some joints of it move.

    Parameters
    ----------
    urdf : Urdf
        The whole robot.
    base : str or None
        The link that becomes the root; None for the root there is.
    joints : sequence of str
        Joints that keep moving. A joint that mimics one of them moves along.
    locked : mapping of str to float
        Position [rad or m] of joints that stand still, by name; where nothing is said, 0 or the limit
        nearest to it. A joint that mimics a locked one stands where that one puts it.

    Returns
    -------
    Selection

    Raises
    ------
    FrameNotFound, JointNotFound
        No such link, or no such movable joint.
    ModelError
        A chosen joint is not below the base, or moves the base; a position is not finite, outside the
        joint's limits (0 counts too where nothing is said), or for a joint that moves; a mimic joint is
        named: name its leader.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> ur5 = load_urdf(urdf_path("ur5"))
    >>> wrist = select(ur5, base="forearm_link", joints=["wrist_1_joint", "wrist_2_joint"], locked={})
    >>> wrist.urdf.root, wrist.urdf.movable_joints
    ('forearm_link', ('wrist_1_joint', 'wrist_2_joint'))
    """
    base = urdf.root if base is None else base
    if base not in urdf.robot.link_map:
        raise FrameNotFound(base, urdf.robot.link_map)
    robot, above, below = read_robot(urdf.text), _joints_above(urdf, base), dict(urdf.below(base))
    part = {joint.attrib["name"]: joint for joint in robot.iterfind("joint")}
    movable = {name: joint for name, joint in part.items() if joint.get("type") != "fixed"}
    _check_names(movable, joints, locked)
    _check_base(movable, joints, base, above, below)
    still = [name for name, joint in movable.items() if _leader(joint) not in joints]
    needed = [name for name in still if name in below or name in above or name in locked]
    positions = {name: _position(name, movable, locked) for name in needed}
    for name, position in positions.items():
        _fix(movable[name], position)
    R_root_base = np.eye(3)
    for name in above:
        R_root_base = R_root_base @ _placement(part[name]).R
    _keep(robot, below.keys(), {base, *below.values()})
    return Selection(load_urdf(ElementTree.tostring(robot, encoding="unicode")), R_root_base)


def _joints_above(urdf: Urdf, link: str) -> list[str]:
    """Every joint between the root and a link, in this order."""
    joints: list[str] = []
    while link != urdf.root:
        joint, link = urdf.robot.parent_map[link]
        joints.insert(0, joint)
    return joints


def _check_names(movable: Mapping[str, Element], joints: Sequence[str], locked: Mapping[str, float]) -> None:
    for name in (*joints, *locked):
        if name not in movable:
            raise JointNotFound(name, movable)
        leader = _leader(movable[name])
        if leader != name:
            raise ModelError(f"joint {name!r} mimics {leader!r} and cannot be named here; name {leader!r}")
        if name in joints and name in locked:
            raise ModelError(f"joint {name!r} is to move and is locked at {locked[name]!r}; allowed is one of both")


def _check_base(
    movable: Mapping[str, Element], joints: Sequence[str], base: str, above: Sequence[str], below: Mapping[str, str]
) -> None:
    for name in joints:
        if name not in below:
            found = ", ".join(joint for joint in below if joint in movable) or "none"
            raise ModelError(f"joint {name!r} is not below the base {base!r}; the movable joints there are: {found}")
    for name in above:
        leader = _leader(movable[name]) if name in movable else None
        if leader in joints:
            raise ModelError(f"joint {name!r} mimics {leader!r} and so moves the base {base!r}; choose a base above it")


def _leader(joint: Element) -> str:
    """Name of the joint whose position decides where a joint stands: itself, unless it mimics one."""
    mimic = joint.find("mimic")
    return joint.attrib["name"] if mimic is None else mimic.attrib["joint"]


def _position(name: str, movable: Mapping[str, Element], locked: Mapping[str, float]) -> float:
    """Where a locked joint stands [rad or m]."""
    leader, mimic = _leader(movable[name]), movable[name].find("mimic")
    low, high = _range(movable[leader])
    value = locked.get(leader, min(max(0.0, low), high))
    if not (isinstance(value, Real) and math.isfinite(value)):
        raise ModelError(f"joint {leader!r} is locked at {value!r}, allowed is a finite number")
    if not low <= value <= high:
        raise ModelError(f"joint {leader!r} is locked at {float(value)!r}; its limits allow {low!r} to {high!r}")
    if mimic is None:
        return float(value)
    multiplier, offset = number(mimic, "multiplier"), number(mimic, "offset")
    return (1.0 if multiplier is None else multiplier) * float(value) + (offset or 0.0)


def _range(joint: Element) -> tuple[float, float]:
    """Limits of a joint's position [rad or m]; one that is not stated is 0."""
    if joint.get("type") == "continuous":
        return -math.inf, math.inf
    limit = joint.find("limit")
    return number(limit, "lower") or 0.0, number(limit, "upper") or 0.0


def _fix(joint: Element, position: float) -> None:
    """Turn a joint into a fixed one that stands at a position [rad or m]: (1), (2)."""
    kind, axis = joint.get("type"), np.array(numbers(joint.find("axis"), "xyz"))
    joint.set("type", "fixed")
    if position == 0.0:
        return  # the origin keeps its digits
    X, origin = _placement(joint), joint.find("origin")
    if origin is None:
        origin = ElementTree.SubElement(joint, "origin")
    if kind == "prismatic":
        origin.set("xyz", _words(X.p + position * (X.R @ axis)))
    else:
        origin.set("rpy", _words(rpy_from_rotation(X.R @ rotation_from_vector(position * axis))))


def _placement(joint: Element) -> Pose:
    """Pose of a joint's frame in its parent link."""
    origin = joint.find("origin")
    xyz, rpy = (numbers(origin, name) or (0.0, 0.0, 0.0) for name in ("xyz", "rpy"))
    return Pose(rotation_from_rpy(rpy), np.array(xyz))


def _words(values: Array) -> str:
    return " ".join(map(repr, values.tolist()))


def _keep(robot: Element, joints: Collection[str], links: Collection[str]) -> None:
    """Remove the joints and links that are not in these collections."""
    for tag, names in (("joint", joints), ("link", links)):
        for part in robot.findall(tag):
            if part.get("name") not in names:
                robot.remove(part)
