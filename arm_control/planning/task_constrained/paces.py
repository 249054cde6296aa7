"""Rates along the chains of a round: constant from edge to edge, or with an acceleration."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.planning.task_constrained.edges import Integers

FASTEST = 0.95
"""Share of the largest rate that chains have."""
LEAST = 1e-6
"""Smallest rate of a kinematic chain [1/s]."""


class Pace:
    """Rates along chains.

    Parameters
    ----------
    is_dynamic : bool
    rate : ndarray, shape (W,)
        Rate that is aimed at [1/s].
    thrust : ndarray, shape (W,)
        Largest acceleration of it [1/s^2].
    direction : ndarray of int, shape (W,)
    left : ndarray of int, shape (W,)
        Number of edges after which a dynamic chain stops.
    ds : float
        Length of an edge.

    Attributes
    ----------
    lengths : ndarray of int, shape (W,)
        Number of edges up to a stop.
    """

    def __init__(
        self, is_dynamic: bool, rate: Array, thrust: Array, direction: Integers, left: Integers, ds: float
    ) -> None:
        self._is_dynamic, self._rate, self._thrust, self._ds = is_dynamic, rate, thrust, ds
        self._direction, self._left = direction, left
        self.lengths = np.full(len(rate), np.iinfo(int).max)

    def __call__(self, l: int, rate: Array, cap: Array) -> Array:
        """Rate at the end of edge l, see :meth:`Edges.follow`."""
        is_wait = self._direction == 0
        aim = np.where(is_wait, self._rate, np.minimum(self._rate, FASTEST * cap))
        if not self._is_dynamic:
            return np.maximum(aim, LEAST)
        step = 2.0 * self._thrust * self._ds
        square = np.clip(aim**2, rate**2 - step, rate**2 + step)
        square = np.minimum(square, step * np.maximum(self._left - l - 1, 0))
        square = np.where(is_wait, aim**2 if l == 0 else 0.0, square)
        end = np.sqrt(np.maximum(square, 0.0))
        self.lengths = np.where((end == 0.0) & (self.lengths > l + 1), l + 1, self.lengths)
        return end
