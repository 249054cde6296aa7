"""Limits of the torque: a command is cut to what the joints and their motors can afford in the measured state.

Equations (1) to (4), of :mod:`arm_control.constraints.joint_rows`, bound the acceleration of each joint so that it can
still be stopped before its limits. Then

    (5)  tau_a = h + M clamp(M^-1 (tau - h), a_lo, a_hi)
    (6)  tau_b = clamp(tau_a, -tau_max, tau_max)
    (7)  tau_1 = clamp(tau_b, tau_0 - step, tau_0 + step)   where (5) has cut nothing,   step = rate_limit dt
         tau_1 = tau_0 + nu (tau_b - tau_0)                 where it has,   nu = min(1, step / max |tau_b - tau_0|)

(5) cuts only accelerations towards a limit: one back into the range passes, the other joints keep theirs, and
gravity and Coriolis torque stay compensated. Gains on M suit a shoulder and a wrist alike; a bound on each torque by
itself would not: a wrist may need ten times its own inertia when the shoulder swings. A command from which nothing is
cut comes back as it is, to the last bit.

    M, g, h           mass matrix, gravity torque, bias       [kg m^2; N m; N m]
    tau, tau_0        commanded torque, last torque           [N m]
    tau_a, tau_b      torque within (5), within (6)           [N m]
    tau_1             torque that may pass                    [N m]
    dt                time since the last torque              [s]

The law is written over any scalar: it runs on floats as it stands, and compiled, one call a tick
(:func:`compile_limits`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.constraints import LimitNumbers, acceleration_bounds, speed_bounds
from arm_control.core import Parameters, parameter
from arm_control.maths import TINY, Array, Scalar, clamp, largest, maximum, select, solve
from arm_control.model import RobotModel, Terms

LARGEST_STIFFNESS = 0.25
"""Largest ``k_p`` in shares of ``limit_damping``: a higher one would overshoot."""
LARGEST_SHARE = 1e3
"""A command of more than so many times the effort limit is absurd, and refused."""
HUGE = 1e300
"""Accelerations and torques that are larger, or NaN, come from an absurd state."""


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


class LimitedTorque(NamedTuple):
    """Torque that may pass (n,) [N m]; above zero: whether (5), (6) or (7) has cut it."""

    tau: Array
    limited: Scalar
    saturated: Scalar
    rate_limited: Scalar


NextLimits: TypeAlias = tuple[Array, float, float]
"""What limits depend on beside a command and the state: ``tau_0``, ``dt`` and ``is_on`` of :func:`limit_torque`."""


def limit_torque(
    terms: Terms, tau: Array, tau_0: Array, dt: Scalar, is_on: Scalar, numbers: LimitNumbers
) -> LimitedTorque:
    """Return the torque that may pass, equations (5) to (7).

    Parameters
    ----------
    terms : Terms
        The measured state.
    tau, tau_0 : array, shape (nv,)
        Commanded torque, and the last one [N m or N].
    dt : float
        Time between the two [s].
    is_on : float
        1 when the joints' limits of position and speed count, 0 when not.
    numbers : LimitNumbers
        Limits and gains.
    """
    tau_max = numbers.tau_max
    within, is_cut = limit_acceleration(terms, tau, dt, numbers)
    is_limited = is_on * is_cut
    tau_a = select(is_limited, within, tau)  # (5)
    tau_b = clamp(tau_a, -tau_max, tau_max)  # (6)
    step = numbers.rate_limit * dt
    low, high = tau_0 - step, tau_0 + step
    whole = clamp(tau_0 + shorten(tau_b - tau_0, step), -tau_max, tau_max)  # clamped: rounding may exceed tau_max
    tau_1 = select(is_limited, whole, clamp(tau_b, low, high))  # (7)
    saturated = select(np.abs(tau_a) - tau_max, 1.0, 0.0).sum()
    return LimitedTorque(tau_1, is_limited, saturated, _outside(tau_b, low, high))


def limit_acceleration(terms: Terms, tau: Array, dt: Scalar, numbers: LimitNumbers) -> tuple[Array, Scalar]:
    """Return ``tau_a`` of equation (5), shape (nv,) [N m], and above zero whether that cuts something.

    In an absurd state the torque is that of gravity.

    Parameters
    ----------
    terms : Terms
        The measured state.
    tau : array, shape (nv,)
        Commanded torque [N m or N].
    dt : float
        Time since the last torque [s].
    numbers : LimitNumbers
        Limits and gains.
    """
    a_lo, a_hi = acceleration_bounds(terms, dt, numbers)
    a = solve(terms.M, tau - terms.h)
    tau_a = terms.h + terms.M @ clamp(a, a_lo, a_hi)  # (5)
    size = np.abs(a).sum() + np.abs(tau_a).sum()
    return select(HUGE - size, tau_a, terms.g), _outside(a, a_lo, a_hi)


def shorten(change: Array, step: Scalar) -> Array:
    """``nu change`` of equation (7): a change of torque shortened as a whole, so that no joint's exceeds the step.

    Joint by joint it would no longer be the torque that stops one joint and leaves the others alone.

    Parameters
    ----------
    change : array, shape (nv,)
        ``tau_b - tau_0`` [N m].
    step : float
        Largest entry of the result [N m].
    """
    size = largest(np.abs(change))
    return change * select(size - step, step / maximum(size, TINY), 1.0)


def _outside(x: Array, low: Array, high: Array) -> Scalar:
    """Above zero where an entry is below its lower or above its upper bound, or NaN."""
    return (select(high - x + TINY, 0.0, 1.0) + select(x - low + TINY, 0.0, 1.0)).sum()


class JointLimits:
    """The law of this module for one arm, on floats; without state.

    Soft limits of the URDF (``safety_controller``) hold where they are tighter than ``limit_margin``; its
    ``k_position`` replaces ``limit_stiffness``; its ``k_velocity`` [N m s/rad] counts where it is more than
    ``limit_damping`` times the joint's inertia. Continuous joints have no limit of position.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : LimitParameters
        Gains.
    rate_limit : float
        Largest rate of change of the torque [N m/s].

    Attributes
    ----------
    q_soft : ndarray, shape (2, nv)
        Lower and upper soft limits [rad or m].
    is_unlimited : ndarray of bool, shape (nv,)
        Joints without limits of position.
    numbers : ndarray, shape (2 + 6 nv,)
        Numbers of the law, finite: zero for missing limits.
    """

    def __init__(self, model: RobotModel, parameters: LimitParameters, rate_limit: float) -> None:
        self.q_soft, k_position, k_velocity = _soft_limits(model, parameters)
        self.is_unlimited = np.isinf(self.q_soft[1])
        k_p = np.minimum(k_position, LARGEST_STIFFNESS * parameters.limit_damping)
        rows = [k_p, k_velocity, model.v_max, model.tau_max, *np.where(self.is_unlimited, 0.0, self.q_soft)]
        self.numbers = np.concatenate([[rate_limit, parameters.limit_damping], *rows])
        self._numbers = LimitNumbers.of(self.numbers, self.is_unlimited)

    def are_those_of(self, other: JointLimits) -> bool:
        """Whether other limits are the same."""
        return np.array_equal(self.numbers, other.numbers) and np.array_equal(self.is_unlimited, other.is_unlimited)

    def limit_torque(self, terms: Terms, tau: Array, tau_0: Array, dt: float, is_on: float = 1.0) -> LimitedTorque:
        """Return the torque that may pass, equations (5) to (7); parameters of :func:`limit_torque`."""
        with np.errstate(over="ignore", invalid="ignore"):
            tau_1, *cut = limit_torque(terms, tau, tau_0, dt, is_on, self._numbers)
        return LimitedTorque(tau_1, *map(float, cut))

    def limit_acceleration(self, terms: Terms, tau: Array, dt: float) -> Array:
        """Return ``tau_a`` of equation (5), ``tau`` itself when nothing is cut; parameters of :func:`limit_torque`."""
        with np.errstate(over="ignore", invalid="ignore"):
            tau_a, is_cut = limit_acceleration(terms, tau, dt, self._numbers)
        return tau_a if is_cut else tau

    def acceleration_bounds(self, terms: Terms, dt: float) -> Array:
        """Return ``a_lo`` and ``a_hi`` of equation (4), shape (2, nv); parameters of :func:`acceleration_bounds`."""
        return acceleration_bounds(terms, dt, self._numbers)

    def speed_bounds(self, terms: Terms) -> Array:
        """Return ``v_lo`` and ``v_hi`` of equation (3), shape (2, nv) [rad/s or m/s]."""
        return speed_bounds(terms, self._numbers)


def _soft_limits(model: RobotModel, p: LimitParameters) -> tuple[Array, Array, Array]:
    """Soft limits (2, nv), ``k_position`` (nv,) [1/s] and ``k_velocity`` (nv,) [N m s/rad], 0 if not stated."""
    margin = np.minimum(p.limit_margin, 0.05 * (model.q_max - model.q_min))
    soft = np.stack((model.q_min + margin, model.q_max - margin))
    k_position, k_velocity = np.full(model.nv, p.limit_stiffness), np.zeros(model.nv)
    for i, name in enumerate(model.joint_names):
        safety = model.urdf.robot.joint_map[name].safety_controller
        if safety is None:
            continue
        k_position[i] = safety.k_position or p.limit_stiffness
        k_velocity[i] = safety.k_velocity or 0.0
        lower = max(soft[0, i], safety.soft_lower_limit or 0.0)
        upper = min(soft[1, i], safety.soft_upper_limit or 0.0)
        if lower < upper and np.isfinite(model.q_min[i]):
            soft[:, i] = lower, upper
    return soft, k_position, k_velocity
