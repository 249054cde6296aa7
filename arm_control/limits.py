"""Joint limits: what a command may still ask of a joint that is near a limit of position or speed.

A joint may approach a limit only as fast as it can still be stopped with the torque, and the rate of
torque, that there is. With the soft range [a, b] of each joint,

    (1)  alpha_i = 1/2 min_j (tau_max_j - |g_j|) / |M_ij|,   zeta_i = min_j rate_limit / |M_ij|
    (2)  v_stop(d) = sqrt((alpha/k)^2 + 2 alpha d) - alpha/k,   1/k = 1/k_p + alpha / (2 zeta)
    (3)  v_hi = clamp(v_stop(b - q), -v_back, v_max),   v_lo = clamp(v_stop(a - q), -v_max, v_back)
    (4)  a_hi = push(v_hi - v),   a_lo = push(v_lo - v)
    (5)  tau' = h + M clamp(M^-1 (tau - h), a_lo, a_hi)

``v_stop`` and ``push`` are odd. (1) is the deceleration, and the change of it per second, that the motors
of all joints can afford; (2) solves ``d = v^2 / (2 alpha) + v / k``, braking distance and delay, for v:
far away a constant deceleration, at the end ``v = k d``. ``push(e)`` is ``k_v e`` and, for a large e,
``sqrt(2 zeta (|e| - zeta / (2 k_v^2)))``: the acceleration that can be taken back in time.

Only the accelerations towards a limit are cut, (5): one back into the range passes, the other joints
keep theirs, and weight and Coriolis torque stay compensated. A command that nothing is cut from is
returned as it is, to the last bit. Gains on M suit a shoulder and a wrist alike; a bound on each torque by
itself would not: what a wrist needs when the shoulder swings can be ten times its own inertia. For the same
reason the rate limit shortens the step to tau' as a whole (:func:`shortened`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.model import RobotModel, Terms
from arm_control.parameters import Parameters, parameter
from arm_control.spatial import Array

SHARE = 0.5
"""Share of the torque left beside the weight that stopping at a limit may need."""
BACK = 0.1
"""Share of the speed limit at which a joint outside its soft range is led back."""
SMALLEST_ROOM = 0.05
"""Share of the effort limit that counts as left for stopping, however heavy the arm."""
STEPS = 2.0
"""``k_v`` is at most 1 in so many ticks: a sampled loop with a higher gain would ring."""


@dataclass(frozen=True)
class LimitParameters(Parameters):
    """How a joint is stopped at its limits."""

    joint_limits: bool = parameter(True, "keep joints within their limits of position and speed")
    limit_margin: float = parameter(
        0.05, "distance of the soft limits from the hard ones, at most 5 % of the range", unit="rad or m", lower=0.0
    )
    limit_stiffness: float = parameter(
        25.0, "speed towards a limit per distance left", unit="1/s", lower=0.1, upper=200.0
    )
    limit_damping: float = parameter(
        100.0, "deceleration per speed above the bound; four times the stiffness or more", unit="1/s", lower=1.0
    )


class JointLimits:
    """The limits of an arm's joints.

    Soft limits of the URDF (``safety_controller``) hold where they are tighter than ``limit_margin``; its
    ``k_position`` replaces ``limit_stiffness``; its ``k_velocity`` [N m s/rad] counts where it is more than
    ``limit_damping`` times the joint's inertia. Continuous joints have no limit of position.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : LimitParameters
        The gains.
    rate_limit : float
        How fast torque may change [N m/s], for (1).

    Attributes
    ----------
    q_soft : ndarray, shape (2, nv)
        Lower and upper soft limits [rad or m].
    """

    def __init__(self, model: RobotModel, parameters: LimitParameters, rate_limit: float) -> None:
        self._tau_max, self._v_max, self._rate = model.tau_max, model.v_max, rate_limit
        self._k_v = parameters.limit_damping
        self.q_soft, k_position, self._k_velocity = _soft_limits(model, parameters)
        self._k_p = np.minimum(k_position, self._k_v / 4.0)
        self._lowest = np.stack((-self._v_max, -BACK * self._v_max))
        self._highest = np.stack((BACK * self._v_max, self._v_max))

    def apply(self, t: Terms, tau: Array, dt: float) -> Array:
        """Return the torque that may pass, equation (5).

        Parameters
        ----------
        t : Terms
            The measured state.
        tau : ndarray, shape (nv,)
            The command [N m or N].
        dt : float
            Time between two ticks [s].

        Returns
        -------
        ndarray, shape (nv,)
            ``tau`` itself when nothing is cut; the weight ``g`` where the state is absurd.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            a_lo, a_hi = self.acceleration_bounds(t, dt)
            a = np.linalg.solve(t.M, tau - t.h)  # (5)
            allowed = np.minimum(np.maximum(a, a_lo), a_hi)
            if (allowed == a).all():
                return tau
            limited = t.h + t.M @ allowed
        return limited if np.isfinite(limited).all() else t.g

    def acceleration_bounds(self, t: Terms, dt: float) -> Array:
        """Accelerations ``a_lo`` and ``a_hi`` [rad/s^2 or m/s^2], equation (4), shape (2, nv)."""
        inertia = np.abs(t.M)
        zeta = self._rate / inertia.max(axis=1)  # (1)
        error = self._speed_bounds(t, inertia, zeta) - t.v
        k_v = np.maximum(self._k_v, self._k_velocity / t.M.diagonal())
        k_v = np.minimum(k_v, 1.0 / (STEPS * dt)) if dt > 0.0 else k_v
        size, corner = np.abs(error), zeta / k_v**2  # (4)
        bent = np.sqrt(2.0 * zeta * np.maximum(size - corner / 2.0, 0.0))
        return np.copysign(np.where(size <= corner, k_v * size, bent), error)

    def speed_bounds(self, t: Terms) -> Array:
        """Speeds ``v_lo`` and ``v_hi`` [rad/s or m/s], equation (3), shape (2, nv)."""
        inertia = np.abs(t.M)
        return self._speed_bounds(t, inertia, self._rate / inertia.max(axis=1))

    def _speed_bounds(self, t: Terms, inertia: Array, zeta: Array) -> Array:
        room = np.maximum(self._tau_max - np.abs(t.g), SMALLEST_ROOM * self._tau_max)
        alpha = np.minimum(SHARE / (inertia / room).max(axis=1), self._k_p * self._v_max)  # (1)
        distance = self.q_soft - t.q
        slow = alpha * (1.0 / self._k_p + alpha / (2.0 * zeta))  # alpha / k
        stop = np.sqrt(slow**2 + 2.0 * alpha * np.abs(distance)) - slow  # (2)
        bounds: Array = np.minimum(np.maximum(np.copysign(stop, distance), self._lowest), self._highest)  # (3)
        return bounds


