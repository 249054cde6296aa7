"""Iterative LQR with limits on the controls: a motion over N steps, and the gains that hold on to it.

    (1)  x_{k+1} = f(x_k, u_k),    J = sum_k l(x_k, u_k) + l_N(x_N)                what is to be made small
    (2)  Q_x = l_x + f_x^T V_x         Q_xx = l_xx + f_x^T V_xx f_x                V: cost to go from the next knot
         Q_u = l_u + f_u^T V_x         Q_ux = l_ux + f_u^T V_xx f_x,   Q_uu = l_uu + f_u^T V_xx f_u
    (3)  k = argmin 1/2 k^T Q_uu k + Q_u^T k,  u_min <= u + k <= u_max,            K = -Q_uu^-1 Q_ux where u is free
    (4)  V_x  = Q_x  + K^T Q_uu k + K^T Q_u  + Q_ux^T k
         V_xx = Q_xx + K^T Q_uu K + K^T Q_ux + Q_ux^T K
    (5)  u_new = limit(u + alpha k + K (x_new - x))                                alpha: 1, or shorter
    (6)  lambda, added to Q_uu in (3) only, grows by ever larger factors where Q_uu is not positive definite
         or no alpha lowers the cost, and shrinks likewise where one does

(2) to (4) run backwards over the knots (:mod:`arm_control.planning.riccati`), (5) forwards. The model expects
``dV = alpha sum k^T Q_u + alpha^2 / 2 sum k^T Q_uu k``; a step is taken where the cost falls by at least a share of
that. Second derivatives of f are left out of (2), unless the dynamics give them. (4) is the value of the gains
whatever lambda is; its short form with ``-K^T Q_uu k`` is not. With ``"state"``, lambda is added to the V_xx in
Q_ux and Q_uu of (3) instead: new states, not new controls, are kept near the old ones.

For an arm all three passes are compiled loops (:mod:`arm_control.planning.compiled_passes`); all else runs in NumPy.

Sources: W. Li, E. Todorov, "Iterative linear quadratic regulator design for nonlinear biological movement systems",
2004; Y. Tassa, N. Mansard, E. Todorov, "Control-limited differential dynamic programming", 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.planning.arm_dynamics import ArmDynamics, Dynamics
from arm_control.planning.compiled_passes import CompiledPasses
from arm_control.planning.costs import Costs
from arm_control.planning.generic.numpy_passes import NumpyPasses, PassFailed
from arm_control.planning.generic.user_costs import UserCosts
from arm_control.planning.ilqr_parameters import IlqrParameters
from arm_control.planning.passes import Passes

__all__ = ["Ilqr", "IlqrParameters", "IlqrResult"]
_SMALL_LAMBDA = 1e-5
"""Above it, small k do not mean that the end is reached."""


@dataclass(frozen=True)
class IlqrResult:
    """What was found.

    Attributes
    ----------
    xs : ndarray, shape (N + 1, n_x)
        States.
    us : ndarray, shape (N, n_u)
        Controls.
    k, K : ndarray, shape (N, n_u) and (N, n_u, n_x)
        Changes that were last asked for, and feedback: ``u + K (x - xs)`` holds on to the plan.
    held : ndarray, shape (N, n_u)
        Controls at their lower (-1) or upper (1) limit, or free (0).
    costs : tuple of float
        Cost at the start and after each iteration.
    lambdas, alphas : tuple of float
        Regularisation and length of step of each iteration; alpha is 0 where no step was taken.
    converged : bool
        The cost or the gradient has settled.
    reason : str
        Why it stopped, in words.
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
        """How many there were."""
        return len(self.alphas)

    def shifted(self, steps: int = 1) -> Array:
        """Controls from a later knot on, the last one held: to begin with when time has passed, shape (N, n_u)."""
        return np.vstack([self.us[steps:], np.tile(self.us[-1:], (min(steps, len(self.us)), 1))])


