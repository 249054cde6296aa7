"""How trees grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.exceptions import InputError


@dataclass(frozen=True)
class SearchParameters:
    """How trees grow.

    Attributes
    ----------
    rounds : int
        Largest number of rounds.
    samples : int
        Samples for each tree in a round.
    connections : int
        New nodes of each tree from which the other one is tried: the nearest.
    step : float
        Longest motion towards a sample [rad or m].
    least_step : float
        Shortest motion that makes a node [rad or m].
    looks : int
        Places of a motion that are looked at while trees grow.
    seed : int
        Of the samples: equal seeds, equal paths.
    """

    rounds: int = 4000
    samples: int = 8
    connections: int = 4
    step: float = 1.0
    least_step: float = 0.1
    looks: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rounds", "samples", "connections", "looks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 1 or more is needed")
        if not 0.0 < self.least_step <= self.step < np.inf:
            raise InputError(f"steps are {self.least_step} and {self.step}; needed: 0 < least_step <= step")


STANDARD = SearchParameters()
"""How trees grow, if nothing else is asked."""