def shortened(change: Array, largest: float) -> Array:
    """Return a change of torque shortened as a whole, so that no joint's exceeds ``largest``.

    Joint by joint it would no longer be the torque that stops one joint and leaves the others alone.
    """
    size = float(np.abs(change).max())
    return change if size <= largest else change * (largest / size)


def _soft_limits(model: RobotModel, p: LimitParameters) -> tuple[Array, Array, Array]:
    """Soft limits (2, nv), ``k_position`` (nv,) [1/s] and ``k_velocity`` (nv,) [N m s/rad], 0 if not given."""
    margin = np.minimum(p.limit_margin, 0.05 * (model.q_max - model.q_min))
    soft = np.stack((model.q_min + margin, model.q_max - margin))
    k_position, k_velocity = np.full(model.nv, p.limit_stiffness), np.zeros(model.nv)
    for i, name in enumerate(model.joint_names):
        given = model.urdf.robot.joint_map[name].safety_controller
        if given is None:
            continue
        k_position[i], k_velocity[i] = given.k_position or p.limit_stiffness, given.k_velocity or 0.0
        lower = max(soft[0, i], _number(given.soft_lower_limit))
        upper = min(soft[1, i], _number(given.soft_upper_limit))
        if lower < upper and np.isfinite(model.q_min[i]):
            soft[:, i] = lower, upper
    return soft, k_position, k_velocity


def _number(value: float | None) -> float:
    """Soft limits that a URDF leaves out are 0."""
    return 0.0 if value is None else float(value)
