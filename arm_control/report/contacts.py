"""Which pairs of an arm touch in many states, how deep, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from arm_control.collision import ContactMonitor, Margins, NearPair
from arm_control.core import progress_bar
from arm_control.maths import Array, Obstacle

MANY = 1000
"""Number of states from which on there is a progress bar."""


class ObservedState(NamedTuple):
    """A state, and the obstacles in it.

    Attributes
    ----------
    t : float
        Time [s].
    q : ndarray, shape (n,)
        Joint positions [rad or m].
    """

    t: float
    q: Array
    obstacles: Sequence[Obstacle] = ()
    names: Sequence[str] = ()


class PairContacts(NamedTuple):
    """A pair in many states.

    Attributes
    ----------
    nearest : NearPair
        The pair in the state in which it is nearest.
    """

    nearest: NearPair
    state: ObservedState
    n_contacts: int


@dataclass(frozen=True)
class Contacts:
    """All pairs in many states.

    Attributes
    ----------
    n_states, n_in_contact : int
        Number of states, and of those with a contact.
    worst : ObservedState
        The state with the smallest distance; the first one where nothing is within reach.
    """

    pairs: tuple[PairContacts, ...]
    n_states: int
    n_in_contact: int
    worst: ObservedState


def find_contacts(monitor: ContactMonitor, states: Sequence[ObservedState], margins: Margins, reach: float) -> Contacts:
    """Measure all pairs in some states; a progress bar shows how far it is.

    Parameters
    ----------
    states : sequence of ObservedState
        One at least.
    reach : float
        Pairs beyond it, and beyond the margins, are left out [m].

    Raises
    ------
    InputError
        When joint positions are not those of the arm.
    """
    found: dict[str, PairContacts] = {}
    n_in_contact = 0
    for state in progress_bar(states, "measuring" if len(states) > MANY else None):
        near = monitor.near(state.q, state.obstacles, state.names, max(reach, *margins))
        n_in_contact += any(pair.is_contact(margins) for pair in near)
        by_label = {pair.label: pair for pair in reversed(near)}  # several shapes of a marker have one name
        for pair in by_label.values():
            before = found.get(pair.label, PairContacts(pair, state, 0))
            nearest = before if before.nearest.distance <= pair.distance else PairContacts(pair, state, 0)
            found[pair.label] = nearest._replace(n_contacts=before.n_contacts + pair.is_contact(margins))
    pairs = sorted(found.values(), key=lambda contacts: contacts.nearest.distance)
    return Contacts(tuple(pairs), len(states), n_in_contact, pairs[0].state if pairs else states[0])
