"""The limits of a torque written with NumPy, with care: a contender, and a second opinion."""

from __future__ import annotations

import numpy as np

from arm_control.constraints import BACK, SHARE, SMALLEST_ROOM, TICKS, LimitNumbers
from arm_control.gate import GateParameters, JointLimits
from arm_control.model import RobotModel, Terms

Array = np.ndarray


class CarefulLimits:
    """Equations (1) to (7) of :mod:`arm_control.gate.joint_limits`, on arrays."""

    def __init__(self, model: RobotModel, p: GateParameters) -> None:
        law = JointLimits(model, p, p.rate_limit)
        self.limits = LimitNumbers.of(law.numbers, law.is_unlimited)
        v_max = self.limits.v_max
        self._lowest, self._highest = np.stack((-v_max, -BACK * v_max)), np.stack((BACK * v_max, v_max))
        self.tau_0: Array | None = None

    def tick(self, t: Terms, tau: Array, dt: float) -> Array:
        """Return what may pass."""
        limit, step = self.limits.tau_max, self.limits.rate_limit * dt
        tau_0 = np.clip(t.g, -limit, limit) if self.tau_0 is None else self.tau_0
        wanted = self._within(t, tau, dt)
        bounded = np.clip(wanted, -limit, limit)
        if wanted is tau:
            self.tau_0 = np.clip(bounded, tau_0 - step, tau_0 + step)
        else:
            change = bounded - tau_0
            size = float(np.abs(change).max())
            self.tau_0 = np.clip(tau_0 + (change if size <= step else change * (step / size)), -limit, limit)
        return self.tau_0

    def _within(self, t: Terms, tau: Array, dt: float) -> Array:
        a_lo, a_hi = self._acceleration_bounds(t, dt)
        a = np.linalg.solve(t.M, tau - t.h)
        allowed = np.minimum(np.maximum(a, a_lo), a_hi)
        return tau if (allowed == a).all() else t.h + t.M @ allowed

    def _acceleration_bounds(self, t: Terms, dt: float) -> Array:
        x, inertia = self.limits, np.abs(t.M)
        zeta = x.rate_limit / inertia.max(axis=1)
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
