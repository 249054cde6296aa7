"""Limits of the torque: what of a command may pass, in the state the arm is in.

A joint may approach a limit of its position only as fast as it can still be stopped with the torque, and the
rate of torque, that there is. With the soft range [a, b] of each joint,

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
keep theirs, and weight and Coriolis torque stay compensated. Gains on M suit a shoulder and a wrist alike; a
bound on each torque by itself would not: what a wrist needs when the shoulder swings can be ten times its own
inertia. Then come the limits of the motors, from the last torque ``tau_0`` on,

    (6)  tau'' = clamp(tau', -tau_max, tau_max)
    (7)  tau_1 = clamp(tau'', tau_0 - step, tau_0 + step),   step = rate_limit dt

where (7), if (5) has cut something, is ``tau_0 + nu (tau'' - tau_0)``: shortened as a whole (:func:`shortened`).
A command that nothing is cut from comes back as it is, to the last bit.

All of it is written over any scalar: it runs on floats as it stands, and compiled
(:mod:`arm_control.control.compiled_limits`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.core.parameters import Parameters, parameter
from arm_control.maths.linalg import solve
from arm_control.maths.poses import TINY, Array
from arm_control.maths.scalars import Scalar, clamp, largest, maximum, minimum, select
from arm_control.model import RobotModel, Terms

SHARE = 0.5
"""Share of the torque left beside the weight that stopping at a limit may need."""
BACK = 0.1
"""Share of the speed limit at which a joint outside its soft range is led back."""
SMALLEST_ROOM = 0.05
"""Share of the effort limit that counts as left for stopping, however heavy the arm."""
STEPS = 2.0
"""``k_v`` is at most 1 in so many ticks: a sampled loop with a higher gain would ring."""
HUGE = 1e300
"""Accelerations and torques that are larger, or no numbers, come from an absurd state."""


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


class Limits(NamedTuple):
    """The law's numbers, any scalars: a row of ``q_soft`` for the lower limits, one for the upper ones."""

    rate: Scalar
    k_v: Scalar
    k_p: Array
    k_velocity: Array
    v_max: Array
    tau_max: Array
    q_soft: Array

    @classmethod
    def of(cls, x: Array, is_unlimited: Array) -> Limits:
        """Return the limits that :attr:`JointLimits.numbers` lists; some joints have none of position."""
        k_p, k_velocity, v_max, tau_max, lower, upper = x[2:].reshape(6, -1)
        q_soft = np.where(is_unlimited, [[-np.inf], [np.inf]], [lower, upper])
        return cls(x[0], x[1], k_p, k_velocity, v_max, tau_max, q_soft)


class Passed(NamedTuple):
    """The torque that may pass (n,); above zero what it was cut by: limits of joints, of effort, of its rate."""

    tau: Array
    limited: Scalar
    saturated: Scalar
    rate_limited: Scalar


def passed(t: Terms, tau: Array, tau_0: Array, dt: Scalar, is_on: Scalar, x: Limits) -> Passed:
    """Return what of a torque may pass, equations (5) to (7).

    Parameters
    ----------
    t : Terms
        The measured state.
    tau, tau_0 : array, shape (nv,)
        The torque wanted, and the last one [N m or N].
    dt : float
        Time between the two [s].
    is_on : float
        1 when the joints' limits of position and speed count, 0 when not.
    x : Limits
    """
    within, is_cut = limited(t, tau, dt, x)
    is_limited = is_on * is_cut
    wanted = select(is_limited, within, tau)
    bounded = clamp(wanted, -x.tau_max, x.tau_max)  # (6)
    step = x.rate * dt
    low, high = tau_0 - step, tau_0 + step
    whole = clamp(tau_0 + shortened(bounded - tau_0, step), -x.tau_max, x.tau_max)  # rounding
    tau_1 = select(is_limited, whole, clamp(bounded, low, high))  # (7)
    saturated = select(np.abs(wanted) - x.tau_max, 1.0, 0.0).sum()
    return Passed(tau_1, is_limited, saturated, _outside(bounded, low, high))


def limited(t: Terms, tau: Array, dt: Scalar, x: Limits) -> tuple[Array, Scalar]:
    """Torque within the joints' limits, equation (5), and above zero whether that cuts something.

    Where the state is absurd the torque is the weight ``g``.
    """
    a_lo, a_hi = acceleration_bounds(t, dt, x)
    a = solve(t.M, tau - t.h)
    within = t.h + t.M @ clamp(a, a_lo, a_hi)  # (5)
    size = np.abs(a).sum() + np.abs(within).sum()
    return select(HUGE - size, within, t.g), _outside(a, a_lo, a_hi)


