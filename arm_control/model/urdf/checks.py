"""Checks of a URDF, before a robotics library reads it.

Robotics libraries trust their input: one reads a mass of ``nan`` or ``1,5`` as 0 without a warning. Therefore every
number, name and physical quantity of the core that :mod:`arm_control.model.urdf.xml` reads is checked.

Without names and a tree there is no robot, so problems of the structure refuse a file wherever they are. Any other
defect is a problem where it breaks the controlled arm (:class:`~arm_control.model.urdf.facts.Part`): the place of a
link of the arm, the mass of a link that it moves, the inertia of a link on the chain, a limit of a controlled joint.
Anywhere else it is a warning, and what is defective is left out.

Physically possible means a mass above 0 and principal moments of inertia I1 <= I2 <= I3 with

    I1 > 1e-12 I3                     (1)  positive definite
    I1 + I2 >= (1 - 1e-3) I3          (2)  triangle inequality, with a tolerance for rounded exports

A deviation from these two is a problem on the chain only: from (1) when it is more than the rounding of a file, from
(2) when it is more than 25 %: makers' files and identified sets go up to 23 %, and the mass matrix stays positive
definite, since (1) holds. An ``<inertial>`` of zeros is how exporters write "no mass", and allowed. So is a point mass:
a mass above 0 with an inertia of exactly six zeros.
Source: P. Wensing, S. Kim, J.-J. Slotine, IEEE RA-L 3(1), 2018, on (2).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from xml.etree.ElementTree import Element

from arm_control.model.urdf.facts import Part
from arm_control.model.urdf.xml import (
    CORE,
    MOVABLE,
    form_defects,
    is_massless,
    number,
    numbers,
    principal_moments,
    quote,
)

MAX_PLACES = 12
"""Places that a warning names; it counts the others."""
DEFINITE_TOLERANCE = 1e-12
"""Smallest principal moment of inertia, per largest: equation (1)."""
ROUNDING_TOLERANCE = 1e-6
"""Largest negative moment that counts as rounding, per largest moment."""
ROUNDING_LENGTH = 1e-6
"""Radius of gyration below which a negative moment counts as rounding [m]."""
TRIANGLE_TOLERANCE = 1e-3
"""Share of the largest principal moment by which it may exceed the sum of the others: equation (2)."""
PUBLISHED_TOLERANCE = 0.25
"""Such a share above which an inertia on the chain is refused."""
HEAVIEST = 1e6
"""Mass of a link above which it is no robot's [kg]."""
MOST_TURNS = 4.0
"""Turns to one side, above which a limit of a revolute joint may be in degrees."""
FARTHEST = 10.0
"""Distance between joints, and limit of a prismatic one, above which they may be in millimetres [m]."""

NO_NAME = "robot without a name is called 'robot'"
NO_INERTIAL = "mass or inertia is impossible, and counts as none because the arm does not move the link"
INDEFINITE = "inertia is not positive definite, and used as it is"
TRIANGLE = "largest principal moment of inertia exceeds the sum of the others, and is used as it is"
NO_SHAPE = "shape is left out: neither drawn nor avoided"
NO_COLOUR = "colour or texture is left out"
NOT_USED = "unreadable values are not used, because the joint is not controlled"
NO_AXIS = "axis without xyz counts as 1 0 0"
FIXED = "joint of a type that is not supported counts as fixed"
DEGREES = f"limits beyond {MOST_TURNS:g} turns count as radians, as all angles do: are they in degrees?"
MILLIMETRES = f"lengths beyond {FARTHEST:g} m count as metres, as all lengths do: are they in millimetres?"
LOCKED = "joint that mimics no joint with a motion of its own is locked"


def find_findings(
    robot: Element, part: Part, effort_limits: Collection[str] = (), velocity_limits: Collection[str] = ()
) -> list[Finding]:
    """List the defects of a robot's values, in the order of the file; limits of the joints named come from outside."""
    findings = list(_robot_findings(robot))
    for link in robot.iterfind("link"):
        findings += [*inertial_findings(link, part), *shape_findings(link)]
    for joint in robot.iterfind("joint"):
        findings += joint_findings(joint, part, effort_limits, velocity_limits)
    return [*findings, *mimic_findings(robot, part)]


