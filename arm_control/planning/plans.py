"""Results of planning: a path or a motion, or the reason why there is none; and the proof of a path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import NearPair, Validity
from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.motion import JointTrajectory

MILLIMETRES = 1e3
"""In a metre."""
PROOF_LOOKS, PIECES = 64, 32
"""Largest number of places of one motion that are looked at for its proof; pieces of a motion that takes more."""
NEARLY = 1.0 - 1e-9
"""Largest share of a segment that is not free."""


class SearchOutcome(Enum):
    """What a search came to."""

    FOUND = "found"
    START_IN_CONTACT = "start in contact"
    GOAL_IN_CONTACT = "goal in contact"
    UNREACHABLE = "unreachable"
    IMPOSSIBLE = "impossible"
    LIMIT = "limit reached"


@dataclass(frozen=True)
class Effort:
    """Cost of a search.

    Attributes
    ----------
    motions : int
        Motions checked; of a search along a task path, pieces of it that were followed.
    vertices : int
        Of the tree, where the search counts them.
    """

    rounds: int = 0
    motions: int = 0
    seconds: float = 0.0
    vertices: int = 0


class DrawnTree(NamedTuple):
    """The tree of a search along a task path, to be drawn.

    Attributes
    ----------
    s, t : ndarray, shape (k,)
        Place on the task path and time of each vertex [s].
    parents : ndarray of int, shape (k,)
        Number of the vertex before it; -1 at a root.
    q : ndarray, shape (k, n)
        Joint positions [rad or m].
    """

    s: Array
    t: Array
    parents: npt.NDArray[np.int_]
    q: Array


@dataclass(frozen=True)
class Plan:
    """Result of each planner: a path or a motion, proved free of contact; or the reason why there is none.

    Attributes
    ----------
    reason : str
        Why there is none, in one sentence; empty where there is one.
    path : ndarray, shape (m, n)
        Joint positions from the start to a goal, at the corners of the path or the ends of the steps of the motion
        [rad or m]; of shape (0, n) where there is none.
    times : ndarray, shape (m,)
        Times of these [s]; all zero for a path among obstacles that stand still.
    contacts : tuple of NearPair
        What touches at the start or at the goal, where that is the reason.
    trajectory : JointTrajectory or None
        The motion; None: straight from one state to the next.
    progress : JointTrajectory or None
        Place on the task path over time, as of one joint; None without a task path.
    tree : DrawnTree or None
        The tree of a search along a task path.
    """

    outcome: SearchOutcome
    reason: str
    path: Array
    times: Array
    contacts: tuple[NearPair, ...] = ()
    effort: Effort = Effort()
    trajectory: JointTrajectory | None = None
    progress: JointTrajectory | None = None
    tree: DrawnTree | None = None

    def __repr__(self) -> str:
        cost = f"{self.effort.motions} motions checked in {self.effort.seconds:.3g} s"
        if not self.is_found:
            return f"<Plan {self.outcome.value}: {self.reason}\n {cost}>"
        duration = f"{self.times[-1]:.4g} s" if self.times[-1] else "without times"
        return f"<Plan found: {len(self.path)} states, length {self.length:.4g}, {duration}\n {cost}>"

    @property
    def is_found(self) -> bool:
        """Whether there is a path or a motion."""
        return self.outcome is SearchOutcome.FOUND

    @property
    def length(self) -> float:
        """Length of the path in joint space [rad or m]."""
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum())

    @property
    def duration(self) -> float:
        """Time of the motion [s]; 0 where there is none."""
        if self.trajectory is not None:
            return self.trajectory.duration
        return float(self.times[-1]) if len(self.times) else 0.0

    def at(self, times: npt.ArrayLike) -> tuple[Array, Array]:
        """Joint positions, shape (k, n), and places on the task path, shape (k,), at times, shape (k,) [s].

        Places are 0 without a task path.

        An InputError when there is no motion.
        """
        if not self.is_found:
            raise InputError(f"there is no motion: {self.reason}")
        t = np.asarray(times, dtype=float)
        if self.trajectory is not None:
            q = self.trajectory.at(t)[0]
        else:
            q = np.column_stack([np.interp(t, self.times, column) for column in self.path.T])
        return q, np.zeros(len(t)) if self.progress is None else self.progress.at(t)[0][:, 0]


class Way(NamedTuple):
    """Joint positions, shape (m, n) [rad or m], and their times, shape (m,) [s]; m is 0 where there is no way."""

    path: Array
    times: Array


def no_way(n: int) -> Way:
    """Return an empty way of n joints."""
    return Way(np.zeros((0, n)), np.zeros(0))


def free_path(path: Array, times: Array, effort: Effort) -> Plan:
    """Return the plan of a path that has been proved free, shape (m, n) [rad or m], at its times, shape (m,) [s]."""
    return Plan(SearchOutcome.FOUND, "", path, times, (), effort)


def no_path(
    outcome: SearchOutcome,
    reason: str,
    n: int,
    effort: Effort = Effort(),
    contacts: tuple[NearPair, ...] = (),
    tree: DrawnTree | None = None,
) -> Plan:
    """Return a plan of n joints without a path, and why in one sentence."""
    return Plan(outcome, reason, *no_way(n), contacts, effort, tree=tree)


def describe_contact(
    validity: Validity, q: Array, t: float, name: str, stays: float = 0.0
) -> tuple[str, tuple[NearPair, ...]]:
    """Which link touches what in a state (n,) at a time [s], or while it stays there, and how deep; and the pairs.

    The name is that of the state, such as ``the start``.
    """
    if broken := validity.broken(q):
        return f"{name} is not allowed: {broken[0]}", ()
    contact = validity.first_contact([q, q], [t, t + stays])
    if contact is None and validity.free_by_shapes([q], [q])[0]:
        return f"{name} is free by the meshes of its links only: no way out of the capsules around them was found", ()
    if contact is None or not contact.pairs:
        return f"{name} cannot be proved free", ()
    texts = [_text(pair) for pair in contact.pairs]
    more = f", and {len(texts) - 1} more" if len(texts) > 1 else ""
    when = f" {contact.t - t:.3g} s later" if contact.t > t else ""
    return f"{name} is in contact{when}: {texts[0]}{more}", contact.pairs


def _text(pair: NearPair) -> str:
    size = abs(pair.distance) * MILLIMETRES
    if pair.distance > 0.0:
        return f"'{pair.link}' is {size:.2g} mm from {pair.other}, nearer than the margin"
    return f"'{pair.link}' is {size:.2g} mm deep in {pair.other}"


def start_in_contact(validity: Validity, start: Array) -> Plan:
    """Return a plan that begins in contact, at joint positions, shape (n,) [rad or m]."""
    reason, contacts = describe_contact(validity, start, 0.0, "the start")
    return no_path(SearchOutcome.START_IN_CONTACT, reason, len(start), Effort(), contacts)


def goals_in_contact(validity: Validity, goals: Array) -> Plan:
    """Return a plan whose goals, joint positions of shape (k, n), are all in contact [rad or m]."""
    name = "the goal" if len(goals) == 1 else f"the first of {len(goals)} goals, none of which is free,"
    reason, contacts = describe_contact(validity, goals[0], 0.0, name)
    return no_path(SearchOutcome.GOAL_IN_CONTACT, reason, goals.shape[1], Effort(), contacts)


@exclusive
def proved_shares(validity: Validity, path: Array, times: Array) -> Array:
    """Share of each segment of a path that is proved free without a gap, shape (m - 1,); 1: all of it.

    The path (m, n) is in joint positions [rad or m], its times (m,) in seconds. Segments that take many looks are split
    into pieces, which share the lanes; they are left open (-1) where another segment is in contact.
    """
    proof = validity.motions(path[:-1], path[1:], times[:-1], times[1:], most_looks=PROOF_LOOKS)
    shares = np.where(proof.is_free, 1.0, np.where(proof.is_contact, np.minimum(proof.covered, NEARLY), -1.0))
    for k in np.flatnonzero(shares < 0.0).tolist() if not proof.is_contact.any() else []:
        shares[k] = _proved_share(validity, path[k : k + 2], times[k : k + 2])
        if shares[k] < 1.0:
            break
    return shares


def _proved_share(validity: Validity, ends: Array, times: Array) -> float:
    """The same for one segment, in pieces."""
    shares = np.linspace(0.0, 1.0, PIECES + 1)
    cuts = ends[0] + shares[:, None] * (ends[1] - ends[0])
    cuts[-1] = ends[1]
    stamps = times[0] + shares * (times[1] - times[0])
    is_free = validity.motions(cuts[:-1], cuts[1:], stamps[:-1], stamps[1:], most_looks=PROOF_LOOKS).is_free
    return 1.0 if is_free.all() else float(shares[is_free.argmin()])
