"""Constraints that hold: each is a function h >= 0 of the state, and a row ``c . a >= b`` that keeps it so.

A *place* depends on the joint positions (and on time: obstacles move), a *speed* on the joint velocities too:

    place   hdot = c v + d_t,   hddot = c a + d          speed   hdot = c a + d

A place may fall only as fast as it can still be stopped with the available torque and rate of torque, a speed as fast
as the acceleration can be taken back in time:

    (1)  alpha = 1/2 mu min_i tau_left_i / |c_i| / l,   zeta = jerk / l,   jerk = 1/2 mu min_i rate_limit / |c_i|
         mu = c H^-1 c^T,   tau_left = max(tau_max - |g|, 0.05 tau_max)
    (2)  s(h) = sqrt(gamma^2 + 2 alpha h) - gamma,   gamma = alpha (1 / k_p + alpha / (2 zeta)),   below zero
         s(h) = max(k_p h, -v_back)
    (3)  place   hddot >= servo(-(hdot + s)) - s' hdot   so that hdot + s(h) >= 0 stays
         speed   hdot  >= servo(-h)
    (4)  servo(e) = k_v e   where |e| <= zeta / k_v^2,   sqrt(2 zeta (|e| - zeta / (2 k_v^2)))   where it is larger;
         of a speed with zeta / 2

As a row of joint accelerations, that of a place, or of a speed ahead (10), is no more than what the rate of torque
allows from the last acceleration on,

    (5)  c a >= b = min(bound of (3) - d, c a_1 + 2 jerk dt),   a_1 = M^-1 (tau_0 - h_b - e)

so that a single row can always hold; and an obstacle counts as no faster than half of the joints' speeds can evade,

    (6)  d_t >= -1/2 sum_i |c_i| v_max_i

else one that comes to a link that turns on the spot throws that joint about. (1) is the deceleration along c, and its
rate, for which the least change of acceleration, ``H^-1 c^T``, needs half of the torque left at most; l is the length
of the gradient in space, as a share of that where h = 0: in the middle of a cone it is zero, nothing can be done there,
and nothing has to be. (2) solves ``h = s^2 / (2 alpha) + s gamma / alpha``, braking distance and delay, for s: far away
a constant deceleration, near zero a speed in proportion to h. What is outside comes back, at v_back at most. With (3),
hdot + s is never below zero where it was not before, and so neither is h.

All rows, the bounds of the joints (:mod:`arm_control.constraints.joint_rows`) and the torque limits make one program.
A row knows c where the arm is now, and c turns with the arm: so a joint is only as fast as it can be stopped within
an angle theta, as if its limit were there; this bound yields to rows of places, and rows of speeds to this bound. While
a joint is stopped from a speed w, a point at a distance r turns at r w^2, and gains, whatever its own speed is,

    (11)  integral of r w(t)^2 = 2/3 r w theta

Half a radian is allowed, a tenth where a speed is limited: there that gain is what counts, and who obeys a limit needs
fast joints only to turn about the hand.

The acceleration that a controller wants is changed least, in the metric of the mass matrix (Gauss) with a floor of
joint inertia: without that, a light wrist is thrown to its speed limit to spare a heavy shoulder.

    (7)  a_0 = M^-1 (tau - h_b - e)
         min 1/2 (a - a_0)^T H (a - a_0)   with  C a >= b,  a_lo <= a <= a_hi,
         max(-tau_max, tau_0 - step) <= M a + h_b + e <= min(tau_max, tau_0 + step),   step = rate_limit dt
    (8)  H = M + diag(t_f tau_max / v_max) = L L^T,   y = L^T (a - a_0)

A velocity may turn round sooner than its acceleration can be taken back: so a speed has a second row, and a joint its
bound, in the direction of the velocity that is there when the acceleration of the last torque has been taken back,

    (10)  v + a |a| / (2 zeta)

Both rows may act at once, in two directions: each counts on half of zeta.

(7) is the least distance of :mod:`arm_control.constraints.least_change`:

    (9)  tau_1 = tau + T y,   G = C L^-T;   the rows of a joint are those of L^-T, those of its torque those of
         T = M L^-T

    h, c, d, d_t      constraint, its gradient, the rest of its second (or first) and first derivative
    M, g, h_b         mass matrix, gravity torque, bias              [kg m^2; N m; N m]
    v_max, t_f        largest joint velocity; 0.02                   [rad/s; s]
    v, a              velocity and acceleration of a point, or of a joint
    tau, tau_0, e     torque asked for, the last one, known beside the model       [N m]
    alpha, zeta       affordable deceleration of h, and its rate     [m/s^2, m/s^3; rad for angles]
    gamma             speed lost to delays                           [m/s]
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
"""Share of ``tau_left``, rate and joint speeds that a row may use, equations (1) and (6)."""
SMALLEST_ROOM = 0.05
"""Share of the effort limit that counts as ``tau_left`` at least, however heavy the arm."""
TICKS = 2.0
"""``k_v`` is at most 1 in so many ticks: a sampled loop with a higher gain would ring."""
SLOWEST = 1e-3
"""Least ``alpha`` and ``zeta`` of a row: of what the arm cannot move."""


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
    tau_left : array, shape (n,)
        Torque that is left beside gravity [N m or N].
    rate_limit, dt, k_p, k_v, v_back : float
        Largest rate of torque [N m/s]; time since the last one [s]; gains [1/s]; speed at which a place comes back.
    """

    L_inv: Array
    a_0: Array
    a_1: Array
    tau_left: Array
    rate_limit: Scalar
    dt: Scalar
    k_p: Scalar
    k_v: Scalar
    v_back: Scalar


