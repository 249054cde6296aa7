"""A cost given by any function, with derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal.costs import Costs
from arm_control.optimal.generic.user_dynamics import differences, second_differences
from arm_control.optimal.riccati import Cost


class UserCosts:
    """Any function of state, control and number of the knot, plus other costs.

    Parameters
    ----------
    function : callable
        From xs (M, n_x), us (M, n_u) and the numbers of their knots (M,) to costs (M,), zero or above; at knot N the
        control is zero and without effect.
    others : Costs, optional
        Costs to add.
    """

    def __init__(self, function: Callable[[Array, Array, Array], Array], others: Costs | None = None) -> None:
        self._function, self._others = function, others

    def weights(self, n: int) -> Array:
        """Weights of the other costs at each of n + 1 knots, shape (n + 1, terms)."""
        return np.zeros((n + 1, 0)) if self._others is None else self._others.weights(n)

    def values(self, xs: Array, us: Array, weights: Array, arm: Any) -> Array:
        """Cost at every knot, shape (N + 1,); parameters of :meth:`Costs.values`."""
        own = np.asarray(self._function(xs, us, np.arange(len(xs))), dtype=float)
        if own.shape != (len(xs),):
            raise InputError(f"it gives shape {own.shape} for {len(xs)} knots")
        return own if self._others is None else own + self._others.values(xs, us, weights, arm)

    def expansions(self, xs: Array, us: Array, weights: Array, arm: Any) -> Cost:
        """Cost and its derivatives at every knot, see :meth:`Costs.expansions`."""
        n, knots = xs.shape[1], np.arange(len(xs))

        def joined(xus: Array) -> Array:
            return np.asarray(self._function(xus[:, :n], xus[:, n:], knots), dtype=float)

        both = np.hstack([xs, us])
        slope, curve = differences(joined, both), second_differences(joined, both)
        own = (joined(both), slope[:, :n], slope[:, n:], curve[:, :n, :n], curve[:, n:, :n], curve[:, n:, n:])
        if self._others is None:
            return Cost(*own)
        return Cost(*(a + b for a, b in zip(own, self._others.expansions(xs, us, weights, arm), strict=True)))
