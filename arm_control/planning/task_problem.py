"""What is asked of a planner along a task: the path of the end effector, the limits, and how the tree grows.

    path = circle([0.5, 0.0, 0.4], 0.1, normal=[1.0, 0.0, 0.0])
    path.at([0.0, 0.5]).y                   # positions, shape (2, 3)

A path gives the position of the end effector as a function of a parameter s from 0 to 1, with its first two
derivatives. The planner takes it in pieces: between two neighbouring samples the quintic polynomial that has the value
and both derivatives of the path at both ends. What it is off the path in between is measured, and must be below
:data:`TOLERANCE`. Beside the position an orientation may be prescribed, or the direction of one axis:

    replace(path, orientation=direction("z", [0.0, 0.0, -1.0]))      # a pen that points down, free to turn about itself
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import Told, Validity
from arm_control.exceptions import InputError
from arm_control.maths import Array, rotation_from_quaternion, rotation_from_vector, rotation_vector, rotation_with_z
from arm_control.model import RobotModel
from arm_control.motion import quintic

AXES = ("x", "y", "z")
"""Rows that a path may have: coordinates of the end effector's position in the world."""
TOLERANCE = 1e-7
"""Largest distance of the pieces from the path [m]."""
CHECKS = np.array([0.25, 0.5, 0.75])
"""Shares of a piece at which that is measured."""
TURN = 2.0 * np.pi
SMALLEST_ANGLE = 1e-9
"""Angle from opposite directions, and length of their product, below which the way between them is not known [rad]."""


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
class TaskOrientation:
    """Orientation of the end effector along a path: constant, or turning evenly about one axis of the world.

        R_WT(s) = exp(s [turn]) R_WT(0)

    Attributes
    ----------
    R : ndarray, shape (3, 3)
        R_WT(0), at the begin of the path.
    turn : ndarray, shape (3,)
        Rotation vector in the world from the begin to the end of the path [rad].
    axis : str
        Axis of the end effector whose direction alone is prescribed, of :data:`AXES`; empty: all of the orientation.
    """

    R: Array
    turn: Array
    axis: str = ""

    @property
    def rows(self) -> tuple[int, ...]:
        """Angular rows of a twist, along the end effector's axes, that count: all, or the two across the axis."""
        return tuple(3 + k for k, axis in enumerate(AXES) if axis != self.axis)

    @property
    def angle(self) -> float:
        """Angle from the begin to the end [rad]."""
        return float(np.linalg.norm(self.turn))

    @property
    def turning_axis(self) -> Array:
        """Unit vector in the world about which it turns, shape (3,); any where it is constant."""
        return self.turn / self.angle if self.angle > 0.0 else np.eye(3)[2]

    def at(self, s: npt.ArrayLike) -> Array:
        """R_WT at places, shape (k,); shape (k, 3, 3)."""
        return np.array([rotation_from_vector(share * self.turn) @ self.R for share in np.asarray(s, dtype=float)])

    def angles(self, s: npt.ArrayLike, R_WE: npt.ArrayLike) -> Array:
        """Angles between orientations of the end effector, shape (k, 3, 3), and those at places, shape (k,) [rad]."""
        pairs = zip(self.at(s), np.asarray(R_WE, dtype=float), strict=True)
        if not self.axis:
            return np.array([np.linalg.norm(rotation_vector(R_WT @ R.T)) for R_WT, R in pairs])
        k = AXES.index(self.axis)
        return np.array([_angle_between(R_WT[:, k], R[:, k]) for R_WT, R in pairs])


