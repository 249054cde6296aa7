"""Checks of a joint: its type, place, axis, limits, and the joint that it mimics."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial
from xml.etree.ElementTree import Element

from arm_control.model.urdf.defects import Defect, form_defects
from arm_control.model.urdf.findings import Finding, remover
from arm_control.model.urdf.part import Part
from arm_control.model.urdf.structure import label_of
from arm_control.model.urdf.xml import MOVABLE, number, numbers, quote

NOT_USED = "unreadable values are not used, because the joint is not controlled"
NO_AXIS = "axis without xyz counts as 1 0 0"
FIXED = "joint of a type that is not supported counts as fixed"
MOST_TURNS = 4.0
"""Turns to one side, above which a limit of a revolute joint may be in degrees."""
DEGREES = f"limits beyond {MOST_TURNS:g} turns count as radians, as all angles do: are they in degrees?"
LOCKED = "joint that mimics no joint with a motion of its own is locked"


def joint_findings(
    joint: Element, part: Part, effort_limits: Collection[str], velocity_limits: Collection[str]
) -> Iterator[Finding]:
    """Yield the defects of a joint.

    Parameters
    ----------
    joint : Element
        The joint.
    part : Part
        The part of the robot that is controlled.
    effort_limits, velocity_limits : collection of str
        Joints whose limit comes from outside the file.
    """
    name = joint.get("name")
    yield from _type_findings(joint, part)
    yield from _form_findings(joint, part)
    if joint.get("type") in MOVABLE:
        yield from _axis_findings(joint, part)
    if joint.get("type") in MOVABLE and name in part.joints and joint.find("mimic") is None:
        for what, allowed in _limit_defects(joint, name in effort_limits, name in velocity_limits):
            yield Finding(label_of(joint), what, allowed, NOT_USED, True)
        yield from _turns_findings(joint)


def mimic_findings(robot: Element, part: Part) -> Iterator[Finding]:
    """Yield the joints that mimic no joint with a motion of its own.

    Parameters
    ----------
    robot : Element
        The robot.
    part : Part
        The part of it that is controlled.
    """
    movable = [joint for joint in robot.iterfind("joint") if joint.get("type") in MOVABLE]
    leaders = {joint.get("name") for joint in movable if joint.find("mimic") is None}
    for joint in movable:
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint") not in leaders:
            what = f"mimics {quote(mimic.get('joint'))}"
            allowed = "allowed: another movable joint, which mimics no joint itself"
            is_problem = joint.get("name") in part.way - part.above
            yield Finding(label_of(joint), what, allowed, LOCKED, is_problem, remover(joint, mimic))


def _type_findings(joint: Element, part: Part) -> Iterator[Finding]:
    kind = joint.get("type")
    if kind not in (*MOVABLE, "fixed"):
        reason = "is not supported" if kind in ("floating", "planar") else "is unknown"
        is_problem = _child(joint) in part.placed and joint.get("name") not in part.above
        cure = partial(joint.set, "type", "fixed")
        allowed = f"allowed: {', '.join(MOVABLE)}, fixed"
        yield Finding(label_of(joint), f"type {quote(kind)} {reason}", allowed, FIXED, is_problem, cure)


def _form_findings(joint: Element, part: Part) -> Iterator[Finding]:
    """Check the form of each part: its place counts for a link of the arm, a limit for a controlled joint."""
    counts = {
        "origin": _child(joint) in part.placed,
        "axis": _child(joint) in part.placed,
        "mimic": joint.get("name") in part.driven or joint.get("name") in part.way,
    }
    for tag in ("origin", "axis", "limit", "dynamics", "mimic", "safety_controller"):
        elements = joint.findall(tag)
        defects = [defect for element in elements for defect in form_defects(element)]
        if len(elements) > 1:
            defects.append(Defect(f"<joint> has {len(elements)} <{tag}>", "allowed: one"))
        is_problem = counts.get(tag, joint.get("name") in part.joints)
        for what, allowed in defects:
            yield Finding(label_of(joint), what, allowed, NOT_USED, is_problem, remover(joint, *elements))


def _axis_findings(joint: Element, part: Part) -> Iterator[Finding]:
    axis = joint.find("axis")
    if axis is None:
        return
    if "xyz" not in axis.attrib:
        yield Finding(label_of(joint), "", "", NO_AXIS, False, remover(joint, axis))
    elif numbers(axis, "xyz") == (0.0, 0.0, 0.0):
        is_problem = joint.get("name") in part.driven
        yield Finding(
            label_of(joint), "<axis xyz> is zero", "allowed: any direction", NOT_USED, is_problem, remover(joint, axis)
        )


def _limit_defects(joint: Element, has_effort: bool, has_velocity: bool) -> Iterator[Defect]:
    """Check the limits of a controlled joint; effort or velocity may come from outside."""
    limit = joint.find("limit")
    if joint.get("type") != "continuous":
        if limit is None:
            what = f"a {joint.get('type')} joint needs a <limit> with lower, upper, effort and velocity"
            yield Defect(what, "it has none")
            return
        yield from _range_defects(limit)
    if not has_effort:
        yield from _maximum_defects(limit, "effort")
    if not has_velocity:
        yield from _maximum_defects(limit, "velocity")


def _range_defects(limit: Element) -> Iterator[Defect]:
    lower, upper = (number(limit, name) if name in limit.attrib else 0.0 for name in ("lower", "upper"))
    if lower is not None and upper is not None and lower >= upper:
        what = f"lower limit {lower:g} is not below upper limit {upper:g}"
        yield Defect(what, "a missing limit counts as 0")


def _turns_findings(joint: Element) -> Iterator[Finding]:
    limit = joint.find("limit")
    if joint.get("type") == "revolute" and limit is not None:
        lower, upper = (number(limit, name) or 0.0 for name in ("lower", "upper"))
        if max(abs(lower), abs(upper)) > MOST_TURNS * 2.0 * math.pi:
            yield Finding(label_of(joint), f"{lower:g} to {upper:g}", "", DEGREES, False)


def _maximum_defects(limit: Element | None, quantity: str) -> Iterator[Defect]:
    value = number(limit, quantity)
    if limit is None or quantity not in limit.attrib:
        yield Defect(f"<limit> has no {quantity}", f"add it, or pass it in {quantity}_limits")
    elif value is not None and value <= 0:
        yield Defect(f"<limit {quantity}> is {value:g}", f"allowed: more than 0; or pass it in {quantity}_limits")


def _child(joint: Element) -> str | None:
    child = joint.find("child")
    return None if child is None else child.get("link")
