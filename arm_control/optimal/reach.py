"""Reaching a pose: the cost over the horizon, the plan, and the torque that follows it.

    (1)  l   = w_u/2 |D (u - g(q_0))|^2 + b + s_e/2 (w_p |e_p|^2 + w_o |e_o|^2) + s_v/2 w_v |v|^2       per second
         l_N =                            b + 1/2 (w_p |e_p|^2 + w_o |e_o|^2) + 1/2 w_v |v|^2           at the end
    (2)  tau = clamp(u_k + K_k (x - x(s)), -tau_lim, tau_lim)           while the plan lasts, s after its start
         x(s): v = v_k + (s - t_k) a,  q = q_k + (s - t_k) v,  a = (v_{k+1} - v_k) / dt         the solver's own step
    (3)  tau = clamp(h + M (k_p (q_N - q) - k_v v), -tau_lim, tau_lim)  after its end: hold the last position

D is one over the inertia of each joint alone, so that the motion of a wrist costs as much as that of a shoulder.
Torque that holds the arm costs nothing in (1), so no weight of the control pulls it off its target. A target farther
away than ``far`` is moved to that distance, in its direction: else its cost would outweigh that of any limit. Without
an earlier plan the solver starts from (3) at the first position: the arm stays, or stops.

    x = (q, v), u = tau   state and control              [rad, rad/s; N m]
    g(q_0), h, M          gravity torque at the first position, bias, mass matrix    [N m; N m; kg m^2]
    e_p, e_o              position and orientation error [m; rad]
    b                     barriers at limits of position and speed, times limit_weight
    w_*; s_*              weights, see :class:`RecedingParameters`; :data:`RUNNING_SHARES`
    tau_lim               effort_share times the effort limits       [N m]
    k_p, k_v              gains of (3), KP and KV                    [1/s^2; 1/s]
    s, t_k, dt            time since the start, time of knot k, step [s]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.core import Parameters, parameter
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, limit_magnitude, wrap_angle
from arm_control.model import RobotModel, Terms
from arm_control.motion import check_distance
from arm_control.optimal.arm_dynamics import ArmDynamics
from arm_control.optimal.costs import (
    Costs,
    Term,
    barrier,
    control_error,
    limit_distance,
    orientation_error,
    position_error,
    state_error,
)
from arm_control.optimal.ilqr_solver import Ilqr, IlqrParameters, IlqrResult
from arm_control.optimal.local_lqr import LocalLqr

KP, KV = 100.0, 20.0
"""Gains of (3) [1/s^2], [1/s]."""
ZONES = 0.2, 0.5
"""Widths of the zones before limits of position [rad or m] and speed [rad/s or m/s] in which the barriers act."""
RUNNING_SHARES = 1.0, 0.1
"""s_e and s_v: how much of the weights of errors and of speeds counts on the way [1/s]."""


@dataclass(frozen=True)
class RecedingParameters(Parameters):
    """Horizon, weights and limits of a reach, and when to plan it again."""

    method: str = parameter(
        "ilqr", "iterative LQR, or LQR about the measured state, without limits: to compare", choices=("ilqr", "lqr")
    )
    horizon: int = parameter(50, "steps that are planned ahead", lower=1, upper=2000)
    step: float = parameter(0.02, "length of a step", unit="s", lower=1e-4, upper=0.2)
    position_weight: float = parameter(4000.0, "w_p, of the square of the distance at the end", unit="1/m^2", lower=0.0)
    orientation_weight: float = parameter(
        1000.0, "w_o, of the square of the angle at the end", unit="1/rad^2", lower=0.0
    )
    velocity_weight: float = parameter(
        40.0, "w_v, of the squares of the joints' speeds at the end", unit="s^2/rad^2", lower=0.0
    )
    control_weight: float = parameter(
        0.02, "w_u, of the squares of torque beside the weight, by the joints' inertia", unit="s^4/rad^2", lower=1e-9
    )
    limit_weight: float = parameter(
        1000.0, "of coming near a joint's limits of position or speed", unit="1/s", lower=0.0
    )
    effort_share: float = parameter(0.9, "share of the effort limits that a plan may use", lower=0.01, upper=1.0)
    far: float = parameter(0.6, "a target farther away counts as being so far away", unit="m", lower=1e-3)
    max_iterations: int = parameter(50, "iterations after which a plan must do", lower=1)
    tube: float = parameter(
        0.1, "distance of a joint from its plan at which a new one is made", unit="rad or m", lower=1e-6, live=True
    )
    replan_rate: float = parameter(
        0.0, "how often to plan anew; 0: only when it is needed", unit="Hz", lower=0.0, upper=1000.0, live=True
    )


class PlanTorque(NamedTuple):
    """Torque (nv,) by equation (2) or (3), in two parts."""

    feedforward: Array
    feedback: Array

    @property
    def tau(self) -> Array:
        """Both together."""
        return self.feedforward + self.feedback


@dataclass(frozen=True, eq=False)
class ReachPlan:
    """A motion over N steps, and the gains that keep the arm on it.

    Attributes
    ----------
    dt : float
        Length of a step [s].
    xs, us, K : ndarray, shape (N + 1, 2 nv), (N, nv) and (N, nv, 2 nv)
        States (q, v), torque, and feedback.
    limit : ndarray, shape (nv,)
        Largest torque [N m or N].
    is_continuous : ndarray of bool, shape (nv,)
        Joints without limits of position.
    is_partial : bool
        Whether the target is farther away than the plan leads.
    """

    stamp_ns: int
    dt: float
    xs: Array
    us: Array
    K: Array
    limit: Array
    is_continuous: Array
    cost: float
    iterations: int
    reason: str
    is_partial: bool = False

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return len(self.us) * self.dt

    def state(self, seconds: float) -> Array:
        """Desired state x(s) of equation (2), shape (2 nv,), so many seconds after the start; x_N after the end."""
        return self._between(self._knot(seconds), seconds)

    def error(self, seconds: float, x: Array) -> Array:
        """``x - x(s)``, shape (2 nv,), some time after the first state [s], the short way for continuous joints."""
        n = self.us.shape[1]
        e = x - self.state(seconds)
        e[:n] = np.where(self.is_continuous, wrap_angle(e[:n]), e[:n])
        return e

    def command(self, seconds: float, t: Terms) -> PlanTorque:
        """Torque some time after the plan's first state [s], by equation (2), after the end by (3)."""
        k, x = self._knot(seconds), np.concatenate([t.q, t.v])
        e = self.error(seconds, x)
        if k == len(self.us):
            return hold(t, t.q - e[: len(t.q)], self.limit)
        tau = np.clip(self.us[k] + self.K[k] @ e, -self.limit, self.limit)  # (2)
        return PlanTorque(self.us[k], tau - self.us[k])

    def _knot(self, seconds: float) -> int:
        """Number of the last knot up to this time; N after the end."""
        return min(max(int(seconds / self.dt + 1e-6), 0), len(self.us))

    def _between(self, k: int, seconds: float) -> Array:
        if k == len(self.us):
            return self.xs[k].copy()
        n, s = self.us.shape[1], max(seconds - k * self.dt, 0.0)
        v = self.xs[k, n:] + s / self.dt * (self.xs[k + 1, n:] - self.xs[k, n:])
        return np.concatenate([self.xs[k, :n] + s * v, v])


