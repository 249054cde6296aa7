"""Squared distance between a segment and a facet of a convex hull, over any scalar and without a branch."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Scalar, closest_on_segment, cross, dot, minimum, select, squared_between_segments


def squared_segment_to_facet(a: Array, b: Array, corners: Array, middle: Array) -> Scalar:
    """Return the squared distance of a segment from a triangle of a hull, 0 where it is in the hull behind that [m^2].

    The nearest point is on an edge, or below an end of the segment, or where the segment crosses the triangle; or the
    first end is in the tetrahedron between the triangle and a point inside the hull. The smallest result of all facets
    is the squared distance of the hull: 0 for a segment with a point inside.

    Parameters
    ----------
    a, b : array, shape (3,)
        Ends of the segment [m]; one and the same array for a point.
    corners : array, shape (3, 3)
        Of the triangle, anticlockwise seen from outside [m].
    middle : array, shape (3,)
        A point inside the hull [m].

    Examples
    --------
    >>> import numpy as np
    >>> corners, middle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0.2, 0.2, -1.0])
    >>> ends = np.array([0.2, 0.2, 0.5]), np.array([3.0, 3.0, 2.0])
    >>> float(squared_segment_to_facet(*ends, corners, middle))
    0.25
    """
    edges = np.roll(corners, -1, axis=0) - corners
    normal = cross(edges[0], -edges[2])
    size = dot(normal, normal)
    ends = [a] if a is b else [a, b]
    heights = [dot(p - corners[0], normal) for p in ends]
    found = [_squared_to_edge(a, b, p, p + edge) for p, edge in zip(corners, edges, strict=True)]
    for p, height in zip(ends, heights, strict=True):
        found.append(select(_margin_above(p, corners, edges, normal), height * height / size, found[0]))
    if a is not b:
        crosses = -(heights[0] * heights[1])
        share = heights[0] / select(crosses, heights[0] - heights[1], 1.0)
        at_plane = a + share * (b - a)
        found.append(select(minimum(crosses, _margin_above(at_plane, corners, edges, normal)), 0.0, found[0]))
    squared = found[0]
    for other in found[1:]:
        squared = minimum(squared, other)
    outside = -minimum(-heights[0], _margin_in_cone(a, corners, middle))
    return select(outside, squared, 0.0)


def _squared_to_edge(a: Array, b: Array, p: Array, q: Array) -> Scalar:
    """Squared distance of a segment, or of a point, from an edge [m^2]."""
    if a is not b:
        return squared_between_segments(a, b, p, q)
    gap = a - p - closest_on_segment(a, p, q) * (q - p)
    return dot(gap, gap)


def _margin_above(p: Array, corners: Array, edges: Array, normal: Array) -> Scalar:
    """Above zero where a point is above or below the inner of a triangle."""
    inner = [dot(cross(edge, p - corner), normal) for corner, edge in zip(corners, edges, strict=True)]
    return minimum(minimum(inner[0], inner[1]), inner[2])


def _margin_in_cone(p: Array, corners: Array, middle: Array) -> Scalar:
    """Zero or above where a point is in the cone from a point through a triangle."""
    rays = [corner - middle for corner in corners]
    gap = p - middle
    inner = [dot(cross(rays[k], rays[(k + 1) % 3]), gap) for k in range(3)]
    return minimum(minimum(inner[0], inner[1]), inner[2])
