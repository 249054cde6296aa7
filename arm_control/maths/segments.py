"""Distances of segments: to a point and to each other in closed form, to a convex shape by a short search.

A capsule is a segment with a radius. The distance between two capsules is the distance between their segments
less both radii; the distance between a capsule and a shape is the distance between its segment and the shape less
its radius.

Segments are given by their ends (3,) [m], which may coincide, boxes by half of their edges along x, y and z.
All functions take one pair, over any scalar (:mod:`arm_control.maths.scalars`) and without a branch: compiled, they
run on several pairs at once.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.maths.linalg import MIN_LENGTH, any_perpendicular, cross, dot, length_and_direction
from arm_control.maths.scalars import Array, Scalar, clamp, maximum, minimum, select
from arm_control.maths.shapes import Distance

TANGENT_STEPS = 16
"""Steps of the search along a segment by tangents; the remaining error is below 1e-12 of the distance."""
SLOPE_STEPS = 2
"""Steps after that to where a straight line through both slopes is zero: they refine a smooth minimum."""
PARALLEL = 1e-12
"""Squared sine of an angle below which two segments count as parallel."""
STEP_BACK = 1e-10
"""Share of a segment to step back from a minimum inside a shape, where two faces may be equally near: the face nearer
to the segment's beginning gives the normal, and not rounding."""


class Nearest(NamedTuple):
    """Nearest points of a pair.

    Attributes
    ----------
    distance : scalar
        Distance, negative inside [m].
    p, p_other : array, shape (3,)
        Nearest point of the segment, and of the other segment or the surface of the shape [m].
    normal : array, shape (3,)
        Unit vector towards the segment: the gradient of the distance.
    """

    distance: Scalar
    p: Array
    p_other: Array
    normal: Array


def closest_on_segment(p: Array, a: Array, b: Array) -> Scalar:
    """Return the place of a segment's point nearest to p: from 0 at a to 1 at b; 0 where it has no length.

    Parameters
    ----------
    p : array, shape (3,)
        A point [m].
    a, b : array, shape (3,)
        Ends of the segment [m]; they may coincide.

    Examples
    --------
    >>> import numpy as np
    >>> ends = np.zeros(3), np.array([2.0, 0.0, 0.0])
    >>> [float(closest_on_segment(np.array([x, 1.0, 0.0]), *ends)) for x in (-1.0, 0.5, 3.0)]
    [0.0, 0.25, 1.0]
    """
    d = b - a
    return _fraction(dot(p - a, d), dot(d, d))


def to_point(a: Array, b: Array, p: Array) -> Nearest:
    """Return the nearest points of a segment and a point.

    Parameters
    ----------
    a, b : array, shape (3,)
        Ends of the segment [m]; they may coincide.
    p : array, shape (3,)
        The point [m].
    """
    nearest = a + closest_on_segment(p, a, b) * (b - a)
    distance, normal = length_and_direction(nearest - p, any_perpendicular(b - a))
    return Nearest(distance, nearest, p, normal)


def between_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> Nearest:
    """Return the nearest points of segments a and b, whose ends (3,) [m] may coincide.

    Either both nearest points are inside their segments, on the common perpendicular, or one of them is an
    end: five candidates, the nearest of which is the result. No division by an angle that may vanish.

    Returns
    -------
    Nearest
        Its normal is perpendicular to both segments where they cross.
    """
    s, t, gap, _, is_skew, common = _nearest_places(a0, a1, b0, b1)
    da, db = a1 - a0, b1 - b0
    aside = any_perpendicular(select(dot(da, da) - dot(db, db), da, db))
    normal_where_crossing = select(is_skew, length_and_direction(common, aside)[1], aside)
    distance, normal = length_and_direction(gap, normal_where_crossing)
    return Nearest(distance, a0 + s * da, b0 + t * db, normal)


def squared_between_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> Scalar:
    """Return the squared distance of segments a and b [m^2]; see :func:`between_segments`.

    Parameters
    ----------
    a0, a1, b0, b1 : array, shape (3,)
        Ends of the segments [m]; they may coincide.
    """
    return _nearest_places(a0, a1, b0, b1)[3]