def acceleration_bounds(t: Terms, dt: Scalar, x: Limits) -> Array:
    """Accelerations ``a_lo`` and ``a_hi`` [rad/s^2 or m/s^2], equation (4), shape (2, nv)."""
    zeta = x.rate / largest(np.abs(t.M))  # (1)
    error = speed_bounds(t, x) - t.v
    k_v = maximum(x.k_v, x.k_velocity / np.diagonal(t.M))
    k_v = 1.0 / maximum(1.0 / k_v, STEPS * dt)
    size, corner = np.abs(error), zeta / (k_v * k_v)
    bent = np.sqrt(2.0 * zeta * maximum(size - 0.5 * corner, 0.0))
    push = select(size - corner, bent, k_v * size)
    return select(error, push, -push)  # (4)


def speed_bounds(t: Terms, x: Limits) -> Array:
    """Speeds ``v_lo`` and ``v_hi`` [rad/s or m/s], equation (3), shape (2, nv)."""
    inertia = np.abs(t.M)
    room = maximum(x.tau_max - np.abs(t.g), SMALLEST_ROOM * x.tau_max)
    alpha = minimum(SHARE / largest(inertia * (1.0 / room)), x.k_p * x.v_max)  # (1)
    zeta = x.rate / largest(inertia)
    d = x.q_soft - t.q
    slow = alpha * (1.0 / x.k_p + 0.5 * alpha / zeta)  # alpha / k
    stop = np.sqrt(slow * slow + 2.0 * alpha * np.abs(d)) - slow
    v_stop = select(d, stop, -stop)  # (2)
    back = BACK * x.v_max
    return clamp(v_stop, np.array([-x.v_max, -back]), np.array([back, x.v_max]))  # (3)


def shortened(change: Array, longest: Scalar) -> Array:
    """Return a change of torque shortened as a whole, so that no joint's exceeds ``longest``.

    Joint by joint it would no longer be the torque that stops one joint and leaves the others alone.
    """
    size = largest(np.abs(change))
    return change * select(size - longest, longest / maximum(size, TINY), 1.0)


def _outside(x: Array, low: Array, high: Array) -> Scalar:
    """Above zero where an entry is below its lower or above its upper bound, or no number."""
    return (select(high - x + TINY, 0.0, 1.0) + select(x - low + TINY, 0.0, 1.0)).sum()


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
        How fast torque may change [N m/s].

    Attributes
    ----------
    q_soft : ndarray, shape (2, nv)
        Lower and upper soft limits [rad or m].
    is_unlimited : ndarray of bool, shape (nv,)
        Which joints have no limit of position.
    numbers : ndarray, shape (2 + 6 nv,)
        All numbers of the law, finite: zero for limits that there are not.
    """

    def __init__(self, model: RobotModel, parameters: LimitParameters, rate_limit: float) -> None:
        self.q_soft, k_position, k_velocity = _soft_limits(model, parameters)
        self.is_unlimited = np.isinf(self.q_soft[1])
        k_p = np.minimum(k_position, parameters.limit_damping / 4.0)
        rows = [k_p, k_velocity, model.v_max, model.tau_max, *np.where(self.is_unlimited, 0.0, self.q_soft)]
        self.numbers = np.concatenate([[rate_limit, parameters.limit_damping], *rows])
        self._limits = Limits.of(self.numbers, self.is_unlimited)

    def passed(self, t: Terms, tau: Array, tau_0: Array, dt: float, is_on: float = 1.0) -> Passed:
        """Return what of a torque may pass, equations (5) to (7); see :func:`passed`."""
        with np.errstate(over="ignore", invalid="ignore"):
            tau_1, *cut = passed(t, tau, tau_0, dt, is_on, self._limits)
        return Passed(tau_1, *map(float, cut))

    def apply(self, t: Terms, tau: Array, dt: float) -> Array:
        """Return the torque within the joints' limits, equation (5); ``tau`` itself when nothing is cut."""
        with np.errstate(over="ignore", invalid="ignore"):
            within, is_cut = limited(t, tau, dt, self._limits)
        return within if is_cut else tau

    def acceleration_bounds(self, t: Terms, dt: float) -> Array:
        """Accelerations ``a_lo`` and ``a_hi`` [rad/s^2 or m/s^2], equation (4), shape (2, nv)."""
        return acceleration_bounds(t, dt, self._limits)

    def speed_bounds(self, t: Terms) -> Array:
        """Speeds ``v_lo`` and ``v_hi`` [rad/s or m/s], equation (3), shape (2, nv)."""
        return speed_bounds(t, self._limits)


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
