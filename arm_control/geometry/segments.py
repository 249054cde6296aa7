"""Distances of segments: to each other in closed form, to a convex shape by a search that cannot miss.

A capsule is a segment with a radius, so the distance between two capsules is that of their segments less both
radii, and the distance between a capsule and a shape is that of its segment to the shape less its radius.

The signed distance to a convex shape is convex along a segment, so its slope only grows, and the nearest
point is where the slope changes sign. The search cuts all segments into equal pieces at once and keeps the
piece with the change, ten times; what is left is 1e-12 of the segment. Where a segment enters the shape the
point found is the deepest one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.geometry.shapes import TINY, Shape, length_and_direction
from arm_control.spatial import Array

PIECES, ROUNDS = 16, 10


class Nearest(NamedTuple):
    """Nearest points of n pairs.

    Attributes
    ----------
    distance : ndarray, shape (n,)
        Distance, negative inside [m].
    p, p_other : ndarray, shape (n, 3)
        The point on the segment, and the one on the other segment or on the surface of the shape [m].
    normal : ndarray, shape (n, 3)
        Unit vector from the other one to the segment: the gradient of the distance.
    """

    distance: Array
    p: Array
    p_other: Array
    normal: Array


def closest_on_segments(p: Array, a: Array, b: Array) -> Array:
    """Where on segments a to b the points nearest to p are: 0 at a, 1 at b; 0 for a segment without length.

    Parameters
    ----------
    p, a, b : ndarray, shape (..., 3)
        Points and ends [m].

    Returns
    -------
    ndarray, shape (...)

    Examples
    --------
    >>> ends = np.zeros(3), np.array([2.0, 0.0, 0.0])
    >>> [float(closest_on_segments(np.array([x, 1.0, 0.0]), *ends)) for x in (-1.0, 0.5, 3.0)]
    [0.0, 0.25, 1.0]
    """
    d = b - a
    squared = np.einsum("...i,...i->...", d, d)
    along = np.einsum("...i,...i->...", p - a, d)
    return np.clip(along / np.where(squared > TINY**2, squared, np.inf), 0.0, 1.0)


def between_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> Nearest:
    """Nearest points of segments a and b, pair by pair.

    Either both nearest points are inside their segments, on the common perpendicular, or one of them is an
    end: five candidates, the best of which counts. Nothing is divided by an angle that may vanish.

    Parameters
    ----------
    a0, a1, b0, b1 : ndarray, shape (n, 3)
        Ends of the segments [m]; they may coincide.

    Returns
    -------
    Nearest
        Its normal is perpendicular to both segments where they cross.
    """
    da, db, ab = a1 - a0, b1 - b0, b0 - a0
    cross = cross_product(da, db)
    squared = np.einsum("ij,ij->i", cross, cross)
    skew = squared > TINY * np.einsum("ij,ij->i", da, da) * np.einsum("ij,ij->i", db, db)
    middle = np.einsum("ij,ij->i", cross_product(ab, db), cross) / np.where(skew, squared, np.inf)
    s = np.stack([np.clip(middle, 0.0, 1.0), np.zeros(len(a0)), np.ones(len(a0))])
    t = closest_on_segments(a0 + s[..., None] * da, b0, b1)
    u = np.stack([np.zeros(len(a0)), np.ones(len(a0))])
    s = np.concatenate([s, closest_on_segments(b0 + u[..., None] * db, a0, a1)])
    t = np.concatenate([t, u])
    pa, pb = a0 + s[..., None] * da, b0 + t[..., None] * db
    gap = pa - pb
    best = np.einsum("kij,kij->ki", gap, gap).argmin(0), np.arange(len(a0))
    distance, normal = length_and_direction(gap[best])
    touching = distance <= TINY
    if touching.any():
        normal[touching] = [_across(x, y) for x, y in zip(da[touching], db[touching], strict=True)]
    return Nearest(distance, pa[best], pb[best], normal)


def segments_to_shape(a: Array, b: Array, shape: Shape) -> Nearest:
    """Nearest points of segments and one shape.

    Parameters
    ----------
    a, b : ndarray, shape (n, 3)
        Ends of the segments in the shape's frame [m]; they may coincide.
    shape : Shape
        The shape.

    Returns
    -------
    Nearest
        In the shape's frame. Where a segment enters the shape: the deepest of its points, and how deep it is.
    """
    d = b - a
    low, high = np.zeros(len(a)), np.ones(len(a))
    grid, rows = np.linspace(0.0, 1.0, PIECES + 1), np.arange(len(a))
    for _ in range(ROUNDS):
        s = low[:, None] + (high - low)[:, None] * grid
        slope = np.einsum("nki,ni->nk", shape.signed_distance(a[:, None] + s[..., None] * d[:, None]).gradient, d)
        falling = (slope < 0.0).sum(1)
        low, high = s[rows, np.maximum(falling - 1, 0)], s[rows, np.minimum(falling, PIECES)]
    p = a + np.stack([low, high])[..., None] * d
    distance, normal = shape.signed_distance(p)
    best = distance.argmin(0), rows
    return Nearest(distance[best], p[best], p[best] - distance[best][:, None] * normal[best], normal[best])


def cross_product(a: Array, b: Array) -> Array:
    """``a x b`` of vectors, shape (..., 3), which broadcast; several times as fast as NumPy's."""
    (ax, ay, az), (bx, by, bz) = (np.moveaxis(x, -1, 0) for x in (a, b))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _across(a: Array, b: Array) -> Array:
    """A unit vector perpendicular to a and b, which may be parallel or without length."""
    null = np.linalg.svd(np.stack([a, b]))[2]
    return null[2]
