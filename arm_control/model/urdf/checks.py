"""Checks of a URDF, before a robotics library reads it.

Robotics libraries trust their input: one reads a mass of ``nan`` or ``1,5`` as 0 without a warning. Therefore every
number, name and physical quantity of the core that :mod:`arm_control.model.urdf.xml` reads is checked here.

Physically possible means a mass above 0 and principal moments of inertia I1 <= I2 <= I3 with

    I1 > 1e-12 I3                     (1)  positive definite
    I1 + I2 >= (1 - 1e-3) I3          (2)  triangle inequality, with a tolerance for rounded exports

An ``<inertial>`` of zeros is how exporters write "no mass", and allowed. So is a point mass: a mass above 0 with an
inertia of exactly six zeros.
Source: P. Wensing, S. Kim, J.-J. Slotine, IEEE RA-L 3(1), 2018, on (2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from xml.etree.ElementTree import Element

import numpy as np

from arm_control.exceptions import UrdfError
from arm_control.model.urdf.xml import CORE, number, numbers, quote, read_robot

DEFINITE_TOLERANCE = 1e-12
"""Smallest principal moment of inertia, per largest: equation (1)."""
TRIANGLE_TOLERANCE = 1e-3
"""Share of the largest principal moment by which it may exceed the sum of the others: equation (2)."""
MOVABLE = ("revolute", "continuous", "prismatic")
"""Types of joints that move."""
INERTIA = tuple(CORE["inertia"])
"""Attributes of ``<inertia>``."""


def find_problems(text: str, effort_limits: Collection[str] = (), velocity_limits: Collection[str] = ()) -> list[str]:
    """List the problems of a URDF, one sentence each.

    Parameters
    ----------
    text : str
        The XML of the robot, with xacro already expanded.
    effort_limits, velocity_limits : collection of str
        Joints whose effort limit [N m or N] or velocity limit [rad/s or m/s] comes from outside the file: it need
        not be in the file, and the value there is not used.

    Returns
    -------
    list of str
        Empty when there is no problem. XML that cannot be read gives one problem, the first.

    Notes
    -----
    A plausible but wrong value is not a problem: a mass of 5 instead of 0.5 kg passes.

    Examples
    --------
    >>> find_problems('<robot name="r"><link name="a"/></robot>')
    []
    >>> find_problems('<robot name="r"><link name="a"/><link name="a"/></robot>')
    ["the link name 'a' is used 2 times; allowed: once"]
    """
    try:
        robot = read_robot(text)
    except UrdfError as error:
        return [str(error)]
    problems = [*_name_problems(robot), *_form_problems(robot)]
    for link in robot.iterfind("link"):
        problems += _inertial_problems(link)
    for joint in robot.iterfind("joint"):
        problems += _type_problems(joint)
        problems += _motion_problems(joint, effort_limits, velocity_limits)
    return [*problems, *_mimic_problems(robot), *_tree_problems(robot)]


def is_massless(inertial: Element) -> bool:
    """Whether mass [kg] and inertia [kg m^2] are all stated and all zero."""
    values = [number(inertial.find("mass"), "value")]
    values += [number(inertial.find("inertia"), name) for name in INERTIA]
    return all(value == 0.0 for value in values)


def _label(part: Element) -> str:
    return part.tag if part.tag == "robot" else f"{part.tag} {quote(part.get('name'))}"


def _name_problems(robot: Element) -> Iterator[str]:
    for tag in ("link", "joint"):
        for name, count in Counter(part.get("name") or "" for part in robot.iterfind(tag)).items():
            if not name:
                yield f"{count} {tag}(s) have no name; allowed: one name each"
            elif count > 1:
                yield f"the {tag} name {quote(name)} is used {count} times; allowed: once"


def _form_problems(robot: Element) -> Iterator[str]:
    """Check required and repeated parts, and the format of numbers and file names."""
    yield from _element_problems(robot, "robot")
    for part in robot:
        for element in part.iter():
            yield from _element_problems(element, _label(part))


def _element_problems(element: Element, label: str) -> Iterator[str]:
    children = Counter(child.tag for child in element)
    for name, part in CORE[element.tag].items():
        where = f"{label}: <{element.tag}>"
        if part.is_required and name not in element.attrib and name not in children:
            yield f"{where} has no {name}, which is required"
        if children[name] > 1 and not part.may_repeat:
            yield f"{where} has {children[name]} <{name}>; allowed: one"
        if part.n_numbers and name in element.attrib:
            yield from _number_problems(element, name, f"{label}: <{element.tag} {name}>")
    if element.tag == "geometry" and len(element) != 1:
        shapes = ", ".join(CORE["geometry"])
        yield f"{label}: <geometry> has {len(element)} shapes; allowed: one of {shapes}"
    filename = element.get("filename")
    if filename is not None and not _is_contained(filename):
        start = f"{label}: <{element.tag} filename> is {quote(filename)}"
        yield f"{start}; allowed: package:// or a relative path, without '..'"


def _number_problems(element: Element, name: str, where: str) -> Iterator[str]:
    values = numbers(element, name)
    text = quote(element.get(name))
    if values is None:
        yield f"{where} is {text}; allowed: {CORE[element.tag][name].n_numbers} finite decimal number(s)"
    elif element.tag in ("box", "cylinder", "sphere") and min(values) <= 0:
        yield f"{where} is {text}; allowed: more than 0 m"
    elif element.tag == "dynamics" and min(values) < 0:
        yield f"{where} is {text}; allowed: 0 or more"


def _is_contained(filename: str) -> bool:
    path = filename.removeprefix("package://")
    leads_out = path.startswith("/") or ".." in path.split("/") or any(c in path for c in ":\\%")
    return bool(path) and not leads_out


def _inertial_problems(link: Element) -> Iterator[str]:
    inertial = link.find("inertial")
    if inertial is None or is_massless(inertial):
        return
    mass = number(inertial.find("mass"), "value")
    if mass is not None and mass <= 0:
        yield f"{_label(link)}: mass is {mass:g} kg; allowed: more than 0 (or no <inertial>)"
    moments = principal_moments(inertial.find("inertia"))
    if moments is None or moments == [0.0, 0.0, 0.0]:
        return
    low, middle, high = moments
    start = f"{_label(link)}: principal moments of inertia are {low:g}, {middle:g}, {high:g} kg m^2"
    if not low > DEFINITE_TOLERANCE * high:
        yield f"{start}; all must be positive"
    elif low + middle < (1 - TRIANGLE_TOLERANCE) * high:
        yield f"{start}; the largest must not exceed the sum of the others"


def principal_moments(inertia: Element | None) -> list[float] | None:
    """Principal moments of inertia [kg m^2], ascending; None when an entry is missing."""
    values = [number(inertia, name) for name in INERTIA]
    entries = [value for value in values if value is not None]
    if len(entries) < len(INERTIA):
        return None
    xx, xy, xz, yy, yz, zz = entries
    moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return [float(moment) for moment in moments]


def _type_problems(joint: Element) -> Iterator[str]:
    joint_type = joint.get("type")
    if joint_type not in (*MOVABLE, "fixed"):
        reason = "is not supported" if joint_type in ("floating", "planar") else "is unknown"
        yield f"{_label(joint)}: type {quote(joint_type)} {reason}; allowed: {', '.join(MOVABLE)}, fixed"


def _motion_problems(joint: Element, efforts: Collection[str], velocities: Collection[str]) -> Iterator[str]:
    joint_type = joint.get("type")
    limit = joint.find("limit")
    label = _label(joint)
    if joint_type not in MOVABLE:
        return
    if numbers(joint.find("axis"), "xyz") == (0.0, 0.0, 0.0):
        yield f"{label}: <axis xyz> is zero; allowed: any direction"
    if joint_type != "continuous":
        if limit is None:
            yield f"{label}: a {joint_type} joint needs a <limit> with lower, upper, effort and velocity"
            return
        yield from _range_problems(limit, label)
    for quantity, supplied in (("effort", efforts), ("velocity", velocities)):
        if joint.get("name") not in supplied:
            yield from _maximum_problems(limit, quantity, label)


def _range_problems(limit: Element, label: str) -> Iterator[str]:
    lower, upper = (number(limit, name) if name in limit.attrib else 0.0 for name in ("lower", "upper"))
    if lower is not None and upper is not None and lower >= upper:
        yield f"{label}: lower limit {lower:g} is not below upper limit {upper:g} (a missing limit counts as 0)"


def _maximum_problems(limit: Element | None, quantity: str, label: str) -> Iterator[str]:
    value = number(limit, quantity)
    if limit is None or quantity not in limit.attrib:
        yield f"{label}: <limit> has no {quantity}; add it, or pass it in {quantity}_limits"
    elif value is not None and value <= 0:
        yield f"{label}: <limit {quantity}> is {value:g}; allowed: more than 0; or pass it in {quantity}_limits"


def _mimic_problems(robot: Element) -> Iterator[str]:
    movable = [joint for joint in robot.iterfind("joint") if joint.get("type") in MOVABLE]
    leaders = {joint.get("name") for joint in movable if joint.find("mimic") is None}
    for joint in movable:
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint") not in leaders:
            start = f"{_label(joint)}: mimics {quote(mimic.get('joint'))}"
            yield f"{start}; allowed: another movable joint, which mimics no joint itself"


def _tree_problems(robot: Element) -> Iterator[str]:
    links = dict.fromkeys(link.get("name") for link in robot.iterfind("link"))
    edges = []
    for joint in robot.iterfind("joint"):
        parent, child = _link_of(joint, "parent"), _link_of(joint, "child")
        edges.append((parent, child))
        for name in (parent, child):
            if name is not None and name not in links:
                yield f"{_label(joint)}: link {quote(name)} does not exist"
    for name, count in Counter(child for _, child in edges).items():
        if count > 1 and name:
            yield f"link {quote(name)} is the child of {count} joints; allowed: one"
    children = {child for _, child in edges}
    roots = [name for name in links if name not in children]
    if len(roots) != 1:
        yield f"robot: the links without a parent joint are {_listing(roots)}; allowed: exactly one root link"
    reachable = _reachable(roots, edges)
    on_cycle = [name for name in links if name not in reachable]
    if on_cycle:
        yield f"the links {_listing(on_cycle)} are on or below a cycle of joints; allowed: a tree"


def _link_of(joint: Element, end: str) -> str | None:
    element = joint.find(end)
    return None if element is None else element.get("link")


def _reachable(roots: list[str | None], edges: list[tuple[str | None, str | None]]) -> set[str | None]:
    reachable: set[str | None] = set()
    pending = set(roots)
    while pending:
        reachable |= pending
        pending = {child for parent, child in edges if parent in pending} - reachable
    return reachable


def _listing(names: list[str | None]) -> str:
    return f"[{', '.join(map(quote, names[:8]))}{', ...' if len(names) > 8 else ''}]"
