"""The content of a URDF as plain data: for a report, also on a file with problems.

Unlike :func:`arm_control.model.urdf.load.load_urdf` this accepts any XML of a robot. A missing or unusable value is
None; links on a cycle or without a parent are roots of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from arm_control.model.urdf.inertials import is_massless, principal_moments
from arm_control.model.urdf.xml import MOVABLE, number, numbers


@dataclass(frozen=True)
class JointFacts:
    """A joint: limits in [rad or m], [N m or N], [rad/s or m/s]; damping in [N m s/rad or N s/m].

    ``axis`` is as in the file. A continuous joint has no range. ``mimic`` is the name of the joint it follows.
    """

    name: str
    type: str
    parent: str
    child: str
    axis: tuple[float, ...] | None
    lower: float | None
    upper: float | None
    effort: float | None
    velocity: float | None
    damping: float | None
    mimic: str | None

    @property
    def is_movable(self) -> bool:
        """Whether the joint can move, by itself or by mimicking another joint."""
        return self.type in MOVABLE


@dataclass(frozen=True)
class LinkFacts:
    """A link: its place in the tree, its mass [kg] and its inertia.

    ``joint`` is the joint above it, ``depth`` the number of joints above it, and ``moves`` whether one of them is
    movable. The principal moments of inertia [kg m^2] are ascending; the radius of gyration [m] is
    ``sqrt(I3 / mass)``. ``size`` [m] is the largest extent of its shapes, and of its centre of mass and its joints;
    it is an estimate (``is_size_known`` is false) where a shape is a mesh, or there is no shape.
    """

    name: str
    joint: JointFacts | None
    depth: int
    moves: bool
    mass: float | None
    principal_moments: tuple[float, ...] | None
    radius_of_gyration: float | None
    size: float
    is_size_known: bool
    has_geometry: bool


@dataclass(frozen=True)
class Facts:
    """A robot: links and joints in the order of the tree."""

    name: str
    links: tuple[LinkFacts, ...]
    joints: tuple[JointFacts, ...]

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return sum(link.mass or 0.0 for link in self.links)

    @property
    def moving_mass(self) -> float:
        """Mass of the links below a movable joint [kg]."""
        return sum(link.mass or 0.0 for link in self.links if link.moves)

    @property
    def root(self) -> str:
        """The first link without a joint above it; empty when there is no link."""
        return next((link.name for link in self.links if link.joint is None), "")

    @property
    def leaves(self) -> tuple[str, ...]:
        """Links without children."""
        parents = {joint.parent for joint in self.joints}
        return tuple(link.name for link in self.links if link.name not in parents)

    @property
    def tip_candidates(self) -> tuple[str, ...]:
        """Leaves that move, or all leaves when none moves."""
        moving = {link.name for link in self.links if link.moves}
        return tuple(name for name in self.leaves if name in moving) or self.leaves

    def path(self, tip: str) -> tuple[JointFacts, ...]:
        """Every joint from the root to a link, in this order."""
        above = {link.name: link.joint for link in self.links}
        joints: list[JointFacts] = []
        while (joint := above.get(tip)) is not None:
            joints.insert(0, joint)
            tip = joint.parent
        return tuple(joints)


def read_facts(robot: Element) -> Facts:
    """Return the content of a robot's XML, from :func:`arm_control.model.urdf.xml.read_robot`."""
    joints = [_joint(element) for element in robot.iterfind("joint")]
    origins = [numbers(element.find("origin"), "xyz") or (0.0, 0.0, 0.0) for element in robot.iterfind("joint")]
    elements = {element.get("name") or "": element for element in robot.iterfind("link")}
    links, order = [], []
    for name, above, depth, moves in _walk(list(elements), joints):
        ends = [origin for joint, origin in zip(joints, origins, strict=True) if joint.parent == name]
        links.append(_link(elements[name], above, depth, moves, ends))
        order += [above] if above is not None else []
    in_order = [*order, *(joint for joint in joints if not any(joint is other for other in order))]
    return Facts(robot.get("name") or "", tuple(links), tuple(in_order))


def _walk(links: list[str], joints: list[JointFacts]) -> Iterator[tuple[str, JointFacts | None, int, bool]]:
    """Yield every link once, depth first: its name, the joint above it, its depth, and whether it moves."""
    children = {joint.child for joint in joints}
    left = dict.fromkeys(links)
    for root in [*(name for name in links if name not in children), *links]:
        pending: list[tuple[str, JointFacts | None, int, bool]] = [(root, None, 0, False)]
        while pending:
            name, above, depth, moves = pending.pop()
            if name not in left:
                continue
            del left[name]
            yield name, above, depth, moves
            below = [joint for joint in joints if joint.parent == name]
            pending += [(joint.child, joint, depth + 1, moves or joint.is_movable) for joint in reversed(below)]


def _joint(element: Element) -> JointFacts:
    joint_type = element.get("type") or ""
    limit = element.find("limit")
    mimic = element.find("mimic")
    ends = [end.get("link") or "" if (end := element.find(tag)) is not None else "" for tag in ("parent", "child")]
    has_range = joint_type != "continuous" and limit is not None
    low, high = (number(limit, name) if has_range else None for name in ("lower", "upper"))
    axis = numbers(element.find("axis"), "xyz") if element.find("axis") is not None else (1.0, 0.0, 0.0)
    return JointFacts(
        name=element.get("name") or "",
        type=joint_type,
        parent=ends[0],
        child=ends[1],
        axis=axis if joint_type in MOVABLE else None,
        lower=low,
        upper=high,
        effort=number(limit, "effort"),
        velocity=number(limit, "velocity"),
        damping=number(element.find("dynamics"), "damping"),
        mimic=None if mimic is None else mimic.get("joint"),
    )


def _link(
    element: Element, above: JointFacts | None, depth: int, moves: bool, ends: list[tuple[float, ...]]
) -> LinkFacts:
    mass = None
    moments = None
    points: list[tuple[float, ...]] = [(0.0, 0.0, 0.0), *ends]
    inertial = element.find("inertial")
    if inertial is not None and not is_massless(inertial):
        mass = number(inertial.find("mass"), "value")
        moments = _finite(principal_moments(inertial.find("inertia")))
        points.append(numbers(inertial.find("origin"), "xyz") or points[0])
    shapes = [_extent(shape) for geometry in element.iter("geometry") for shape in geometry]
    span = math.hypot(*(max(xs) - min(xs) for xs in zip(*points, strict=True)))
    return LinkFacts(
        name=element.get("name") or "",
        joint=above,
        depth=depth,
        moves=moves,
        mass=mass,
        principal_moments=moments,
        radius_of_gyration=math.sqrt(moments[2] / mass) if moments and mass and mass > 0 <= moments[2] else None,
        size=max([span, *(extent for extent in shapes if extent is not None)]),
        is_size_known=bool(shapes) and None not in shapes,
        has_geometry=bool(shapes),
    )


def _finite(moments: list[float] | None) -> tuple[float, ...] | None:
    return tuple(moments) if moments and all(map(math.isfinite, moments)) else None


def _extent(shape: Element) -> float | None:
    """Largest distance between two points of a shape [m]; None for a mesh."""
    if shape.tag == "box":
        return math.hypot(*(numbers(shape, "size") or (0.0,)))
    if shape.tag == "mesh":
        return None
    radius = number(shape, "radius") or 0.0
    length = number(shape, "length") if shape.tag == "cylinder" else None
    return math.hypot(2.0 * radius, length or 0.0)