def _nearest_places(a0: Array, a1: Array, b0: Array, b1: Array) -> tuple[Scalar, Scalar, Array, Scalar, Scalar, Array]:
    """The best of five candidates: places s and t (0 to 1), the vector between them, its square.

    Behind these: how skew the segments are, and their common perpendicular; see :func:`between_segments`.
    """
    da, db, ab = a1 - a0, b1 - b0, b0 - a0
    aa, bb = dot(da, da), dot(db, db)
    common = cross(da, db)
    squared = dot(common, common)
    is_skew = squared - PARALLEL * aa * bb
    inside = clamp(dot(cross(ab, db), common) / select(is_skew, squared, 1.0), 0.0, 1.0)
    da_db, ab_da, ab_db = dot(da, db), dot(ab, da), dot(ab, db)
    candidates = [(s, _fraction(s * da_db - ab_db, bb)) for s in (select(is_skew, inside, 0.0), 0.0, 1.0)]
    candidates += [(_fraction(ab_da + t * da_db, aa), t) for t in (0.0, 1.0)]
    best, s, t, gap = None, 0.0, 0.0, ab
    for s_new, t_new in candidates:
        gap_new = s_new * da - t_new * db - ab
        gap_squared = dot(gap_new, gap_new)
        is_better = 1.0 if best is None else best - gap_squared
        s = select(is_better, s_new, s)
        t = select(is_better, t_new, t)
        gap = select(is_better, gap_new, gap)
        best = select(is_better, gap_squared, best)
    return s, t, gap, best, is_skew, common


def _fraction(part: Scalar, squared: Scalar) -> Scalar:
    """``part / squared`` from 0 to 1; 0 for a segment without length."""
    has_length = squared - MIN_LENGTH * MIN_LENGTH
    return select(has_length, clamp(part / select(has_length, squared, 1.0), 0.0, 1.0), 0.0)


def squared_segment_to_box(a: Array, b: Array, half_edges: Array) -> Scalar:
    """Return the squared distance between a segment and a box around the origin, 0 where they touch [m^2].

    Half of the squared distance of the point ``x = a + s d`` has the slope ``d^T (x - clamp(x))`` along the segment,
    which never falls and is straight between the places where the segment crosses the planes of the box's faces: the
    place where it vanishes follows from these six, in closed form.

    Parameters
    ----------
    a, b : array, shape (3,)
        Ends of the segment in the box's frame [m]; they may coincide.
    half_edges : array, shape (3,)
        Half of the edges along x, y and z [m].

    Examples
    --------
    >>> import numpy as np
    >>> ends = np.array([-3.0, 1.0, 0.0]), np.array([1.0, 3.0, 0.0])
    >>> round(float(squared_segment_to_box(*ends, np.array([1.0, 1.0, 1.0]))), 6)
    0.8
    """
    d = b - a

    def outside(s: Scalar) -> Array:
        x = a + s * d
        return x - clamp(x, -half_edges, half_edges)

    low, high = 0.0, 1.0
    slope_low, slope_high = dot(d, outside(low)), dot(d, outside(high))
    for a_i, d_i, half in zip(a, d, half_edges, strict=True):
        crosses = d_i * d_i - MIN_LENGTH * MIN_LENGTH
        inverse = 1.0 / select(crosses, d_i, 1.0)
        for plane in (-half, half):
            s = clamp((plane - a_i) * inverse, 0.0, 1.0)
            slope = dot(d, outside(s))
            low, slope_low = select(slope, low, maximum(low, s)), select(slope, slope_low, maximum(slope_low, slope))
            high, slope_high = (
                select(slope, minimum(high, s), high),
                select(slope, minimum(slope_high, slope), slope_high),
            )
    rise = slope_high - slope_low
    s = clamp(low - slope_low * (high - low) / select(rise, rise, 1.0), low, high)
    gap = outside(s)
    return dot(gap, gap)


class Probe(NamedTuple):
    """Place on a segment (0 to 1), distance there and its gradient, and slope of the distance along the segment."""

    s: Scalar
    distance: Scalar
    gradient: Array
    slope: Scalar


