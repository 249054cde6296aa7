"""Motions proved free by the shapes in the URDF, meshes and all, where the capsules around them touch.

Capsules cannot follow flat ends, so that a posture may be free though its capsules are not. Such motions are few, those
at both ends of a path, and short; coal measures them one by one, among obstacles that rest. At a place s of the motion
from a to b, d is the distance of two shapes, and m the margin:

    (1)  r(s) = min over pairs  (d - m) / w,      w = sum_j (reach_j + R) |b_j - a_j|

Points that are kept to their places (:mod:`arm_control.collision.kept_points`) count as pairs do. The motion is free
from s to s + r. reach_j is that of the segments in the link's capsules
(:mod:`~arm_control.collision.arm_shape`); the link is inside the capsules, so that its points are farther from the axis
of a joint that turns by the largest radius R at most. Between two links the larger R of both counts. Of a pair whose
capsules are farther apart than :data:`NEAR`, that is its d.

A mesh is a surface for coal: what is wholly inside of it touches nothing. So no motion is free that begins with a point
of the one shape around which the surface of the other one winds:

    (2)  sum of the solid angles of the triangles, seen from the point, / (4 pi)  >  1 / 2

Sources: (1) as :mod:`~arm_control.collision.motions`; for (2) A. Jacobson, L. Kavan, O. Sorkine-Hornung, "Robust
inside-outside segmentation using generalized winding numbers", 2013, and A. Van Oosterom, J. Strackee, "The solid angle
of a plane triangle", 1983.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.joint_tables import ROUNDING, RealShape, real_shapes
from arm_control.collision.kept_points import KeptPoints
from arm_control.collision.near_pairs import Proximity
from arm_control.collision.obstacle_rows import Told, is_at_rest, movers_of
from arm_control.exceptions import ModelError
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Hull, Obstacle, Pose, Shape, Sphere, coal_hull
from arm_control.model import State

NEAR = 0.05
"""Distance of capsules, beyond the margin, up to which their shapes are measured [m]."""
MOST_LOOKS = 50
"""Places of one motion that are looked at."""
LEAST_WAY = 1e-12
"""Way that distances are divided by at least [m]."""


class PlacedShape(NamedTuple):
    """A shape of coal in the world or in the frame of its body, its pose there, and a ball around it.

    Attributes
    ----------
    triangles : ndarray, shape (m, 3, 3)
        Of a mesh, in its frame; else none [m].
    inner : ndarray, shape (3,)
        A point of it [m].
    """

    shape: Any
    X: Pose
    triangles: Array
    inner: Array
    centre: Array
    radius: float

    @classmethod
    def of(cls, real: RealShape) -> PlacedShape:
        """A shape of a link in the frame of its body."""
        centre = (real.corners.min(axis=0) + real.corners.max(axis=0)) / 2.0
        radius, triangles = float(np.linalg.norm(real.corners - centre, axis=1).max()), _triangles(real.shape)
        inner = real.X_BS.R @ triangles[0, 0] + real.X_BS.p if len(triangles) else real.X_BS.p
        return cls(real.shape, real.X_BS, triangles, inner, centre, radius)

    def moved(self, X_WB: Pose) -> PlacedShape:
        """The shape in the world, by the pose of its body."""
        inner, centre = (X_WB.R @ p + X_WB.p for p in (self.inner, self.centre))
        return self._replace(X=X_WB @ self.X, inner=inner, centre=centre)


class ShapeProof:
    """Proves motions of one arm among obstacles that rest.

    Parameters
    ----------
    margin, link_margin : float
        Smallest distance that counts as free, to obstacles and between links [m].

    Raises
    ------
    ImportError, OSError, ValueError
        Without coal, or where a mesh cannot be read.
    """

    def __init__(
        self,
        shape: ArmShape,
        link_pairs: Sequence[tuple[str, str]],
        margin: float,
        link_margin: float,
        kept: KeptPoints,
    ) -> None:
        self._shape, self._margins, self._kept = shape, (margin, link_margin), kept
        self._links = {name: [PlacedShape.of(real) for real in real_shapes(shape.model, name)] for name in shape.names}
        self._proximity = Proximity(shape.model, link_pairs, shape)
        number = {name: k for k, name in enumerate(shape.names)}
        radius = {
            name: max(c.radius for c in link.whole.capsules)
            for name, link in zip(shape.names, shape.links, strict=True)
        }
        self._reach = {(name, ""): shape.reach(k) + shape.turning(k) * radius[name] for name, k in number.items()}
        for one, other in link_pairs:
            g, h = number[one], number[other]
            reach = shape.pair_reach(g, h) + shape.turning(g, h) * max(radius[one], radius[other])
            self._reach[one, other] = self._reach[other, one] = reach
        self._obstacles: list[Obstacle] = []
        self._placed: list[PlacedShape] = []

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Prove among these obstacles from now on; all of them rest."""
        self._obstacles = list(obstacles)
        self._placed = [_placed_obstacle(obstacle) for obstacle in obstacles]

    def is_free(self, a: Array, b: Array, deviation: Array) -> bool:
        """Whether a motion from a to b, and all within a deviation of it, are free; shape (n,) each [rad or m]."""
        s, moved = 0.0, np.abs(b - a)
        for look in range(MOST_LOOKS):
            r = self._free_share(a + s * (b - a), moved, deviation, is_first=look == 0)
            s += r
            if r <= 0.0 or s >= 1.0:
                break
        return r > 0.0 and s >= 1.0

    def _free_share(self, q: Array, moved: Array, deviation: Array, is_first: bool) -> float:
        """Equation (1); 0 for contact, and at the first place for (2), too."""
        room = NEAR + max(self._margins)
        near = self._proximity.near(q, self._obstacles, room, room)
        ways = {names: (float(reach @ moved), float(reach @ deviation)) for names, reach in self._reach.items()}
        r = min(((NEAR - ROUNDING - aside) / max(way, LEAST_WAY) for way, aside in ways.values()), default=np.inf)
        X_W = State(self._shape.model.tree, {"q": q}).X_W
        kept = self._kept
        for room, reach in zip(kept.rooms(X_W), kept.reach, strict=True):
            r = min(r, float(room - ROUNDING - reach @ deviation) / max(float(reach @ moved), LEAST_WAY))
        placed = self._placed_links(X_W)
        for (name, other), rho, obstacle in zip(near.names, near.rho.tolist(), near.obstacle.tolist(), strict=True):
            way, aside = ways[name, other if obstacle < 0 else ""]
            gap = self._margins[obstacle < 0] + ROUNDING + aside
            if (rho - gap) >= r * way and rho > gap:
                continue
            others = placed[other] if obstacle < 0 else [self._placed[obstacle]]
            distance = max(rho, _distance(placed[name], others))
            if distance <= gap or (is_first and rho <= 0.0 and _are_within(placed[name], others)):
                return 0.0
            r = min(r, (distance - gap) / max(way, LEAST_WAY))
        return max(r, 0.0)

    def _placed_links(self, X_W: Sequence[Pose]) -> dict[str, list[PlacedShape]]:
        X_W = [*X_W, Pose.identity()]  # the last one is the world's
        frames = self._shape.model.tree.frames
        return {name: [part.moved(X_W[frames[name].body]) for part in parts] for name, parts in self._links.items()}


