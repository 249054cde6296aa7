"""Distances between capsules and hulls, as procedures over the triangles of each hull.

A point ``a + s d`` of a segment, 0 <= s <= 1, is ``h_i(s) = n_i^T (a + s d) - k_i`` above the plane of triangle i, all
in the hull's frame:

    (1)  max_i min{h_i(0), h_i(1)}                          a bound from below, where far pairs end
    (2)  m = min_s max_i h_i(s)                             the signed distance of the deepest point, if m <= 0
    (3)  min_i distance of the segment from triangle i      the distance, if m > 0

(2) is exact, as for the other shapes, by the place where two planes meet that bracket the minimum. (3) is exact, too:
the nearest point of a triangle is on an edge, or below an end of the segment. It measures the triangles that an end is
above and whose balls (centre c_i in the triangle, radius r_i) may be nearest, by the distances g_i of the centres from
the segment:  g_i <= min_j g_j + r_i.

A table has the triangles of each hull once, however many obstacles have it: one that moves is a new pose.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from arm_control.collision.pair_procedures import CENTRE_AT, N_DISTANCE, OBSTACLES, PairColumns, whole_blocks
from arm_control.compiler import Floats, Ints, LoopKernel, Rows, RunsLoop, compile_procedure, procedure
from arm_control.maths import MIN_LENGTH, MOST_TRIANGLES, Hull

INFINITY = float("inf")
TINY = MIN_LENGTH**2
"""Square of a length that counts as 0 [m^2]."""


class HullPairs(NamedTuple):
    """Pairs of a capsule and a hull, a column each, and the triangles of the hulls.

    Attributes
    ----------
    size, obstacle : ndarray of int, shape (1,), (K,)
        Number of pairs, and of the obstacle of each.
    first, number : ndarray of int, shape (capacity,)
        Of the triangles of each obstacle: the first row of the tables, and how many there are.
    planes, corners, balls : ndarray, shape (F, 4), (F, 9), (F, 4)
        Of each triangle: unit normal and height, corners, centre and radius, in the hull's frame [m].
    ends : ndarray, shape (6,)
        Of the segment in the hull's frame [m].
    heights : ndarray, shape (3, M)
        Of both ends above the planes of the hull; squared distance of the balls' centres from the segment.
    nearest : ndarray, shape (N_DISTANCE,)
        Distance, normal and nearest point of the segment in the hull's frame.
    measured, distance : ndarray, shape (9, M), (N_DISTANCE, M)
        Corners of the triangles in (3), and rows rho, n, p of the segment's distances from them.
    """

    size: Ints
    obstacle: Ints
    pairs: PairColumns
    reach: Floats
    first: Ints
    number: Ints
    planes: Rows
    corners: Rows
    balls: Rows
    ends: Floats
    heights: Rows
    nearest: Floats
    measured: Rows
    distance: Rows
    to_facet: RunsLoop


@procedure
def measure_hulls(h: HullPairs) -> float:
    """Measure all pairs; those that are farther than the reach get a bound from below that is, too."""
    for j in range(h.size[0]):
        place_ends(h, j)
        first = h.first[h.obstacle[j]]
        n = h.number[h.obstacle[j]]
        h.nearest[0] = measure_heights(h, first, n)
        if h.nearest[0] - h.pairs.radius[0, j] < h.reach[OBSTACLES]:
            if h.nearest[0] > 0.0 or not find_deepest(h, first, n):
                find_nearest(h, first, n)
            write_nearest(h, j)
        else:
            h.pairs.distance[0, j] = h.nearest[0] - h.pairs.radius[0, j]
    return 0.0


@procedure
def place_ends(h: HullPairs, j: int) -> None:
    """Write the ends of pair j in the hull's frame."""
    for i in range(3):
        h.ends[i] = 0.0
        h.ends[3 + i] = 0.0
        for k in range(3):
            R = h.pairs.shape[3 * k + i, j]
            h.ends[i] += R * (h.pairs.ends[k, j] - h.pairs.shape[CENTRE_AT + k, j])
            h.ends[3 + i] += R * (h.pairs.ends[3 + k, j] - h.pairs.shape[CENTRE_AT + k, j])


@procedure
def measure_heights(h: HullPairs, first: int, n: int) -> float:
    """Write the heights of both ends, and return (1) [m]."""
    bound = -INFINITY
    for i in range(n):
        x = h.planes[first + i, 0]
        y = h.planes[first + i, 1]
        z = h.planes[first + i, 2]
        begin = x * h.ends[0] + y * h.ends[1] + z * h.ends[2] - h.planes[first + i, 3]
        end = x * h.ends[3] + y * h.ends[4] + z * h.ends[5] - h.planes[first + i, 3]
        h.heights[0, i] = begin
        h.heights[1, i] = end
        bound = max(bound, min(begin, end))
    return bound


@procedure
def height(h: HullPairs, i: int, s: float) -> float:
    """Height of a place of the segment above plane i [m]."""
    return h.heights[0, i] + s * (h.heights[1, i] - h.heights[0, i])


@procedure
def highest(h: HullPairs, n: int, s: float) -> int:
    """Number of the plane that a place of the segment is highest above."""
    best = 0
    for i in range(1, n):
        if height(h, i, s) > height(h, best, s):
            best = i
    return best


