"""Results of planning: a path, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from arm_control.collision import Pair, Validity
from arm_control.core import exclusive
from arm_control.maths import Array

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
    LIMIT = "limit reached"


@dataclass(frozen=True)
class Effort:
    """What a search took.

    Attributes
    ----------
    rounds : int
        Rounds of samples.
    motions : int
        Motions checked.
    seconds : float
        Time [s].
    """

    rounds: int = 0
    motions: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """A path of straight motions in joint space, proved free of contact; or the reason why there is none.

    Attributes
    ----------
    outcome : SearchOutcome
    reason : str
        Why there is no path, in one sentence; empty where there is one.
    path : ndarray, shape (m, n)
        Joint positions from the start to a goal [rad or m]; of shape (0, n) where there is none.
    times : ndarray, shape (m,)
        Times of these [s]; all zero in a scene that stands still.
    contacts : tuple of Pair
        What touches at the start or at the goal, where that is the reason.
    effort : Effort
        What the search took.
    """

    outcome: SearchOutcome
    reason: str
    path: Array
    times: Array
    contacts: tuple[Pair, ...] = ()
    effort: Effort = Effort()

    @property
    def is_found(self) -> bool:
        """Whether there is a path."""
        return self.outcome is SearchOutcome.FOUND

    @property
    def length(self) -> float:
        """Length of the path in joint space [rad or m]."""
        return path_length(self.path)


def path_length(path: Array) -> float:
    """Length of a path of straight motions, shape (m, n) [rad or m]."""
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def free_path(path: Array, times: Array, effort: Effort) -> Plan:
    """Return the plan of a path that has been proved free.

    Parameters
    ----------
    path : ndarray, shape (m, n)
        Joint positions [rad or m].
    times : ndarray, shape (m,)
        Times [s].
    effort : Effort
        What the search took.
    """
    return Plan(SearchOutcome.FOUND, "", path, times, (), effort)


def no_path(
    outcome: SearchOutcome, reason: str, n: int, effort: Effort = Effort(), contacts: tuple[Pair, ...] = ()
) -> Plan:
    """Return a plan without a path.

    Parameters
    ----------
    outcome : SearchOutcome
    reason : str
        In one sentence.
    n : int
        Number of joints.
    effort : Effort
        What the search took.
    contacts : tuple of Pair
        What touches.
    """
    return Plan(outcome, reason, np.zeros((0, n)), np.zeros(0), contacts, effort)


def describe_contact(
    validity: Validity, q: Array, t: float, name: str, stays: float = 0.0
) -> tuple[str, tuple[Pair, ...]]:
    """Which link touches what in a state, and how deep: a sentence, and the pairs.

    Parameters
    ----------
    validity : Validity
    q : ndarray, shape (n,)
        Joint positions [rad or m].
    t : float
        Time [s].
    name : str
        Name of the state, such as ``the start``.
    stays : float
        For how long the arm is there [s].
    """
    contact = validity.first_contact([q, q], [t, t + stays])
    if contact is None or not contact.pairs:
        return f"{name} cannot be proved free", ()
    texts = [_text(pair) for pair in contact.pairs]
    more = f", and {len(texts) - 1} more" if len(texts) > 1 else ""
    when = f" {contact.t - t:.3g} s later" if contact.t > t else ""
    return f"{name} is in contact{when}: {texts[0]}{more}", contact.pairs


def _text(pair: Pair) -> str:
    size = abs(pair.distance) * MILLIMETRES
    if pair.distance > 0.0:
        return f"'{pair.link}' is {size:.2g} mm from {pair.other}, nearer than the margin"
    return f"'{pair.link}' is {size:.2g} mm deep in {pair.other}"


def start_in_contact(validity: Validity, start: Array) -> Plan:
    """Return a plan without a path.

    Parameters
    ----------
    validity : Validity
    start : ndarray, shape (n,)
        Joint positions [rad or m].
    """
    reason, contacts = describe_contact(validity, start, 0.0, "the start")
    return no_path(SearchOutcome.START_IN_CONTACT, reason, len(start), Effort(), contacts)


def goals_in_contact(validity: Validity, goals: Array) -> Plan:
    """Return a plan without a path.

    Parameters
    ----------
    validity : Validity
    goals : ndarray, shape (k, n)
        Joint positions [rad or m].
    """
    name = "the goal" if len(goals) == 1 else f"the first of {len(goals)} goals, none of which is free,"
    reason, contacts = describe_contact(validity, goals[0], 0.0, name)
    return no_path(SearchOutcome.GOAL_IN_CONTACT, reason, goals.shape[1], Effort(), contacts)


@exclusive
def proved_shares(validity: Validity, path: Array, times: Array) -> Array:
    """Share of each segment of a path that is proved free without a gap, shape (m - 1,); 1: all of it.

    Segments that take many looks are split into pieces, which share the lanes; they are left open (-1) where another
    segment is in contact.

    Parameters
    ----------
    validity : Validity
    path : ndarray, shape (m, n)
        Joint positions [rad or m].
    times : ndarray, shape (m,)
        Times [s].
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
