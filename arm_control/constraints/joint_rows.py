"""How fast a joint may go, and accelerate, near its limits of position and speed.

A joint may approach a limit of its position only as fast as it can still be stopped with the available torque and
rate of torque. For joint i, with its soft range [q_lo, q_hi] and the distances ``d = q_hi - q`` or ``q_lo - q`` [rad],

    (1)  alpha_i = min(1/2 min_j tau_left_j / |M_ij|, k_p v_max_i),   zeta_i = 1/4 min_j rate_limit / |M_ij|
         tau_left = max(tau_max - |g|, 0.05 tau_max)
    (2)  v_stop(d) = sqrt(c^2 + 2 alpha d) - c,   c = alpha (1 / k_p + alpha / (2 zeta))
    (3)  v_hi = clamp(v_stop(q_hi - q), -0.1 v_max, v_max),   v_lo = clamp(v_stop(q_lo - q), -v_max, 0.1 v_max)
    (4)  a_hi = servo(v_hi - v),   a_lo = servo(v_lo - v)
         k_v = min(max(limit_damping, k_velocity / M_ii), 1 / (2 dt))

with ``servo`` of :mod:`arm_control.constraints.barriers`. (1) is the deceleration that the motors of all joints can
afford, and its rate of change: a quarter of what they can, since several joints are stopped at once. (2) solves
``d = v^2 / (2 alpha) + v c / alpha``, braking distance and delay, for v: far away a constant deceleration, near zero a
speed in proportion to d.

The torque that is asked for is changed least so that accelerations hold, and torque and its rate before them:

    (5)  min 1/2 |y|^2   with  G y >= need,   a = a_0 + L^-T y,   tau_1 = tau + T y,   T = M L^-T
         G = [T; -T; L^-T; -L^-T],   need = [lo - tau; tau - hi; a_lo - a_0; a_0 - a_hi],   a_0 = M^-1 (tau - h)
         lo, hi = clamp(-tau_max, tau_0 - step, tau_0 + step), clamp(tau_max, ...),   step = rate_limit dt

Without constraints L L^T = diag(tau_max / v_max): where torque suffices, only the acceleration of a joint at its bound
changes, and all others are as they were asked for.

    q, v              joint positions, velocities             [rad, rad/s; m, m/s if prismatic]
    M, g              mass matrix, gravity torque             [kg m^2; N m]
    alpha, zeta       affordable deceleration, and its rate   [rad/s^2; rad/s^3]
    c                 speed lost to delays                    [rad/s]
    tau, tau_0        torque asked for, the last one          [N m]
    k_p, k_v          gains of position and speed             [1/s]
    k_velocity        gain of a URDF's safety_controller      [N m s/rad]
    dt                time since the last torque              [s]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.constraints.barriers import RATE_SHARE, SHARE, TICKS, servo, torque_left
from arm_control.maths import Array, Scalar, cholesky, clamp, largest, maximum, minimum, select
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


def acceleration_bounds(terms: Terms, dt: Scalar, numbers: LimitNumbers, rate_scale: float = 1.0) -> Array:
    """Accelerations ``a_lo`` and ``a_hi`` of equation (4), shape (2, nv) [rad/s^2 or m/s^2].

    Parameters
    ----------
    dt : float
        Time since the last torque [s].
    rate_scale : float
        See :func:`speed_bounds`.
    """
    zeta = affordable_rate(terms, numbers)
    e = speed_bounds(terms, numbers, rate_scale) - terms.v
    k_v = maximum(numbers.limit_damping, numbers.k_velocity / np.diagonal(terms.M))
    k_v = 1.0 / maximum(1.0 / k_v, TICKS * dt)
    return servo(e, k_v, zeta)  # (4)


def affordable_rate(terms: Terms, numbers: LimitNumbers) -> Array:
    """``zeta`` of equation (1), shape (nv,)."""
    return RATE_SHARE * numbers.rate_limit / largest(np.abs(terms.M))


def stopping_speed(d: Scalar, alpha: Scalar, c: Scalar) -> Scalar:
    """``v_stop`` of equation (2)."""
    v_stop = np.sqrt(c * c + 2.0 * alpha * np.abs(d)) - c
    return select(d, v_stop, -v_stop)


def speed_bounds(terms: Terms, numbers: LimitNumbers, rate_scale: float = 1.0) -> Array:
    """Speeds ``v_lo`` and ``v_hi`` of equation (3), shape (2, nv) [rad/s or m/s].

    Parameters
    ----------
    rate_scale : float
        How many times zeta counts in (2): 4 for the whole rate.
    """
    inertia = np.abs(terms.M)
    tau_left = torque_left(numbers.tau_max, terms.g)
    alpha = minimum(SHARE / largest(inertia * (1.0 / tau_left)), numbers.k_p * numbers.v_max)  # (1)
    zeta = affordable_rate(terms, numbers) * rate_scale
    d = numbers.q_soft - terms.q
    c = alpha * (1.0 / numbers.k_p + 0.5 * alpha / zeta)
    v_stop = stopping_speed(d, alpha, c)  # (2)
    v_max = numbers.v_max
    v_back = BACK * v_max
    return clamp(v_stop, np.array([-v_max, -v_back]), np.array([v_back, v_max]))  # (3)


class JointRows(NamedTuple):
    """Rows of torque and joints, and what they are made from, over any scalar; equation (5).

    Attributes
    ----------
    T : array, shape (nv, nv)
        Torque per y.
    a_0, a_1 : array, shape (nv,)
        Acceleration that is asked for, and that of the last torque [rad/s^2 or m/s^2].
    G, need : array, shape (4 nv, nv), (4 nv,)
        The rows, and what they have to reach.
    limits : array, shape (2, nv)
        ``lo`` and ``hi`` [N m or N].
    """

    T: Array
    a_0: Array
    a_1: Array
    G: Array
    need: Array
    limits: Array


def rows_of_joints(
    terms: Terms,
    tau: Array,
    tau_0: Array,
    dt: Scalar,
    numbers: LimitNumbers,
    L_inv: Array | None = None,
) -> JointRows:
    """Equation (5), for a torque (nv,), the last one (nv,) [N m or N] and the time since then [s].

    Parameters
    ----------
    L_inv : array, shape (nv, nv), optional
        Inverse of L, lower triangular; that of a diagonal one by default.
    """
    if L_inv is None:
        L_inv = np.diag(np.sqrt(numbers.v_max / numbers.tau_max))
    T = terms.M @ L_inv.T
    factors = cholesky(terms.M)
    a_0, a_1 = factors.solve(tau - terms.h), factors.solve(tau_0 - terms.h)
    step = numbers.rate_limit * dt
    low, high = (clamp(limit, tau_0 - step, tau_0 + step) for limit in (-numbers.tau_max, numbers.tau_max))
    a_lo, a_hi = acceleration_bounds(terms, dt, numbers)
    G = np.concatenate([T, -T, L_inv.T, -L_inv.T])
    need = np.concatenate([low - tau, tau - high, a_lo - a_0, a_0 - a_hi])
    return JointRows(T, a_0, a_1, G, need, np.array([low, high]))
