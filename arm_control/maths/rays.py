"""Distances along rays to convex shapes.

A ray is ``p + t d`` with a unit vector d and ``t >= 0``. It enters a shape where it crosses one of the surfaces that
bound the shape, planes and quadrics, or begins inside:

    (1)  p_i + t d_i = h                         a plane across axis i
    (2)  a t^2 + 2 b t + c = 0                   a sphere, an endless cylinder, a double cone
    (3)  t_hit = min {0, t of (1), t of (2)}     of those t >= 0 at which the signed distance is at most 0

A hull it enters behind the last plane that it crosses inwards, if before the first one that it crosses outwards.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths.hulls import Hull, Shape
from arm_control.maths.scalars import Array
from arm_control.maths.shapes import Box, Capsule, Cone, Cylinder, Sphere

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
    if isinstance(shape, Hull):
        return _to_planes(*shape.planes, p, d)
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


def _to_planes(normals: Array, heights: Array, p: Array, d: Array) -> Array:
    """Distances to what is below all of some planes."""
    along, above = d @ normals.T, normals @ p - heights
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -above / along
    enters = np.where(along < 0.0, t, 0.0).max(axis=1)
    leaves = np.where(along > 0.0, t, np.where((along == 0.0) & (above > 0.0), -np.inf, np.inf)).min(axis=1)
    return np.where(enters <= leaves, enters, np.inf)


def _crossings(shape: Sphere | Capsule | Box | Cylinder | Cone, p: Array, d: Array) -> list[Array]:
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
