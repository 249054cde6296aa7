"""Discrete dynamics ``x_{k+1} = f(x_k, u_k)`` of an arm.

An arm has x = (q, v) [rad, rad/s; m, m/s if prismatic] and u = tau [N m; N]. A step of dt [s] with the acceleration
``a = M^-1 (tau - h)`` [rad/s^2; m/s^2] is one of semi-implicit Euler,

    (1)  v' = v + dt a(q, v, tau),    q' = q + dt v'
"""

from __future__ import annotations

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel


class ArmDynamics:
    """Dynamics of an arm, equation (1), with a step of dt [s]."""

    def __init__(self, model: RobotModel, dt: float) -> None:
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"dt is {dt}; it must be above zero")
        self.model = model
        self.dt = float(dt)
        self.n_x = 2 * model.nv
        self.n_u = model.nv
        self._acceleration = model.batch("a")

    @property
    def tool(self) -> Array:
        """Numbers of the tool at the tip when these dynamics were made."""
        return self._acceleration.tool

    def step(self, xs: Array, us: Array) -> Array:
        """Return the next states, shape (N, n_x)."""
        n, dt = self.n_u, self.dt
        v = xs[:, n:] + dt * self._acceleration(xs[:, :n], xs[:, n:], us)["a"]
        return np.hstack([xs[:, :n] + dt * v, v])  # (1)