def hold(t: Terms, q: Array, limit: Array) -> PlanTorque:
    """Torque that holds an arm at q, shape (nv,) [rad or m], within a limit, shape (nv,) [N m or N]: equation (3)."""
    bias = np.clip(t.h, -limit, limit)
    tau = np.clip(t.h + t.M @ (KP * (q - t.q) - KV * t.v), -limit, limit)  # (3)
    return PlanTorque(bias, tau - bias)


class ReachPlanner:
    """The planner of reaches of one arm; it compiles its solver once.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> planner = ReachPlanner(model, RecedingParameters(orientation_weight=0.0))
    >>> start, goal = np.array([0.5, 1.0, 0.0, 0.0]), model.pose([0.8, 0.7])
    >>> plan = planner.plan(0, start, goal)
    >>> (model.pose(plan.xs[-1, :2]).p - goal.p).round(2) + 0.0
    array([0., 0., 0.])
    """

    def __init__(self, model: RobotModel, parameters: RecedingParameters) -> None:
        self.model, self.parameters = model, parameters
        self.limit = parameters.effort_share * model.tau_max
        start = np.zeros(model.nv)
        self._costs = self._costs_of(start, model.pose(start))
        dynamics = ArmDynamics(model, parameters.step)
        self._lqr = LocalLqr(dynamics, self._costs, parameters.horizon) if parameters.method == "lqr" else None
        self._solver = Ilqr(
            dynamics,
            self._costs,
            parameters.horizon,
            -self.limit,
            self.limit,
            IlqrParameters(max_iterations=parameters.max_iterations),
        )

    def plan(self, stamp_ns: int, x0: npt.ArrayLike, X_WT: Pose, warm: ReachPlan | None = None) -> ReachPlan:
        """Plan a reach from a first state (2 nv,), positions and velocities, at a stamp [ns].

        The solver starts from the rest of an earlier plan, where there is one.

        An InputError when the first state is not finite, the target is 1e6 m away or more, or the solver has no plan.
        """
        x0 = np.array(x0, dtype=float)
        if x0.shape != (2 * self.model.nv,) or not np.isfinite(x0).all():
            raise InputError(f"the start is {x0.tolist()}: {2 * self.model.nv} finite numbers are needed")
        p = self.model.pose(x0[: self.model.nv]).p
        away = X_WT.p - p
        distance = math.hypot(*away)
        check_distance(distance, f"the target at {X_WT.p.tolist()} m")
        near = Pose(X_WT.R, p + limit_magnitude(away, self.parameters.far))
        self._costs.numbers[:] = self._costs_of(x0[: self.model.nv], near).numbers
        result = self._solved(stamp_ns, x0, warm)
        if not result.K.any():
            raise InputError(f"no plan was found: {result.reason}")
        return self._plan(stamp_ns, result, distance > self.parameters.far)

    def _solved(self, stamp_ns: int, x0: Array, warm: ReachPlan | None) -> IlqrResult:
        if self._lqr is not None:
            return self._linear(self._lqr, x0)
        if warm is not None:
            shift = round((stamp_ns - warm.stamp_ns) * 1e-9 / warm.dt)
            if 0 <= shift < len(warm.us):
                try:
                    return self._solver.solve(x0, *_shifted(warm, shift))
                except InputError:  # from this state the rest of the plan has no finite cost
                    pass
        return self._solver.solve(x0, *self._staying(x0))

    def _linear(self, lqr: LocalLqr, x0: Array) -> IlqrResult:
        """Where the gains of local LQR about the first state lead, within the limits."""
        n, N, passes = self.model.nv, self.parameters.horizon, self._solver.passes
        u0 = self.model.gravity(x0[:n])
        k, K = lqr.gains(x0, u0)
        cost = passes.start(x0, u0 + k, (np.tile(x0, (N + 1, 1)), K))
        if not math.isfinite(cost):
            raise InputError("local LQR leads to no finite cost")
        xs, us = passes.xs.copy(), passes.us.copy()
        return IlqrResult(xs, us, k, K, np.zeros_like(us), (cost,), (), (), True, "the gains of local LQR")

    def _staying(self, x0: Array) -> tuple[Array, tuple[Array, Array]]:
        """Controls, and states and gains, that hold the arm at its position: equation (3)."""
        n, N = self.model.nv, self.parameters.horizon
        M = self.model.mass_matrix(x0[:n])
        xs = np.concatenate([x0[:n], np.zeros(n)])
        K = np.hstack([-KP * M, -KV * M])
        return np.tile(self.model.gravity(x0[:n]), (N, 1)), (np.tile(xs, (N + 1, 1)), np.tile(K, (N, 1, 1)))

    def _plan(self, stamp_ns: int, result: IlqrResult, is_partial: bool) -> ReachPlan:
        is_continuous = np.isinf(self.model.q_max)
        solved = result.xs, result.us, result.K
        outcome = result.cost, result.iterations, result.reason
        return ReachPlan(stamp_ns, self.parameters.step, *solved, self.limit, is_continuous, *outcome, is_partial)

    def _costs_of(self, q0: Array, X_WT: Pose) -> Costs:
        """Equation (1)."""
        p, model, n, dt = self.parameters, self.model, self.model.nv, self.parameters.step
        s_e, s_v = RUNNING_SHARES
        share, slow = s_e * dt, p.velocity_weight
        inertia = np.diag(model.mass_matrix(q0))
        terms = [
            Term(control_error(model.gravity(q0)), running=p.control_weight * dt, scale=1.0 / inertia**2),
            Term(position_error(X_WT.p), p.position_weight * share, p.position_weight),
            Term(state_error(np.zeros(2 * n)), slow * s_v * dt, slow, scale=[0.0] * n + [1.0] * n),
        ]
        if p.orientation_weight:
            terms.append(Term(orientation_error(X_WT.R), p.orientation_weight * share, p.orientation_weight))
        free = np.full(n, np.inf)
        for low, high, zone in (
            (model.q_min, model.q_max, ZONES[0]),
            (np.concatenate([-free, -model.v_max]), np.concatenate([free, model.v_max]), ZONES[1]),
        ):
            distance = limit_distance(low, high)
            if p.limit_weight and distance.size:
                terms.append(Term(distance, p.limit_weight * dt, p.limit_weight * dt, barrier(zone)))
        return Costs(*terms)


def _shifted(plan: ReachPlan, shift: int) -> tuple[Array, tuple[Array, Array]]:
    """The rest of a plan after some steps: controls, and states and gains; the last ones are repeated."""

    def later(rows: Array) -> Array:
        return np.concatenate([rows[shift:], np.repeat(rows[-1:], shift, axis=0)])

    return later(plan.us), (later(plan.xs), later(plan.K))
