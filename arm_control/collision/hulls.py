"""Convex hulls of points and of mesh files as obstacles.

A hull is the union of tetrahedra between its triangles and a point inside of it. The distance of a segment outside is
that of the nearest triangle; a segment that has a point in a tetrahedron is inside. So a row of a table is a triangle
with that point, a hull is as many rows as it has triangles, and a law goes through them as through other obstacles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, Span

MOST_TRIANGLES = 1000
"""Of a hull: each is a row that each check goes through."""
FLAT = 1e-5
"""Thickness of a hull as a share of its length below which it has no volume."""
INSIDE = 1e-6
"""Depth of a corner inside a hull, as a share of the hull's length, from which on the mesh does not count as convex."""
BLOCK = 10_000
"""Corners whose depth is computed at once."""


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex hull.

    Attributes
    ----------
    triangles : ndarray, shape (k, 3, 3)
        Corners of its triangles, anticlockwise seen from outside [m].
    note : str
        Sentence that says how far the hull is from the mesh it was made of; empty for a convex one.
    """

    triangles: Array
    note: str = ""

    @classmethod
    def of_points(cls, points: npt.ArrayLike) -> Hull:
        """The hull of points.

        Parameters
        ----------
        points : array_like, shape (m, 3)
            [m].

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
        return cls(_hull_triangles(np.asarray(points, dtype=float), "points"))

    @classmethod
    def of_mesh(cls, path: Path, scale: float = 1.0) -> Hull:
        """The hull of a mesh file.

        Parameters
        ----------
        path : Path
            A file that coal reads, such as STL, OBJ or DAE.
        scale : float
            Of its coordinates [m].

        Raises
        ------
        InputError
            When it cannot be read or has no corners, and as for :meth:`of_points`.
        """
        coal = _coal(f"the mesh {path.name}")
        if not path.is_file():
            raise InputError(f"the mesh {path} does not exist")
        try:
            points = np.array(coal.MeshLoader().load(str(path), np.full(3, float(scale))).vertices()).reshape(-1, 3)
        except Exception as error:  # the loader raises errors of many types
            raise InputError(f"the mesh {path} cannot be read: {error}") from error
        hull = cls(_hull_triangles(points, f"the mesh {path.name}"))
        depth = hull._depth(points)
        if depth <= INSIDE * hull.extent:
            return hull
        return cls(hull.triangles, f"{path.name} is not convex: its hull is taken, up to {depth:.2g} m outside of it")

    @cached_property
    def middle(self) -> Array:
        """A point inside, shape (3,) [m]."""
        return np.asarray(self.triangles.mean(axis=(0, 1)))

    @cached_property
    def extent(self) -> float:
        """Radius of the ball around the origin that contains it [m]."""
        return float(np.linalg.norm(self.triangles, axis=2).max())

    def _depth(self, points: Array) -> float:
        """How deep the deepest of some points lies inside [m]."""
        a, b, c = np.moveaxis(self.triangles, 1, 0)
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        heights = np.einsum("ki,ki->k", normals, a)
        blocks = range(0, len(points), BLOCK)
        return float(max((heights - points[k : k + BLOCK] @ normals.T).min(axis=1).max() for k in blocks))


@dataclass(frozen=True, eq=False)
class HullObstacle:
    """A hull in the world.

    Attributes
    ----------
    hull : Hull
    X_WO : Pose
        Its pose at the begin of its span, or at time 0 where the span has begun always.
    V_WO : ndarray, shape (6,)
        Twist of its origin, linear [m/s] and angular [rad/s], world axes.
    span : Span, optional
        The time in which it is present; by default always.
    """

    hull: Hull
    X_WO: Pose
    V_WO: Array | tuple[float, ...] = (0.0,) * 6
    span: Span | None = None

    def __post_init__(self) -> None:
        for name, values, shape in (("R", self.X_WO.R, (3, 3)), ("p", self.X_WO.p, (3,)), ("V_WO", self.V_WO, (6,))):
            if np.shape(values) != shape or not np.isfinite(values).all():
                raise InputError(f"hull: {name} is {values}; {shape} finite numbers are needed")


def _coal(what: str) -> ModuleType:
    """The library of collision geometry, which few plans need and which is slow to load."""
    try:
        return import_module("coal")
    except ImportError as error:
        raise InputError(f"the hull of {what} needs coal, which is not installed: pip install coal") from error


def _hull_triangles(points: Array, name: str) -> Array:
    """Triangles of the hull of points, shape (k, 3, 3), after checks."""
    coal = _coal(name)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise InputError(f"the hull of {name} needs four corners or more; their shape is {points.shape}")
    if not np.isfinite(points).all():
        raise InputError(f"{name}: a corner is not finite")
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) / np.sqrt(len(points))
    if sizes[2] <= FLAT * sizes[0]:
        raise InputError(f"the hull of {name} is flat; a thin box is needed for what has no thickness")
    corners = coal.StdVec_Vec3s()
    corners.extend(list(points))
    hull = coal.Convex.convexHull(corners, True, "Qt")
    n = hull.num_polygons
    if n > MOST_TRIANGLES:
        raise InputError(
            f"the hull of {name} has {n} triangles; allowed are {MOST_TRIANGLES}, because each check goes through all"
            " of them: simplify the mesh"
        )
    numbers = [[hull.polygons(i)[k] for k in range(3)] for i in range(n)]
    return np.asarray(np.array(hull.points())[np.array(numbers)])