@procedure
def find_deepest(h: HullPairs, first: int, n: int) -> bool:
    """Whether (2) is not above zero; then it is the nearest point, with the normal of the plane nearer to the begin."""
    low = highest(h, n, 0.0)
    high = highest(h, n, 1.0)
    s = 0.0
    if h.heights[1, low] < h.heights[0, low]:
        s = 1.0
        if h.heights[1, high] > h.heights[0, high]:
            for _ in range(n):
                fall = h.heights[0, low] - h.heights[1, low]
                rise = h.heights[1, high] - h.heights[0, high]
                s = (h.heights[0, low] - h.heights[0, high]) / (fall + rise)
                top = highest(h, n, s)
                if height(h, top, s) <= max(height(h, low, s), height(h, high, s)):
                    break
                if h.heights[1, top] < h.heights[0, top]:
                    low = top
                else:
                    high = top
        else:
            low = high
    h.nearest[0] = height(h, highest(h, n, s), s)
    for i in range(3):
        h.nearest[1 + i] = h.planes[first + low, i]
        h.nearest[4 + i] = h.ends[i] + s * (h.ends[3 + i] - h.ends[i])
    return h.nearest[0] <= 0.0


@procedure
def find_nearest(h: HullPairs, first: int, n: int) -> None:
    """Find the nearest triangle of (3)."""
    smallest = measure_centres(h, first, n)
    m = 0
    for i in range(n):
        within = smallest + h.balls[first + i, 3]
        if h.heights[2, i] <= within * within:
            for k in range(9):
                h.measured[k, m] = h.corners[first + i, k]
            m += 1
    h.to_facet(whole_blocks(m))
    best = 0
    for i in range(1, m):
        if h.distance[0, i] < h.distance[0, best]:
            best = i
    for k in range(N_DISTANCE):
        h.nearest[k] = h.distance[k, best]


@procedure
def measure_centres(h: HullPairs, first: int, n: int) -> float:
    """Write the squared distances of the centres of triangles that an end is above; return the smallest distance [m].

    The other squares are infinite.
    """
    x = h.ends[3] - h.ends[0]
    y = h.ends[4] - h.ends[1]
    z = h.ends[5] - h.ends[2]
    square = x * x + y * y + z * z
    inverse = 1.0 / square if square > TINY else 0.0
    smallest = INFINITY
    for i in range(n):
        h.heights[2, i] = INFINITY
        if max(h.heights[0, i], h.heights[1, i]) > 0.0:
            u = h.balls[first + i, 0] - h.ends[0]
            v = h.balls[first + i, 1] - h.ends[1]
            w = h.balls[first + i, 2] - h.ends[2]
            s = max(0.0, min((u * x + v * y + w * z) * inverse, 1.0))
            u -= s * x
            v -= s * y
            w -= s * z
            h.heights[2, i] = u * u + v * v + w * w
            smallest = min(smallest, h.heights[2, i])
    return sqrt(smallest)


@procedure
def write_nearest(h: HullPairs, j: int) -> None:
    """Write the nearest point of pair j in the world."""
    h.pairs.distance[0, j] = h.nearest[0] - h.pairs.radius[0, j]
    for i in range(3):
        h.pairs.distance[1 + i, j] = 0.0
        h.pairs.distance[4 + i, j] = h.pairs.shape[CENTRE_AT + i, j]
        for k in range(3):
            h.pairs.distance[1 + i, j] += h.pairs.shape[3 * i + k, j] * h.nearest[1 + k]
            h.pairs.distance[4 + i, j] += h.pairs.shape[3 * i + k, j] * h.nearest[4 + k]


class HullRows:
    """Memory of the distances from hulls: triangles of each hull that some obstacle has.

    Parameters
    ----------
    to_facet : LoopKernel
        The law of the distance from a triangle.
    pairs, obstacle, size, reach : PairColumns, ndarray
        As in :class:`HullPairs`.
    """

    def __init__(self, to_facet: LoopKernel, pairs: PairColumns, obstacle: Ints, size: Ints, reach: Floats) -> None:
        ends, nearest, heights = np.zeros(6), np.zeros(N_DISTANCE), np.zeros((3, MOST_TRIANGLES))
        measured, distance = (np.zeros((k, MOST_TRIANGLES)) for k in (9, N_DISTANCE))
        arrays = {"a": ends[:3], "b": ends[3:], "corners": measured}
        arrays |= {"rho": distance[:1], "n": distance[1:4], "p": distance[4:]}
        (first, number), none = np.zeros((2, 1), np.int64), np.zeros((1, 9))
        of_pairs, memory = (size, obstacle, pairs, reach), (ends, heights, nearest, measured, distance)
        record = HullPairs(*of_pairs, first, number, none, none, none, *memory, to_facet.bind(arrays))
        self.run, self._hulls = compile_procedure(measure_hulls)(record), dict[int, Hull]()

    def place(self, hulls: dict[int, Hull]) -> None:
        """Let these be the hulls, by the numbers of their obstacles."""
        if hulls is self._hulls or not hulls or hulls == self._hulls:
            return
        chosen = list(dict.fromkeys(hulls.values()))
        begins = dict(zip(chosen, np.cumsum([0, *(len(hull.triangles) for hull in chosen)]), strict=False))
        first, number = np.zeros((2, 1 + max(hulls)), np.int64)
        for k, hull in hulls.items():
            first[k], number[k] = begins[hull], len(hull.triangles)
        planes = np.concatenate([np.column_stack(hull.planes) for hull in chosen])
        corners = np.concatenate([hull.corners.reshape(-1, 9) for hull in chosen])
        balls, record = np.concatenate([hull.balls for hull in chosen]), self.run.record
        record = record._replace(first=first, number=number, planes=planes, corners=corners, balls=balls)
        self.run.replace(record)
        self._hulls = hulls
