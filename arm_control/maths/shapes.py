"""Convex shapes and their signed distances.

Each shape sits at the origin of its own frame, the ones with an axis along z. The signed distance of a point
is its distance to the surface, negative inside; its gradient is the unit vector that leads away fastest. Both
are exact, also at corners. As a function of the point it is convex, since the shapes are: that is what the
search along a segment in :mod:`arm_control.maths.segments` rests on.

Where the gradient is not unique (the centre of a sphere, the axis of a cylinder, equally near faces) one of
the possible ones is returned, always of length 1 and never a NaN. The distances are written for one point over
any scalar, without a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.columns import columns, rows
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, maximum, minimum, select, sqrt
from arm_control.maths.vectors import TINY, choose, clip, length_and_direction, magnitude

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


class SignedDistance(NamedTuple):
    """Signed distance of a point [m], and its gradient, shape (3,)."""

    distance: Scalar
    gradient: Array


Distance: TypeAlias = Callable[[Array], SignedDistance]


def to_ball(p: Array, radius: Scalar) -> SignedDistance:
    """Signed distance of a point p, shape (3,) [m], to a ball."""
    distance, gradient = length_and_direction(p, X_AXIS)
    return SignedDistance(distance - radius, gradient)


def to_capsule(p: Array, radius: Scalar, half: Scalar) -> SignedDistance:
    """Signed distance to all within ``radius`` of a segment along z, from -half to half."""
    return to_ball(np.array([p[0], p[1], p[2] - clip(p[2], -half, half)]), radius)


def to_box(p: Array, half: Array) -> SignedDistance:
    """Signed distance to a box; ``half`` is half of its edges, shape (3,)."""
    sign = np.array([select(-x, -1.0, 1.0) for x in p])
    over = np.array([magnitude(x) for x in p]) - half
    yz, y = over[1] - over[0], choose(over[1] - over[0], Y_AXIS, X_AXIS)
    deepest = select(yz, over[1], over[0])
    face = choose(over[2] - deepest, Z_AXIS, y)
    length, direction = length_and_direction(np.array([maximum(x, 0.0) for x in over]), face)
    return SignedDistance(select(length - TINY, length, maximum(deepest, over[2])), sign * direction)


def to_turned(p: Array, below: Scalar, above: Scalar, half: Scalar) -> SignedDistance:
    """Signed distance to a cylinder, a cone, or what lies between them.

    ``below`` and ``above`` are its radii at ``z = -half`` and ``z = half``. In the half plane of the point the
    nearest point is on one of three edges; inside, the nearest edge's line counts.
    """
    r, z = sqrt(p[0] * p[0] + p[1] * p[1]), p[2]
    slant = sqrt((above - below) * (above - below) + 4.0 * half * half)
    along = np.array([above - below, 2.0 * half]) * (1.0 / slant)
    x = np.array([r - below, z + half])
    edges = (  # height above the edge's line, its normal, and the vector from the nearest point on it
        (-z - half, np.array([0.0, -1.0]), np.array([r - clip(r, 0.0, below), z + half])),
        (x[0] * along[1] - x[1] * along[0], np.array([along[1], -along[0]]), x - clip(x @ along, 0.0, slant) * along),
        (z - half, np.array([0.0, 1.0]), np.array([r - clip(r, 0.0, above), z - half])),
    )
    height, normal, gap = edges[0]
    squared = gap @ gap
    for height_new, normal_new, gap_new in edges[1:]:
        normal = choose(height_new - height, normal_new, normal)
        height = maximum(height, height_new)
        squared_new = gap_new @ gap_new
        gap = choose(squared - squared_new, gap_new, gap)
        squared = minimum(squared, squared_new)
    distance = sqrt(squared)
    is_clear = select(height, distance - TINY, 0.0)
    slope = choose(is_clear, gap * (1.0 / select(is_clear, distance, 1.0)), normal)
    off_axis = r - TINY
    radial = choose(off_axis, p[:2] * (1.0 / select(off_axis, r, 1.0)), np.array([1.0, 0.0]))
    gradient = np.array([slope[0] * radial[0], slope[0] * radial[1], slope[1]])
    return SignedDistance(select(height, distance, height), gradient)


class _Shape:
    """What all shapes have."""

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        raise NotImplementedError

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distances, shape (...) [m], of points p, shape (..., 3) [m], and their gradients, (..., 3)."""
        p = np.asarray(p, dtype=float)
        points = p.reshape(-1, 3)
        distance, gradient = self.distance(columns(points.T))
        n = len(points)
        return SignedDistance(rows(distance, n).reshape(p.shape[:-1]), rows(gradient, n).T.reshape(p.shape))


@dataclass(frozen=True)
class Sphere(_Shape):
    """A ball around the origin; ``radius`` in m."""

    radius: float

    def __post_init__(self) -> None:
        _check(self, self.radius)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return self.radius

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_ball, radius=self.radius)


@dataclass(frozen=True)
class Capsule(_Shape):
    """All points within ``radius`` of a segment of ``length`` along z, the origin in its middle [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check(self, self.radius, self.length)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return self.radius + self.length / 2

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_capsule, radius=self.radius, half=self.length / 2)


@dataclass(frozen=True)
class Box(_Shape):
    """A box; ``size`` is its three edges [m]."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        if len(self.size) != 3:
            raise InputError(f"a box has three edges, not {len(self.size)}")
        _check(self, *self.size)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return math.hypot(*self.size) / 2

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_box, half=np.array(self.size) / 2)


@dataclass(frozen=True)
class _Turned(_Shape):
    """A solid turned about z: ``radius``, and ``length`` along z, the origin in its middle [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check(self, self.radius, self.length)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return math.hypot(self.radius, self.length / 2)


@dataclass(frozen=True)
class Cylinder(_Turned):
    """A cylinder with flat ends: ``radius``, and ``length`` along z, the origin in its middle [m]."""

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_turned, below=self.radius, above=self.radius, half=self.length / 2)


@dataclass(frozen=True)
class Cone(_Turned):
    """A cone: base of ``radius`` at ``z = -length / 2``, apex at ``z = length / 2`` [m]."""

    @property
    def distance(self) -> Distance:
        """Signed distance of a point, over any scalar."""
        return partial(to_turned, below=self.radius, above=0.0, half=self.length / 2)


Shape: TypeAlias = Sphere | Capsule | Box | Cylinder | Cone


def _check(shape: object, *sizes: float) -> None:
    if not all(math.isfinite(size) and size > 0.0 for size in sizes):
        raise InputError(f"{shape}: every size must be finite and above 0")
