"""Obstacles as rows of tables, one table for each kind: what the laws of distance go through.

An obstacle moves as it is told: with a constant twist from its pose at a reference time, present in a span of time with
both of its ends: where one span follows another, both hold at the time between them. An obstacle with a course of
samples has a row for each two of them.

    p(t) = p + (t - t_0) v        R(t) = exp((t - t_0) omega) R

Numbers of checks have a largest value: beyond it products overflow, or rounding hides a contact. Up to
:data:`LARGEST`, distances are right to a tenth of the least clearance of :mod:`~arm_control.collision.motions`; what
rounding of late times takes from fast obstacles is part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import (
    EXTENT,
    PLACE,
    SIZE,
    TWIST,
    Array,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Scalar,
    Shape,
    Span,
    Sphere,
    balls_around,
    maximum,
    rotation_vector,
)

LARGEST = 1e6
"""Of places, sizes and margins [m], and of speeds [m/s, rad/s]."""
LARGEST_POSITION = 1e5
"""Of a joint, and of a deviation of it [rad or m]."""
LARGEST_LINK = 1e3
"""Of places on a link, and of its radii [m]."""
LATEST = 1e12
"""[s]."""
ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Rounding of a time, and of the way of an obstacle until then, as a share of them."""
ROTATION_TOLERANCE = 1e-6
"""Largest entry of ``R^T R - 1``."""


def check_range(values: npt.ArrayLike, largest: float, what: str) -> None:
    """Raise an InputError where one of some numbers is not finite, or too large."""
    size = np.abs(values)
    if not size.max(initial=0.0) <= largest:
        worst = np.ravel(values)[np.argmax(np.ravel(size))]
        raise InputError(f"{what}: {worst:g} is not finite, or beyond {largest:g}, the largest number of checks")


def are_rotations(R: Array) -> npt.NDArray[np.bool_]:
    """Return which matrices, shape (..., 9) row by row, are rotations, or reflections."""
    matrices = R.reshape(*R.shape[:-1], 3, 3)
    gaps = np.swapaxes(matrices, -1, -2) @ matrices - np.eye(3)
    return np.asarray((np.abs(gaps) <= ROTATION_TOLERANCE).all(axis=(-1, -2)))


ROTATION = CORNERS = PLACE
MIDDLE = SIZE
TIMES, VELOCITY, SPEED, NUMBER = slice(22, 25), slice(25, 28), 28, 29
AXIS, RATE, BALL, BALL_RADIUS = slice(30, 33), 33, slice(34, 37), 37
N_ROW = 38
"""Numbers of a row: those of :attr:`Obstacle.numbers` at the reference time; reference time, begin and end [s];
velocity of the origin [m/s]; largest speed of any point [m/s]; number of the obstacle; axis and rate of turning
[rad/s]; a ball around a facet [m]. A facet has the corners of a triangle in the place of R_WO, and a point inside the
hull in that of sizes: both, and the ball, from the hull's origin, in axes of the world."""
KINDS = ("sphere", "capsule", "box", "turned", *(f"turning {kind}" for kind in ("capsule", "box", "turned")))
KINDS += ("facet", "turning facet")
"""Kinds of rows; a ``turned`` one is a cylinder or a cone, a ``facet`` a triangle of a hull."""
FOREVER = 1e30
"""Begin and end of an obstacle that is always there [s]."""
_LIMITS = np.full(N_ROW, LARGEST)
_LIMITS[TIMES], _LIMITS[EXTENT], _LIMITS[TWIST] = FOREVER, np.inf, np.inf  # the last two follow from others

Told: TypeAlias = Obstacle | Mover | Sequence[Mover]
"""An obstacle as it is given: its twist holds from time 0 on, or in a span of time, or in one span after the other."""


