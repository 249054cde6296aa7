"""What is asked of a planner along a task: the path of the end effector, the limits, and how the tree grows.

    path = circle([0.5, 0.0, 0.4], 0.1, normal=[1.0, 0.0, 0.0])
    path.at([0.0, 0.5]).y                   # positions, shape (2, 3)

A path gives the position of the end effector as a function of a parameter s from 0 to 1, with its first two
derivatives. The planner takes it in pieces: between two neighbouring samples the quintic polynomial that has the value
and both derivatives of the path at both ends. What it is off the path in between is measured, and must be below
:data:`TOLERANCE`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import Placed, Validity
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import quintic

AXES = ("x", "y", "z")
"""Rows that a path may have: coordinates of the end effector's position in the world."""
TOLERANCE = 1e-7
"""Largest distance of the pieces from the path [m]."""
CHECKS = np.array([0.25, 0.5, 0.75])
"""Shares of a piece at which that is measured."""
TURN = 2.0 * np.pi


class PathPoints(NamedTuple):
    """A path at k places.

    Attributes
    ----------
    y, y_s, y_ss : ndarray, shape (k, m)
        Position and its derivatives by s [m].
    """

    y: Array
    y_s: Array
    y_ss: Array


@dataclass(frozen=True)
class TaskPath:
    """A path of the end effector's position.

    Attributes
    ----------
    function : callable
        From places s, shape (k,), to position, first and second derivative, shape (k, m) each.
    rows : tuple of str
        The m coordinates of the position that are prescribed, of :data:`AXES`; the others are free.
    """

    function: Callable[[Array], tuple[Array, Array, Array]]
    rows: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.rows or not set(self.rows) <= set(AXES) or self.rows != tuple(sorted(set(self.rows))):
            raise InputError(f"rows of a task path are {self.rows}; allowed: some of x, y, z, in this order")
        for values in self.function(np.array([0.0, 1.0])):
            if np.shape(values) != (2, len(self.rows)) or not np.isfinite(values).all():
                raise InputError(
                    f"a task path of {len(self.rows)} rows has values of shape {np.shape(values)} at 2 places"
                )

    @property
    def numbers(self) -> list[int]:
        """Numbers of the rows in a position."""
        return [AXES.index(row) for row in self.rows]

    def at(self, s: npt.ArrayLike) -> PathPoints:
        """The path at places, shape (k,)."""
        return PathPoints(*self.function(np.asarray(s, dtype=float)))

    def pieces(self, n: int) -> Array:
        """Coefficients of the pieces by the way from their begin, degree 0 to 5, shape (n, 6, m).

        Raises
        ------
        InputError
            When the path is not smooth, or has too many bends for so few pieces.
        """
        s = np.linspace(0.0, 1.0, n + 1)
        y, y_s, y_ss = self.at(s)
        pieces = quintic(y[:-1], y_s[:-1], y_ss[:-1], y[1:], y_s[1:], y_ss[1:], 1.0 / n)
        computed = ((CHECKS / n)[:, None] ** np.arange(6)) @ pieces
        expected = self.at((s[:-1, None] + CHECKS / n).ravel()).y
        error = np.abs(computed.reshape(expected.shape) - expected).max()
        if not error <= TOLERANCE:
            raise InputError(
                f"{n} pieces are up to {error:.1e} m off the task path: it must be smooth, or more samples are needed"
            )
        return pieces


def line(start: npt.ArrayLike, end: npt.ArrayLike, rows: str = "") -> TaskPath:
    """Return a straight path.

    Parameters
    ----------
    start, end : array_like, shape (m,)
        Its ends [m].
    rows : str
        Which coordinates these are; by default the first m of ``"x y z"``.

    Examples
    --------
    >>> line([1.0, 0.0], [1.0, 0.5]).at([0.5]).y
    array([[1.  , 0.25]])
    """
    a, b = _vectors(start=start, end=end)
    way = b - a

    def function(s: Array) -> tuple[Array, Array, Array]:
        ones = np.ones((len(s), 1))
        return a + s[:, None] * way, ones * way, ones * 0.0 * way

    return TaskPath(function, _rows(rows, len(a)))


def ellipse(
    center: npt.ArrayLike, u: npt.ArrayLike, v: npt.ArrayLike, turns: float = 1.0, phase: float = 0.0, rows: str = ""
) -> TaskPath:
    """Return the path ``center + cos(phi) u + sin(phi) v`` with ``phi = phase + 2 pi turns s``.

    Parameters
    ----------
    center, u, v : array_like, shape (m,)
        Centre and conjugate half axes [m].
    turns : float
        Number of turns; below zero: the other way round.
    phase : float
        Angle of the start [rad].
    rows : str
        Which coordinates these are; by default the first m of ``"x y z"``.
    """
    c, a, b = _vectors(center=center, u=u, v=v)
    rate = TURN * turns

    def function(s: Array) -> tuple[Array, Array, Array]:
        phi = (phase + rate * s)[:, None]
        out, along = np.cos(phi) * a + np.sin(phi) * b, np.cos(phi) * b - np.sin(phi) * a
        return c + out, rate * along, -(rate**2) * out

    return TaskPath(function, _rows(rows, len(c)))


