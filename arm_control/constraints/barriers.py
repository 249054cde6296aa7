"""Constraints that hold: each is a function h >= 0 of the state, and a row ``c . a >= b`` that keeps it so.

A *place* depends on the joint positions (and on time: obstacles move), a *speed* on the joint velocities too:

    place   hdot = c v + d_t,   hddot = c a + d          speed   hdot = c a + d

A place may fall only as fast as *one stop of the whole arm* keeps it, in which all joints are slowed alike, a = -v / t:
what it keeps, all rows keep together. A speed may rise only as fast as its acceleration can be taken back in time:

    (1)  t = 2 max_i |M v|_i / tau_left_i,   beta = 1/2 rate_limit / max_i |M v|_i,   t_r = 1 / (beta (t + 1 / k_p))
         tau_left = max(tau_max - |g|, 0.05 tau_max)
    (2)  s(h) = h / r,   r = (t + t_r) / 2 + 1 / k_p,   below zero   s(h) = max(k_p h, -v_back)
    (3)  place   hddot >= servo(-(hdot + s)) - hdot / (t + t_r / 2 + 1 / k_p)   so that hdot + s(h) >= 0 stays
         speed   hdot  >= servo(-h)
    (4)  servo(e) = k_v e   where |e| <= zeta / k_v^2,   sqrt(2 zeta (|e| - zeta / (2 k_v^2)))   where it is larger
         zeta = jerk / l,   jerk = 1/4 mu min_i rate_limit / |c_i|,   mu = c H^-1 c^T
         of a place that falls no faster than s, no more than beta s

As a row of joint accelerations, that of a place, or of a speed ahead (10), is no more than what the rate of torque
allows from the last acceleration on,

    (5)  c a >= b = min(bound of (3) - d, c a_1 + 4 jerk dt),   a_1 = M^-1 (tau_0 - h_b - e)

so that a single row can always hold; and an obstacle counts as no faster than half of the joints' speeds can evade,

    (6)  d_t >= -1/2 sum_i |c_i| v_max_i

else one that comes to a link that turns on the spot throws that joint about. t is the time in which half of the torque
left stops the arm, t_r the one in which that torque is there, with half of its largest rate: a place that falls at s is
at zero when the arm stands. By itself a row could be stopped sooner; but a plane, a cone and a speed that act together
need the rate of the same joints, and one beside others needs more than alone. While the arm
stops so, r falls, and (3) asks for the deceleration ``-hdot / (t + t_r / 2 + 1 / k_p)``, which the stop gives to each
place. zeta is the rate of acceleration along c for which the least change, ``H^-1 c^T``, needs a quarter of the largest
rate of torque at most; l is the length of the gradient in space, as a share of that where h = 0: in the middle of a
cone it is zero, nothing can be done there, and nothing has to be. What is outside comes back, at v_back at most. With
(3), hdot + s is never below zero where it was not before, and so neither is h.

All rows, the bounds of the joints (:mod:`arm_control.constraints.joint_rows`) and the torque limits make one program.
A row knows c where the arm is now, and c turns with the arm: so a joint is only as fast as it can be stopped within an
angle theta by the whole rate, as if its limit were there, and is slowed by a quarter of the rate, as a row counts on:
its accelerations are a_lo' to a_hi'. While a joint is stopped from a speed w, a point at a distance rho turns at
rho w^2, and gains, whatever its own speed is,

    (11)  integral of rho w(t)^2 = 2/3 rho w theta

A tenth of a radian is allowed. With more, a hand that slides along a plane, or an axis along its cone, turns faster
than the torque follows; and who obeys a limit of speed needs fast joints only to turn about the hand.

This bounds what is asked for, and is no row: a joint held so is one that a speed, which counts on all joints, would
lack. And rows of one level share what they miss: joints that can do next to nothing were thrown about to spare another
one its turn, to one side, and when c had turned, to the other. From the hand to the base, each joint that is asked for
more is changed by its own entry of y, which leaves those between it and the hand as they are,

    (12)  a_0 += L^-T y,   tau += T y,   y_i = L_ii (clamp(a_i, a_lo', a_hi') - a_i),
          a_i = a_0i + sum_{k > i} (L^-1)_ki y_k

The acceleration that a controller wants is changed least, in the metric of the mass matrix (Gauss) with a floor of
joint inertia: without that, a light wrist is thrown to its speed limit to spare a heavy shoulder.

    (7)  a_0 = M^-1 (tau - h_b - e)
         min 1/2 (a - a_0)^T H (a - a_0)   with  C a >= b,  a_lo <= a <= a_hi,
         lo <= M a + h_b + e <= hi,   lo and hi of the joints' rows
    (8)  H = M + diag(t_f tau_max / v_max) = L L^T,   y = L^T (a - a_0)

A velocity may turn round sooner than its acceleration can be taken back: so a speed has a second row, in the direction
of the velocity that is there when the acceleration of the last torque has been taken back,

    (10)  v + a |a| / (2 zeta)

(7) is the least distance of :mod:`arm_control.constraints.least_change`:

    (9)  tau_1 = tau + T y,   G = C L^-T;   the rows of a joint are those of L^-T, those of its torque those of
         T = M L^-T

    h, c, d, d_t      constraint, its gradient, the rest of its second (or first) and first derivative
    M, g, h_b         mass matrix, gravity torque, bias              [kg m^2; N m; N m]
    v_max, t_f        largest joint velocity; 0.02                   [rad/s; s]
    a_lo', a_hi'      accelerations of a joint within theta          [rad/s^2]
    v, a              velocity and acceleration of a point, or of a joint
    tau, tau_0, e     torque asked for, the last one, known beside the model       [N m]
    t, t_r, beta      one stop of the arm: its time, that until its torque is there, rate of 1 / t    [s, s, 1/s^2]
    zeta              affordable rate of the acceleration of h       [m/s^3; rad for angles]
    k_p, k_v          gains of position and speed                    [1/s]

Sources: A. Ames et al., "Control barrier functions: theory and applications", European Control Conference 2019, for
rows that keep a set; F. Udwadia, R. Kalaba, "A new perspective on constrained motion", Proc. R. Soc. A 439 (1992), for
the metric of the change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import TINY, Array, Scalar, largest, maximum, minimum, select, sqrt

SHARE = 0.5
"""Share of ``tau_left``, of the rate of torque and of joint speeds that a stop or a row may use, (1) and (6)."""
RATE_SHARE = 0.25
"""Share of the rate of torque that a row, or the bound theta of a joint, counts on by itself, equation (4)."""
SMALLEST_ROOM = 0.05
"""Share of the effort limit that counts as ``tau_left`` at least, however heavy the arm."""
TICKS = 2.0
"""``k_v`` is at most 1 in so many ticks: a sampled loop with a higher gain would ring."""
SLOWEST = 1e-3
"""Least ``zeta`` of a row: of what the arm cannot move."""


class ConstraintRow(NamedTuple):
    """A constraint in one state, over any scalar.

    Attributes
    ----------
    h : float
        The constraint, not below zero where it holds.
    c : array, shape (n,)
        Its gradient: by the joint positions of a place, by the joint velocities of a speed.
    drift : float
        d: second derivative of a place, first one of a speed, where no joint accelerates.
    h_dot : float or None
        First derivative of a place; None for a speed.
    is_ahead : float
        1 for the second row of a speed, along (10); else 0.
    length : float
        Length of the gradient in space, as a share of that where h = 0.
    """

    h: Scalar
    c: Array
    drift: Scalar
    h_dot: Scalar | None = None
    is_ahead: Scalar = 0.0
    length: Scalar = 1.0


class Room(NamedTuple):
    """What the rows of a state may use.

    Attributes
    ----------
    L_inv : array, shape (n, n)
        Inverse of L of (8).
    a_0, a_1 : array, shape (n,)
        Acceleration that is asked for, and that of the last torque [rad/s^2 or m/s^2].
    t, t_r, beta : float
        Equation (1) [s, s, 1/s^2].
    rate_limit, dt, k_p, k_v, v_back : float
        Largest rate of torque [N m/s]; time since the last one [s]; gains [1/s]; speed at which a place comes back.
    """

    L_inv: Array
    a_0: Array
    a_1: Array
    t: Scalar
    t_r: Scalar
    beta: Scalar
    rate_limit: Scalar
    dt: Scalar
    k_p: Scalar
    k_v: Scalar
    v_back: Scalar


def torque_left(tau_max: Array, g: Array) -> Array:
    """``tau_left`` of equation (1), shape (n,) [N m or N]."""
    return maximum(tau_max - np.abs(g), SMALLEST_ROOM * tau_max)


def common_stop(M_v: Array, tau_left: Array, rate_limit: Scalar, k_p: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """``t``, ``t_r`` and ``beta`` of equation (1)."""
    size = np.abs(M_v)
    t = largest(size / tau_left) / SHARE
    beta = SHARE * rate_limit / maximum(largest(size), TINY)
    return t, 1.0 / (beta * (t + 1.0 / k_p)), beta


def servo(e: Scalar, k_v: Scalar, zeta: Scalar) -> Scalar:
    """Equation (4)."""
    size = np.abs(e)
    corner = zeta / (k_v * k_v)
    bent = np.sqrt(2.0 * zeta * maximum(size - 0.5 * corner, 0.0))
    answer = select(size - corner, bent, k_v * size)
    return select(e, answer, -answer)


def affordable_jerk(c: Array, room: Room) -> Scalar:
    """``jerk`` of equation (4), zero where the arm cannot move along c."""
    G = room.L_inv @ c
    return RATE_SHARE * (G @ G) * room.rate_limit / maximum(largest(np.abs(c)), TINY)


def change_ahead(a: Array, size: Scalar, zeta: Scalar) -> Array:
    """Equation (10); ``size`` is |a|."""
    return a * (0.5 * size / maximum(zeta, SLOWEST))


def reduced_row(row: ConstraintRow, room: Room) -> tuple[Array, Scalar]:
    """Return the row of (9), shape (n,), and what ``G y`` has to reach; equations (1) to (4)."""
    G = room.L_inv @ row.c
    jerk = affordable_jerk(row.c, room)
    zeta = maximum(jerk / row.length, SLOWEST)
    if row.h_dot is None:
        b = servo(-row.h, room.k_v, zeta)
    else:
        r = 0.5 * (room.t + room.t_r) + 1.0 / room.k_p
        s = select(row.h, row.h / r, maximum(room.k_p * row.h, -room.v_back))  # (2)
        slope = select(row.h, 1.0 / (room.t + 0.5 * room.t_r + 1.0 / room.k_p), room.k_p)
        e = row.h_dot + s
        zeta = select(e, minimum(zeta, maximum(np.abs(s) * room.beta, SLOWEST)), zeta)  # (4)
        b = servo(-e, room.k_v, zeta) - slope * row.h_dot  # (3)
    b = b - row.drift
    within_rate = minimum(b, row.c @ room.a_1 + jerk * room.dt / RATE_SHARE)  # (5)
    b = select(row.is_ahead, within_rate, b) if row.h_dot is None else within_rate
    return G, b - row.c @ room.a_0


def obstacle_speed(d_t: Scalar, c: Array, v_max: Array) -> Scalar:
    """Equation (6)."""
    return maximum(d_t, -SHARE * (np.abs(c) @ v_max))


def norm(x: Array) -> Scalar:
    """Length of a vector, above zero."""
    return sqrt(x @ x + TINY)
