"""Spikes of a few neurons of some populations, counted in bins of time: what a raster shows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from arm_control.maths import Array
from arm_control.neural.populations import Population

BIN = 2e-3
"""Duration of a bin [s]."""
MOST_BINS = 100
"""Bins that are kept; older ones are forgotten."""


class SpikeRecord:
    """Counts spikes while it is on.

    Parameters
    ----------
    populations : sequence of Population
        The neurons.
    n : int
        How many of each population are shown.
    dt : float
        Duration of a step [s].

    Attributes
    ----------
    is_on : bool
        Whether spikes are counted.
    """

    def __init__(self, populations: Sequence[Population], n: int, dt: float) -> None:
        self._populations = populations
        self._shown = [_evenly(population.order, n) for population in populations]
        self._steps_per_bin = max(1, round(BIN / dt))
        self._counts = np.zeros(sum(map(len, self._shown)))
        self._n_steps = 0
        self._bins: deque[Array] = deque(maxlen=MOST_BINS)
        self.is_on = False

    def add(self) -> None:
        """Count the spikes of the last step."""
        if not self.is_on:
            return
        self._counts += np.concatenate(
            [population.spikes[shown] for population, shown in zip(self._populations, self._shown, strict=True)]
        )
        self._n_steps += 1
        if self._n_steps == self._steps_per_bin:
            self._bins.append(self._counts.copy())
            self._counts[:], self._n_steps = 0.0, 0

    @property
    def n_bins(self) -> int:
        """Number of whole bins since the last :meth:`take`."""
        return len(self._bins)

    def take(self) -> Array:
        """Return the counts since the last call, shape (neurons, bins), and forget them."""
        counts = np.array(self._bins).reshape(-1, len(self._counts)).T
        self._bins.clear()
        return counts


def _evenly(order: Array, n: int) -> Array:
    """Up to n entries of an array, evenly spread."""
    return order[np.linspace(0, len(order) - 1, min(n, len(order))).round().astype(int)]
