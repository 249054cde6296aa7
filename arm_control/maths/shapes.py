"""Convex shapes, their signed distances, and distances along rays.

Each shape is centred at the origin of its own frame, with its axis along z. The signed distance of a point is its
distance to the surface, negative inside; its gradient is the unit vector of the fastest increase. Both are exact,
also at corners. The distance is a convex function of the point, because the shapes are convex: the search along a
segment in :mod:`arm_control.maths.segments` depends on that.

Where the gradient is not unique (the centre of a sphere, the axis of a cylinder, equally near faces) the result is
one of the possible ones, always of length 1 and never NaN. The distances take one point (3,) [m], over any scalar
and without a branch.

A ray is ``p + t d`` with a unit vector d and ``t >= 0``. It enters a shape where it crosses one of the surfaces that
bound the shape, planes and quadrics, or begins inside:

    (1)  p_i + t d_i = h                         a plane across axis i
    (2)  a t^2 + 2 b t + c = 0                   a sphere, an endless cylinder, a double cone
    (3)  t_hit = min {0, t of (1), t of (2)}     of those t >= 0 at which the signed distance is at most 0
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


class _Shape:
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
class Sphere(_Shape):
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
class Box(_Shape):
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
class _Revolved(_Shape):
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


Shape: TypeAlias = Sphere | Capsule | Box | Cylinder | Cone


def _check(shape: object, *sizes: float) -> None:
    if not all(math.isfinite(size) and size > 0.0 for size in sizes):
        raise InputError(f"{shape}: every size must be finite and above 0")


# -- rays


ROUNDING = 1e-9
"""Signed distance of a crossing that counts as 0, for sizes and distances of 1 m."""


def ray_distances(shape: Shape, p: Array, d: Array) -> Array:
    """Distances from a point (3,) to a shape along directions, unit vectors (n, 3), in its frame, shape (n,) [m].

    0 for a point in the shape, infinite where the ray misses it.

    Examples
    --------
    >>> ray_distances(Sphere(0.1), np.array([1.0, 0.0, 0.0]), np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    array([0.9, inf])
    """
    if (p @ p - np.minimum(d @ p, 0.0) ** 2 > shape.extent**2).all():  # beside the ball around the shape
        return np.full(len(d), np.inf)
    t = np.vstack([np.zeros(len(d)), *_crossings(shape, p, d)])
    t = np.where(np.isfinite(t) & (t >= 0.0), t, np.nan)
    is_on = shape.signed_distance(p + t[..., None] * d).distance <= ROUNDING * (1.0 + t)
    return np.where(is_on, t, np.inf).min(axis=0)  # (3)


def floor_distances(height: float, p: Array, d: Array) -> Array:
    """Distances from a point to all that is below a height, along directions.

    Parameters
    ----------
    height : float
        The height z [m]; ``-inf`` for nothing.
    p : ndarray, shape (3,)
        The point [m].
    d : ndarray, shape (n, 3)
        Unit vectors.

    Returns
    -------
    ndarray, shape (n,)
        0 for a point below, infinite for a ray that does not go down [m].
    """
    if p[2] <= height:
        return np.zeros(len(d))
    t = _plane(p, d, 2, height)
    return np.where(d[:, 2] < 0.0, t, np.inf)


def _crossings(shape: Shape, p: Array, d: Array) -> list[Array]:
    """All t at which the lines cross surfaces that bound a shape; not finite where there is none."""
    match shape:
        case Sphere():
            return _ball(p, d, 0.0, shape.radius)
        case Box():
            halves = [(i, sign * shape.size[i] / 2) for i in range(3) for sign in (-1, 1)]
            return [_plane(p, d, i, half) for i, half in halves]
        case Capsule():
            half = shape.length / 2
            ends = _ball(p, d, -half, shape.radius) + _ball(p, d, half, shape.radius)
            return ends + _revolved(p, d, shape.radius, 0.0)
        case Cylinder():
            side = _revolved(p, d, shape.radius, 0.0)
        case Cone():
            side = _revolved(p, d, shape.radius / 2, -shape.radius / shape.length)
    return [*side, _plane(p, d, 2, -shape.length / 2), _plane(p, d, 2, shape.length / 2)]


def _plane(p: Array, d: Array, i: int, h: float) -> Array:
    """Solve (1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t: Array = (h - p[i]) / d[:, i]
    return t


def _ball(p: Array, d: Array, z: float, radius: float) -> list[Array]:
    """Solve (2) for a sphere around a point of the z axis."""
    r = p - np.array([0.0, 0.0, z])
    return _quadric(np.ones(len(d)), d @ r, r @ r - radius**2)


def _revolved(p: Array, d: Array, radius: float, slope: float) -> list[Array]:
    """Solve (2) for the surface ``x^2 + y^2 = (radius + slope z)^2``."""
    at, along = radius + slope * p[2], slope * d[:, 2]
    across = d[:, :2]
    return _quadric((across * across).sum(axis=1) - along**2, across @ p[:2] - at * along, p[:2] @ p[:2] - at**2)


def _quadric(a: Array, b: Array, c: float) -> list[Array]:
    """Solve (2) without cancellation; one solution where a is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        s = -(b + np.copysign(np.sqrt(b * b - a * c), b))
        return [s / a, c / s]