def circle(
    center: npt.ArrayLike,
    radius: float,
    normal: npt.ArrayLike = (0.0, 0.0, 1.0),
    turns: float = 1.0,
    phase: float = 0.0,
) -> TaskPath:
    """Return a circle: counterclockwise about its normal, from the direction nearest to the world's x axis.

    Parameters
    ----------
    center : array_like, shape (2,) or (3,)
        With two numbers the circle lies in the plane of x and y [m].
    normal : array_like, shape (3,)
        Axis of the circle; where that is the x axis, it begins in the direction of y.
    turns : float
        Number of turns; below zero: clockwise.
    phase : float
        Angle of the start [rad].
    """
    (c,) = _vectors(center=center)
    (axis,) = _vectors(normal=normal)
    length = float(np.linalg.norm(axis))
    if axis.shape != (3,) or not length > 0.0 or not radius > 0.0:
        raise InputError(f"a circle of radius {radius} m about {axis.tolist()}: both must be above zero")
    axis = axis / length
    nearest = np.eye(3)[0] if abs(axis[0]) < 1.0 - 1e-9 else np.eye(3)[1]
    u = nearest - (nearest @ axis) * axis
    u *= radius / np.linalg.norm(u)
    m = len(c)
    return ellipse(c, u[:m], np.cross(axis, u)[:m], turns, phase)


def _rows(rows: str, m: int) -> tuple[str, ...]:
    names = tuple(rows.split()) or AXES[:m]
    if len(names) != m:
        raise InputError(f"rows are '{rows}', positions have {m} numbers: as many of both are needed")
    return names


def _vectors(**values: npt.ArrayLike) -> list[Array]:
    """Vectors of one size, 1 to 3, after a check."""
    vectors = [np.atleast_1d(np.asarray(value, dtype=float)) for value in values.values()]
    for name, vector in zip(values, vectors, strict=True):
        if vector.ndim != 1 or not 1 <= vector.size <= 3 or not np.isfinite(vector).all():
            raise InputError(f"{name} = {vector.tolist()}: one to three finite numbers are needed [m]")
        if vector.shape != vectors[0].shape:
            raise InputError(f"{name} has {vector.size} numbers, {next(iter(values))} has {vectors[0].size}")
    return vectors


@dataclass(frozen=True)
class TaskConstrainedProblem:
    """Follow a task path from its begin to its end among obstacles, from time 0 on.

    Attributes
    ----------
    validity : Validity
        Arm and obstacles, which move as told.
    path : TaskPath
        With fewer rows than the arm has joints.
    horizon : float
        Latest arrival [s].
    q_start : ndarray, shape (n,), optional
        Joint positions at time 0, with the end effector at the begin of the path; by default any [rad or m].
    v_max : ndarray, shape (n,), optional
        Largest joint speeds; by default those of the arm [rad/s or m/s].
    tau_max : ndarray, shape (n,), optional
        Largest joint torques, and the motion begins and ends at rest: the dynamic problem. By default only speeds are
        limited: the kinematic problem [N m or N].

    Raises
    ------
    InputError
        When a size is wrong, a limit is not positive, or the arm has no joint to spare.
    """

    validity: Validity
    path: TaskPath
    horizon: float
    q_start: Array | None = None
    v_max: Array | None = None
    tau_max: Array | None = None

    def __post_init__(self) -> None:
        n = self.model.nq
        for name in ("q_start", "v_max", "tau_max"):
            values = getattr(self, name)
            if values is not None and (np.shape(values) != (n,) or not np.isfinite(values).all()):
                raise InputError(f"{name} has shape {np.shape(values)}; needed are {n} finite numbers")
        for name in ("v_max", "tau_max"):
            values = getattr(self, name)
            if values is not None and not (np.asarray(values) > 0.0).all():
                raise InputError(f"{name} = {np.asarray(values).tolist()}: positive numbers are needed")
        if not 0.0 < self.horizon < np.inf:
            raise InputError(f"horizon = {self.horizon}: a positive time is needed [s]")
        if not len(self.path.rows) < n:
            raise InputError(f"a task of {len(self.path.rows)} rows leaves {n} joints nothing to choose")

    @property
    def model(self) -> RobotModel:
        """The arm."""
        return self.validity.shape.model

    @property
    def obstacles(self) -> tuple[Placed, ...]:
        """The obstacles that the validity has now."""
        return self.validity.placed

    @property
    def is_dynamic(self) -> bool:
        """Whether torques are limited."""
        return self.tau_max is not None

    @property
    def speed_limits(self) -> Array:
        """Largest joint speeds, shape (n,) [rad/s or m/s]."""
        return np.asarray(self.model.v_max if self.v_max is None else self.v_max, dtype=float)


@dataclass(frozen=True)
class TaskParameters:
    """How the tree grows.

    Attributes
    ----------
    levels : int
        Pieces of the task path: N samples less one.
    steps : int
        Steps of integration of one piece.
    lanes : int
        Expansions in a round.
    chain : int
        Largest number of pieces of one expansion.
    rounds : int
        Largest number of rounds.
    greedy : float
        Share of the samples at the end of the path.
    waits : float
        Share of the expansions that wait.
    gain : float
        Gain K of the motion law, times the length of a step: the share of an error that a step takes off.
    tolerance : float
        Largest error of the task at the ends of steps [m].
    """

    levels: int = 40
    steps: int = 2
    lanes: int = 64
    chain: int = 8
    rounds: int = 1000
    greedy: float = 0.5
    waits: float = 0.3
    gain: float = 0.5
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("levels", "steps", "lanes", "chain", "rounds"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 1 or more is needed")
        for name in ("greedy", "waits", "gain"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name)}; allowed: 0 to 1")
        if not 0.0 < self.tolerance < np.inf:
            raise InputError(f"tolerance is {self.tolerance}; a positive number is needed [m]")


DEFAULTS = TaskParameters()
"""How trees grow by default."""