def _triangles(shape: Any) -> Array:
    """Corners of the triangles of a mesh, shape (m, 3, 3); of another shape none."""
    if not hasattr(shape, "tri_indices"):
        return np.zeros((0, 3, 3))
    numbers = np.array([[shape.tri_indices(i)[k] for k in range(3)] for i in range(shape.num_tris)])
    return np.array(shape.vertices()).reshape(-1, 3)[numbers]


@cache
def _coal() -> Any:
    return import_module("coal")


def _transform(X: Pose) -> Any:
    return _coal().Transform3s(np.array(X.R, dtype=float), np.array(X.p, dtype=float))


def _placed_obstacle(obstacle: Obstacle) -> PlacedShape:
    shape, X = obstacle.shape, obstacle.X_WO
    inner = X.R @ shape.middle + X.p if isinstance(shape, Hull) else X.p
    return PlacedShape(coal_shape(shape), X, np.zeros((0, 3, 3)), inner, inner, np.inf)


def _distance(ones: Sequence[PlacedShape], others: Sequence[PlacedShape]) -> float:
    """Smallest distance of shapes [m]; zero or below for contact."""
    coal, smallest = _coal(), np.inf
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    for one, other in _both(ones, others):
        if np.linalg.norm(one.centre - other.centre) - one.radius - other.radius < smallest:
            result.clear()
            X = _transform(one.X)
            smallest = min(smallest, coal.distance(one.shape, X, other.shape, _transform(other.X), request, result))
            if smallest <= 0.0:
                break
    return float(smallest)


def _both(ones: Sequence[PlacedShape], others: Sequence[PlacedShape]) -> Iterator[tuple[PlacedShape, PlacedShape]]:
    return ((one, other) for one in ones for other in others)


def _are_within(ones: Sequence[PlacedShape], others: Sequence[PlacedShape]) -> bool:
    """Whether a shape that touches no other one is inside of a mesh, (2)."""
    pairs = [*_both(ones, others), *_both(others, ones)]
    return any(_winds_around(mesh, other.inner) for mesh, other in pairs if len(mesh.triangles))


def _winds_around(mesh: PlacedShape, p: Array) -> bool:
    """Equation (2)."""
    if np.linalg.norm(p - mesh.centre) > mesh.radius:
        return False
    x = mesh.X.R.T @ (p - mesh.X.p)
    return bool(abs(winding_number(mesh.triangles, x)) > 0.5)


def winding_number(triangles: Array, p: Array) -> float:
    """How often a surface of triangles, shape (m, 3, 3), winds around a point: 1 inside, 0 outside of a closed one.

    Examples
    --------
    >>> corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> tetrahedron = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    >>> [round(winding_number(tetrahedron, np.full(3, x)), 6) for x in (0.1, 0.9)]
    [1.0, 0.0]
    """
    a, b, c = np.moveaxis(triangles - p, 1, 0)
    x, y, z = (np.linalg.norm(corner, axis=1) for corner in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a)))
    return float(np.arctan2(volume, x * y * z + ab * z + bc * x + ca * y).sum() / (2.0 * np.pi))


def resting(placed: Sequence[Told]) -> list[Obstacle] | None:
    """The obstacles, if all of them rest and are there from time 0 on; else None."""
    found = [movers_of(told)[0].obstacle for told in placed if is_at_rest(told)]
    return found if len(found) == len(placed) else None


def coal_shape(shape: Shape) -> Any:
    """Return the same shape in coal.

    Raises
    ------
    ModelError
        When coal has no such shape.
    """
    coal = _coal()
    match shape:
        case Hull(vertices):
            return coal_hull(vertices)
        case Sphere(radius):
            return coal.Sphere(radius)
        case Box(size):
            return coal.Box(*size)
        case Cylinder(radius, length):
            return coal.Cylinder(radius, length)
        case Cone(radius, length):
            return coal.Cone(radius, length)
        case Capsule(radius, length):
            return coal.Capsule(radius, length)
    raise ModelError(f"{shape}: no shape of coal")
