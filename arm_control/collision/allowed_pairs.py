"""Pairs of links that may touch each other, and why; and a monitor of all the others.

Capsules are larger than links, so that two links may overlap in every state though the arm is well; such pairs cannot
be checked. Links that one joint connects touch there. All other pairs are checked, also those that did not touch in any
sample: samples prove nothing. A file may ask to leave those out, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.hulls import HullObstacle
from arm_control.collision.near_pairs import REACH, NearPair, Proximity, sampled_distances
from arm_control.core import read_yaml, refuse_unknown
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel

SAMPLES = 10_000
"""Random states that pairs are compared in."""
ALWAYS = 0.95
"""Share of these states in which two links overlap by design."""
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


def find_allowed_pairs(shape: ArmShape, n: int = SAMPLES, seed: int = 0) -> AllowedPairs:
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
    share = _overlap_shares(shape, names, n, seed)
    connects = np.array([shape.are_neighbours(g, h) for g, h in shape.pairs])
    reasons = {"neighbours": connects, "always": ~connects & (share >= ALWAYS), "never": ~connects & (share == 0.0)}
    chosen = {
        reason: tuple(pair for pair, is_one in zip(names, are, strict=True) if is_one)
        for reason, are in reasons.items()
    }
    return AllowedPairs(robot, chosen["neighbours"], chosen["always"], never=chosen["never"])


def _overlap_shares(shape: ArmShape, names: Sequence[Names], n: int, seed: int) -> Array:
    """Share of random states in which the two links of each pair overlap, shape (P,)."""
    proximity = Proximity(shape.model, names, shape)
    search, links = proximity.new_search(), [capsule.link for capsule in shape.capsules]
    place = {frozenset(pair): k for k, pair in enumerate(names)}
    group = [place[frozenset((links[i], links[j]))] for i, j in proximity.capsule_pairs.tolist()]
    low, high = np.maximum(shape.model.q_min, -np.pi), np.minimum(shape.model.q_max, np.pi)
    states = np.random.default_rng(seed).uniform(low[:, None], high[:, None], (len(low), n)).T
    overlaps = np.zeros(len(names))
    for first in range(0, n, BLOCK):
        touches = sampled_distances(search, states[first : first + BLOCK]) <= 0.0
        of_links = np.zeros((len(touches), len(names)), bool)
        np.logical_or.at(of_links.T, group, touches.T)
        overlaps += of_links.sum(axis=0)
    return overlaps / n


class ContactMonitor:
    """Measures the pairs of an arm that may touch each other.

    Parameters
    ----------
    allowed : AllowedPairs, optional
        Pairs of links that may touch; by default found by sampling.

    Attributes
    ----------
    link_pairs : tuple of tuple of str
        The pairs of links that are measured.
    proximity : Proximity
        Measures them, and has the capsules of the arm.

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
        self.model, shape = model, ArmShape(model)
        self.allowed = find_allowed_pairs(shape) if allowed is None else allowed
        self.link_pairs = shape.names_of(self.allowed.checked(shape))
        self.proximity = Proximity(model, self.link_pairs, shape)

    def near(
        self,
        q: Array,
        obstacles: Sequence[Obstacle | HullObstacle] = (),
        names: Sequence[str] = (),
        reach: float = REACH,
    ) -> list[NearPair]:
        """The pairs that are nearer than the reach, the nearest first.

        Parameters
        ----------
        q : ndarray, shape (n,)
            Joint positions [rad or m].
        reach : float
            Largest distance [m].

        Raises
        ------
        InputError
            When there are not as many positions as joints, or one is not finite.
        """
        if np.shape(q) != (self.model.nq,) or not np.isfinite(q).all():
            raise InputError(f"joint positions {np.asarray(q).tolist()}: {self.model.nq} finite numbers are needed")
        return self.proximity.nearest(q, obstacles, names, reach)
