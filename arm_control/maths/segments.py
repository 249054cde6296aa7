"""Distances of segments: to a point and to each other in closed form, to a convex shape by a short search.

A capsule is a segment with a radius, so the distance between two capsules is that of their segments less both
radii, and the distance between a capsule and a shape is that of its segment to the shape less its radius.

All is written for one pair over any scalar (:mod:`arm_control.maths.scalars`), without a branch: compiled, it runs
on several pairs at once.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, select
from arm_control.maths.shapes import Distance
from arm_control.maths.vectors import TINY, across, choose, clip, cross, dot, length_and_direction

TANGENTS = 16
"""Points of the search along a segment: what is left is below 1e-12 of the distance."""

JUST_BEFORE = 1e-10
"""Inside a shape, where two faces may be equally near, the one so much nearer to the beginning counts: it is not
rounding that chooses."""


class Nearest(NamedTuple):
    """Nearest points of a pair.

    Attributes
    ----------
    distance : scalar
        Distance, negative inside [m].
    p, p_other : array, shape (3,)
        The point on the segment, and the one on the other segment or on the surface of the shape [m].
    normal : array, shape (3,)
        Unit vector from the other one to the segment: the gradient of the distance.
    """

    distance: Scalar
    p: Array
    p_other: Array
    normal: Array


def closest_on_segment(p: Array, a: Array, b: Array) -> Scalar:
    """Where on the segment from a to b the point nearest to p is: 0 at a, 1 at b; 0 where it has no length.

    Examples
    --------
    >>> import numpy as np
    >>> ends = np.zeros(3), np.array([2.0, 0.0, 0.0])
    >>> [float(closest_on_segment(np.array([x, 1.0, 0.0]), *ends)) for x in (-1.0, 0.5, 3.0)]
    [0.0, 0.25, 1.0]
    """
    d = b - a
    return _share(dot(p - a, d), dot(d, d))


def to_point(a: Array, b: Array, p: Array) -> Nearest:
    """Nearest points of a segment from a to b and a point, shape (3,) each [m]."""
    nearest = a + closest_on_segment(p, a, b) * (b - a)
    distance, normal = length_and_direction(nearest - p, across(b - a))
    return Nearest(distance, nearest, p, normal)


def between_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> Nearest:
    """Nearest points of segments a and b.

    Either both nearest points are inside their segments, on the common perpendicular, or one of them is an
    end: five candidates, the best of which counts. Nothing is divided by an angle that may vanish.

    Parameters
    ----------
    a0, a1, b0, b1 : array, shape (3,)
        Ends of the segments [m]; they may coincide.

    Returns
    -------
    Nearest
        Its normal is perpendicular to both segments where they cross.
    """
    da, db, ab = a1 - a0, b1 - b0, b0 - a0
    aa, bb = dot(da, da), dot(db, db)
    perpendicular = cross(da, db)
    squared = dot(perpendicular, perpendicular)
    skew = squared - TINY * aa * bb
    middle = select(skew, clip(dot(cross(ab, db), perpendicular) / select(skew, squared, 1.0), 0.0, 1.0), 0.0)
    turn, along_a, along_b = dot(da, db), dot(ab, da), dot(ab, db)
    on_b = [(s, _share(s * turn - along_b, bb)) for s in (middle, 0.0, 1.0)]
    on_a = [(_share(along_a + t * turn, aa), t) for t in (0.0, 1.0)]
    best, s, t, gap = None, 0.0, 0.0, ab
    for s_new, t_new in on_b + on_a:
        gap_new = s_new * da - t_new * db - ab
        new = dot(gap_new, gap_new)
        better = 1.0 if best is None else best - new
        s, t, gap = select(better, s_new, s), select(better, t_new, t), choose(better, gap_new, gap)
        best = select(better, new, best)
    both = length_and_direction(perpendicular, across(choose(aa - bb, da, db)))[1]
    tangent = choose(skew, both, across(choose(aa - bb, da, db)))
    distance, normal = length_and_direction(gap, tangent)
    return Nearest(distance, a0 + s * da, b0 + t * db, normal)


def _share(part: Scalar, squared: Scalar) -> Scalar:
    """Return part / squared, from 0 to 1; 0 for a segment without length."""
    has_length = squared - TINY * TINY
    return select(has_length, clip(part / select(has_length, squared, 1.0), 0.0, 1.0), 0.0)


class _Probe(NamedTuple):
    """Where on the segment (0 to 1), the distance there, and how it changes along the segment."""

    s: Scalar
    distance: Scalar
    slope: Scalar


def segment_to_shape(a: Array, b: Array, distance: Distance) -> Nearest:
    """Nearest points of a segment and a convex shape.

    The signed distance is convex along a segment, so its slope only grows, and the nearest point is where it
    changes sign. Two points hold the change between them; the next one is where their tangents meet, which
    halves the gap where the distance is smooth and finds a kink. Then twice where the slope is zero if it
    changes evenly, which sharpens a smooth minimum. Where a segment enters the shape the point found is the
    deepest one.

    Parameters
    ----------
    a, b : array, shape (3,)
        Ends of the segment in the shape's frame [m]; they may coincide.
    distance : callable
        Signed distance of a point and its gradient: one of :mod:`arm_control.maths.shapes`.

    Returns
    -------
    Nearest
        In the shape's frame.
    """
    d = b - a

    def probe(s: Scalar) -> _Probe:
        found, gradient = distance(a + s * d)
        return _Probe(s, found, dot(gradient, d))

    begin, end = probe(0.0), probe(1.0)
    low = _either(-end.slope, end, begin)  # still falling at the end
    high = _either(-begin.slope, end, begin)  # rising from the beginning on
    for guess in [_tangents] * TANGENTS + [_level] * 2:
        new = probe(clip(guess(low, high), low.s, high.s))
        low, high = _either(-new.slope, new, low), _either(-new.slope, high, new)
    s = select(low.distance - high.distance, high.s, low.s)
    p = a + s * d
    (found, gradient), (_, before) = distance(p), distance(a + (s - JUST_BEFORE) * d)
    gradient = choose(-found, before, gradient)
    return Nearest(found, p, p - found * gradient, gradient)


def _either(x: Scalar, a: _Probe, b: _Probe) -> _Probe:
    return _Probe(*(select(x, one, other) for one, other in zip(a, b, strict=True)))


def _tangents(low: _Probe, high: _Probe) -> Scalar:
    """Where the tangents at both ends meet."""
    rise = high.slope - low.slope
    away = high.slope * (high.s - low.s) - (high.distance - low.distance)
    return low.s + away / select(rise, rise, 1.0)


def _level(low: _Probe, high: _Probe) -> Scalar:
    """Where the slope is zero, if it changes evenly."""
    rise = high.slope - low.slope
    return low.s - low.slope * (high.s - low.s) / select(rise, rise, 1.0)