def torque_left(tau_max: Array, g: Array) -> Array:
    """``tau_left`` of equation (1), shape (n,) [N m or N]."""
    return maximum(tau_max - np.abs(g), SMALLEST_ROOM * tau_max)


def stopping_speed(h: Scalar, alpha: Scalar, gamma: Scalar) -> tuple[Scalar, Scalar]:
    """``s`` of equation (2) and the root in it: the slope of s is alpha through that."""
    root = np.sqrt(gamma * gamma + 2.0 * alpha * np.abs(h))
    s = root - gamma
    return select(h, s, -s), root


def servo(e: Scalar, k_v: Scalar, zeta: Scalar) -> Scalar:
    """Equation (4)."""
    size = np.abs(e)
    corner = zeta / (k_v * k_v)
    bent = np.sqrt(2.0 * zeta * maximum(size - 0.5 * corner, 0.0))
    answer = select(size - corner, bent, k_v * size)
    return select(e, answer, -answer)


def affordable_jerk(c: Array, room: Room) -> Scalar:
    """``zeta`` of equation (1), zero where the arm cannot move along c."""
    G = room.L_inv @ c
    return SHARE * (G @ G) * room.rate_limit / maximum(largest(np.abs(c)), TINY)


def change_ahead(a: Array, size: Scalar, zeta: Scalar) -> Array:
    """Equation (10); ``size`` is |a|."""
    return a * (0.5 * size / maximum(zeta, SLOWEST))


def reduced_row(row: ConstraintRow, room: Room) -> tuple[Array, Scalar]:
    """Return the row of (9), shape (n,), and what ``G y`` has to reach; equations (1) to (4)."""
    G = room.L_inv @ row.c
    mu = G @ G
    size = np.abs(row.c)
    jerk = affordable_jerk(row.c, room)
    alpha = maximum(SHARE * mu / maximum(largest(size / room.tau_left), TINY) / row.length, SLOWEST)  # (1)
    zeta = maximum(jerk / row.length, SLOWEST)
    if row.h_dot is None:
        b = servo(-row.h, room.k_v, SHARE * zeta)  # beside the other row of a speed, (10)
    else:
        gamma = alpha * (1.0 / room.k_p + 0.5 * alpha / zeta)
        s, root = stopping_speed(row.h, alpha, gamma)
        s = select(row.h, s, maximum(room.k_p * row.h, -room.v_back))  # (2)
        slope = select(row.h, alpha / root, room.k_p)
        b = servo(-(row.h_dot + s), room.k_v, zeta) - slope * row.h_dot  # (3)
    b = b - row.drift
    within_rate = minimum(b, row.c @ room.a_1 + jerk * room.dt / SHARE)  # (5)
    b = select(row.is_ahead, within_rate, b) if row.h_dot is None else within_rate
    return G, b - row.c @ room.a_0


def obstacle_speed(d_t: Scalar, c: Array, v_max: Array) -> Scalar:
    """Equation (6)."""
    return maximum(d_t, -SHARE * (np.abs(c) @ v_max))


def norm(x: Array) -> Scalar:
    """Length of a vector, above zero."""
    return sqrt(x @ x + TINY)
