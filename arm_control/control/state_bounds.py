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
from typing import NamedTuple

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
LARGEST_POSITION = 1e4
"""Largest position of a joint without limits [rad or m]."""


class BoundsMemory(NamedTuple):
    """What is known of the states before.

    Attributes
    ----------
    q, v, e : list of float
        Positions, velocities and their deviation in the last state, as the symbols of this module; empty before one.
    unchanged : float
        Time for which positions and velocities have not changed [s].
    """

    q: list[float]
    v: list[float]
    e: list[float]
    unchanged: float


class StateBounds:
    """The bounds of one arm.

    Parameters
    ----------
    model : RobotModel
        The arm.

    Attributes
    ----------
    memory : BoundsMemory
        The states before; it may be replaced by that of bounds elsewhere.
    """

    def __init__(self, model: RobotModel) -> None:
        r = np.maximum(model.q_max - model.q_min, SMALLEST_RANGE)
        self._names, joints = model.joint_names, model.urdf.robot.joint_map
        self._units = ["m" if joints[name].type == "prismatic" else "rad" for name in self._names]
        self._low = np.where(np.isfinite(model.q_min), model.q_min - r, -LARGEST_POSITION).tolist()
        self._high = np.where(np.isfinite(model.q_max), model.q_max + r, LARGEST_POSITION).tolist()
        self._fastest = (SPEED * model.v_max).tolist()
        self.memory = BoundsMemory([], [], [0.0] * model.nv, 0.0)

    @property
    def limits(self) -> Array:
        """Lowest position, highest position and largest speed of each joint, (1) and (2), shape (3, nv)."""
        return np.array([self._low, self._high, self._fastest])

    def fault(self, q: Array, v: Array, dt: float) -> str:
        """Return why a state is not believed; empty when it is, and the next one is compared with it.

        Parameters
        ----------
        q, v : ndarray, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s], finite.
        dt : float
            Time since the last state that was believed [s]; 0: a new run begins, without (3) to (5).
        """
        qs, vs = q.tolist(), v.tolist()  # arrays of six numbers would take twice as long
        for i, (x, w, low, high, fastest) in enumerate(zip(qs, vs, self._low, self._high, self._fastest, strict=True)):
            if not low <= x <= high:  # (1)
                return self._reason(i, f"position {x:g} is far outside its limits")
            if not -fastest <= w <= fastest:  # (2)
                return self._reason(i, f"velocity {w:g} is far above its limit")
        e, unchanged, last = [0.0] * len(qs), 0.0, self.memory
        if last.q and dt > 0.0:
            decay, half, tolerance = math.exp(-dt / MEMORY), 0.5 * dt, DEVIATION + 0.5 * ACCELERATION * dt * dt
            before = zip(qs, vs, last.q, last.v, last.e, self._fastest, strict=True)
            for i, (x, w, x_0, w_0, e_0, fastest) in enumerate(before):
                change = x - x_0
                if abs(change) - fastest * dt - DEVIATION > 0.0:  # (3)
                    return self._excess(i, "position has jumped", change, fastest * dt + DEVIATION)
                e[i] = e_0 * decay + (change - half * (w + w_0))
                if abs(e[i]) - tolerance > 0.0:  # (4)
                    return self._excess(i, "positions and velocities disagree", e[i], tolerance)
            if qs == last.q and vs == last.v:
                unchanged = last.unchanged + dt
                if max(map(abs, vs)) * unchanged > DEVIATION / 3.0:  # (5)
                    return f"not believed: positions and velocities have not changed for {1e3 * unchanged:.3g} ms"
        self.memory = tuple.__new__(BoundsMemory, (qs, vs, e, unchanged))
        return ""

    def _excess(self, joint: int, what: str, deviation: float, allowed: float) -> str:
        unit = self._units[joint]
        return self._reason(joint, f"{what} by {abs(deviation):.4g} {unit}, allowed {allowed:.4g} {unit}")

    def _reason(self, joint: int, what: str) -> str:
        return f"not believed: {what}, joint '{self._names[joint]}'"


def describe_outside(model: RobotModel, q: Array) -> str:
    """Return the joints that are outside their limits, with these; empty when none is.

    Parameters
    ----------
    model : RobotModel
        The arm.
    q : ndarray, shape (nv,)
        Joint positions [rad or m].

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> describe_outside(RobotModel.from_urdf(urdf_path("ur5")), np.array([0.0, 0.0, 3.2, 0.0, 0.0, 0.0]))
    'elbow_joint at 3.2000, allowed -3.1416 to 3.1416'
    """
    joints = zip(model.joint_names, q, model.q_min, model.q_max, strict=True)
    outside = [(name, x, low, high) for name, x, low, high in joints if not low <= x <= high]
    return "; ".join(f"{name} at {x:.4f}, allowed {low:.4f} to {high:.4f}" for name, x, low, high in outside)
