"""Residuals: what a cost is made of, with the exact derivative by state and control, over any scalar.

The orientation's error is the rotation vector ``r = log(R_WE R_WT^T)`` in the world's axes. When the end effector
turns by a small rotation delta, it changes by

    dr = (1 - [r]/2 + c [r]^2) delta,     c = (1 - (|r|/2) cot(|r|/2)) / |r|^2                      (1)

which is finite up to half a turn (the inverse of the left Jacobian of SO(3)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array, rotation_vector
from arm_control.maths.scalars import Scalar, cos, maximum, select, sin, sqrt
from arm_control.maths.vectors import skew
from arm_control.planning.knot import Knot

_SMALL = 1e-3
"""Square of an angle [rad^2] below which c of (1) is a series."""


class Residual(Protocol):
    """What is to be small.

    ``size`` is its number of entries, ``numbers`` what of it is not compiled, and ``structure`` says all the rest.
    """

    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def numbers(self) -> Array: ...  # noqa: D102

    @property
    def structure(self) -> str: ...  # noqa: D102

    def value(self, knot: Knot, z: Array) -> Array:
        """Return the residual, shape (size,); ``z`` are its numbers."""

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """Return it and its derivative by x and u, shape (size, n_x + n_u)."""


@dataclass(frozen=True, eq=False)
class _Linear:
    """``x - target``, of states or controls."""

    target: npt.ArrayLike

    def __post_init__(self) -> None:
        _checked(self.target, type(self).__name__)

    @property
    def size(self) -> int:
        """Entries."""
        return int(np.size(self.target))

    @property
    def numbers(self) -> Array:
        """The target."""
        return np.asarray(self.target, dtype=float)

    @property
    def structure(self) -> str:
        """Says what is compiled."""
        return type(self).__name__

    def _rows(self, knot: Knot, first: int) -> Array:
        r_xu = np.zeros((self.size, len(knot.x) + len(knot.u)))
        r_xu[np.arange(self.size), first + np.arange(self.size)] = 1.0
        return r_xu


@dataclass(frozen=True, eq=False)
class StateError(_Linear):
    """``x - target``: of as many states as the target has, the first ones."""

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        return knot.x[: self.size] - z

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        return self.value(knot, z), self._rows(knot, 0)


@dataclass(frozen=True, eq=False)
class ControlError(_Linear):
    """``u - target``."""

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        return knot.u - z

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        return self.value(knot, z), self._rows(knot, len(knot.x))


@dataclass(frozen=True, eq=False)
class PositionError:
    """``p - target`` of the end effector, or of a point of a link, in the world [m]."""

    target: npt.ArrayLike
    frame: str | None = None
    point: npt.ArrayLike = (0.0, 0.0, 0.0)
    size: int = 3

    def __post_init__(self) -> None:
        _checked(self.target, "target", 3)
        _checked(self.point, "point", 3)

    @property
    def numbers(self) -> Array:
        """Target and point."""
        return np.concatenate([np.asarray(x, dtype=float) for x in (self.target, self.point)])

    @property
    def structure(self) -> str:
        """Says what is compiled."""
        return f"PositionError of {self.frame}"

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        return knot.point(self.frame, z[3:])[0] - z[:3]

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        p, J = knot.point(self.frame, z[3:])
        return p - z[:3], _by_positions(knot, J[:3])


@dataclass(frozen=True, eq=False)
class OrientationError:
    """Rotation vector from the target ``R_WT`` to the end effector, in the world's axes [rad]."""

    R_WT: Any
    size: int = 3
    structure: str = "OrientationError"

    def __post_init__(self) -> None:
        R = np.asarray(self.R_WT, dtype=float)
        if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
            raise InputError(f"R_WT is no rotation matrix: {R.tolist()}")

    @property
    def numbers(self) -> Array:
        """The target."""
        return np.asarray(self.R_WT, dtype=float).ravel()

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        return rotation_vector(knot.arm.R_WE @ z.reshape(3, 3).T)

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        r = self.value(knot, z)
        return r, _by_positions(knot, log_derivative(r) @ knot.arm.J[3:])


