"""Dynamics of an arm by the method of Runge and Kutta, of fourth order, with exact derivatives.

    x' = x + dt / 6 (s_1 + 2 s_2 + 2 s_3 + s_4),  s_i = (v, a) at x, x + dt/2 s_1, x + dt/2 s_2, x + dt s_3

in the symbols of :mod:`arm_control.optimal.arm_dynamics`; derivatives of the stages by the chain rule.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.model import RobotModel, State
from arm_control.optimal import ArmDynamics


class RungeKuttaArm:
    """Dynamics of an arm, with steps of length dt [s]; the methods are those of ArmDynamics."""

    def __init__(self, model: RobotModel, dt: float) -> None:
        self._euler = ArmDynamics(model, dt)
        self.dt = self._euler.dt
        self.n_x = self._euler.n_x
        self.n_u = self._euler.n_u

    def arm(self, x: Array, u: Array) -> State:
        return self._euler.arm(x, u)

    def step(self, xs: Array, us: Array) -> Array:
        s = [self._slope(xs, us)]
        for size in (0.5, 0.5, 1.0):
            s.append(self._slope(xs + size * self.dt * s[-1], us))
        return xs + self.dt / 6.0 * (s[0] + 2.0 * s[1] + 2.0 * s[2] + s[3])

    def _slope(self, xs: Array, us: Array) -> Array:
        return np.hstack([xs[:, self.n_u :], self._euler.acceleration(xs, us)])

    def derivatives(self, xs: Array, us: Array) -> tuple[Array, Array]:
        dt, one = self.dt, np.eye(self.n_x)
        s = np.zeros_like(xs)
        s_x = np.zeros((len(xs), *one.shape))
        s_u = np.zeros((len(xs), self.n_x, self.n_u))
        total_x, total_u = s_x.copy(), s_u.copy()
        for size, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            s, A, B = self._euler.slope_derivatives(xs + size * dt * s, us)
            s_x, s_u = A @ (one + size * dt * s_x), A @ (size * dt * s_u) + B
            total_x += weight * s_x
            total_u += weight * s_u
        return one + dt / 6.0 * total_x, dt / 6.0 * total_u

    def curvature(self, xs: Array, us: Array) -> Array | None:
        return None
