"""Convex hulls of points and of mesh files as obstacles.

A hull is the union of tetrahedra between its triangles and a point inside of it. The distance of a segment outside is
that of the nearest triangle; a segment that has a point in a tetrahedron is inside. So a row of a table is a triangle
with that point, a hull is as many rows as it has triangles, and a law goes through them as through other obstacles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.linalg import MIN_LENGTH, cross, dot, length_and_direction
from arm_control.maths.scalars import Array, Scalar, columns, minimum, rows, select, sqrt
from arm_control.maths.segments import Nearest, between_segments, closest_on_segment, squared_between_segments
from arm_control.maths.shapes import Box, Capsule, Cone, ConvexShape, Cylinder, Distance, SignedDistance, Sphere

MOST_TRIANGLES = 1000
"""Of a hull: each is a row that each check goes through."""
FLAT = 1e-5
"""Thickness of a hull as a share of its length below which it has no volume."""
INSIDE = 1e-6
"""Depth of a corner inside a hull, as a share of the hull's length, from which on the mesh does not count as convex."""
BLOCK, AT_ONCE = 10_000, 1_000
"""Corners whose depth is computed at once, and points whose distances are."""


@dataclass(frozen=True, eq=False, repr=False)
class Hull(ConvexShape):
    """A convex hull, in a frame of its own.

    Attributes
    ----------
    vertices : ndarray, shape (n, 3)
        Its corners [m].
    triangles : ndarray of int, shape (k, 3)
        Numbers of the corners of its triangles, anticlockwise seen from outside.
    note : str
        Sentence that says how far the hull is from the mesh it was made of; empty for a convex one.

    Raises
    ------
    InputError
        When a vertex is not finite, the triangles are not the closed surface of a convex body, or they are too many.
    """

    vertices: Array
    triangles: Array
    note: str = ""

    def __post_init__(self) -> None:
        vertices, triangles = np.asarray(self.vertices, dtype=float), np.asarray(self.triangles, dtype=np.int64)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)
        _check_number(len(triangles), "a hull")
        edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).tolist()
        is_closed = len(edges) >= 12 and {(j, i) for i, j in edges} == {(i, j) for i, j in edges}
        normals = np.cross(*np.moveaxis(self.corners[:, 1:] - self.corners[:, :1], 1, 0))
        above = (vertices @ normals.T).max(axis=0) - np.einsum("ki,ki->k", normals, self.corners[:, 0])
        if not (is_closed and above.max() <= INSIDE * self.extent**3):
            raise InputError(
                "triangles of a hull must be the closed surface of a convex body, anticlockwise from outside"
            )

    def __repr__(self) -> str:
        return f"Hull of {len(self.vertices)} points"

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Hull):
            return self is other
        return np.array_equal(self.vertices, other.vertices) and np.array_equal(self.triangles, other.triangles)

    def __hash__(self) -> int:
        return hash((len(self.vertices), *self.vertices[0].tolist()))

    @classmethod
    def of_points(cls, points: npt.ArrayLike, name: str = "") -> Hull:
        """The hull of points (m, 3) [m].

        Parameters
        ----------
        name : str
            Of what the points are, in errors and in the note; without one there is no note.

        Raises
        ------
        InputError
            When there are less than four points, one of them is not finite, they lie in a plane, their hull has too
            many triangles, or coal, which computes it, is not installed.

        Examples
        --------
        >>> len(Hull.of_points([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]).triangles)
        4
        """
        points = np.asarray(points, dtype=float)
        hull = cls(*_hull_triangles(points, name or "points"))
        if not name or (depth := hull._depth(points)) <= INSIDE * hull.extent:
            return hull
        note = f"{name} is not convex: its hull is taken, up to {depth:.2g} m outside of it"
        object.__setattr__(hull, "note", note)  # the rest need not be checked again
        return hull

    @classmethod
    def of_mesh(cls, path: Path, scale: float | Sequence[float] = 1.0) -> Hull:
        """The hull of a mesh file that coal reads, such as STL, OBJ or DAE.

        Parameters
        ----------
        scale : float or sequence of float
            Factor of its coordinates, or one of each axis [m].

        Raises
        ------
        InputError
            When it cannot be read or has no corners, and as for :meth:`of_points`.
        """
        name = f"the mesh {path.name}"
        coal = _coal(name)
        if not path.is_file():
            raise InputError(f"the mesh {path} does not exist")
        try:
            loader = coal.MeshLoader(coal.NODE_TYPE.BV_AABB)  # the tree that is made fastest: it is not used
            points = loader.load(str(path), np.ones(3) * scale).vertices()
        except Exception as error:  # the loader raises errors of many types
            raise InputError(f"the mesh {path} cannot be read: {loader_reason(error)}") from error
        return cls.of_points(np.unique(np.array(points).reshape(-1, 3), axis=0), name)

    @cached_property
    def corners(self) -> Array:
        """Corners of its triangles, shape (k, 3, 3) [m]."""
        return np.asarray(self.vertices[self.triangles])

    @cached_property
    def middle(self) -> Array:
        """A point inside, shape (3,) [m]."""
        return np.asarray(self.corners.mean(axis=(0, 1)))

    @cached_property
    def extent(self) -> float:
        """Radius of the ball around the origin that contains it [m]."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @cached_property
    def ball(self) -> tuple[float, ...]:
        """Centre and radius of a ball around it [m]."""
        centre = (self.vertices.min(axis=0) + self.vertices.max(axis=0)) / 2.0
        return *centre.tolist(), float(np.linalg.norm(self.vertices - centre, axis=1).max())

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_hull, corners=self.corners)

    @cached_property
    def planes(self) -> tuple[Array, Array]:
        """Unit normals of its triangles, outwards, shape (k, 3), and the height of the hull along each, shape (k,) [m].

        Triangles without an area have those of the largest one.
        """
        a, b, c = np.moveaxis(self.corners, 1, 0)
        normals = np.cross(b - a, c - a)
        sizes = np.linalg.norm(normals, axis=1)
        normals[sizes == 0.0], sizes[sizes == 0.0] = normals[sizes.argmax()], sizes.max()
        normals /= sizes[:, None]
        return normals, (self.vertices @ normals.T).max(axis=0)

    @cached_property
    def balls(self) -> Array:
        """Centre, in the triangle, and radius of a ball around each of its triangles, shape (k, 4) [m].

        Around the longest edge, or through the corners of an acute triangle.
        """
        a, b, c = np.moveaxis(self.corners, 1, 0)
        edges = np.stack([c - b, a - c, b - a])  # each opposite to its corner
        squares = np.einsum("eki,eki->ke", edges, edges)
        weights = squares * (squares.sum(axis=1, keepdims=True) - 2.0 * squares)  # of the corners in the circumcentre
        is_longest = np.arange(3) == squares.argmax(axis=1)[:, None]
        weights = np.where(weights.min(axis=1, keepdims=True) <= 0.0, 1.0 - is_longest, weights)
        centres = np.einsum("ke,kei->ki", weights / weights.sum(axis=1, keepdims=True), self.corners)
        radii = np.linalg.norm(self.corners - centres[:, None], axis=2).max(axis=1)
        return np.column_stack([centres, radii])

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """As of other shapes; of the triangles that a point is above those that may be nearest are measured."""
        p = np.asarray(p, dtype=float)
        points, (normals, heights) = p.reshape(-1, 3), self.planes
        distance, gradient = np.empty(len(points)), np.empty((len(points), 3))
        for begin in range(0, len(points), AT_ONCE):
            some = points[begin : begin + AT_ONCE]
            above = some @ normals.T - heights
            highest = above.argmax(axis=1)
            gaps = np.linalg.norm(some[:, None] - self.balls[:, :3], axis=2)
            gaps = np.where(above > 0.0, gaps, np.inf)
            within = gaps.min(axis=1, keepdims=True) + self.balls[:, 3]
            i, k = np.nonzero(np.isfinite(gaps) & (gaps <= within))
            near = to_hull(columns(some[i].T), columns(self.corners[k].reshape(-1, 9).T).reshape(1, 3, 3))
            d, n = rows(near.distance, len(i)), rows(near.gradient, len(i)).T
            order = np.lexsort((d, i))
            i, first = np.unique(i[order], return_index=True)
            distance[begin : begin + AT_ONCE] = above[np.arange(len(some)), highest]
            gradient[begin : begin + AT_ONCE] = normals[highest]
            distance[begin + i], gradient[begin + i] = d[order[first]], n[order[first]]
        return SignedDistance(distance.reshape(p.shape[:-1]), gradient.reshape(p.shape))

    def _depth(self, points: Array) -> float:
        """How deep the deepest of some points lies inside [m]."""
        normals, heights = self.planes
        blocks = range(0, len(points), BLOCK)
        return float(max((heights - points[k : k + BLOCK] @ normals.T).min(axis=1).max() for k in blocks))


Shape: TypeAlias = Sphere | Capsule | Box | Cylinder | Cone | Hull


def to_hull(p: Array, corners: Array) -> SignedDistance:
    """Signed distance to a hull; corners (k, 3, 3) of its triangles, anticlockwise seen from outside [m].

    Outside that of the nearest edge, or of the triangle below the point; inside the height below the nearest plane.
    """
    height, face, squared, gap = None, p, None, p
    for triangle in corners:
        edges, normal = _edges_and_normal(triangle)
        normal = normal * (1.0 / sqrt(dot(normal, normal)))
        above = dot(p - triangle[0], normal)
        is_higher = 1.0 if height is None else above - height
        height, face = select(is_higher, above, height), select(is_higher, normal, face)
        gaps = [p - a - closest_on_segment(p, a, a + edge) * edge for a, edge in zip(triangle, edges, strict=True)]
        below = select(_margin_above(p, triangle, edges, normal), above * normal, gaps[0])
        for new in (*gaps, below):
            is_nearer = 1.0 if squared is None else squared - dot(new, new)
            gap, squared = select(is_nearer, new, gap), select(is_nearer, dot(new, new), squared)
    distance = sqrt(squared)
    is_clear = select(height, distance - MIN_LENGTH, 0.0)
    gradient = select(is_clear, gap * (1.0 / select(is_clear, distance, 1.0)), face)
    return SignedDistance(select(height, distance, height), gradient)


def balls_around(corners: Array, middle: Array) -> tuple[Array, Array]:
    """Centres, shape (k, 3), and radii, shape (k,), of balls around triangles and a point [m]."""
    centres = (corners.sum(axis=1) + middle) / 4.0
    four = np.concatenate([corners, np.broadcast_to(middle, (len(corners), 1, 3))], axis=1)
    return centres, np.linalg.norm(four - centres[:, None], axis=2).max(axis=1)


def coal_hull(points: Array) -> Any:
    """Return the convex hull of points, shape (k, 3), in coal; a RuntimeError where they lie in a plane."""
    coal = import_module("coal")
    corners = coal.StdVec_Vec3s()
    corners.extend(list(points))
    return coal.Convex.convexHull(corners, True, "Qt")


def loader_reason(error: Exception) -> str:
    """Return the last line of a message of coal's loader that is no hint, without the place in its source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Hint:")]
    return (lines or [type(error).__name__])[-1]


