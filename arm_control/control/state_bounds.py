"""Bounds of a measured state: what an arm cannot do is not believed.

A state (q, v) that comes a time dt after the state (q_0, v_0) is believed when, for every joint,

    (1)  q_min - r <= q <= q_max + r,   r = max(q_max - q_min, 1);   |q| <= 10^4 where there are no limits
    (2)  |v| <= 10 v_max
    (3)  |q - q_0| <= 10 v_max dt + d
    (4)  |e| <= d + a dt^2 / 2,   e = e_0 exp(-dt / T) + (q - q_0 - (v + v_0) dt / 2)
    (5)  |v| t <= d / 3 where neither q nor v have changed for a time t

(1) and (2) bound a state by itself; (3) and (4) by the last state and the time between: positions do not jump, and
velocities are what positions change by, over the last tenth of a second. (4) finds velocities that are not those of the
positions; (5) finds states that are frozen, with new stamps, in a third of the time. The margins are wide: a state
that is refused is a state that is missing; an arm that is pushed or overshoots, coarse encoders and filtered velocities
stay inside them.

    q, v, q_0, v_0       positions and velocities of joints, before      [rad, rad/s; m, m/s if prismatic]
    e, e_0               deviation of positions and velocities, before   [rad]
    q_min, q_max, v_max  limits of the URDF                              [rad, rad, rad/s]
    dt                   time between the two states                     [s]
    d, a, T              0.015 rad, 100 rad/s^2, 0.1 s                   [rad; rad/s^2; s]
"""

from __future__ import annotations

import math

import numpy as np

from arm_control.maths.poses import Array
from arm_control.model import RobotModel

SPEED = 10.0
"""Largest speed in limits of speed, (2) and (3)."""
DEVIATION = 0.015
"""``d`` [rad or m]."""
ACCELERATION = 100.0
"""``a`` [rad/s^2 or m/s^2]."""
MEMORY = 0.1
"""``T`` [s]."""
SMALLEST_RANGE = 1.0
"""Least ``r`` [rad or m]."""
FARTHEST = 1e4
"""Largest position of a joint without limits [rad or m]."""


class StateBounds:
    """The bounds of one arm.

    Parameters
    ----------
    model : RobotModel
        The arm.
    """

    def __init__(self, model: RobotModel) -> None:
        r = np.maximum(model.q_max - model.q_min, SMALLEST_RANGE)
        self._names = model.joint_names
        self._low = np.where(np.isfinite(model.q_min), model.q_min - r, -FARTHEST)
        self._high = np.where(np.isfinite(model.q_max), model.q_max + r, FARTHEST)
        self._fastest = SPEED * model.v_max
        self._q: Array | None = None
        self._v = self._e = np.zeros(model.nv)
        self._unchanged = 0.0

    def fault(self, q: Array, v: Array, dt: float) -> str:
        """Return why a state is not believed; empty when it is, and the next one is compared with it.

        Parameters
        ----------
        q, v : ndarray, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s], finite.
        dt : float
            Time since the last state that was believed [s]; 0: a new run begins, without (3) and (4).
        """
        if not ((q >= self._low) & (q <= self._high) & (np.abs(v) <= self._fastest)).all():
            return self._fault_alone(q, v)
        if self._q is None or dt <= 0.0:
            e, self._unchanged = np.zeros_like(self._e), 0.0
        else:
            change = q - self._q
            e = self._e * math.exp(-dt / MEMORY) + (change - 0.5 * dt * (v + self._v))
            jump = np.abs(change) - self._fastest * dt - DEVIATION
            deviation = np.abs(e) - DEVIATION - 0.5 * ACCELERATION * dt * dt
            if (np.maximum(jump, deviation) > 0.0).any():
                return self._fault_since(jump, deviation)
            if change.any() or (v != self._v).any():
                self._unchanged = 0.0
            else:
                self._unchanged += dt
                if np.abs(v).max() * self._unchanged > DEVIATION / 3.0:
                    return f"not believed: positions and velocities have not changed for {1e3 * self._unchanged:.3g} ms"
        self._q, self._v, self._e = q, v, e
        return ""

    def _fault_alone(self, q: Array, v: Array) -> str:
        outside = np.maximum(self._low - q, q - self._high)
        if (outside > 0.0).any():
            return self._named(outside, q, "position {:g} is far outside its limits")
        return self._named(np.abs(v) - self._fastest, v, "velocity {:g} is far above its limit")

    def _fault_since(self, jump: Array, deviation: Array) -> str:
        if (jump > 0.0).any():
            return self._named(jump, jump, "position has jumped, by {:g} more than it may")
        return self._named(deviation, deviation, "velocity is not that of the positions, by {:g} more than it may")

    def _named(self, excess: Array, values: Array, what: str) -> str:
        """Say of the joint with the largest excess what its value is."""
        j = int(np.argmax(excess))
        return f"not believed: {what.format(values[j])}, joint '{self._names[j]}'"