def _angle_between(a: Array, b: Array) -> float:
    """Angle of two unit vectors [rad]."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def orientation(quat_xyzw: npt.ArrayLike, end: npt.ArrayLike | None = None) -> TaskOrientation:
    """Return an orientation of the end effector in the world, constant or turning to another one.

    Parameters
    ----------
    quat_xyzw : array_like, shape (4,)
        Quaternion at the begin.
    end : array_like, shape (4,), optional
        Quaternion at the end; between, it turns about one axis, the shorter way.
    """
    R = rotation_from_quaternion(quat_xyzw)
    turn = np.zeros(3) if end is None else rotation_vector(rotation_from_quaternion(end) @ R.T)
    return TaskOrientation(R, turn)


def direction(axis: str, along: npt.ArrayLike, end: npt.ArrayLike | None = None) -> TaskOrientation:
    """Return the direction of an axis of the end effector, which stays free to turn about it.

    Parameters
    ----------
    axis : str
        Of the end effector: ``x``, ``y`` or ``z``.
    along : array_like, shape (3,)
        Its direction in the world at the begin.
    end : array_like, shape (3,), optional
        That at the end; between, it turns the shorter way.

    Examples
    --------
    >>> direction("x", [0.0, 0.0, -2.0]).at([0.5])[0][:, 0]
    array([ 0.,  0., -1.])
    """
    if axis not in AXES:
        raise InputError(f"axis = {axis!r}; allowed: x, y, z of the end effector")
    d = _direction("along", along)
    R = np.roll(rotation_with_z(d), AXES.index(axis) - 2, axis=1)
    if end is None:
        return TaskOrientation(R, np.zeros(3), axis)
    across, angle = np.cross(d, _direction("end", end)), _angle_between(d, _direction("end", end))
    if angle > np.pi - SMALLEST_ANGLE:
        raise InputError("along and end are opposite directions: the way between them is not known")
    return TaskOrientation(R, across * (angle / max(float(np.linalg.norm(across)), SMALLEST_ANGLE)), axis)


def _direction(name: str, value: npt.ArrayLike) -> Array:
    """A unit vector."""
    (vector,) = _vectors(**{name: value})
    length = float(np.linalg.norm(vector))
    if vector.shape != (3,) or not length > 0.0:
        raise InputError(f"{name} = {vector.tolist()}: three numbers, not all zero, are needed")
    return vector / length


@dataclass(frozen=True)
class TaskPath:
    """A path of the end effector.

    Attributes
    ----------
    function : callable
        From places s, shape (k,), to position, first and second derivative, shape (k, m) each.
    rows : tuple of str
        The m coordinates of the position that are prescribed, of :data:`AXES`; the others are free.
    orientation : TaskOrientation or None
        That along the path, beside all three coordinates; None: it is free.
    """

    function: Callable[[Array], tuple[Array, Array, Array]]
    rows: tuple[str, ...]
    orientation: TaskOrientation | None = None

    def __post_init__(self) -> None:
        if self.orientation is not None and self.rows != AXES:
            raise InputError(f"rows of a task path are {self.rows}; with an orientation x, y and z are needed")
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

    @property
    def task_rows(self) -> tuple[int, ...]:
        """Numbers of all prescribed rows in a twist: linear ones in world axes, angular ones in the end effector's."""
        return (*self.numbers, *(() if self.orientation is None else self.orientation.rows))

    def targets(self, s: npt.ArrayLike) -> Array:
        """Poses at places, shape (k,), as R_WT and p_WT, shape (k, 12); what is not prescribed is 1 and 0."""
        y = self.at(s).y
        targets = np.zeros((len(y), 12))
        targets[:, [0, 4, 8]] = 1.0
        targets[:, [9 + row for row in self.numbers]] = y
        if self.orientation is not None:
            targets[:, :9] = self.orientation.at(s).reshape(-1, 9)
        return targets

    def at(self, s: npt.ArrayLike) -> PathPoints:
        """The path at places, shape (k,)."""
        return PathPoints(*self.function(np.asarray(s, dtype=float)))

    def pieces(self, n: int) -> Array:
        """Coefficients of the pieces by the way from their begin, degree 0 to 5, shape (n, 6, m).

        With an orientation one more column has the angle by which it has turned [rad].

        An InputError when the path is not smooth, or has too many bends for so few pieces.
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
        if self.orientation is None:
            return pieces
        angles = np.zeros((n, 6, 1))
        angles[:, 0, 0], angles[:, 1, 0] = self.orientation.angle * s[:-1], self.orientation.angle
        return np.concatenate([pieces, angles], axis=2)


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
    a_max : ndarray, shape (n,), optional
        Largest joint accelerations; with these, too, the motion begins and ends at rest [rad/s^2 or m/s^2].

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
    a_max: Array | None = None

    def __post_init__(self) -> None:
        n = self.model.nq
        for name in ("q_start", "v_max", "tau_max", "a_max"):
            values = getattr(self, name)
            if values is not None and (np.shape(values) != (n,) or not np.isfinite(values).all()):
                raise InputError(f"{name} has shape {np.shape(values)}; needed are {n} finite numbers")
        for name in ("v_max", "tau_max", "a_max"):
            values = getattr(self, name)
            if values is not None and not (np.asarray(values) > 0.0).all():
                raise InputError(f"{name} = {np.asarray(values).tolist()}: positive numbers are needed")
        if not 0.0 < self.horizon < np.inf:
            raise InputError(f"horizon = {self.horizon}: a positive time is needed [s]")
        if not len(self.path.task_rows) < n:
            raise InputError(f"a task of {len(self.path.task_rows)} rows leaves {n} joints nothing to choose")

    @property
    def model(self) -> RobotModel:
        """The arm."""
        return self.validity.shape.model

    @property
    def obstacles(self) -> tuple[Told, ...]:
        """The obstacles that the validity has now."""
        return self.validity.placed

    @property
    def is_dynamic(self) -> bool:
        """Whether torques or accelerations are limited: the motion begins and ends at rest."""
        return self.tau_max is not None or self.a_max is not None

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
        Largest error of the task at the ends of steps [m, rad].
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
            raise InputError(f"tolerance is {self.tolerance}; a positive number is needed [m, rad]")


DEFAULTS = TaskParameters()
"""How trees grow by default."""