def _coal(what: str) -> ModuleType:
    """The library of collision geometry, which few plans need and which is slow to load."""
    try:
        return import_module("coal")
    except ImportError as error:
        raise InputError(f"the hull of {what} needs coal, which is not installed: pip install coal") from error


def _check_number(n: int, what: str) -> None:
    """Refuse too many triangles."""
    if n > MOST_TRIANGLES:
        raise InputError(
            f"{what} has {n} triangles; allowed are {MOST_TRIANGLES}, because each check goes through all of them:"
            " simplify the mesh"
        )


def _hull_triangles(points: Array, name: str) -> tuple[Array, Array]:
    """Vertices and triangles of the hull of points, after checks."""
    _coal(name)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise InputError(f"the hull of {name} needs four corners or more; their shape is {points.shape}")
    if not np.isfinite(points).all():
        raise InputError(f"{name}: a corner is not finite")
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) / np.sqrt(len(points))
    if sizes[2] <= FLAT * sizes[0]:
        raise InputError(f"the hull of {name} is flat; a thin box is needed for what has no thickness")
    hull = coal_hull(points)
    _check_number(hull.num_polygons, f"the hull of {name}")
    numbers = np.array([[hull.polygons(i)[k] for k in range(3)] for i in range(hull.num_polygons)])
    used, triangles = np.unique(numbers, return_inverse=True)
    return np.array(hull.points())[used], triangles.reshape(-1, 3)