@np.errstate(over="ignore", invalid="ignore")  # such numbers are refused
def obstacle_tables(obstacles: Sequence[Told]) -> dict[str, Array]:
    """Tables of obstacles by kind, shape (m, N_ROW) each; kinds without an obstacle are left out.

    Their numbers in results are their places in the sequence.

    Raises
    ------
    InputError
        When there is something else among them, or one that cannot be checked: with a number beyond
        :data:`~arm_control.collision.obstacle_rows.LARGEST`, a matrix that is no rotation, or a span that has no begin
        or ends before it.
    """
    rows: dict[str, list[Array]] = {}
    for number, told in enumerate(obstacles):
        for obstacle, t_0, begin, end in _stretches(told, number):
            kind, table = _rows(obstacle, t_0, begin, end, number)
            rows.setdefault(kind, []).extend(table)
    tables = {kind: np.array(rows[kind]) for kind in KINDS if kind in rows}
    for kind, table in tables.items():
        _check_numbers(kind, table)
    return tables


def course(shape: Shape, times: Array, poses: Sequence[Pose]) -> tuple[Mover, ...]:
    """An obstacle that moves from sample to sample, with a constant twist between two.

    Before the first sample and after the last one it rests. Times (m,) increase, from 0 on [s].

    Raises
    ------
    InputError
        When the times do not increase, or there are not as many as poses, or none.

    Examples
    --------
    >>> poses = [Pose(np.eye(3), np.array([x, 0.0, 0.0])) for x in (0.0, 1.0, 1.0)]
    >>> movers = course(Sphere(0.1), [0.0, 2.0, 3.0], poses)
    >>> [float(mover.at(1.0).X_WO.p[0]) for mover in movers if mover.span.holds(1.0)]
    [0.5]
    """
    times = np.asarray(times, dtype=float)
    if times.ndim != 1 or not len(times) or len(times) != len(poses):
        raise InputError(f"{len(poses)} poses at {times.size} times: as many of both are needed, one at least")
    if not np.isfinite(times).all() or times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise InputError(f"times of an obstacle are {times}: they must increase, from 0 on")
    still = [Mover(Obstacle(shape, poses[-1]), Span(float(times[-1])))]
    if times[0] > 0.0:
        still.append(Mover(Obstacle(shape, poses[0]), Span(0.0, float(times[0]))))
    moving = []
    for (t, X), (t_next, X_next) in pairwise(zip(times.tolist(), poses, strict=True)):
        turn = rotation_vector(X_next.R @ X.R.T)
        twist = np.concatenate([X_next.p - X.p, turn]) / (t_next - t)
        moving.append(Mover(Obstacle(shape, X, twist), Span(t, t_next)))
    return (*moving, *still)


def movers_of(placed: Told) -> tuple[Mover, ...]:
    """Return the stretches of an obstacle's motion from time 0 on, one after the other."""
    if isinstance(placed, Obstacle):
        return (Mover(placed, Span()),)
    return tuple(placed) if isinstance(placed, Sequence) else (placed,)


def is_at_rest(placed: Told) -> bool:
    """Whether an obstacle stays where it is from time 0 on."""
    return all(mover.span == Span() and not np.any(mover.obstacle.V_WO) for mover in movers_of(placed))


def from_time(told: Sequence[Told], t: float) -> list[Told]:
    """Return obstacles on a clock that begins at a time of theirs [s]; what has vanished before it is left out.

    For obstacles without a span the time may be below zero.
    """
    result: list[Told] = []
    for entry in told:
        if isinstance(entry, Obstacle):
            result.append(Mover(entry, Span()).at(t))
        elif later := [_later(mover, t) for mover in movers_of(entry) if mover.span.end >= t]:
            result.append(later[0] if isinstance(entry, Mover) else later)
    return result


def _later(mover: Mover, t: float) -> Mover:
    begin = max(mover.span.begin, t)
    return Mover(mover.at(begin), Span(begin - t, mover.span.end - t), mover.is_solid)


def present(told: Sequence[Told], t: float) -> list[Obstacle]:
    """Return the obstacles that are there at a time [s], with their poses then."""
    result = []
    for entry in told:
        is_always = isinstance(entry, Obstacle)
        result += [mover.at(t) for mover in movers_of(entry) if is_always or mover.span.holds(t)][-1:]
    return result


