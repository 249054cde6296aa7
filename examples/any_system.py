"""Iterative LQR for systems that are not arms: dynamics and costs are functions, and all passes run in NumPy.

    cart = UserDynamics(lambda x, u: x + 0.1 * np.stack([x[..., 1], u[..., 0]], -1), 2, 1)
    result = ilqr(cart, costs, 20).solve([0.0, 0.0], np.zeros((20, 1)))

Dynamics and costs that are functions of a user get their derivatives by finite differences. :class:`ArmSystem` is an
arm with the exact derivatives of its semi-implicit Euler step, for comparison with the compiled passes:

    (1)  f_x = 1 + dt [[dt a_q, 1 + dt a_v], [a_q, a_v]],    f_u = dt [[dt a_tau], [a_tau]]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from arm_control import RobotModel
from arm_control.exceptions import InputError
from arm_control.maths import Array, columns, rows
from arm_control.model import State
from arm_control.optimal import ArmDynamics, Costs, Ilqr, IlqrParameters, PassFailed
from arm_control.optimal.costs import Knot
from arm_control.optimal.riccati import DONE, Backward, ControlBounds, Cost, Expansion, step, symmetric_product

Arm = Callable[[Array, Array], State] | None
"""From x and u, arrays of scalars, to the arm in that state; None where the dynamics are not those of an arm."""
FIRST, SECOND = 6e-6, 1e-4
"""Steps of central differences of first and second order: cube and fourth root of the rounding error."""


def ilqr(
    dynamics: UserDynamics | ArmSystem,
    costs: Costs | UserCosts,
    n: int,
    u_min: npt.ArrayLike | None = None,
    u_max: npt.ArrayLike | None = None,
    parameters: IlqrParameters | None = None,
    clamps: bool = False,
) -> Ilqr:
    """Return the solver of a problem, with passes in NumPy; clamps: limits act in the rollout only (naive clamping)."""
    return Ilqr(dynamics, costs, n, u_min, u_max, parameters, partial(NumpyPasses, clamps=clamps))


class ArmSystem(ArmDynamics):
    """An arm for passes in NumPy."""

    def __init__(self, model: RobotModel, dt: float) -> None:
        super().__init__(model, dt)
        self._derivatives = model.batch("a_q", "a_v", "a_tau")

    def arm(self, x: Array, u: Array) -> State:
        """The arm in a state, over any scalar.

        Parameters
        ----------
        x : array, shape (n_x,)
            State.
        u : array, shape (n_u,)
            Torque [N m or N].
        """
        n = self.n_u
        tool = np.array(self.tool, dtype=object)
        return State(self.model.tree, {"q": x[:n], "v": x[n:], "tau": u, "tool": tool})

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """Return ``f_x`` (N, n_x, n_x) and ``f_u`` (N, n_x, n_u): equation (1)."""
        n, dt = self.n_u, self.dt
        d = self._derivatives(xs[:, :n], xs[:, n:], us)
        f_x, f_u = np.tile(np.eye(2 * n), (len(xs), 1, 1)), np.zeros((len(xs), 2 * n, n))
        f_x[:, n:] += dt * np.concatenate([d["a_q"], d["a_v"]], axis=2)
        f_u[:, n:] = dt * d["a_tau"]
        f_x[:, :n] += dt * f_x[:, n:]
        f_u[:, :n] = dt * f_u[:, n:]
        return f_x, f_u

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """None: they are left out (Gauss-Newton)."""
        return None


class UserDynamics:
    """Dynamics given by any function.

    Parameters
    ----------
    function : callable
        From x (..., n_x) and u (..., n_u) to the next x, for any leading axes.
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
        """Return the next states, shape (N, n_x)."""
        next_xs = np.asarray(self._function(xs, us), dtype=float)
        if next_xs.shape != xs.shape:
            raise InputError(f"the dynamics give shape {next_xs.shape} for states of shape {xs.shape}")
        return next_xs

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """Return ``f_x`` (N, n_x, n_x) and ``f_u`` (N, n_x, n_u)."""
        if self._derivatives is not None:
            return self._derivatives(xs, us)
        f_xu = differences(self._joined, np.hstack([xs, us]))
        return f_xu[..., : self.n_x], f_xu[..., self.n_x :]

    def curvature(self, xs: Array, us: Array) -> Array | None:
        """Return second derivatives by (x, u), shape (N, n_x, n_x + n_u, n_x + n_u); None: they are left out."""
        return second_differences(self._joined, np.hstack([xs, us])) if self._second_order else None

    def _joined(self, xus: Array) -> Array:
        return self._function(xus[..., : self.n_x], xus[..., self.n_x :])