def segment_to_facet(a: Array, b: Array, corners: Array) -> Nearest:
    """Return the nearest points of a segment and a triangle of a hull that it is outside of.

    On an edge, or below an end of the segment; corners (3, 3) are anticlockwise seen from outside [m].
    """
    edges, normal = _edges_and_normal(corners)
    normal_out = length_and_direction(normal, np.array([1.0, 0.0, 0.0]))[1]
    best = between_segments(a, b, corners[0], corners[0] + edges[0])
    for p, edge in zip(corners[1:], edges[1:], strict=True):
        best = _nearer(best, between_segments(a, b, p, p + edge), 1.0)
    for p in (a, b):
        height = dot(p - corners[0], normal_out)
        above = Nearest(abs(height), p, p - height * normal_out, select(height, normal_out, -normal_out))
        best = _nearer(best, above, _margin_above(p, corners, edges, normal))
    return best


def _nearer(one: Nearest, other: Nearest, margin: Scalar) -> Nearest:
    """The other one where its margin is above zero and it is nearer."""
    is_better = minimum(margin, one.distance - other.distance)
    return Nearest(*(select(is_better, y, x) for x, y in zip(one, other, strict=True)))


def _edges_and_normal(corners: Array) -> tuple[Array, Array]:
    """Edges of a triangle, shape (3, 3), and their normal, twice as long as the triangle is large."""
    edges = np.roll(corners, -1, axis=0) - corners
    return edges, cross(edges[0], -edges[2])


def squared_segment_to_facet(a: Array, b: Array, corners: Array, middle: Array) -> Scalar:
    """Return the squared distance of a segment from a triangle of a hull, 0 where it is in the hull behind that [m^2].

    The nearest point is on an edge, or below an end of the segment, or where the segment crosses the triangle; or the
    first end is in the tetrahedron between the triangle and a point inside the hull. The smallest result of all facets
    is the squared distance of the hull: 0 for a segment with a point inside.

    The ends of a point are one and the same array (3,); corners (3, 3) are anticlockwise seen from outside, ``middle``
    (3,) is a point inside the hull [m].

    Examples
    --------
    >>> import numpy as np
    >>> corners, middle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0.2, 0.2, -1.0])
    >>> ends = np.array([0.2, 0.2, 0.5]), np.array([3.0, 3.0, 2.0])
    >>> float(squared_segment_to_facet(*ends, corners, middle))
    0.25
    """
    edges, normal = _edges_and_normal(corners)
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
