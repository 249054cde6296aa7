"""How fast a joint may go, and accelerate, near its limits of position and speed.

A joint may approach a limit of its position only as fast as it can still be stopped with the available torque and
rate of torque. For joint i, with its soft range [q_lo, q_hi] and the distances ``d = q_hi - q`` or ``q_lo - q`` [rad],

    (1)  alpha_i = min(1/2 min_j tau_left_j / |M_ij|, k_p v_max_i),   zeta_i = min_j rate_limit / |M_ij|
         tau_left = max(tau_max - |g|, 0.05 tau_max)
    (2)  v_stop(d) = sqrt(c^2 + 2 alpha d) - c,   c = alpha (1 / k_p + alpha / (2 zeta))
    (3)  v_hi = clamp(v_stop(q_hi - q), -0.1 v_max, v_max),   v_lo = clamp(v_stop(q_lo - q), -v_max, 0.1 v_max)
    (4)  a_hi = servo(v_hi - v),   a_lo = servo(v_lo - v)
         k_v = min(max(limit_damping, k_velocity / M_ii), 1 / (2 dt))

with ``servo`` of :mod:`arm_control.constraints.barriers`. (1) is the deceleration, and its rate of change, that the
motors of all joints can afford. (2) solves ``d = v^2 / (2 alpha) + v c / alpha``, braking distance and delay, for v:
far away a constant deceleration, near zero a speed in proportion to d.

    q, v              joint positions, velocities             [rad, rad/s; m, m/s if prismatic]
    M, g              mass matrix, gravity torque             [kg m^2; N m]
    alpha, zeta       affordable deceleration, and its rate   [rad/s^2; rad/s^3]
    c                 speed lost to delays                    [rad/s]
    k_p, k_v          gains of position and speed             [1/s]
    k_velocity        gain of a URDF's safety_controller      [N m s/rad]
    dt                time since the last torque              [s]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.constraints.barriers import SHARE, TICKS, servo, torque_left
from arm_control.maths import Array, Scalar, clamp, largest, maximum, minimum, select
from arm_control.model import Terms

BACK = 0.1
"""Share of the speed limit at which a joint outside its soft range is led back, equation (3)."""


class LimitNumbers(NamedTuple):
    """Numbers of the law, of any scalars.

    Attributes
    ----------
    rate_limit : float
        Largest rate of change of the torque [N m/s].
    limit_damping : float
        Lower bound of k_v [1/s].
    k_p, k_velocity, v_max, tau_max : array, shape (nv,)
        See the symbols of this module.
    q_soft : array, shape (2, nv)
        ``q_lo`` and ``q_hi`` [rad or m]; infinite for none.
    """

    rate_limit: Scalar
    limit_damping: Scalar
    k_p: Array
    k_velocity: Array
    v_max: Array
    tau_max: Array
    q_soft: Array

    @classmethod
    def of(cls, numbers: Array, is_unlimited: Array) -> LimitNumbers:
        """Return the numbers that :attr:`JointLimits.numbers` lists.

        Parameters
        ----------
        numbers : array, shape (2 + 6 nv,)
            The list.
        is_unlimited : ndarray of bool, shape (nv,)
            Joints without limits of position.
        """
        k_p, k_velocity, v_max, tau_max, lower, upper = numbers[2:].reshape(6, -1)
        q_soft = np.where(is_unlimited, [[-np.inf], [np.inf]], [lower, upper])
        return cls(numbers[0], numbers[1], k_p, k_velocity, v_max, tau_max, q_soft)


def acceleration_bounds(terms: Terms, dt: Scalar, numbers: LimitNumbers, rate_share: float = 1.0) -> Array:
    """Accelerations ``a_lo`` and ``a_hi`` of equation (4), shape (2, nv) [rad/s^2 or m/s^2].

    Parameters
    ----------
    dt : float
        Time since the last torque [s].
    numbers : LimitNumbers
        Limits and gains.
    rate_share : float
        Share of zeta that (4) counts on.
    """
    zeta = rate_share * numbers.rate_limit / largest(np.abs(terms.M))  # (1)
    e = speed_bounds(terms, numbers) - terms.v
    k_v = maximum(numbers.limit_damping, numbers.k_velocity / np.diagonal(terms.M))
    k_v = 1.0 / maximum(1.0 / k_v, TICKS * dt)
    return servo(e, k_v, zeta)  # (4)


def stopping_speed(d: Scalar, alpha: Scalar, c: Scalar) -> Scalar:
    """``v_stop`` of equation (2)."""
    v_stop = np.sqrt(c * c + 2.0 * alpha * np.abs(d)) - c
    return select(d, v_stop, -v_stop)


def speed_bounds(terms: Terms, numbers: LimitNumbers) -> Array:
    """Speeds ``v_lo`` and ``v_hi`` of equation (3), shape (2, nv) [rad/s or m/s]."""
    inertia = np.abs(terms.M)
    tau_left = torque_left(numbers.tau_max, terms.g)
    alpha = minimum(SHARE / largest(inertia * (1.0 / tau_left)), numbers.k_p * numbers.v_max)  # (1)
    zeta = numbers.rate_limit / largest(inertia)
    d = numbers.q_soft - terms.q
    c = alpha * (1.0 / numbers.k_p + 0.5 * alpha / zeta)
    v_stop = stopping_speed(d, alpha, c)  # (2)
    v_max = numbers.v_max
    v_back = BACK * v_max
    return clamp(v_stop, np.array([-v_max, -v_back]), np.array([v_back, v_max]))  # (3)
