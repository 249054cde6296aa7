"""The three passes of :mod:`arm_control.optimal.ilqr_solver` in NumPy, for any dynamics and costs.

Dynamics and costs that are functions of a user get their derivatives by finite differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal.arm_dynamics import Dynamics, differences, second_differences
from arm_control.optimal.costs import Costs
from arm_control.optimal.riccati import DONE, Backward, ControlBounds, Cost, Expansion, expand, step


class UserCosts:
    """Any function of state, control and number of the knot, plus other costs.

    Parameters
    ----------
    function : callable
        From xs (M, n_x), us (M, n_u) and the numbers of their knots (M,) to costs (M,), zero or above; at knot N the
        control is zero and without effect.
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


class PassFailed(Exception):
    """Dynamics or a cost raised, or gave NaN or infinity; the message says which."""


class NumpyPasses:
    """Passes in NumPy: derivatives of all knots at once, the rest knot by knot.

    Parameters
    ----------
    u_min, u_max : ndarray, shape (n_u,)
        Limits; infinite for none.
    clamps : bool
        Whether limits act in the rollout only (naive clamping).
    """

    def __init__(
        self,
        dynamics: Dynamics,
        costs: Costs | UserCosts,
        n: int,
        u_min: Array,
        u_max: Array,
        clamps: bool = False,
    ) -> None:
        self._dynamics, self._costs, self._n = dynamics, costs, n
        self._u_min, self._u_max = u_min, u_max
        self._has_box = not clamps and bool(np.isfinite(u_min).any() or np.isfinite(u_max).any())
        self._weights = costs.weights(n)
        n_x, n_u = dynamics.n_x, dynamics.n_u
        self.xs, self.us = np.zeros((n + 1, n_x)), np.zeros((n, n_u))
        self.k, self.K, self.held = np.zeros((n, n_u)), np.zeros((n, n_u, n_x)), np.zeros((n, n_u))
        self._tried = self.xs, self.us

    def start(self, x0: Array, us: Array, plan: tuple[Array, Array] | None) -> float:
        """Begin with controls (N, n_u) from a state (n_x,); return the cost.

        A plan, states (N + 1, n_x) and gains (N, n_u, n_x), is the feedback in this first rollout.
        """
        self.held[:], self.k[:], self.K[:] = 0.0, 0.0, 0.0
        self.us, self.xs = us.copy(), np.tile(x0, (self._n + 1, 1))
        if plan is not None:
            self.xs, self.K = plan[0].copy(), plan[1].copy()
        cost = self.rollout(0.0, x0)
        self.accept()
        return cost

    def accept(self) -> None:
        """Make the tried plan the present one."""
        self.xs, self.us = self._tried

    def rollout(self, alpha: float, x0: Array | None = None) -> float:
        """Try a step of length alpha, equation (5); return the cost."""
        xs, us = np.empty_like(self.xs), np.empty_like(self.us)
        xs[0] = self.xs[0] if x0 is None else x0
        self._tried = xs, us
        if not _named("the dynamics", self._follow, alpha, xs, us):
            return np.inf
        cost = float(np.sum(_named("a cost", self._costs.values, xs, _padded(us), self._weights, self._dynamics.arm)))
        return cost if np.isfinite(cost) else np.inf

    def _follow(self, alpha: float, xs: Array, us: Array) -> bool:
        """Fill in controls and the states after them; return whether all controls are finite."""
        step, k = self._dynamics.step, alpha * self.k
        for i in range(self._n):
            u = self.us[i] + k[i] + self.K[i] @ (xs[i] - self.xs[i])
            us[i] = np.minimum(np.maximum(u, self._u_min), self._u_max)
            if not np.isfinite(us[i]).all():  # so it is where a state is not finite
                return False
            xs[i + 1] = step(xs[i : i + 1], us[i : i + 1])[0]
        return True

    def expand(self) -> None:
        """Compute derivatives of dynamics and cost about the present plan."""
        xs, us = self.xs[:-1], self.us
        self._f = _named("the dynamics' derivatives", self._dynamics.derivatives, xs, us)
        self._f_xx = _named("the dynamics' second derivatives", self._dynamics.curvature, xs, us)
        self._l = _named(
            "a cost's derivatives", self._costs.expansions, self.xs, _padded(us), self._weights, self._dynamics.arm
        )
        for name, arrays in (("the dynamics' derivatives", self._f), ("a cost's derivatives", self._l)):
            if not all(np.isfinite(array).all() for array in arrays):
                raise PassFailed(f"{name} are not finite")

    def backward(self, lambda_: float) -> Backward:
        """Compute k and K, equations (2) to (4)."""
        V_x, V_xx, dV_1, dV_2, largest = self._l.l_x[-1], self._l.l_xx[-1], 0.0, 0.0, 0.0
        for i in reversed(range(self._n)):
            Q = self._expansion(i, V_x, V_xx)
            u = self.us[i]
            bounds = ControlBounds(self._u_min - u, self._u_max - u, self.held[i]) if self._has_box else None
            result = step(Q, lambda_, bounds)
            if result.status != DONE:
                self.held[i] = 0.0
                return Backward(0.0, 0.0, 0.0, i)
            V_x, V_xx = result.V_x, result.V_xx
            self.k[i], self.K[i], self.held[i] = result.k, result.K, result.held
            dV_1, dV_2 = dV_1 + float(result.dV_1), dV_2 + float(result.dV_2)
            largest += float(np.max(np.abs(result.k) / (np.abs(u) + 1.0)))
        return Backward(dV_1, dV_2, largest / self._n, -1)

    def _expansion(self, i: int, V_x: Array, V_xx: Array) -> Expansion:
        cost = Cost(*(x[i] for x in self._l))
        Q = expand(cost, self._f[0][i], self._f[1][i], V_x, V_xx)
        if self._f_xx is None:
            return Q
        n, curve = len(V_x), np.einsum("i,ijk->jk", V_x, self._f_xx[i])
        return Q._replace(Q_xx=Q.Q_xx + curve[:n, :n], Q_ux=Q.Q_ux + curve[n:, :n], Q_uu=Q.Q_uu + curve[n:, n:])


def _padded(us: Array) -> Array:
    """Controls of N + 1 knots; the last one has no effect and no weight."""
    return np.vstack([us, np.zeros((1, us.shape[1]))])


def _named(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; when it raises, name it in the message."""
    try:
        with np.errstate(all="ignore"):  # the callers check for NaN and infinity
            return function(*arguments)
    except Exception as error:
        _fail(name, error)


def _fail(name: str, error: Exception) -> NoReturn:
    raise PassFailed(f"{name} raised {type(error).__name__}: {error}") from error
