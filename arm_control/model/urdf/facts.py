"""The content of a URDF as plain data, and the part of the robot that is controlled.

Unlike :func:`arm_control.model.urdf.load.load_urdf` this accepts any XML of a robot. A missing or unusable value is
None; links on a cycle or without a parent are roots of their own.

Defects of a URDF count by the part: a missing effort limit matters for a controlled joint, and not for a wheel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.model.urdf.xml import MOVABLE, is_massless, number, numbers, principal_moments


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


# -- the controlled part ---------------------------------------------------------------------------------

ALL = "all"
"""The choice of every joint below the base."""


@dataclass(frozen=True)
class Part:
    """Joints and links by the part they take in the motion of the arm.

    Attributes
    ----------
    driven : frozenset of str
        The controlled joints and those that mimic them.
    moved : frozenset of str
        Links that a driven joint moves: their mass counts.
    chain : frozenset of str
        Of these, the ones on the way to the tip, and those right below a driven joint.
    way : frozenset of str
        Every joint between root and tip, also those above the base.
    placed : frozenset of str
        Links whose place counts: those on the way to the tip, and the moved ones.
    """

    base: str
    tip: str
    joints: tuple[str, ...]
    driven: frozenset[str]
    moved: frozenset[str]
    chain: frozenset[str]
    way: frozenset[str]
    placed: frozenset[str]
    above: frozenset[str]


def part_of(facts: Facts, base: str, tip: str, joints: Sequence[str]) -> Part:
    """Return the part of a robot that joints move, of an arm from base to tip."""
    movable = [joint for joint in facts.joints if joint.is_movable]
    driven = {joint.name for joint in movable if joint.name in joints or joint.mimic in joints}
    paths = {link.name: facts.path(link.name) for link in facts.links}
    above = frozenset(joint.name for joint in paths.get(base, ()))
    way = frozenset(joint.name for joint in paths.get(tip, ()))
    moved = {link for link, path in paths.items() if any(joint.name in driven - above for joint in path)}
    children = {joint.child for joint in facts.joints if joint.name in driven}
    on_way = {link for link, path in paths.items() if path and path[-1].name in way}
    return Part(
        base=base,
        tip=tip,
        joints=tuple(joints),
        driven=frozenset(driven),
        moved=frozenset(moved),
        chain=frozenset(moved & (on_way | children)),
        way=way,
        placed=frozenset({base} | on_way | moved),
        above=above,
    )


def whole_robot(facts: Facts) -> Part:
    """Return the part in which every joint is controlled that can be."""
    joints = [joint.name for joint in facts.joints if joint.is_movable and joint.mimic is None]
    part = part_of(facts, facts.root, facts.root, joints)
    every = frozenset(link.name for link in facts.links)
    names = frozenset(joint.name for joint in facts.joints)
    return Part(facts.root, facts.root, part.joints, names, every, every, names, every, frozenset())


def choose_part(facts: Facts, base: str | None, tip: str | None, joints: Sequence[str] | str | None) -> Part:
    """Return the part of a robot, a tree, that some choices mean.

    Parameters
    ----------
    base, tip : str or None
        Link that is bolted to the world; None for the root. End effector; None for that of :func:`default_tip`.
    joints : sequence of str, "all" or None
        The controlled joints; None for those between base and tip, or the leaders that these mimic.

    Raises
    ------
    FrameNotFound, ModelError
        When there is no such link, the tip must be named, or ``joints`` is another word than "all".
    """
    links = [link.name for link in facts.links]
    for name in (base, tip):
        if name is not None and name not in links:
            raise FrameNotFound(name, links)
    base = facts.root if base is None else base
    tip = default_tip(facts, base) if tip is None else tip
    below = [joint for joint in facts.joints if base in _links_on(facts, joint.parent)]
    return part_of(facts, base, tip, _controlled(facts, below, tip, joints))


def default_tip(facts: Facts, base: str) -> str:
    """Return the end effector of an arm that has one only.

    It is ``tool0`` where there is one, or the only leaf. Where several leaves move, as with the fingers of a gripper,
    it is the last link above all of them, if more joints lead to it than from there to any finger.

    A ModelError when there are several arms, or none.
    """
    below = [link.name for link in facts.links if base in _links_on(facts, link.name)[:-1]]
    leaves = [name for name in facts.leaves if name in below]
    if "tool0" in below:
        return "tool0"
    if len(leaves) == 1:
        return leaves[0]
    leaves = [leaf for leaf in leaves if _n_movable(_below_base(facts, base, leaf))]
    if not leaves:
        raise ModelError(f"no joint below the base {base!r} moves")
    hand = _hand(facts, base, leaves)
    if hand is None:
        raise ModelError(f"the tip is ambiguous: choose 'tip' from {', '.join(leaves)}")
    return hand


def _hand(facts: Facts, base: str, leaves: Sequence[str]) -> str | None:
    """Return the last link above all leaves, which move, if it is the end of an arm."""
    ways = [_below_base(facts, base, leaf) for leaf in leaves]
    shared = 0
    while all(len(way) > shared and way[shared] is ways[0][shared] for way in ways):
        shared += 1
    trunk = ways[0][:shared]
    branches = max(_n_movable(way[shared:]) for way in ways)
    return trunk[-1].child if _n_movable(trunk) > branches else None


def _below_base(facts: Facts, base: str, link: str) -> tuple[JointFacts, ...]:
    path = facts.path(link)
    parents = [joint.parent for joint in path]
    return path[parents.index(base) :] if base in parents else ()


def _n_movable(path: Sequence[JointFacts]) -> int:
    return sum(joint.is_movable for joint in path)


def _links_on(facts: Facts, link: str) -> list[str]:
    """Every link from the root to a link."""
    return [*(joint.parent for joint in facts.path(link)), link]


def _controlled(
    facts: Facts, below: Sequence[JointFacts], tip: str, joints: Sequence[str] | str | None
) -> tuple[str, ...]:
    """Names of the controlled joints, of those below the base."""
    if joints is None:
        names = {joint.name for joint in below if joint.is_movable}
        way = [joint for joint in facts.path(tip) if joint.name in names]
        return tuple(dict.fromkeys(joint.name if joint.mimic is None else joint.mimic for joint in way))
    if not isinstance(joints, str):
        return tuple(dict.fromkeys(joints))
    if joints != ALL:
        raise ModelError(f"joints is '{joints}'; allowed: a list of names, or '{ALL}'")
    return tuple(joint.name for joint in below if joint.is_movable and joint.mimic is None)
