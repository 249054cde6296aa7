"""Several capsules that contain a mesh, with a bounded excess where a few can have it.

    the triangles, cut until no edge is longer than EDGE
    one piece of all of them; as long as the excess of some capsule is above the bound, and there may be more pieces:
        cut the piece of that capsule in two by a plane across one of its principal axes, so that both capsules
        together have the least volume
    the capsule of a piece: the least volume of those along the principal axes of its corners

Each triangle belongs to one piece, and the capsule of a piece contains the corners of its triangles. A capsule is
convex, so that it contains the triangles, too: nothing of the mesh is outside of the capsules.

The *excess* is the largest distance of a point on a capsule from the convex hulls of the pieces, measured along some
directions. Round capsules cannot follow a flat end: of a cylinder of radius r, a capsule along it has an excess
of r. So the largest number often ends the search; docs/collision.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.core import Cache, default_directory
from arm_control.exceptions import UrdfError
from arm_control.maths import Array, rotation_with_z

EDGE, SHARES = 0.015, (1 / 3, 1 / 2, 2 / 3)
"""Longest edge of a triangle [m], and places of a cut as shares of a piece's length."""
CIRCLE_STEPS = 40
"""Steps of the search for the axis of a capsule."""


def _directions(n: int) -> Array:
    """Unit vectors spread over a sphere by the golden angle, shape (n, 3)."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, k * np.pi * (1.0 + 5.0**0.5)
    return np.stack([np.sqrt(1.0 - z * z) * np.cos(angle), np.sqrt(1.0 - z * z) * np.sin(angle), z], axis=1)


DIRECTIONS = _directions(128)
"""Along these hulls are measured; corners that are the farthest along one of them decide the axis of a capsule."""


EXCESS, MOST = 0.01, 5
"""Excess that is enough [m], and the largest number of capsules of one mesh."""


class FittedCapsule(NamedTuple):
    """Ends of the segment, shape (3,), and radius [m]."""

    a: Array
    b: Array
    radius: float

    @property
    def volume(self) -> float:
        """[m^3]."""
        return float(np.pi * self.radius**2 * (np.linalg.norm(self.b - self.a) + 4.0 / 3.0 * self.radius))

    def distances(self, points: Array) -> Array:
        """Distances of points from the segment, shape (n,) [m]."""
        d = self.b - self.a
        s = np.clip((points - self.a) @ d / max(d @ d, 1e-24), 0.0, 1.0)
        return np.asarray(np.linalg.norm(points - self.a - s[:, None] * d, axis=1))

    @property
    def surface(self) -> Array:
        """Points on it, shape (n, 3) [m]."""
        d = self.b - self.a
        axis = d / max(float(np.linalg.norm(d)), 1e-12)
        side = DIRECTIONS[::2] - np.outer(DIRECTIONS[::2] @ axis, axis)
        side /= np.maximum(np.linalg.norm(side, axis=1), 1e-12)[:, None]
        rings = [self.a + s * d + self.radius * side for s in (0.2, 0.4, 0.6, 0.8)]
        return np.concatenate([self.a + self.radius * DIRECTIONS, self.b + self.radius * DIRECTIONS, *rings])


class Corners(NamedTuple):
    """Corners (n, 3), the numbers of each triangle (m, 3), directions (k, 3), and the corners along these (n, k)."""

    points: Array
    triangles: Array
    directions: Array
    along: Array

    @classmethod
    def of(cls, triangles: Array) -> Corners:
        """The corners of triangles, shape (m, 3, 3); the mesh's own axes are directions, too, since ends are flat."""
        points, numbers = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
        axes = _axes(points)
        directions = np.concatenate([DIRECTIONS, axes, -axes])
        return cls(points, numbers.reshape(-1, 3), directions, points @ directions.T)


def _axes(points: Array) -> Array:
    """Principal axes of points, shape (3, 3), one in each row."""
    spread = points - points.mean(axis=0)
    return np.asarray(np.linalg.eigh(spread.T @ spread)[1].T)


class Piece:
    """Some triangles, by their numbers (k,), and the capsule around them."""

    def __init__(self, corners: Corners, triangles: Array) -> None:
        self.corners, self.triangles = corners, triangles
        these = np.unique(corners.triangles[triangles])
        points, along = corners.points[these], corners.along[these]
        self.hull, outermost = along.max(axis=0), points[np.unique(along.argmax(axis=0))]
        self.axes = _axes(points)
        best = min((_capsule_along(outermost, axis) for axis in self.axes), key=lambda capsule: capsule.volume)
        radius = max(best.radius, float(best.distances(points).max()))
        self.capsule = best._replace(radius=radius * (1.0 + 1e-12))
        self._surface_along = self.capsule.surface @ corners.directions.T

    def excess(self, pieces: list[Piece]) -> float:
        """Largest distance of its capsule from the hulls of pieces [m]."""
        return float(np.min([(self._surface_along - piece.hull).max(axis=1) for piece in pieces], axis=0).max())

    def halves(self) -> Iterator[tuple[Piece, Piece]]:
        """The piece cut in two, in several ways."""
        middles = self.corners.points[self.corners.triangles[self.triangles]].mean(axis=1)
        for axis in self.axes:
            places = middles @ axis
            for share in SHARES:
                is_first = places < places.min() + share * np.ptp(places)
                if is_first.any() and not is_first.all():
                    first, second = self.triangles[is_first], self.triangles[~is_first]
                    yield Piece(self.corners, first), Piece(self.corners, second)