class Bracket(NamedTuple):
    """Two probes with the nearest point between them; one probe twice where it is an end of the segment."""

    low: Probe
    high: Probe


def segment_to_shape(a: Array, b: Array, distance: Distance) -> Nearest:
    """Return the nearest points of a segment and a convex shape, in its frame: all of :class:`ShapeSearch`.

    Parameters
    ----------
    a, b : array, shape (3,)
        Ends of the segment in the shape's frame [m]; they may coincide.
    distance : callable
        Signed distance of a point and its gradient: one of :mod:`arm_control.maths.shapes`.
    """
    search = ShapeSearch(a, b - a, distance)
    bracket = search.begin()
    for _ in range(TANGENT_STEPS):
        bracket = search.tangent_step(bracket)
    for _ in range(SLOPE_STEPS):
        bracket = search.slope_step(bracket)
    return search.end(bracket)


class ShapeSearch(NamedTuple):
    """Search for the point of a segment that is nearest to a convex shape.

    The signed distance is convex along a segment, so its slope never falls, and the nearest point is where the
    slope changes sign. Two probes bracket the change; the next probe is where their tangents meet, which halves
    the bracket of a smooth minimum and finds a kink. The last steps refine a smooth minimum. Where a segment
    enters the shape the result is its deepest point.

    Attributes
    ----------
    a, d : array, shape (3,)
        Beginning of the segment in the shape's frame, and the vector to its end [m]; it may be zero.
    distance : callable
        As for :func:`segment_to_shape`.
    """

    a: Array
    d: Array
    distance: Distance

    def begin(self) -> Bracket:
        """The first bracket: both ends, or one of them twice."""
        begin, end = self._probe(0.0), self._probe(1.0)
        return Bracket(_select_probe(-end.slope, end, begin), _select_probe(-begin.slope, end, begin))

    def tangent_step(self, bracket: Bracket) -> Bracket:
        """A smaller bracket, by the place where the tangents at both probes meet."""
        return self._step(bracket, _tangents_meet(*bracket))

    def slope_step(self, bracket: Bracket) -> Bracket:
        """A smaller bracket, by the place where a straight line through both slopes is zero."""
        return self._step(bracket, _slope_vanishes(*bracket))

    def end(self, bracket: Bracket) -> Nearest:
        """The nearest point: the better one of both probes."""
        low, high = bracket
        s, value, gradient, _ = _select_probe(low.distance - high.distance, high, low)
        p = self.a + s * self.d
        gradient_before = self.distance(self.a + (s - STEP_BACK) * self.d).gradient
        gradient = select(-value, gradient_before, gradient)
        return Nearest(value, p, p - value * gradient, gradient)

    def _probe(self, s: Scalar) -> Probe:
        value, gradient = self.distance(self.a + s * self.d)
        return Probe(s, value, gradient, dot(gradient, self.d))

    def _step(self, bracket: Bracket, s: Scalar) -> Bracket:
        low, high = bracket
        new = self._probe(clamp(s, low.s, high.s))
        return Bracket(_select_probe(-new.slope, new, low), _select_probe(-new.slope, high, new))


def _select_probe(x: Scalar, a: Probe, b: Probe) -> Probe:
    return Probe(*(select(x, one, other) for one, other in zip(a, b, strict=True)))


def _tangents_meet(low: Probe, high: Probe) -> Scalar:
    rise = high.slope - low.slope
    away = high.slope * (high.s - low.s) - (high.distance - low.distance)
    return low.s + away / select(rise, rise, 1.0)


def _slope_vanishes(low: Probe, high: Probe) -> Scalar:
    rise = high.slope - low.slope
    return low.s - low.slope * (high.s - low.s) / select(rise, rise, 1.0)


def smallest_by_tangents(bracket: Bracket) -> Scalar:
    """Return a bound from below of the distance inside a bracket [m]: a convex function is above its tangents."""
    low, high = bracket
    s = clamp(_tangents_meet(low, high), low.s, high.s)
    return minimum(low.distance + low.slope * (s - low.s), high.distance - high.slope * (high.s - s))
