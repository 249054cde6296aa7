"""The limits of a torque written with NumPy, with care: a contender, and a second opinion."""

from __future__ import annotations

import numpy as np

from arm_control.constraints import BACK, RATE_SHARE, SHARE, SMALLEST_ROOM, TICKS, LimitNumbers, Solver
from arm_control.gate import GateParameters, JointLimits
from arm_control.model import RobotModel, Terms

Array = np.ndarray


class CarefulLimits:
    """Equations (1) to (5) of :mod:`arm_control.constraints.joint_rows`, (6) and (7) of the gate, on arrays."""

    def __init__(self, model: RobotModel, p: GateParameters) -> None:
        law = JointLimits(model, p, p.rate_limit)
        self.limits = LimitNumbers.of(law.numbers, law.is_unlimited)
        v_max = self.limits.v_max
        self._lowest, self._highest = np.stack((-v_max, -BACK * v_max)), np.stack((BACK * v_max, v_max))
        self._solver = Solver(model.nv, 4 * model.nv)
        self.tau_0: Array | None = None

    def tick(self, t: Terms, tau: Array, dt: float) -> Array:
        """Return what may pass."""
        limit, step = self.limits.tau_max, self.limits.rate_limit * dt
        tau_0 = np.clip(t.g, -limit, limit) if self.tau_0 is None else self.tau_0
        low, high = np.clip(np.array([-limit, limit]), tau_0 - step, tau_0 + step)
        self.tau_0 = np.clip(self._within(t, tau, low, high, dt), low, high)
        return self.tau_0

    def _within(self, t: Terms, tau: Array, low: Array, high: Array, dt: float) -> Array:
        a_lo, a_hi = self._acceleration_bounds(t, dt)
        cut = np.clip(tau, low, high)
        a, a_cut = np.linalg.solve(t.M, np.array([tau, cut]).T - t.h[:, None]).T
        if all((a_lo <= x).all() and (x <= a_hi).all() for x in (a, a_cut)):
            return cut
        L_inv = np.diag(np.sqrt(self.limits.v_max / self.limits.tau_max))
        T = t.M @ L_inv
        need = np.concatenate([low - tau, tau - high, a_lo - a, a - a_hi])
        answer = self._solver.solve(np.vstack([T, -T, L_inv, -L_inv]), need, np.repeat([0, 1], 2 * len(tau)))
        return tau + T @ answer.y

    def _acceleration_bounds(self, t: Terms, dt: float) -> Array:
        x, inertia = self.limits, np.abs(t.M)
        zeta = RATE_SHARE * x.rate_limit / inertia.max(axis=1)
        room = np.maximum(x.tau_max - np.abs(t.g), SMALLEST_ROOM * x.tau_max)
        alpha = np.minimum(SHARE / (inertia / room).max(axis=1), x.k_p * x.v_max)
        distance = x.q_soft - t.q
        slow = alpha * (1.0 / x.k_p + alpha / (2.0 * zeta))
        stop = np.sqrt(slow**2 + 2.0 * alpha * np.abs(distance)) - slow
        error = np.minimum(np.maximum(np.copysign(stop, distance), self._lowest), self._highest) - t.v
        k_v = np.minimum(np.maximum(x.limit_damping, x.k_velocity / t.M.diagonal()), 1.0 / (TICKS * dt))
        size, corner = np.abs(error), zeta / k_v**2
        bent = np.sqrt(2.0 * zeta * np.maximum(size - corner / 2.0, 0.0))
        return np.copysign(np.where(size <= corner, k_v * size, bent), error)