def placed_at(placed: Sequence[Told], t: float) -> dict[int, Obstacle]:
    """Return the obstacles that are there at a time [s], by their numbers, with their poses then.

    They are there at both ends of their spans, as in checks of motions.
    """
    there: dict[int, Obstacle] = {}
    for number, told in enumerate(placed):
        for obstacle, t_0, begin, end in _stretches(told, number):
            if begin <= t <= end:
                there[number] = Mover(obstacle, Span(t_0)).at(t)
    return there


def time_until_present(row: Array, t: Scalar) -> Scalar:
    """Time until an obstacle of a row appears, or since it vanished [s]; zero or below while it is present."""
    _, begin, end = row[TIMES]
    return maximum(begin - t, t - end)


def _check_numbers(kind: str, table: Array) -> None:
    """Refuse obstacles with numbers that cannot be checked, and matrices that turn nothing."""
    is_good = np.abs(table) <= _LIMITS
    if not is_good.all():
        number = table[int(is_good.all(axis=1).argmin()), NUMBER]
        raise InputError(f"obstacle {number:.0f} has a number that is not finite, or beyond {LARGEST:g}")
    if kind == "sphere" or kind.endswith("facet"):
        return
    is_good = are_rotations(table[:, ROTATION])
    if not is_good.all():
        raise InputError(f"obstacle {table[int(is_good.argmin()), NUMBER]:.0f} has a matrix R that is no rotation")


def _check_times(number: int, t_0: float, begin: float, end: float, speed: float) -> None:
    """Refuse a stretch without a begin, that ends before it, or with a long way before time 0."""
    if not (abs(t_0) <= LATEST and begin <= end and (t_0 >= 0.0 or speed * -t_0 <= LARGEST)):
        raise InputError(
            f"obstacle {number} is there from {begin:g} to {end:g} s, at {speed:g} m/s; allowed: a begin within"
            f" {LATEST:g} s, no end before it, and up to {LARGEST:g} m before time 0"
        )


def _stretches(told: Told, number: int) -> list[tuple[Obstacle, float, float, float]]:
    """Obstacle, reference time, begin and end of each stretch of its motion."""
    if isinstance(told, Obstacle):
        return [(told, 0.0, -FOREVER, FOREVER)]
    movers = movers_of(told)
    if not all(isinstance(mover, Mover) for mover in movers):
        raise InputError(f"obstacle {number} is {told!r:.80}; allowed: Obstacle, Mover, or Movers")
    return [(m.obstacle, m.span.begin, m.span.begin, min(m.span.end, FOREVER)) for m in movers]


def _rows(obstacle: Obstacle, t_0: float, begin: float, end: float, number: int) -> tuple[str, Array]:
    """Kind and rows of one stretch, shape (k, N_ROW); one row but for a hull, which has one for each triangle."""
    V, shape, X = np.asarray(obstacle.V_WO, dtype=float), obstacle.shape, obstacle.X_WO
    rate = 0.0 if isinstance(shape, Sphere) else math.hypot(*V[3:])
    speed = math.hypot(*V[:3]) + rate * shape.extent
    _check_times(number, t_0, begin, end, speed)
    axis = V[3:] / rate if rate else np.zeros(3)
    row = np.array([*obstacle.numbers, t_0, begin, end, *V[:3], speed, number, *axis, rate, *[0.0] * 4])
    if not isinstance(shape, Hull):
        return f"turning {obstacle.type}" if rate else obstacle.type, row[None]
    if not are_rotations(row[ROTATION]):
        raise InputError(f"obstacle {number} has a matrix R that is no rotation")
    corners, row[MIDDLE] = shape.corners @ X.R.T, X.R @ shape.middle
    rows = np.tile(row, (len(corners), 1))
    rows[:, CORNERS] = corners.reshape(-1, 9)
    rows[:, BALL], rows[:, BALL_RADIUS] = balls_around(corners, row[MIDDLE])
    return "turning facet" if rate else "facet", rows