class Ilqr:
    """The solver for one problem; solves it from any state, again and again.

    Parameters
    ----------
    dynamics : Dynamics
        An arm's, or a user's.
    costs : Costs
    n : int
        Number of steps N.
    u_min, u_max : array_like, shape (n_u,), optional
        Limits of the controls.
    parameters : IlqrParameters, optional

    Raises
    ------
    InputError
        When the horizon is empty or limits cross.

    Examples
    --------
    >>> from arm_control.planning import Costs, ControlError, StateError, Term, UserDynamics
    >>> cart = UserDynamics(lambda x, u: x + 0.1 * np.stack([x[..., 1], u[..., 0]], -1), 2, 1)
    >>> costs = Costs(Term(StateError([1.0, 0.0]), terminal=1e4), Term(ControlError([0.0]), running=0.1))
    >>> result = Ilqr(cart, costs, 20).solve([0.0, 0.0], np.zeros((20, 1)))
    >>> result.converged, result.xs[-1].round(2)
    (True, array([1., 0.]))
    """

    def __init__(
        self,
        dynamics: Dynamics,
        costs: Costs | UserCosts,
        n: int,
        u_min: npt.ArrayLike | None = None,
        u_max: npt.ArrayLike | None = None,
        parameters: IlqrParameters | None = None,
    ) -> None:
        if n < 1:
            raise InputError(f"the horizon has {n} steps; at least one is needed")
        self.parameters, self.n, self.dynamics = parameters or IlqrParameters(), int(n), dynamics
        self.u_min, self.u_max = _limits(u_min, u_max, dynamics.n_u)
        self.passes = self._passes(costs)

    def _passes(self, costs: Costs | UserCosts) -> Passes:
        d, clamps, by_state = (
            self.dynamics,
            self.parameters.limiting == "clamp",
            self.parameters.regularization == "state",
        )
        if isinstance(d, ArmDynamics) and d.integrator == "semi_implicit" and isinstance(costs, Costs):
            return CompiledPasses(d, costs, self.n, self.u_min, self.u_max, clamps, by_state)
        return NumpyPasses(d, costs, self.n, self.u_min, self.u_max, clamps, by_state)

    def solve(
        self, x0: npt.ArrayLike, us: npt.ArrayLike, plan: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> IlqrResult:
        """Improve controls until nothing is gained any more. The same input gives the same plan, to the last bit.

        Parameters
        ----------
        x0 : array_like, shape (n_x,)
            State to begin in.
        us : array_like, shape (N, n_u)
            Controls to begin with; those beyond a limit are put on it.
        plan : (xs, K), optional
            States (N + 1, n_x) and gains (N, n_u, n_x) to hold on to in the first rollout: for a warm start from
            another state.

        Raises
        ------
        InputError
            When something has a wrong shape or is not finite, or the first rollout's cost is not.
        """
        x0, us, plan = self._checked(x0, us, plan)
        try:
            cost = self.passes.start(x0, us, plan)
        except PassFailed as error:
            raise InputError(f"there is no plan to begin with: {error}") from error
        if not np.isfinite(cost):
            raise InputError(f"the controls to begin with have a cost of {cost}")
        return _Search(self.passes, self.parameters, cost).run()

    def _checked(self, x0: Any, us: Any, plan: Any) -> tuple[Array, Array, tuple[Array, Array] | None]:
        d, n = self.dynamics, self.n
        x0, us = _array(x0, "x0", (d.n_x,)), _array(us, "us", (n, d.n_u))
        if plan is not None:
            plan = _array(plan[0], "xs", (n + 1, d.n_x)), _array(plan[1], "K", (n, d.n_u, d.n_x))
        return x0, np.clip(us, self.u_min, self.u_max), plan


class _Search:
    """One solution: the loop about the passes."""

    def __init__(self, passes: Passes, parameters: IlqrParameters, cost: float) -> None:
        self.passes, self.p = passes, parameters
        self.costs, self.lambdas, self.alphas = [cost], list[float](), list[float]()
        self.lamb, self.factor = parameters.lambda_start, 1.0
        self.gains = np.zeros_like(passes.k), np.zeros_like(passes.K), np.zeros_like(passes.held)

    def run(self) -> IlqrResult:
        converged, reason, is_new = False, f"{self.p.max_iterations} iterations are done", True
        try:
            while len(self.alphas) < self.p.max_iterations:
                end = self._iterate(is_new)
                is_new = self.alphas[-1] > 0.0 if self.alphas else True
                if end is not None:
                    converged, reason = end
                    break
        except PassFailed as error:
            reason = f"{error}; this is the last plan before that"
        xs, us, p = self.passes.xs.copy(), self.passes.us.copy(), self
        return IlqrResult(xs, us, *self.gains, tuple(p.costs), tuple(p.lambdas), tuple(p.alphas), converged, reason)

    def _iterate(self, is_new: bool) -> tuple[bool, str] | None:
        """One iteration; returns whether it has converged, and why it ends, where it does."""
        if is_new:
            self.passes.expand()
        found = self.passes.backward(self.lamb)
        if found.failed_at >= 0:
            return self._grow(0.0, f"Q_uu is not positive definite at knot {found.failed_at}")
        self.gains = self.passes.k.copy(), self.passes.K.copy(), self.passes.held.copy()
        if found.gradient < self.p.gradient_tolerance and self.lamb < _SMALL_LAMBDA:
            return True, f"the gradient is {found.gradient:.1e}"
        for alpha in self.p.alphas:
            cost = self.passes.rollout(alpha)
            expected, fall = -alpha * (found.dV_1 + alpha * found.dV_2), self.costs[-1] - cost
            if fall >= self.p.accept * expected:  # which is zero or above
                return self._take(alpha, cost, fall)
        return self._grow(0.0, "no step lowers the cost")

    def _take(self, alpha: float, cost: float, fall: float) -> tuple[bool, str] | None:
        self.passes.accept()
        self._note(alpha, cost)
        self.factor = min(self.factor / self.p.lambda_factor, 1.0 / self.p.lambda_factor)
        smaller = self.lamb * self.factor
        self.lamb = smaller if smaller > self.p.lambda_min else 0.0
        return (True, f"the cost fell by {fall:.1e}") if fall < self.p.cost_tolerance else None

    def _grow(self, alpha: float, why: str) -> tuple[bool, str] | None:
        self._note(alpha, self.costs[-1])
        self.factor = max(self.factor * self.p.lambda_factor, self.p.lambda_factor)
        self.lamb = max(self.lamb * self.factor, self.p.lambda_min)
        return (False, f"{why}, and lambda is at its largest") if self.lamb > self.p.lambda_max else None

    def _note(self, alpha: float, cost: float) -> None:
        self.costs.append(cost)
        self.lambdas.append(self.lamb)
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
        what = "is not finite" if array.shape == tuple(shape) else f"has shape {array.shape}"
        raise InputError(f"{name} {what}; finite numbers of shape {tuple(shape)} are needed")
    return array
