"""Pairs of links that may touch each other, and why; and a monitor of all the others.

Capsules are larger than links, so that two links may overlap in every state though the arm is well. Where few joints
lie between them, their real shapes decide (:mod:`arm_control.collision.joint_tables`); elsewhere such pairs cannot be
checked. Links that one joint connects touch there. All other pairs are checked, also those that did not touch in any
sample: samples prove nothing. A file may ask to leave those out, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.joint_tables import JointTable, tables_of
from arm_control.collision.near_pairs import REACH, NearPair, Proximity, sampled_distances
from arm_control.core import read_yaml, refuse_unknown
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel, drawn_range

SAMPLES = 10_000
"""Random states that pairs are compared in."""
ALWAYS, WORTH = 0.95, 0.005
"""Share of these states in which two links overlap by design; share in which only capsules do that is worth a table."""
LOOKED_AT = 200
"""States in which capsules overlap that are looked at to estimate that."""
BLOCK = 1000
"""States that are measured at once."""

Names = tuple[str, str]
_HEAD = """\
# Pairs of links of {robot} that may touch each other, from {n} random states. Pairs that are not listed are checked.
# neighbours: one joint connects them.     always: their capsules overlap in {share:.0%} of the states or more.
# by_hand: yours.     never: in no state; checked nevertheless, unless skip_never is true: samples prove nothing.
"""


@dataclass(frozen=True)
class AllowedPairs:
    """Pairs of links by name, and why they are not checked.

    Attributes
    ----------
    neighbours, always, by_hand : tuple of tuple of str
        Pairs that may touch: connected by a joint, overlapping by design, and for reasons of the user.
    never : tuple of tuple of str
        Pairs that did not touch in any sample.
    skip_never : bool
        Whether these are not checked, either.
    """

    robot: str
    neighbours: tuple[Names, ...] = ()
    always: tuple[Names, ...] = ()
    by_hand: tuple[Names, ...] = ()
    never: tuple[Names, ...] = ()
    skip_never: bool = False

    def checked(self, shape: ArmShape) -> tuple[tuple[int, int], ...]:
        """Numbers of the links of each pair that is checked.

        Raises
        ------
        ParameterError
            When a pair names a link without a shape.
        """
        names = shape.names
        skipped = [*self.neighbours, *self.always, *self.by_hand, *(self.never if self.skip_never else ())]
        for pair in (*skipped, *self.never):
            if unknown := set(pair) - set(names):
                raise ParameterError(f"allowed pairs of {self.robot}: no link '{min(unknown)}'; allowed: {list(names)}")
        off = set(map(frozenset, skipped))
        return tuple((g, h) for g, h in shape.pairs if frozenset((names[g], names[h])) not in off)

    def save(self, path: Path) -> None:
        """Write a file."""
        lines = [_HEAD.format(robot=self.robot, n=SAMPLES, share=ALWAYS), f"robot: {self.robot}\n"]
        lines.append(f"skip_never: {str(self.skip_never).lower()}\n")
        for reason in _REASONS:
            pairs = [f"  - [{first}, {second}]\n" for first, second in getattr(self, reason)]
            lines += [f"{reason}:\n" if pairs else f"{reason}: []\n", *pairs]
        path.write_text("".join(lines))

    @classmethod
    def load(cls, path: Path) -> AllowedPairs:
        """Read a file.

        Raises
        ------
        ParameterError
            When it cannot be read, or has an unknown key or a value of another type.
        """
        content = read_yaml(path)
        refuse_unknown(content, [field.name for field in fields(cls)], str(path))
        skip_never = content.get("skip_never", False)
        if not isinstance(skip_never, bool):
            raise ParameterError(f"{path}: skip_never is {skip_never!r}; allowed: true or false")
        robot = content.get("robot", "")
        if not isinstance(robot, str):
            raise ParameterError(f"{path}: robot is {robot!r}; a name is needed")
        pairs = {reason: _names(content, reason, path) for reason in _REASONS}
        return cls(robot, pairs["neighbours"], pairs["always"], pairs["by_hand"], pairs["never"], skip_never)


_REASONS = ("neighbours", "always", "by_hand", "never")


def _names(content: Mapping[str, Any], reason: str, path: Path) -> tuple[Names, ...]:
    entries = content.get(reason) or []
    is_list = isinstance(entries, Sequence) and not isinstance(entries, str)
    for entry in entries if is_list else [entries]:
        if not is_list or not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(x, str) for x in entry):
            raise ParameterError(
                f"{path}: {reason} has {entry!r:.80}; allowed: pairs of links such as [link_1, link_2]"
            )
    return tuple((first, second) for first, second in entries)


def find_allowed_pairs(shape: ArmShape, n: int = SAMPLES) -> AllowedPairs:
    """Find the pairs of an arm's links that may touch, from random states within the limits.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> pairs = find_allowed_pairs(ArmShape(RobotModel.from_urdf(urdf_path("planar3"))), 400)
    >>> pairs.neighbours, pairs.always, pairs.never
    ((('link0', 'link1'), ('link1', 'link2')), (), ())
    """
    names = shape.names_of(shape.pairs)
    robot = shape.model.urdf.robot.name
    if not names:
        return AllowedPairs(robot)
    states, overlaps = _overlaps(shape, n)
    for pair, table in contact_tables(shape).items():
        overlaps[:, shape.pairs.index(pair)] &= table.distance(states.T) <= 0.0
    share = overlaps.mean(axis=0)
    connects = np.array([shape.are_neighbours(g, h) for g, h in shape.pairs])
    reasons = {"neighbours": connects, "always": ~connects & (share >= ALWAYS), "never": ~connects & (share == 0.0)}
    chosen = {
        reason: tuple(pair for pair, is_one in zip(names, are, strict=True) if is_one)
        for reason, are in reasons.items()
    }
    return AllowedPairs(robot, chosen["neighbours"], chosen["always"], never=chosen["never"])


Tables: TypeAlias = Mapping[tuple[int, int], JointTable]
"""Numbers of two links, and the postures in which they touch."""


def contact_tables(shape: ArmShape, margin: float = 0.0) -> Tables:
    """The postures in which links touch that often overlap as capsules only, and have few joints between them.

    Those of the shapes in the URDF; none of an arm of other capsules, or where coal is not installed. They take up to a
    minute for an arm of fine meshes, once: then the user's cache has them. What is nearer than a margin is not free
    [m].
    """
    if not shape.is_described or shape.notes or not shape.pairs:
        return {}
    tables = _TABLES.setdefault(shape, {})
    if margin not in tables:
        states, overlaps = _overlaps(shape, SAMPLES)
        share, connected = overlaps.mean(axis=0), shape.are_neighbours
        worth = {
            pair: (shape.names_of([pair])[0], states[overlaps[:, k]][:LOOKED_AT], share[k] / WORTH)
            for k, pair in enumerate(shape.pairs)
            if share[k] >= WORTH and not connected(*pair) and (share[k] < ALWAYS or shape.has_mesh(*pair))
        }
        tables[margin] = tables_of(shape.model, worth, margin)
    return tables[margin]


_TABLES: WeakKeyDictionary[ArmShape, dict[float, Tables]] = WeakKeyDictionary()
_OVERLAPS: WeakKeyDictionary[ArmShape, dict[int, tuple[Array, Array]]] = WeakKeyDictionary()


def _overlaps(shape: ArmShape, n: int) -> tuple[Array, Array]:
    """Random states (n, nv), and whether the capsules of two links overlap in them, for each pair (n, P)."""
    known = _OVERLAPS.setdefault(shape, {})
    if n not in known:
        known[n] = _sampled_overlaps(shape, shape.names_of(shape.pairs), n)
    states, overlaps = known[n]
    return states, overlaps.copy()


def _sampled_overlaps(shape: ArmShape, names: Sequence[Names], n: int) -> tuple[Array, Array]:
    proximity = Proximity(shape.model, names, shape)
    search, links = proximity.new_search(), [capsule.link for capsule in shape.capsules]
    place = {frozenset(pair): k for k, pair in enumerate(names)}
    group = [place[frozenset((links[i], links[j]))] for i, j in proximity.capsule_pairs.tolist()]
    low, high = drawn_range(shape.model.q_min, shape.model.q_max)
    states = np.random.default_rng(0).uniform(low[:, None], high[:, None], (len(low), n)).T
    overlaps = np.zeros((n, len(names)), bool)
    for first in range(0, n, BLOCK):
        touches = sampled_distances(search, states[first : first + BLOCK]) <= 0.0
        np.logical_or.at(overlaps[first : first + BLOCK].T, group, touches.T)
    return states, overlaps


class ContactMonitor:
    """Measures the pairs of an arm that may touch each other.

    Parameters
    ----------
    allowed : AllowedPairs, optional
        Pairs of links that may touch; by default found by sampling.

    Attributes
    ----------
    proximity : Proximity
        Measures them, and has the capsules of the arm.
    shape : ArmShape

    Raises
    ------
    ModelError
        When a collision shape cannot be read, or there is none.
    ParameterError
        When an allowed pair names a link without a shape.

    Examples
    --------
    >>> from arm_control import Pose, RobotModel, urdf_path
    >>> from arm_control.maths.shapes import Sphere
    >>> monitor = ContactMonitor(RobotModel.from_urdf(urdf_path("planar2")))
    >>> (nearest, *_) = monitor.near(np.zeros(2), [Obstacle(Sphere(0.1), Pose.at([0.45, 0.2, 0.0]))])
    >>> nearest.label, round(nearest.distance, 3)
    ('link1 - obstacle 0', 0.087)
    """

    def __init__(self, model: RobotModel, allowed: AllowedPairs | None = None) -> None:
        self.model, self.shape = model, ArmShape(model)
        shape = self.shape
        self.allowed = find_allowed_pairs(shape) if allowed is None else allowed
        self.link_pairs = shape.names_of(self.allowed.checked(shape))
        self._tables: dict[frozenset[str], JointTable] = {
            frozenset(*shape.names_of([pair])): table for pair, table in contact_tables(shape).items()
        }
        self.proximity = Proximity(model, self.link_pairs, shape)

    def near(
        self,
        q: Array,
        obstacles: Sequence[Obstacle] = (),
        names: Sequence[str] = (),
        reach: float = REACH,
    ) -> list[NearPair]:
        """The pairs that are nearer than the reach [m] at joint positions (n,) [rad or m], the nearest first.

        Raises
        ------
        InputError
            When there are not as many positions as joints, or one is not finite.
        """
        if np.shape(q) != (self.model.nq,) or not np.isfinite(q).all():
            raise InputError(f"joint positions {np.asarray(q).tolist()}: {self.model.nq} finite numbers are needed")
        pairs = self.proximity.nearest(q, obstacles, names, reach)
        return [pair for pair in pairs if not self._is_apart(pair, np.asarray(q, dtype=float))]

    def _is_apart(self, pair: NearPair, q: Array) -> bool:
        """Whether two links are apart by their real shapes, though their capsules overlap."""
        if pair.distance > 0.0 or not pair.is_self:
            return False
        table = self._tables.get(frozenset(pair[:2]))
        return table is not None and float(table.distance(q)) > 0.0
