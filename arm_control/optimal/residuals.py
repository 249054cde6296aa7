"""Residuals: the errors r(x, u) that costs are made of, with exact derivatives, over any scalar.

    StateError          r = x - target                          of the first states                  [rad, rad/s]
    ControlError        r = u - target                                                               [N m]
    PositionError       r = p - p_target                        of a point of a link, in the world   [m]
    OrientationError    r = log(R_WE R_WT^T)                    rotation vector, world axes          [rad]
    LimitDistance       r = (q - q_min, q_max - q)              of the first states                  [rad]
    ObstacleDistance    r = |p - p_obstacle| - radius           of a point of a link, from a sphere  [m]

When the end effector turns by a small rotation delta, the orientation error changes by

    (1)  dr = (1 - [r]/2 + c [r]^2) delta,     c = (1 - (|r|/2) cot(|r|/2)) / |r|^2

which is finite up to half a turn (the inverse of the left Jacobian of SO(3)); ``[r]`` is the matrix of ``r x``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Scalar, cos, maximum, rotation_vector, select, sin, skew, sqrt
from arm_control.model import State, frame_pose, jacobian

_SMALL = 1e-3
"""Square of an angle [rad^2] below which a series gives c of (1)."""


class Knot:
    """State x (n_x,) and control u (n_u,) at one moment of a plan, over any scalar; of an arm also its kinematics."""

    def __init__(self, x: Array, u: Array, arm: State | None = None) -> None:
        self.x = x
        self.u = u
        self._arm = arm

    @property
    def arm(self) -> State:
        """The arm in this state."""
        if self._arm is None:
            raise InputError("this cost is about an arm, but the dynamics are not an arm's")
        return self._arm

    def point(self, frame: str | None, point: Array) -> tuple[Array, Callable[[], Array]]:
        """Position of a point in the world (3,) [m], and a function that computes its Jacobian (6, n).

        Parameters
        ----------
        frame : str or None
            A link; None: the end effector.
        point : array, shape (3,)
            The point, along the axes of the frame [m].
        """
        arm, tree = self.arm, self.arm.tree
        if frame is not None and frame not in tree.frames:
            raise InputError(f"unknown frame '{frame}'; the model has: {', '.join(tree.frames)}")
        if frame is None:
            body, X = tree.tip.body, arm.X_WE
        else:
            body, X = tree.frames[frame].body, frame_pose(tree.frames[frame], arm.X_W)
        p = X.p + X.R @ point
        return p, lambda: jacobian(tree, arm.X_W, body, p)


class Residual(Protocol):
    """An error that a cost keeps small.

    ``size`` is its number of entries, ``numbers`` are its parameters at run time, such as a target, and ``structure``
    describes its compile-time part.
    """

    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def numbers(self) -> Array: ...  # noqa: D102

    @property
    def structure(self) -> str: ...  # noqa: D102

    def value(self, knot: Knot, z: Array) -> Array:
        """Return r, shape (size,), at a knot; ``z`` are its numbers."""

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """Return r and its derivative by x and u, shape (size, n_x + n_u)."""


@dataclass(frozen=True, eq=False)
class _Linear:
    """``x - target``, of states or controls."""

    target: npt.ArrayLike

    def __post_init__(self) -> None:
        _checked(self.target, type(self).__name__)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.size(self.target))

    @property
    def numbers(self) -> Array:
        """The target."""
        return np.asarray(self.target, dtype=float)

    @property
    def structure(self) -> str:
        """Compile-time part."""
        return type(self).__name__

    def _rows(self, knot: Knot, first: int) -> Array:
        r_xu = np.zeros((self.size, len(knot.x) + len(knot.u)))
        r_xu[np.arange(self.size), first + np.arange(self.size)] = 1.0
        return r_xu


@dataclass(frozen=True, eq=False)
class StateError(_Linear):
    """``x - target``, of the first states: as many as the target has."""

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
        """Compile-time part."""
        return f"PositionError of {self.frame}"

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        return knot.point(self.frame, z[3:])[0] - z[:3]

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        p, J = knot.point(self.frame, z[3:])
        return p - z[:3], _by_positions(knot, J()[:3])


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
    """Distance of joints (or any first states) from their lower and upper limits; to be used with a Barrier."""

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
        """Number of entries: two for each state that has limits."""
        return 2 * len(self._limited)

    @property
    def numbers(self) -> Array:
        """The limits."""
        return np.concatenate([np.asarray(x, dtype=float)[self._limited] for x in (self.q_min, self.q_max)])

    @property
    def structure(self) -> str:
        """Compile-time part."""
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
    """Distance of a sphere about a point of the arm from a sphere in the world [m]; to be used with a Barrier.

    ``radius`` is the sum of both radii.
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
        """Compile-time part."""
        return f"ObstacleDistance of {self.frame}"

    def value(self, knot: Knot, z: Array) -> Array:
        """See :class:`Residual`."""
        difference = knot.point(self.frame, z[4:])[0] - z[:3]
        return np.array([_length(difference) - z[3]])

    def expand(self, knot: Knot, z: Array) -> tuple[Array, Array]:
        """See :class:`Residual`."""
        p, J = knot.point(self.frame, z[4:])
        difference = p - z[:3]
        distance = _length(difference)
        r_q = ((difference / distance) @ J()[:3])[None]
        return np.array([distance - z[3]]), _by_positions(knot, r_q)


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
    """Derivative by x and u of a residual that depends on joint positions only."""
    rest = len(knot.x) + len(knot.u) - r_q.shape[1]
    return np.hstack([r_q, np.zeros((len(r_q), rest))])


def _length(difference: Array) -> Scalar:
    return sqrt(maximum(difference @ difference, 1e-24))


def _checked(values: npt.ArrayLike, name: str, size: int | None = None) -> None:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all() or (size is not None and len(array) != size):
        raise InputError(f"{name} is {array.tolist()}; {size or 'a row of'} finite numbers are needed")
