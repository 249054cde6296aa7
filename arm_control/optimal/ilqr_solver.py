"""Iterative LQR with limits on the controls: a motion over N steps, and gains that keep the arm on it.

    (1)  x_{k+1} = f(x_k, u_k),    J = sum_k l(x_k, u_k) + l_N(x_N)                J: the cost, to be minimised
    (2)  Q_x = l_x + f_x^T V_x         Q_xx = l_xx + f_x^T V_xx f_x                V: cost to go from the next knot
         Q_u = l_u + f_u^T V_x         Q_ux = l_ux + f_u^T V_xx f_x,   Q_uu = l_uu + f_u^T V_xx f_u
    (3)  k = argmin 1/2 k^T Q_uu k + Q_u^T k,  u_min <= u + k <= u_max,            K = -Q_uu^-1 Q_ux where u is free
    (4)  V_x  = Q_x  + K^T Q_uu k + K^T Q_u  + Q_ux^T k
         V_xx = Q_xx + K^T Q_uu K + K^T Q_ux + Q_ux^T K
    (5)  u_new = limit(u + alpha k + K (x_new - x))                                alpha: 1, or shorter
    (6)  dV = alpha sum k^T Q_u + alpha^2 / 2 sum k^T Q_uu k                       expected change of J
    (7)  lambda -> lambda factor,   factor -> max(factor c, c)   on failure        lambda: added to Q_uu in (3) only
                                    factor -> min(factor / c, 1 / c)   on success  c: lambda_factor

(2) to (4) run backwards over the knots (:mod:`arm_control.optimal.riccati`), (5) forwards. A step is taken where J
falls by at least the share ``accept`` of (6). (7) fails where Q_uu is not positive definite or no alpha lowers J;
below ``lambda_min`` lambda is 0. Second derivatives of f are left out of (2). (4) is
the value of the gains whatever lambda is; its short form with ``-K^T Q_uu k`` is not.

    x, u              state and control of a knot             of an arm: (q, v) [rad, rad/s; m, m/s], tau [N m; N]
    k, K              feed-forward change, feedback           [unit of u], [unit of u / unit of x]
    l, J, V, Q        costs                                   one unit, that of the weights
    alpha, lambda     length of step, regularisation          [-], [cost / unit of u squared]

All three passes of an arm are compiled loops (:mod:`arm_control.optimal.compiled_passes`); those of any other system
are in NumPy, in ``examples/any_system.py``.

Sources: W. Li, E. Todorov, "Iterative linear quadratic regulator design for nonlinear biological movement systems",
2004; Y. Tassa, N. Mansard, E. Todorov, "Control-limited differential dynamic programming", 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.core import exclusive
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array
from arm_control.optimal.arm_dynamics import ArmDynamics
from arm_control.optimal.compiled_passes import CompiledPasses
from arm_control.optimal.costs import Costs

__all__ = ["Ilqr", "IlqrParameters", "IlqrResult", "PassFailed"]
_SMALL_LAMBDA = 1e-5
"""Above it a small gradient does not mean convergence."""


@dataclass(frozen=True)
class IlqrParameters:
    """Settings of the solver.

    Attributes
    ----------
    alphas : tuple of float
        Lengths of step to try, in order.
    cost_tolerance : float
        The solver stops when a step lowers the cost by less.
    gradient_tolerance : float
        The solver stops when the mean over the knots of the largest ``|k| / (|u| + 1)`` is less.
    accept : float
        Smallest share of the expected fall of the cost that a step must bring.
    lambda_start, lambda_factor : float
        Regularisation: its first value, and c of (7).
    lambda_min, lambda_max : float
        Below the first lambda is 0; above the second the solver gives up.
    """

    max_iterations: int = 100
    alphas: tuple[float, ...] = tuple(float(x) for x in 10.0 ** np.linspace(0.0, -3.0, 11))
    cost_tolerance: float = 1e-7
    gradient_tolerance: float = 1e-4
    accept: float = 0.0
    lambda_start: float = 0.0
    lambda_factor: float = 1.6
    lambda_min: float = 1e-6
    lambda_max: float = 1e10

    def __post_init__(self) -> None:
        if self.max_iterations < 0 or not self.alphas or not all(0.0 < a <= 1.0 for a in self.alphas):
            raise ParameterError("max_iterations must be 0 or above, and every alpha above 0 and at most 1")
        if not (self.lambda_factor > 1.0 and 0.0 < self.lambda_min < self.lambda_max and self.lambda_start >= 0.0):
            raise ParameterError("lambda_factor must be above 1, and 0 < lambda_min < lambda_max, 0 <= lambda_start")


@dataclass(frozen=True)
class IlqrResult:
    """A plan, and how it was computed.

    Attributes
    ----------
    xs : ndarray, shape (N + 1, n_x)
        States.
    us : ndarray, shape (N, n_u)
        Controls.
    k, K : ndarray, shape (N, n_u) and (N, n_u, n_x)
        Last feed-forward changes, and feedback: ``u + K (x - xs)`` keeps the system on the plan.
    held : ndarray, shape (N, n_u)
        Controls at their lower (-1) or upper (1) limit, or free (0).
    costs : tuple of float
        Cost at the start and after each iteration.
    lambdas, alphas : tuple of float
        Regularisation and length of step of each iteration; alpha is 0 where no step was taken.
    converged : bool
        Whether the cost or the gradient has settled.
    """

    xs: Array
    us: Array
    k: Array
    K: Array
    held: Array
    costs: tuple[float, ...]
    lambdas: tuple[float, ...]
    alphas: tuple[float, ...]
    converged: bool
    reason: str

    @property
    def cost(self) -> float:
        """The last cost."""
        return self.costs[-1]

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return len(self.alphas)

    def shifted(self, steps: int = 1) -> Array:
        """Controls from a later knot on, the last one repeated, shape (N, n_u): a warm start when time has passed."""
        return np.vstack([self.us[steps:], np.tile(self.us[-1:], (min(steps, len(self.us)), 1))])


class PassFailed(Exception):
    """Dynamics or a cost raised, or gave NaN or infinity; the message says which."""


class Ilqr:
    """The solver of one problem, from any first state.

    Parameters
    ----------
    u_min, u_max : array_like, shape (n_u,), optional
        Limits of the controls.
    make_passes : callable
        From dynamics, costs, n and both limits to the passes over the knots, which keep the present plan and the one
        that the last rollout has tried; they may raise :class:`PassFailed`.

    Attributes
    ----------
    lock : RLock
        Held while a solution is found: threads may share an object.

    Raises
    ------
    InputError
        When the horizon is empty or limits cross.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> from arm_control.optimal import control_error, state_error, Term
    >>> arm = RobotModel.from_urdf(urdf_path("planar2"), gravity=(0.0, 0.0, 0.0))
    >>> goal = [1.0, 0.5, 0.0, 0.0]
    >>> costs = Costs(Term(state_error(goal), terminal=1e4), Term(control_error([0.0, 0.0]), running=1e-4))
    >>> result = Ilqr(ArmDynamics(arm, 0.02), costs, 50).solve(np.zeros(4), np.zeros((50, 2)))
    >>> result.converged, result.xs[-1].round(2) + 0.0
    (True, array([1. , 0.5, 0. , 0. ]))
    """

    def __init__(
        self,
        dynamics: ArmDynamics,
        costs: Costs,
        n: int,
        u_min: npt.ArrayLike | None = None,
        u_max: npt.ArrayLike | None = None,
        parameters: IlqrParameters | None = None,
        make_passes: Callable[..., CompiledPasses] = CompiledPasses,
    ) -> None:
        if n < 1:
            raise InputError(f"the horizon has {n} steps; at least one is needed")
        self.parameters, self.n, self.dynamics = parameters or IlqrParameters(), int(n), dynamics
        self.u_min, self.u_max = _limits(u_min, u_max, dynamics.n_u)
        self.passes, self.lock = make_passes(dynamics, costs, self.n, self.u_min, self.u_max), RLock()

    @exclusive
    def solve(
        self, x0: npt.ArrayLike, us: npt.ArrayLike, plan: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> IlqrResult:
        """Improve controls until the cost has settled. The same input gives the same plan, to the last bit.

        Parameters
        ----------
        x0 : array_like, shape (n_x,)
            First state.
        us : array_like, shape (N, n_u)
            First controls; those beyond a limit are put on it.
        plan : (xs, K), optional
            States (N + 1, n_x) and gains (N, n_u, n_x) of the feedback in the first rollout: for a warm start from
            another state.

        Raises
        ------
        InputError
            When an array has a wrong shape or is not finite, or the cost of the first rollout is not finite.
        """
        x0, us, plan = self._checked(x0, us, plan)
        try:
            cost = self.passes.start(x0, us, plan)
        except PassFailed as error:
            raise InputError(f"the first rollout failed: {error}") from error
        if not np.isfinite(cost):
            raise InputError(f"the first controls have a cost of {cost}")
        return _Search(self.passes, self.parameters, cost).run()

    def _checked(self, x0: Any, us: Any, plan: Any) -> tuple[Array, Array, tuple[Array, Array] | None]:
        d, n = self.dynamics, self.n
        x0 = _array(x0, "x0", (d.n_x,))
        us = _array(us, "us", (n, d.n_u))
        if plan is not None:
            plan = _array(plan[0], "xs", (n + 1, d.n_x)), _array(plan[1], "K", (n, d.n_u, d.n_x))
        return x0, np.clip(us, self.u_min, self.u_max), plan


class _Search:
    """The iterations of one solution."""

    def __init__(self, passes: CompiledPasses, parameters: IlqrParameters, cost: float) -> None:
        self.passes = passes
        self.parameters = parameters
        self.costs = [cost]
        self.lambdas: list[float] = []
        self.alphas: list[float] = []
        self.lambda_ = parameters.lambda_start
        self.factor = 1.0
        self.gains = np.zeros_like(passes.k), np.zeros_like(passes.K), np.zeros_like(passes.held)

    def run(self) -> IlqrResult:
        limit = self.parameters.max_iterations
        converged, reason, is_new = False, f"{limit} iterations are done", True
        try:
            while len(self.alphas) < limit:
                end = self._iterate(is_new)
                is_new = self.alphas[-1] > 0.0 if self.alphas else True
                if end is not None:
                    converged, reason = end
                    break
        except PassFailed as error:
            reason = f"{error}; this is the last plan before that"
        xs, us = self.passes.xs.copy(), self.passes.us.copy()
        history = tuple(self.costs), tuple(self.lambdas), tuple(self.alphas)
        return IlqrResult(xs, us, *self.gains, *history, converged, reason)

    def _iterate(self, is_new: bool) -> tuple[bool, str] | None:
        """One iteration; at the end of the solution, whether it has converged, and why it ends."""
        if is_new:
            self.passes.expand()
        backward = self.passes.backward(self.lambda_)
        if backward.failed_at >= 0:
            return self._fail(f"Q_uu is not positive definite at knot {backward.failed_at}")
        self.gains = self.passes.k.copy(), self.passes.K.copy(), self.passes.held.copy()
        if backward.gradient < self.parameters.gradient_tolerance and self.lambda_ < _SMALL_LAMBDA:
            return True, f"the gradient is {backward.gradient:.1e}"
        for alpha in self.parameters.alphas:
            cost = self.passes.rollout(alpha)
            expected = -alpha * (backward.dV_1 + alpha * backward.dV_2)  # (6): zero or above
            fall = self.costs[-1] - cost
            if fall >= self.parameters.accept * expected:
                return self._take(alpha, cost, fall)
        return self._fail("no step lowers the cost")

    def _take(self, alpha: float, cost: float, fall: float) -> tuple[bool, str] | None:
        """Take a step, and lower lambda, equation (7)."""
        p = self.parameters
        self.passes.accept()
        self._record(alpha, cost)
        self.factor = min(self.factor / p.lambda_factor, 1.0 / p.lambda_factor)
        smaller = self.lambda_ * self.factor
        self.lambda_ = smaller if smaller > p.lambda_min else 0.0
        return (True, f"the cost fell by {fall:.1e}") if fall < p.cost_tolerance else None

    def _fail(self, reason: str) -> tuple[bool, str] | None:
        """Raise lambda, equation (7)."""
        p = self.parameters
        self._record(0.0, self.costs[-1])
        self.factor = max(self.factor * p.lambda_factor, p.lambda_factor)
        self.lambda_ = max(self.lambda_ * self.factor, p.lambda_min)
        return (False, f"{reason}, and lambda is at its largest") if self.lambda_ > p.lambda_max else None

    def _record(self, alpha: float, cost: float) -> None:
        self.costs.append(cost)
        self.lambdas.append(self.lambda_)
        self.alphas.append(alpha)


def _limits(u_min: Any, u_max: Any, n: int) -> tuple[Array, Array]:
    low = np.full(n, -np.inf) if u_min is None else np.array(u_min, dtype=float)
    high = np.full(n, np.inf) if u_max is None else np.array(u_max, dtype=float)
    if low.shape != (n,) or high.shape != (n,) or not (low <= high).all():
        raise InputError(f"limits cross or have a wrong shape: u_min {low}, u_max {high}; {n} of each are needed")
    return low, high


def _array(values: Any, name: str, shape: Sequence[int]) -> Array:
    array = np.array(values, dtype=float)
    if array.shape != tuple(shape) or not np.isfinite(array).all():
        fault = "is not finite" if array.shape == tuple(shape) else f"has shape {array.shape}"
        raise InputError(f"{name} {fault}; finite numbers of shape {tuple(shape)} are needed")
    return array