def _robot_findings(robot: Element) -> Iterator[Finding]:
    if not robot.get("name"):
        yield Finding("robot", "", "", NO_NAME, False, partial(robot.set, "name", "robot"))
    for material in robot.findall("material"):
        yield from material_findings(robot, material, label_of(material))


# -- findings --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """A defect of a URDF at one place.

    Attributes
    ----------
    place : str
        Link, joint or material, such as ``link 'hand'``.
    what : str
        The defect, such as ``mass is -2 kg``.
    cause : str
        The kind of defect and its consequence, for a warning about all places with it.
    is_problem : bool
        Whether the arm cannot be controlled with it.
    cure : callable
        Changes the XML so that the defect has the consequence that ``cause`` states.
    """

    place: str
    what: str
    allowed: str
    cause: str
    is_problem: bool
    cure: Callable[[], object] = field(default=lambda: None, compare=False)

    @property
    def sentence(self) -> str:
        """The defect as a problem."""
        return f"{self.place}: {self.what}; {self.allowed}"


def problems_of(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each problem."""
    return [finding.sentence for finding in findings if finding.is_problem]


def warnings_of(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each cause of warnings, with every place that has it."""
    places: dict[str, dict[str, str]] = {}
    for finding in findings:
        if not finding.is_problem:
            places.setdefault(finding.cause, {}).setdefault(finding.place, finding.what)
    return [f"{cause}: {_places(at)}" for cause, at in places.items()]


def _places(places: dict[str, str]) -> str:
    listed = [f"{place} ({what})" if what else place for place, what in places.items()]
    more = [f"and {len(listed) - MAX_PLACES} more"] if len(listed) > MAX_PLACES else []
    return ", ".join([*listed[:MAX_PLACES], *more])


def remover(parent: Element, *children: Element) -> Callable[[], None]:
    """Return a cure that removes elements from their parent, as far as they are still there."""

    def remove() -> None:
        for child in children:
            if child in list(parent):
                parent.remove(child)

    return remove


# -- structure -------------------------------------------------------------------------------------------


def structure_problems(robot: Element) -> list[str]:
    """List the problems of the names and of the tree, one sentence each."""
    return [*_name_problems(robot), *_end_problems(robot), *_tree_problems(robot)]


def label_of(part: Element) -> str:
    """Return tag and name of a link, a joint or a material, for a message."""
    return part.tag if part.tag == "robot" else f"{part.tag} {quote(part.get('name'))}"


def _name_problems(robot: Element) -> Iterator[str]:
    for tag in ("link", "joint"):
        for name, count in Counter(part.get("name") or "" for part in robot.iterfind(tag)).items():
            if not name:
                yield f"{count} {tag}(s) have no name; allowed: one name each"
            elif count > 1:
                yield f"the {tag} name {quote(name)} is used {count} times; allowed: once"


def _end_problems(robot: Element) -> Iterator[str]:
    """Check that each joint has one parent and one child."""
    for joint in robot.iterfind("joint"):
        for tag in ("parent", "child"):
            ends = joint.findall(tag)
            if not ends:
                yield f"{label_of(joint)}: <joint> has no {tag}, which is required"
            elif len(ends) > 1:
                yield f"{label_of(joint)}: <joint> has {len(ends)} <{tag}>; allowed: one"
            elif ends[0].get("link") is None:
                yield f"{label_of(joint)}: <{tag}> has no link, which is required"


def _tree_problems(robot: Element) -> Iterator[str]:
    links = dict.fromkeys(link.get("name") for link in robot.iterfind("link"))
    edges = []
    for joint in robot.iterfind("joint"):
        parent, child = _link_of(joint, "parent"), _link_of(joint, "child")
        edges.append((parent, child))
        for name in (parent, child):
            if name is not None and name not in links:
                yield f"{label_of(joint)}: link {quote(name)} does not exist"
    for name, count in Counter(child for _, child in edges).items():
        if count > 1 and name:
            yield f"link {quote(name)} is the child of {count} joints; allowed: one"
    children = {child for _, child in edges}
    roots = [name for name in links if name not in children]
    if not links:
        yield "robot: there is no link; of xacro, name the file that calls the macros, not the one that defines them"
    elif len(roots) != 1:
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


# -- mass and inertia ------------------------------------------------------------------------------------


def inertial_findings(link: Element, part: Part) -> list[Finding]:
    """List the defects of a link's mass and inertia."""
    inertials = link.findall("inertial")
    defects = [(f"<link> has {len(inertials)} <inertial>", "allowed: one")] if len(inertials) > 1 else []
    for inertial in inertials[:1]:
        defects += [*form_defects(inertial), *_mass_defects(inertial)]
    is_moved = link.get("name") in part.moved
    cure = remover(link, *inertials)
    if defects or not inertials:
        return [Finding(label_of(link), *defect, NO_INERTIAL, is_moved, cure) for defect in defects]
    return _moment_findings(link, inertials[0], part)


def _mass_defects(inertial: Element) -> Iterator[tuple[str, str]]:
    mass = number(inertial.find("mass"), "value")
    if mass is None or is_massless(inertial):
        return
    if mass <= 0:
        yield f"mass is {mass:g} kg", "allowed: more than 0 (or no <inertial>)"
    elif mass > HEAVIEST:
        yield f"mass is {mass:g} kg", f"allowed: up to {HEAVIEST:g}"


def _moment_findings(link: Element, inertial: Element, part: Part) -> list[Finding]:
    """Check equations (1) and (2)."""
    moments = principal_moments(inertial.find("inertia"))
    if moments is None or moments == [0.0, 0.0, 0.0]:
        return []
    low, middle, high = moments
    what = f"principal moments of inertia are {low:g}, {middle:g}, {high:g} kg m^2"
    place, is_on_chain = label_of(link), link.get("name") in part.chain
    if not low > DEFINITE_TOLERANCE * high:
        mass = number(inertial.find("mass"), "value") or 0.0
        noise = max(ROUNDING_TOLERANCE * high, mass * ROUNDING_LENGTH**2)
        if link.get("name") not in part.moved:
            return [Finding(place, what, "all must be positive", NO_INERTIAL, False, remover(link, inertial))]
        is_problem = is_on_chain and not (low >= -noise and math.isfinite(high))
        return [Finding(place, what, "all must be positive", INDEFINITE, is_problem)]
    excess = 1.0 - (low + middle) / high
    if excess <= TRIANGLE_TOLERANCE:
        return []
    is_problem = is_on_chain and excess > PUBLISHED_TOLERANCE
    what = what if is_problem else f"by {100.0 * excess:.2g} % of itself"
    return [Finding(place, what, "the largest must not exceed the sum of the others", TRIANGLE, is_problem)]


# -- joints ----------------------------------------------------------------------------------------------


def joint_findings(
    joint: Element, part: Part, effort_limits: Collection[str], velocity_limits: Collection[str]
) -> Iterator[Finding]:
    """Yield the defects of a joint; the collections name joints whose limit comes from outside the file."""
    name = joint.get("name")
    yield from _type_findings(joint, part)
    yield from _form_findings(joint, part)
    if joint.get("type") in MOVABLE:
        yield from _axis_findings(joint, part)
    if joint.get("type") in MOVABLE and name in part.joints and joint.find("mimic") is None:
        for what, allowed in _limit_defects(joint, name in effort_limits, name in velocity_limits):
            yield Finding(label_of(joint), what, allowed, NOT_USED, True)
        yield from _unit_findings(joint)


def mimic_findings(robot: Element, part: Part) -> Iterator[Finding]:
    """Yield the joints that mimic no joint with a motion of its own."""
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
        is_problem = _link_of(joint, "child") in part.placed and joint.get("name") not in part.above
        cure = partial(joint.set, "type", "fixed")
        allowed = f"allowed: {', '.join(MOVABLE)}, fixed"
        yield Finding(label_of(joint), f"type {quote(kind)} {reason}", allowed, FIXED, is_problem, cure)


def _form_findings(joint: Element, part: Part) -> Iterator[Finding]:
    """Check the form of each part: its place counts for a link of the arm, a limit for a controlled joint."""
    counts = {
        "origin": _link_of(joint, "child") in part.placed,
        "axis": _link_of(joint, "child") in part.placed,
        "mimic": joint.get("name") in part.driven or joint.get("name") in part.way,
    }
    for tag in ("origin", "axis", "limit", "dynamics", "mimic", "safety_controller"):
        elements = joint.findall(tag)
        defects = [defect for element in elements for defect in form_defects(element)]
        if len(elements) > 1:
            defects.append((f"<joint> has {len(elements)} <{tag}>", "allowed: one"))
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


def _limit_defects(joint: Element, has_effort: bool, has_velocity: bool) -> Iterator[tuple[str, str]]:
    """Check the limits of a controlled joint; effort or velocity may come from outside."""
    limit = joint.find("limit")
    if joint.get("type") != "continuous":
        if limit is None:
            what = f"a {joint.get('type')} joint needs a <limit> with lower, upper, effort and velocity"
            yield what, "it has none"
            return
        yield from _range_defects(limit)
    if not has_effort:
        yield from _maximum_defects(limit, "effort")
    if not has_velocity:
        yield from _maximum_defects(limit, "velocity")


def _range_defects(limit: Element) -> Iterator[tuple[str, str]]:
    lower, upper = (number(limit, name) if name in limit.attrib else 0.0 for name in ("lower", "upper"))
    if lower is not None and upper is not None and lower >= upper:
        what = f"lower limit {lower:g} is not below upper limit {upper:g}"
        yield what, "a missing limit counts as 0"


def _unit_findings(joint: Element) -> Iterator[Finding]:
    distance = math.hypot(*(numbers(joint.find("origin"), "xyz") or ()))
    if distance > FARTHEST:
        yield Finding(label_of(joint), f"{distance:g} from that before", "", MILLIMETRES, False)
    lower, upper = (number(joint.find("limit"), name) or 0.0 for name in ("lower", "upper"))
    for kind, most, cause in (("revolute", MOST_TURNS * 2.0 * math.pi, DEGREES), ("prismatic", FARTHEST, MILLIMETRES)):
        if joint.get("type") == kind and max(abs(lower), abs(upper)) > most:
            yield Finding(label_of(joint), f"{lower:g} to {upper:g}", "", cause, False)


def _maximum_defects(limit: Element | None, quantity: str) -> Iterator[tuple[str, str]]:
    value = number(limit, quantity)
    if limit is None or quantity not in limit.attrib:
        yield f"<limit> has no {quantity}", f"add it, or pass it in {quantity}_limits"
    elif value is not None and value <= 0:
        yield f"<limit {quantity}> is {value:g}", f"allowed: more than 0; or pass it in {quantity}_limits"


# -- shapes and colours ----------------------------------------------------------------------------------


def shape_findings(link: Element) -> Iterator[Finding]:
    """Yield the defects of a link's visual and collision shapes, and of their colours."""
    for shape in [*link.findall("visual"), *link.findall("collision")]:
        materials = shape.findall("material")
        for material in materials:
            yield from material_findings(shape, material, label_of(link))
        if len(materials) > 1:
            what = f"<{shape.tag}> has {len(materials)} <material>"
            yield Finding(label_of(link), what, "allowed: one", NO_COLOUR, False, remover(shape, *materials[1:]))
        for what, allowed in _shape_defects(shape):
            yield Finding(label_of(link), what, allowed, NO_SHAPE, False, remover(link, shape))


def material_findings(parent: Element, material: Element, place: str) -> Iterator[Finding]:
    """Yield the defects of a colour; ``parent`` is the robot or a shape."""
    for what, allowed in [*form_defects(material), *_filename_defects(material)]:
        yield Finding(place, what, allowed, NO_COLOUR, False, remover(parent, material))


def _shape_defects(shape: Element) -> Iterator[tuple[str, str]]:
    for part in shape:
        if part.tag != "material":
            yield from form_defects(part)
    geometries = shape.findall("geometry")
    if not geometries:
        yield f"<{shape.tag}> has no geometry", "which is required"
    elif len(geometries) > 1:
        yield f"<{shape.tag}> has {len(geometries)} <geometry>", "allowed: one"
    for geometry in geometries:
        if len(geometry) != 1:
            yield f"<geometry> has {len(geometry)} shapes", f"allowed: one of {', '.join(CORE['geometry'])}"
        yield from _filename_defects(geometry)


def _filename_defects(element: Element) -> Iterator[tuple[str, str]]:
    for part in element.iter():
        name = part.get("filename")
        if name is not None and not is_contained(name):
            yield f"<{part.tag} filename> is {quote(name)}", "allowed: package:// or a relative path"


def is_contained(filename: str) -> bool:
    """Whether the name of a file may be below the folders with meshes; what ``..`` leads to is seen when it is read."""
    path = filename.removeprefix("package://")
    leaves_package = path != filename and ".." in path.split("/")
    return bool(path) and not (path.startswith("/") or leaves_package or any(c in path for c in ":\\%"))