def differences(function: Callable[[Array], Array], xs: Array, step: float = FIRST) -> Array:
    """First derivatives, shape (N, ..., n), of a function from rows (N, n) to (N, ...), by central differences.

    ``step`` is half the distance of their two points, relative to the size of an entry where that is above 1.
    """
    h = step * np.maximum(np.abs(xs), 1.0)
    moves = h[:, None, :] * np.eye(xs.shape[1])
    columns = [function(xs + moves[:, i]) - function(xs - moves[:, i]) for i in range(xs.shape[1])]
    return np.stack([c / (2.0 * h[:, i]).reshape(-1, *[1] * (c.ndim - 1)) for i, c in enumerate(columns)], axis=-1)


def second_differences(function: Callable[[Array], Array], xs: Array, step: float = SECOND) -> Array:
    """Second derivatives by central differences, shape (N, ..., n, n), symmetric; parameters of :func:`differences`."""
    second = differences(lambda x: differences(function, x, step), xs, step)
    return 0.5 * (second + np.swapaxes(second, -1, -2))


class UserCosts:
    """Any function of state, control and number of the knot, plus other costs.

    Parameters
    ----------
    function : callable or None
        From xs (M, n_x), us (M, n_u) and the numbers of their knots (M,) to costs (M,), zero or above; at knot N the
        control is zero and without effect.
    """

    def __init__(
        self, function: Callable[[Array, Array, Array], Array] | None = None, others: Costs | None = None
    ) -> None:
        self._function, self._others = function, others

    def weights(self, n: int) -> Array:
        """Weights of the other costs at each of n + 1 knots, shape (n + 1, terms)."""
        return np.zeros((n + 1, 0)) if self._others is None else self._others.weights(n)

    def values(self, xs: Array, us: Array, weights: Array, arm: Arm) -> Array:
        """Cost at every knot, shape (N + 1,), of states (N + 1, n_x), controls (N + 1, n_u) and their weights."""
        total = np.zeros(len(xs))
        if self._function is not None:
            total = total + self._own(np.hstack([xs, us]), xs.shape[1])
        if self._others is not None:
            with np.errstate(all="ignore"):
                total = total + rows([self._others.value(*_knots(self._others, xs, us, weights, arm))], len(xs))[0]
        return total

    def expansions(self, xs: Array, us: Array, weights: Array, arm: Arm) -> Cost:
        """Derivatives of the cost at every knot, each with one more axis, the first; arguments of :meth:`values`."""
        parts = []
        if self._function is not None:
            n, both = xs.shape[1], np.hstack([xs, us])
            own = lambda xus: self._own(xus, n)  # noqa: E731
            slope, curve = differences(own, both), second_differences(own, both)
            derivatives = slope[:, :n], slope[:, n:], curve[:, :n, :n], curve[:, n:, :n], curve[:, n:, n:]
            parts.append(derivatives)
        if self._others is not None:
            with np.errstate(all="ignore"):
                cost = self._others.expand(*_knots(self._others, xs, us, weights, arm))
            parts.append(tuple(np.moveaxis(rows(part, len(xs)), -1, 0) for part in cost))
        return Cost(*map(sum, zip(*parts, strict=True)))

    def _own(self, xus: Array, n: int) -> Array:
        """The function of rows of states and controls, of which the first n columns are states."""
        own = np.asarray(self._function(xus[:, :n], xus[:, n:], np.arange(len(xus))), dtype=float)
        if own.shape != (len(xus),):
            raise InputError(f"it gives shape {own.shape} for {len(xus)} knots")
        return own


def _knots(costs: Costs, xs: Array, us: Array, weights: Array, arm: Arm) -> tuple[Knot, Array, Array]:
    """Arguments of :meth:`Costs.value` for all knots at once."""
    x, u = columns(xs.T), columns(us.T)
    return Knot(x, u, None if arm is None else arm(x, u)), columns(weights.T), costs.numbers


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
        dynamics: UserDynamics | ArmSystem,
        costs: Costs | UserCosts,
        n: int,
        u_min: Array,
        u_max: Array,
        clamps: bool = False,
    ) -> None:
        self._dynamics, self._n = dynamics, n
        self._costs = costs if isinstance(costs, UserCosts) else UserCosts(others=costs)
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
        """Try a step of length alpha, equation (5) of :mod:`arm_control.optimal.ilqr_solver`; return the cost."""
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
        """Compute k and K, equations (2) to (4) there."""
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


def expand(cost: Cost, f_x: Array, f_u: Array, V_x: Array, V_xx: Array) -> Expansion:
    """Equation (2) of :mod:`arm_control.optimal.ilqr_solver`.

    Parameters
    ----------
    f_x, f_u : array, shape (n_x, n_x) and (n_x, n_u)
        Derivatives of the next state.
    V_x, V_xx : array, shape (n_x,) and (n_x, n_x)
        Derivatives of the cost to go from the next knot.
    """
    V_f = V_xx @ f_x
    return Expansion(
        cost.l_x + f_x.T @ V_x,
        cost.l_u + f_u.T @ V_x,
        cost.l_xx + symmetric_product(f_x, V_f),
        cost.l_ux + f_u.T @ V_f,
        cost.l_uu + symmetric_product(f_u, V_xx @ f_u),
    )
