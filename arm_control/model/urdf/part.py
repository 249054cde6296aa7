"""The part of a robot that is controlled: which joints move, and which links they move.

Defects of a URDF count by it: a missing effort limit matters for a controlled joint, and not for a wheel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.model.urdf.facts import Facts, JointFacts

ALL = "all"
"""The choice of every joint below the base."""


@dataclass(frozen=True)
class Part:
    """Joints and links by the part they take in the motion of the arm.

    Attributes
    ----------
    base, tip : str
        Ends of the arm.
    joints : tuple of str
        The controlled joints.
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
    above : frozenset of str
        Joints above the base.
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

    def without_mass(self) -> Part:
        """Return the part for kinematics alone: no mass counts."""
        return replace(self, moved=frozenset(), chain=frozenset())


def part_of(facts: Facts, base: str, tip: str, joints: Sequence[str]) -> Part:
    """Return the part of a robot that joints move.

    Parameters
    ----------
    facts : Facts
        The robot.
    base, tip : str
        Ends of the arm.
    joints : sequence of str
        The controlled joints.
    """
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
    """Return the part of a robot that some choices mean.

    Parameters
    ----------
    facts : Facts
        The robot; a tree.
    base : str or None
        Link that is bolted to the world; None for the root.
    tip : str or None
        Link of the end effector; None for the one of :func:`default_tip`.
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
    below = [joint for joint in facts.joints if base in _links_above(facts, joint)]
    return part_of(facts, base, tip, _controlled(facts, below, tip, joints))


def default_tip(facts: Facts, base: str) -> str:
    """Return the end effector of an arm that has one only.

    It is ``tool0`` where there is one, or the only leaf. Where several leaves move, as with the fingers of a gripper,
    it is the last link above all of them, if more joints lead to it than from there to any finger.

    Parameters
    ----------
    facts : Facts
        The robot.
    base : str
        Link that is bolted to the world.

    Raises
    ------
    ModelError
        When there are several arms, or none.
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


def _links_above(facts: Facts, joint: JointFacts) -> list[str]:
    return _links_on(facts, joint.parent)


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