@dataclass(frozen=True, eq=False)
class LimitDistance:
    """How far joints (or any first states) are above their lower and below their upper limits; give it a Barrier."""

    q_min: npt.ArrayLike
    q_max: npt.ArrayLike

    def __post_init__(self) -> None:
        low, high = np.asarray(self.q_min, dtype=float), np.asarray(self.q_max, dtype=float)
        if low.shape != high.shape or not (low < high).all():
            raise InputError(f"limits cross: q_min {low}, q_max {high}")

    @property
    def _limited(self) -> Array:
        return np.flatnonzero(np.isfinite(np.asarray(self.q_min)) & np.isfinite(np.asarray(self.q_max)))

    @property
    def size(self) -> int:
        """Two for each state that has limits."""
        return 2 * len(self._limited)

    @property
    def numbers(self) -> Array:
        """The limits."""
        return np.concatenate([np.asarray(x, dtype=float)[self._limited] for x in (self.q_min, self.q_max)])

    @property
    def structure(self) -> str:
        """Says what is compiled."""
        return f"LimitDistance of {self._limited.tolist()}"

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        q, m = knot.x[self._limited], len(self._limited)
        return np.concatenate([q - z[:m], z[m:] - q])

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        m = len(self._limited)
        r_xu = np.zeros((2 * m, len(knot.x) + len(knot.u)))
        r_xu[np.arange(m), self._limited], r_xu[m + np.arange(m), self._limited] = 1.0, -1.0
        return self.value(knot, z), r_xu


@dataclass(frozen=True, eq=False)
class ObstacleDistance:
    """Distance of a sphere about a point of the arm from a sphere in the world [m]; give it a Barrier.

    ``radius`` is that of both together.
    """

    centre: npt.ArrayLike
    radius: float
    frame: str | None = None
    point: npt.ArrayLike = (0.0, 0.0, 0.0)
    size: int = 1

    def __post_init__(self) -> None:
        _checked(np.append(np.asarray(self.centre, dtype=float), self.radius), "obstacle", 4)
        _checked(self.point, "point", 3)

    @property
    def numbers(self) -> Array:
        """Centre, radius and point."""
        return np.concatenate([np.asarray(x, dtype=float) for x in (self.centre, [self.radius], self.point)])

    @property
    def structure(self) -> str:
        """Says what is compiled."""
        return f"ObstacleDistance of {self.frame}"

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        way = knot.point(self.frame, z[4:])[0] - z[:3]
        return np.array([_length(way) - z[3]])

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        p, J = knot.point(self.frame, z[4:])
        way = p - z[:3]
        return np.array([_length(way) - z[3]]), _by_positions(knot, ((way / _length(way)) @ J[:3])[None])


def log_derivative(r: Array) -> Array:
    """Matrix of equation (1), shape (3, 3)."""
    square = r @ r
    is_small = _SMALL - square
    safe = select(is_small, 1.0, square)
    half = 0.5 * sqrt(safe)
    series = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square * (1.0 / 1209600.0)))
    c = select(is_small, series, (1.0 - half * cos(half) / sin(half)) / safe)
    X = skew(r)
    return np.eye(3) - 0.5 * X + c * (X @ X)


def _by_positions(knot: Knot, r_q: Array) -> Array:
    rest = len(knot.x) + len(knot.u) - r_q.shape[1]
    return np.hstack([r_q, np.zeros((len(r_q), rest))])


def _length(way: Array) -> Scalar:
    return sqrt(maximum(way @ way, 1e-24))


def _checked(values: npt.ArrayLike, what: str, size: int | None = None) -> None:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all() or (size is not None and len(array) != size):
        raise InputError(f"{what} is {array.tolist()}; {size or 'a row of'} finite numbers are needed")
