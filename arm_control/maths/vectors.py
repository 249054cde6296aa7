"""Vectors in space, shape (3,), over any scalar and without a branch."""

from __future__ import annotations

import numpy as np

from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, select, sqrt

MIN_LENGTH = 1e-12
"""Length below which a vector has no direction [m]."""


def dot(a: Array, b: Array) -> Scalar:
    """``a^T b``.

    Parameters
    ----------
    a, b : array, shape (3,)
        Vectors of any units.
    """
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Array, b: Array) -> Array:
    """``a x b``, shape (3,): ``numpy.cross`` for any scalar, and faster for one pair.

    Parameters
    ----------
    a, b : array, shape (3,)
        Vectors of any units.
    """
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Array) -> Array:
    """The matrix ``[a]`` with ``[a] b = a x b``, shape (3, 3)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def length_and_direction(x: Array, default: Array) -> tuple[Scalar, Array]:
    """Length of a vector and its direction.

    Parameters
    ----------
    x : array, shape (3,)
        Any vector.
    default : array, shape (3,)
        Direction of a vector shorter than :data:`MIN_LENGTH`.

    Returns
    -------
    length : scalar
        In the unit of x.
    direction : array, shape (3,)
        Unit vector.
    """
    length = sqrt(dot(x, x))
    has_direction = length - MIN_LENGTH
    return length, select(has_direction, x * (1.0 / select(has_direction, length, 1.0)), default)


def any_perpendicular(x: Array) -> Array:
    """A unit vector perpendicular to x, shape (3,); any unit vector where x has no direction."""
    is_near_x_axis = 2.0 * x[0] * x[0] - dot(x, x)
    across_z, across_x = np.array([-x[2], 0.0, x[0]]), np.array([0.0, x[2], -x[1]])
    return length_and_direction(select(is_near_x_axis, across_z, across_x), np.array([0.0, 0.0, 1.0]))[1]
