"""Vectors in space over any scalar, without a branch."""

from __future__ import annotations

import numpy as np

from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, maximum, minimum, select, sqrt

TINY = 1e-12
"""Distance below which a direction is not taken from a difference of points [m]."""


def dot(a: Array, b: Array) -> Scalar:
    """``a^T b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Array, b: Array) -> Array:
    """``a x b``."""
    (ax, ay, az), (bx, by, bz) = a, b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def magnitude(x: Scalar) -> Scalar:
    """``|x|``."""
    return maximum(x, -x)


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Return x, but nothing below low or above high."""
    return minimum(maximum(x, low), high)


def choose(x: Scalar, a: Array, b: Array) -> Array:
    """Vector a where x > 0, else b."""
    return np.array([select(x, one, other) for one, other in zip(a, b, strict=True)])


def length_and_direction(x: Array, otherwise: Array) -> tuple[Scalar, Array]:
    """Length of a vector and its direction; ``otherwise`` where it has none."""
    length = sqrt(dot(x, x))
    has_one = length - TINY
    return length, choose(has_one, x * (1.0 / select(has_one, length, 1.0)), otherwise)


def across(x: Array) -> Array:
    """A unit vector perpendicular to x; any one where x has no length."""
    along_first = 2.0 * x[0] * x[0] - dot(x, x)
    one, other = np.array([0.0, x[2], -x[1]]), np.array([-x[2], 0.0, x[0]])
    return length_and_direction(choose(along_first, other, one), np.array([0.0, 0.0, 1.0]))[1]