def fit_capsules(triangles: Array, most: int = MOST, excess: float = EXCESS) -> tuple[list[FittedCapsule], float]:
    """Capsules that contain all triangles, and their excess [m].

    Parameters
    ----------
    triangles : ndarray, shape (m, 3, 3)
        Corners [m].
    excess : float
        Excess that is enough [m].

    Examples
    --------
    >>> stick = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.01, 0.0]]])
    >>> (capsule, *_), excess = fit_capsules(stick, most=1)
    >>> round(capsule.radius, 3), round(float(np.linalg.norm(capsule.b - capsule.a)), 1), excess < 0.01
    (0.005, 1.0, True)
    """
    small = _cut(triangles, EDGE)
    pieces = [Piece(Corners.of(small), np.arange(len(small)))]
    while True:
        excesses = [piece.excess(pieces) for piece in pieces]
        worst = int(np.argmax(excesses))
        halves = () if len(pieces) >= most or excesses[worst] <= excess else tuple(pieces[worst].halves())
        if not halves:
            return [piece.capsule for piece in pieces], excesses[worst]
        two = min(halves, key=lambda pair: pair[0].capsule.volume + pair[1].capsule.volume)
        pieces = [*pieces[:worst], *pieces[worst + 1 :], *two]


def _cut(triangles: Array, longest: float) -> Array:
    """The triangles, their longest edges halved until none is longer than that."""
    done = []
    while len(triangles):
        squares = ((np.roll(triangles, -1, axis=1) - triangles) ** 2).sum(axis=2)
        is_long = squares.max(axis=1) > longest**2
        done.append(triangles[~is_long])
        first = squares.argmax(axis=1)[is_long]
        a, b, c = (triangles[is_long, (first[:] + k) % 3] for k in range(3))
        middle = (a + b) / 2.0
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _capsule_along(points: Array, axis: Array) -> FittedCapsule:
    """The capsule of least volume along an axis through the middle of the smallest circle around the points."""
    R = rotation_with_z(axis)
    x = points @ R
    middle = _circle_middle(x[:, :2])
    low, high, radius = enclosing_capsule(x[:, 2], np.linalg.norm(x[:, :2] - middle, axis=1))
    a, b = (R @ np.array([*middle, end]) for end in (low, high))
    return FittedCapsule(a, b, radius)


def _circle_middle(points: Array) -> Array:
    """Middle of a small circle around points in a plane, which moves towards the farthest one in shorter steps."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    best, smallest = middle, np.inf
    for k in range(CIRCLE_STEPS):
        away = points - middle
        squares = (away * away).sum(axis=1)
        farthest = int(squares.argmax())
        if squares[farthest] < smallest:
            best, smallest = middle, float(squares[farthest])
        middle = middle + away[farthest] / (k + 2.0)
    return best


def enclosing_capsule(t: Array, r: Array) -> tuple[float, float, float]:
    """Capsule about an axis that contains a profile, with the smallest volume of 257 radii.

    Parameters
    ----------
    t, r : ndarray, shape (n,)
        Corners: their places along the axis and their distances from it [m].

    Returns
    -------
    low, high : float
        Beginning and end of its segment on the axis [m].
    radius : float
        Its radius [m].
    """
    middle = (t.min() + t.max()) / 2
    ball = np.hypot(t - middle, r).max()
    R = np.hypot(r.max(), np.linspace(0.0, 1.0, 257) ** 2 * np.sqrt(max(ball**2 - r.max() ** 2, 0.0)))
    reach = np.sqrt(np.maximum(R[:, None] ** 2 - r**2, 0.0))
    low, high = (t + reach).min(1), (t - reach).max(1)
    low, high = np.where(low < high, low, (low + high) / 2), np.where(low < high, high, (low + high) / 2)
    best = int((R**2 * (high - low) + 4.0 / 3.0 * R**3).argmin())
    return float(low[best]), float(high[best]), float(R[best])


def mesh_capsules(path: Path, scale: Array) -> tuple[list[FittedCapsule], float]:
    """The capsules of a mesh file, and their excess [m], from the user's cache where the file is the same.

    Raises
    ------
    ImportError, OSError, and those of coal's loader
        When the file cannot be read.
    """
    coal = import_module("coal")
    made_from = [path.suffix.lower(), sha256(path.read_bytes()).hexdigest(), scale.tolist(), MOST, EXCESS, EDGE]
    key, cache = f"capsules of a mesh 2 {made_from}", Cache(default_directory())
    if (data := cache.load(key)) is not None:
        (excess, *numbers) = np.frombuffer(data)
        rows = np.reshape(numbers, (-1, 7))
        return [FittedCapsule(row[:3], row[3:6], float(row[6])) for row in rows], float(excess)
    mesh = coal.MeshLoader().load(str(path), scale)
    numbers = [[mesh.tri_indices(i)[k] for k in range(3)] for i in range(mesh.num_tris)]
    if not numbers:
        raise UrdfError("it has no triangles")
    capsules, excess = fit_capsules(np.array(mesh.vertices()).reshape(-1, 3)[np.array(numbers)])
    stored = np.concatenate([[excess], *([*c.a, *c.b, c.radius] for c in capsules)])
    cache.store(key, stored.tobytes(), f"capsules of {path.name}")
    return capsules, excess
