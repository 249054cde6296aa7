"""Convex shapes and their signed distances.

Each shape is centred at the origin of its own frame, with its axis along z. The signed distance of a point is its
distance to the surface, negative inside; its gradient is the unit vector of the fastest increase. Both are exact,
also at corners. The distance is a convex function of the point, because the shapes are convex: the search along a
segment in :mod:`arm_control.maths.segments` depends on that.

Where the gradient is not unique (the centre of a sphere, the axis of a cylinder, equally near faces) the result is
one of the possible ones, always of length 1 and never NaN. The distances take one point (3,) [m], over any scalar
and without a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.linalg import MIN_LENGTH, length_and_direction
from arm_control.maths.scalars import Array, Scalar, clamp, columns, maximum, minimum, rows, select, sqrt

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


class SignedDistance(NamedTuple):
    """Signed distance of a point [m], and its gradient, shape (3,)."""

    distance: Scalar
    gradient: Array


Distance: TypeAlias = Callable[[Array], SignedDistance]


def to_ball(p: Array, radius: Scalar) -> SignedDistance:
    """Signed distance to a ball around the origin."""
    distance, gradient = length_and_direction(p, X_AXIS)
    return SignedDistance(distance - radius, gradient)


def to_capsule(p: Array, radius: Scalar, half_length: Scalar) -> SignedDistance:
    """Signed distance to a capsule: all points within ``radius`` of a segment along z, ``2 half_length`` long."""
    return to_ball(np.array([p[0], p[1], p[2] - clamp(p[2], -half_length, half_length)]), radius)


def to_box(p: Array, half_edges: Array) -> SignedDistance:
    """Signed distance to a box.

    Parameters
    ----------
    p : array, shape (3,)
        A point [m].
    half_edges : array, shape (3,)
        Half of the edges along x, y and z [m].
    """
    sign = select(-p, -1.0, 1.0)
    over = np.abs(p) - half_edges
    y_is_nearer = over[1] - over[0]
    nearest_of_xy = select(y_is_nearer, over[1], over[0])
    face_of_xy = select(y_is_nearer, Y_AXIS, X_AXIS)
    face = select(over[2] - nearest_of_xy, Z_AXIS, face_of_xy)
    length, direction = length_and_direction(maximum(over, 0.0), face)
    return SignedDistance(select(length - MIN_LENGTH, length, maximum(nearest_of_xy, over[2])), sign * direction)


def to_solid_of_revolution(p: Array, r_bottom: Scalar, r_top: Scalar, half_length: Scalar) -> SignedDistance:
    """Signed distance to a cylinder, a cone or a truncated cone.

    In the half plane through the axis and the point, the nearest point is on one of three edges; inside, the line
    of the nearest edge gives distance and gradient.

    Parameters
    ----------
    p : array, shape (3,)
        A point [m].
    r_bottom, r_top : scalar
        Radii at ``z = -half_length`` and ``z = half_length`` [m].
    half_length : scalar
        Half of the length along z [m].
    """
    r, z = sqrt(p[0] * p[0] + p[1] * p[1]), p[2]
    slant = sqrt((r_top - r_bottom) * (r_top - r_bottom) + 4.0 * half_length * half_length)
    along = np.array([r_top - r_bottom, 2.0 * half_length]) * (1.0 / slant)
    x = np.array([r - r_bottom, z + half_length])
    bottom = (-z - half_length, np.array([0.0, -1.0]), np.array([r - clamp(r, 0.0, r_bottom), z + half_length]))
    side_gap = x - clamp(x @ along, 0.0, slant) * along
    side = (x[0] * along[1] - x[1] * along[0], np.array([along[1], -along[0]]), side_gap)
    top = (z - half_length, np.array([0.0, 1.0]), np.array([r - clamp(r, 0.0, r_top), z - half_length]))
    edges = (bottom, side, top)  # height above the edge's line, its normal, vector from the nearest point of the edge
    height, normal, gap = edges[0]
    squared = gap @ gap
    for height_new, normal_new, gap_new in edges[1:]:
        normal = select(height_new - height, normal_new, normal)
        height = maximum(height, height_new)
        squared_new = gap_new @ gap_new
        gap = select(squared - squared_new, gap_new, gap)
        squared = minimum(squared, squared_new)
    distance = sqrt(squared)
    is_clear = select(height, distance - MIN_LENGTH, 0.0)
    slope = select(is_clear, gap * (1.0 / select(is_clear, distance, 1.0)), normal)
    off_axis = r - MIN_LENGTH
    radial = select(off_axis, p[:2] * (1.0 / select(off_axis, r, 1.0)), np.array([1.0, 0.0]))
    gradient = np.array([slope[0] * radial[0], slope[0] * radial[1], slope[1]])
    return SignedDistance(select(height, distance, height), gradient)


class ConvexShape:
    """Properties of every shape."""

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        raise NotImplementedError

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distances of points, shape (..., 3), in the shape's frame [m].

        Returns
        -------
        SignedDistance
            Distances, shape (...) [m], and gradients, shape (..., 3).
        """
        p = np.asarray(p, dtype=float)
        points = p.reshape(-1, 3)
        distance, gradient = self.distance(columns(points.T))
        n = len(points)
        return SignedDistance(rows(distance, n).reshape(p.shape[:-1]), rows(gradient, n).T.reshape(p.shape))


@dataclass(frozen=True)
class Sphere(ConvexShape):
    """A ball around the origin; ``radius`` in m."""

    radius: float

    def __post_init__(self) -> None:
        _check(self, self.radius)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that contains the shape [m]."""
        return self.radius

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_ball, radius=self.radius)


@dataclass(frozen=True)
class Box(ConvexShape):
    """A box; ``size`` is its three edges [m]."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        if len(self.size) != 3:
            raise InputError(f"a box has three edges, not {len(self.size)}")
        _check(self, *self.size)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that contains the shape [m]."""
        return math.hypot(*self.size) / 2

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_box, half_edges=np.array(self.size) / 2)


@dataclass(frozen=True)
class _Revolved(ConvexShape):
    """A solid of revolution about z: ``radius``, and ``length`` along z, the origin in its middle [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check(self, self.radius, self.length)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that contains the shape [m]."""
        return math.hypot(self.radius, self.length / 2)


@dataclass(frozen=True)
class Capsule(_Revolved):
    """All points within ``radius`` of a segment of ``length`` along z, the origin in its middle [m]."""

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that contains the shape [m]."""
        return self.radius + self.length / 2

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_capsule, radius=self.radius, half_length=self.length / 2)


@dataclass(frozen=True)
class Cylinder(_Revolved):
    """A cylinder with flat ends: ``radius``, and ``length`` along z, the origin in its middle [m]."""

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_solid_of_revolution, r_bottom=self.radius, r_top=self.radius, half_length=self.length / 2)


@dataclass(frozen=True)
class Cone(_Revolved):
    """A cone: base of ``radius`` at ``z = -length / 2``, apex at ``z = length / 2`` [m]."""

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_solid_of_revolution, r_bottom=self.radius, r_top=0.0, half_length=self.length / 2)


def _check(shape: object, *sizes: float) -> None:
    if not all(math.isfinite(size) and size > 0.0 for size in sizes):
        raise InputError(f"{shape}: every size must be finite and above 0")
