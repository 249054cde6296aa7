"""Dynamics given by any function of state and control, with derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal.arm_dynamics import Arm

FIRST, SECOND = 6e-6, 1e-4
"""Steps of central differences of first and second order: cube and fourth root of the rounding error."""


class UserDynamics:
    """Dynamics given by any function.

    Parameters
    ----------
    function : callable
        From x (..., n_x) and u (..., n_u) to the next x, for any leading axes.
    n_x, n_u : int
        Sizes of state and control.
    derivatives : callable, optional
        From xs (N, n_x) and us (N, n_u) to f_x and f_u; finite differences by default.
    second_order : bool
        Whether second derivatives are used as well (differential dynamic programming in full).
    """

    arm: Arm = None

    def __init__(
        self,
        function: Callable[[Array, Array], Array],
        n_x: int,
        n_u: int,
        derivatives: Callable[[Array, Array], tuple[Array, Array]] | None = None,
        second_order: bool = False,
    ) -> None:
        self.n_x = n_x
        self.n_u = n_u
        self._function = function
        self._derivatives = derivatives
        self._second_order = second_order

    def step(self, xs: Array, us: Array) -> Array:
        """See :class:`Dynamics`."""
        next_xs = np.asarray(self._function(xs, us), dtype=float)
        if next_xs.shape != xs.shape:
            raise InputError(f"the dynamics give shape {next_xs.shape} for states of shape {xs.shape}")
        return next_xs

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """See :class:`Dynamics`."""
        if self._derivatives is not None:
            return self._derivatives(xs, us)
        f_xu = differences(self._joined, np.hstack([xs, us]))
        return f_xu[..., : self.n_x], f_xu[..., self.n_x :]

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """See :class:`Dynamics`."""
        return second_differences(self._joined, np.hstack([xs, us])) if self._second_order else None

    def _joined(self, xus: Array) -> Array:
        return self._function(xus[..., : self.n_x], xus[..., self.n_x :])


def differences(function: Callable[[Array], Array], xs: Array, step: float = FIRST) -> Array:
    """First derivatives by central differences, shape (N, ..., n).

    Parameters
    ----------
    function : callable
        From rows (N, n) to an array (N, ...).
    xs : ndarray, shape (N, n)
        Points.
    step : float
        Half the distance of the two points of a difference, relative to the size of an entry where that is above 1.
    """
    h = step * np.maximum(np.abs(xs), 1.0)
    moves = h[:, None, :] * np.eye(xs.shape[1])
    columns = [function(xs + moves[:, i]) - function(xs - moves[:, i]) for i in range(xs.shape[1])]
    return np.stack([c / (2.0 * h[:, i]).reshape(-1, *[1] * (c.ndim - 1)) for i, c in enumerate(columns)], axis=-1)


def second_differences(function: Callable[[Array], Array], xs: Array, step: float = SECOND) -> Array:
    """Second derivatives by central differences, shape (N, ..., n, n), symmetric; parameters of :func:`differences`."""
    second = differences(lambda x: differences(function, x, step), xs, step)
    return 0.5 * (second + np.swapaxes(second, -1, -2))
