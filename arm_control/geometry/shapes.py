"""Convex shapes and their signed distances.

Each shape sits at the origin of its own frame, the ones with an axis along z. The signed distance of a point
is its distance to the surface, negative inside; its gradient is the unit vector that leads away fastest. Both
are exact, also at corners. As a function of the point it is convex, since the shapes are: that is what the
search along a segment in :mod:`arm_control.geometry.segments` rests on.

Where the gradient is not unique (the centre of a sphere, the axis of a cylinder, equally near faces) one of
the possible ones is returned, always of length 1 and never a NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.spatial import Array

TINY = 1e-12
"""Distance below which a direction is not taken from a difference of points [m]."""


class SignedDistance(NamedTuple):
    """Signed distance of points, shape (...) [m], and its gradient, shape (..., 3)."""

    distance: Array
    gradient: Array


@dataclass(frozen=True)
class Sphere:
    """A ball around the origin; ``radius`` in m."""

    radius: float

    def __post_init__(self) -> None:
        _check(self, self.radius)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return self.radius

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distance of points p, shape (..., 3) [m], and its gradient."""
        distance, gradient = length_and_direction(np.asarray(p, dtype=float))
        return SignedDistance(distance - self.radius, gradient)


@dataclass(frozen=True)
class Capsule:
    """All points within ``radius`` of a segment of ``length`` along z, the origin in its middle [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check(self, self.radius, self.length)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return self.radius + self.length / 2

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distance of points p, shape (..., 3) [m], and its gradient."""
        p = np.array(p, dtype=float)
        p[..., 2] -= np.clip(p[..., 2], -self.length / 2, self.length / 2)
        distance, gradient = length_and_direction(p)
        return SignedDistance(distance - self.radius, gradient)


@dataclass(frozen=True)
class Box:
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

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distance of points p, shape (..., 3) [m], and its gradient."""
        p = np.asarray(p, dtype=float)
        sign = np.where(p < 0.0, -1.0, 1.0)
        over = np.abs(p) - np.array(self.size) / 2
        face = np.eye(3)[over.argmax(-1)]
        distance, direction = length_and_direction(np.maximum(over, 0.0))
        outside = distance > TINY
        gradient = sign * np.where(outside[..., None], direction, face)
        return SignedDistance(np.where(outside, distance, over.max(-1)), gradient)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder with flat ends: ``radius``, and ``length`` along z, the origin in its middle [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check(self, self.radius, self.length)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return math.hypot(self.radius, self.length / 2)

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distance of points p, shape (..., 3) [m], and its gradient."""
        r, h = self.radius, self.length / 2
        return _revolved(np.asarray(p, dtype=float), np.array([[0, -h], [r, -h], [r, h], [0, h]]))


@dataclass(frozen=True)
class Cone:
    """A cone: base of ``radius`` at ``z = -length / 2``, apex at ``z = length / 2`` [m]."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check(self, self.radius, self.length)

    @property
    def extent(self) -> float:
        """Radius of the ball around the origin that holds the shape [m]."""
        return math.hypot(self.radius, self.length / 2)

    def signed_distance(self, p: npt.ArrayLike) -> SignedDistance:
        """Signed distance of points p, shape (..., 3) [m], and its gradient."""
        r, h = self.radius, self.length / 2
        return _revolved(np.asarray(p, dtype=float), np.array([[0, -h], [r, -h], [0, h]]))


Shape: TypeAlias = Sphere | Capsule | Box | Cylinder | Cone


def length_and_direction(x: Array) -> tuple[Array, Array]:
    """Lengths of vectors, shape (..., 3), and their directions; of one without length, the x axis."""
    length = np.sqrt(np.einsum("...i,...i->...", x, x))
    has_one = length > TINY
    direction = x / np.where(has_one, length, 1.0)[..., None]
    return length, np.where(has_one[..., None], direction, (1.0, 0.0, 0.0))


def _check(shape: object, *sizes: float) -> None:
    if not all(math.isfinite(size) and size > 0.0 for size in sizes):
        raise InputError(f"{shape}: every size must be finite and above 0")


def _revolved(p: Array, corners: Array) -> SignedDistance:
    """Signed distance to the solid that a convex profile makes as it turns about z.

    ``corners``, shape (k, 2), are radius and height, from the axis below round to the axis above. In the
    half plane of the point the nearest point is on one of the edges; inside, the nearest edge's line counts.
    """
    r = np.hypot(p[..., 0], p[..., 1])
    along = np.diff(corners, axis=0)
    lengths = np.hypot(*along.T)
    along = along / lengths[:, None]
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    x = np.stack([r, p[..., 2]], axis=-1)[..., None, :] - corners[:-1]
    height = (x * normals).sum(-1)
    x = x - np.clip((x * along).sum(-1), 0.0, lengths)[..., None] * along
    distance = np.hypot(x[..., 0], x[..., 1])
    inside = (height <= 0.0).all(-1)
    edge = np.where(inside, height.argmax(-1), distance.argmin(-1))[..., None]
    height, distance = (np.take_along_axis(values, edge, -1)[..., 0] for values in (height, distance))
    x = np.take_along_axis(x, edge[..., None], -2)[..., 0, :]
    flat = inside | (distance <= TINY)
    slope = np.where(flat[..., None], normals[edge[..., 0]], x / np.where(flat, 1.0, distance)[..., None])
    off_axis = r > TINY
    radial = np.where(off_axis[..., None], p[..., :2] / np.where(off_axis, r, 1.0)[..., None], (1.0, 0.0))
    gradient = np.concatenate([slope[..., :1] * radial, slope[..., 1:]], axis=-1)
    return SignedDistance(np.where(inside, height, distance), gradient)
