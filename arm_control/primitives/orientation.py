"""Orientation of a primitive: the rotation vector from a reference orientation, three coordinates like any others.

    (1)  R = exp(phi) R_ref
    (2)  omega = phi' + a phi x phi' + b phi x (phi x phi')
    (3)  domega/dt = phi'' + a phi x phi'' + b (phi x (phi x phi'') + phi' x (phi x phi')) + a' phi x phi'
                     + b' phi x (phi x phi')

          a = (1 - cos x)/x^2,  b = (x - sin x)/x^3,  x = |phi|,  and ' is d/dt

The attractor is linear in phi, so that orientation and position are one primitive with one phase, with all that holds
for it: the goal is reached exactly, and a rollout is a product of matrices. (Koutras 2020 has the same idea with the
distance from the goal in place of that from the start. Ude 2014 and Pastor 2011 let a spring act on the logarithm of a
quaternion product, whose rate is not the angular velocity; their attractor is not linear.) The reference of a discrete
primitive is its orientation at the start, that of a rhythmic one belongs to what was learned. The path is followed
through half a turn without a jump; at a whole turn away from the reference, phi has no unique rate.

Sources: L. Koutras, Z. Doulgeri, "A correct formulation for the orientation dynamic movement primitives for robot
control in the Cartesian space", 2020; A. Ude, B. Nemec, T. Petric, J. Morimoto, "Orientation in Cartesian space dynamic
movement primitives", 2014; J. Sola, J. Deray, D. Atchuthan, "A micro Lie theory for state estimation in robotics",
2018, for (2).
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Scalar, cos, cross, dot, select, sin, skew, sqrt

SERIES = 0.1
"""Angle below which a and b are computed as series [rad]."""


def rotation_coordinates(quats: Array, reference: Array) -> Array:
    """Return the rotation vectors phi of (1) along a path of quaternions (N, 4), shape (N, 3) [rad].

    They are continuous and shorter than 2 pi, and the first one is the shortest; ``reference`` is that of R_ref.
    """
    a, b = quats[:, :3], -reference[:3]
    w_a, w_b = quats[:, 3:], reference[3]
    vector = w_a * b + w_b * a + np.cross(a, b)
    w = w_a[:, 0] * w_b - a @ b
    sign = -1.0 if w[0] < 0.0 else 1.0
    sine = np.linalg.norm(vector, axis=1)
    angle = 2.0 * np.arctan2(sine, sign * w)
    factor = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0.0)
    return sign * vector * factor[:, None]


def nearest_turn(phi: Array, near: Array) -> Array:
    """Return a rotation vector, or that of the same orientation the other way round, whichever is nearer to another.

    All are of shape (3,) [rad].
    """
    angle = float(np.linalg.norm(phi))
    if angle == 0.0:
        return phi
    other = phi * (1.0 - 2.0 * np.pi / angle)
    return other if np.linalg.norm(other - near) < np.linalg.norm(phi - near) else phi


def rotation_motion(phi: Array, rate: Array, second: Array) -> tuple[Array, Array, Array]:
    """Return ``exp(phi)`` (3, 3), and angular velocity and acceleration (3,), equations (1) to (3), over any scalar.

    The rotation vector and its derivatives are of shape (3,) [rad, rad/s, rad/s^2].
    """
    x2 = dot(phi, phi)
    sinc, a, b, a_x, b_x = _coefficients(x2)
    P = skew(phi)
    R = np.eye(3) + sinc * P + a * (P @ P)  # (1)
    turned, turned_2 = cross(phi, rate), cross(phi, second)
    twice = cross(phi, turned)
    omega = rate + a * turned + b * twice  # (2)
    along = dot(phi, rate)
    alpha = second + a * turned_2 + b * (cross(phi, turned_2) + cross(rate, turned))
    return R, omega, alpha + along * (a_x * turned + b_x * twice)  # (3)


def _coefficients(x2: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Return ``sin x / x``, a and b, and the derivatives of a and b by x, divided by x; x2 is the square of x."""
    is_small = SERIES * SERIES - x2
    series = _series(x2)
    y2 = select(is_small, 1.0, x2)
    x = sqrt(y2)
    sine, a = sin(x) / x, (1.0 - cos(x)) / y2
    b = (1.0 - sine) / y2
    exact = sine, a, b, (sine - 2.0 * a) / y2, (a - 3.0 * b) / y2
    sinc, a, b, a_x, b_x = (select(is_small, short, long) for short, long in zip(series, exact, strict=True))
    return sinc, a, b, a_x, b_x


def _series(x2: Scalar) -> tuple[Scalar, ...]:
    x4, x6 = x2 * x2, x2 * x2 * x2
    sinc = 1.0 - x2 / 6.0 + x4 / 120.0 - x6 / 5040.0
    a = 1.0 / 2.0 - x2 / 24.0 + x4 / 720.0 - x6 / 40320.0
    b = 1.0 / 6.0 - x2 / 120.0 + x4 / 5040.0 - x6 / 362880.0
    a_x = -1.0 / 12.0 + x2 / 180.0 - x4 / 6720.0 + x6 / 453600.0
    b_x = -1.0 / 60.0 + x2 / 1260.0 - x4 / 60480.0 + x6 / 4989600.0
    return sinc, a, b, a_x, b_x
