"""Motions of the end effector as points: circles, polylines, curves, and strokes of digits. Pure functions.

Every motion starts and ends at rest. Along a line of length L a part takes the shortest time in which the quintic
``s = L (10 u^3 - 15 u^4 + 6 u^5)``, u from 0 to 1, keeps a speed and an acceleration:

    T = max(15/8 L/speed, sqrt(10/sqrt(3) L/acceleration))
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array, Pose
from arm_control.motion.pose_trajectory import PosePoints, joined

SPACING = 0.04
"""Time between two points of a curve [s]."""
ACCELERATION = 1.0
"""Where none is given [m/s^2]."""
CORNER = math.radians(40.0)
"""A stroke that turns by more than this between two of its points rests there."""
ARC_STEP = math.radians(9.0)


def circle(X: Pose, radius: float, period: float, turns: float = 1.0, R: Array | None = None) -> PosePoints:
    """Go round a circle.

    Parameters
    ----------
    X : Pose
        The circle lies in the plane x-y of this pose, around its origin, and begins on its x axis.
    radius : float
        [m]
    period : float
        Time of one turn at full speed [s].
    turns : float
        How many. One is for speeding up and one for slowing down; of fewer than two, half of the way each.
    R : ndarray, shape (3, 3), optional
        Orientation all the way; that of ``X`` by default.
    """
    _positive(radius=radius, period=period, turns=turns)
    ramp = min(1.0, turns / 2.0)  # turns that speeding up takes; at half the mean speed, so twice the time
    end = (turns + 2.0 * ramp) * period
    times = np.linspace(0.0, end, max(8, math.ceil(end / SPACING)) + 1)
    up, down = (np.clip(t / (2.0 * ramp * period), 0.0, 1.0) for t in (times, end - times))
    # speed u^3 (10 - 15 u + 6 u^2) on the way up: angle, speed and acceleration in turns
    cruise = np.clip(times, 2.0 * ramp * period, end - 2.0 * ramp * period) - 2.0 * ramp * period
    angle = 2.0 * ramp * (_ramp(up, -1) + 0.5 - _ramp(down, -1)) + cruise / period
    speed = np.minimum(_ramp(up, 0), _ramp(down, 0)) / period
    acceleration = (_ramp(up, 1) - _ramp(down, 1)) / (2.0 * ramp * period**2)
    c, s = np.cos(math.tau * angle), np.sin(math.tau * angle)
    out, on = (np.array(rows).T for rows in ((c, s, 0 * c), (-s, c, 0 * c)))
    w, dw = math.tau * speed[:, None], math.tau * acceleration[:, None]
    rows = radius * out, radius * w * on, radius * (dw * on - w * w * out)
    return _points(times, X, rows, X.R if R is None else R)


def polyline(
    X: Pose, corners: npt.ArrayLike, speed: float, acceleration: float = ACCELERATION, R: Array | None = None
) -> PosePoints:
    """Go along straight lines, at most at a speed, and rest at every corner.

    Parameters
    ----------
    X : Pose
        Frame of the corners.
    corners : array_like, shape (n, 3)
        Where from and to, in the frame of ``X`` [m].
    speed, acceleration : float
        Largest ones [m/s], [m/s^2].
    R : ndarray, shape (3, 3), optional
        Orientation all the way; that of ``X`` by default.
    """
    _positive(speed=speed, acceleration=acceleration)
    p = _without_repeats(np.array(corners, dtype=float))
    lengths = np.linalg.norm(np.diff(p, axis=0), axis=1)
    times = np.concatenate([[0.0], np.cumsum([_shortest(L, speed, acceleration) for L in lengths])])
    return _points(times, X, (p, np.zeros_like(p), np.zeros_like(p)), X.R if R is None else R)


def curve(
    X: Pose, dense: npt.ArrayLike, speed: float, acceleration: float = ACCELERATION, R: Array | None = None
) -> PosePoints:
    """Go along a curve without a rest in between.

    Parameters
    ----------
    X : Pose
        Frame of the points.
    dense : array_like, shape (n, 3)
        Points along the curve, so close that straight lines between them will do [m].
    speed, acceleration : float
        Largest ones along it [m/s], [m/s^2].
    R : ndarray, shape (3, 3), optional
        Orientation all the way; that of ``X`` by default.
    """
    _positive(speed=speed, acceleration=acceleration)
    p = _without_repeats(np.array(dense, dtype=float))
    if len(p) == 2:
        return polyline(X, p, speed, acceleration, R)
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
    end = _shortest(way[-1], speed, acceleration)
    times = np.linspace(0.0, end, max(8, math.ceil(end / SPACING)) + 1)
    s = way[-1] * _ramp(times / end, 0)
    x = np.array([np.interp(s, way, column) for column in p.T]).T
    rows = [x]
    for _ in range(2):
        rows.append(np.gradient(rows[-1], times, axis=0))
        rows[-1][[0, -1]] = 0.0
    return _points(times, X, tuple(rows), X.R if R is None else R)


def digits(
    text: str,
    X: Pose,
    height: float,
    speed: float,
    *,
    lift: float = 0.02,
    acceleration: float = ACCELERATION,
    R: Array | None = None,
) -> PosePoints:
    """Write digits.

    Parameters
    ----------
    text : str
        Digits and spaces.
    X : Pose
        The sheet: x along the line, y up, z out of it towards the pen; the origin is the lower left corner.
    height : float
        Of a digit [m].
    speed, acceleration : float
        Largest ones [m/s], [m/s^2].
    lift : float
        How far the pen is lifted between two strokes [m].
    R : ndarray, shape (3, 3), optional
        Orientation of the pen; that of ``X`` by default.

    Raises
    ------
    InputError
        When a character is neither a digit nor a space, or there is no digit.
    """
    _positive(height=height, lift=lift)
    strokes, parts = list(strokes_of(text, height)), []
    if not strokes:
        raise InputError(f"'{text}' holds no digit")
    above = np.array([0.0, 0.0, lift])
    here = strokes[0][0] + above
    for stroke in strokes:
        parts.append(polyline(X, [here, stroke[0] + above, stroke[0]], speed, acceleration, R))
        parts += [curve(X, piece, speed, acceleration, R) for piece in between_corners(stroke)]
        here = stroke[-1] + above
        parts.append(polyline(X, [stroke[-1], here], speed, acceleration, R))
    return joined(*parts)


# -- strokes -------------------------------------------------------------------------------------------

WIDTH, GAP = 0.6, 0.3
"""Of a digit, and between two, as shares of the height."""

Arc = tuple[float, float, float, float, float, float]
"""Centre x, y; radii x, y; from and to which angle [deg], counted from the x axis upwards."""

FONT: dict[str, tuple[tuple[tuple[float, float] | Arc, ...], ...]] = {
    "0": (((0.3, 0.5, 0.28, 0.48, 90, 450),),),
    "1": (((0.12, 0.78), (0.34, 0.98), (0.34, 0.02)),),
    "2": (((0.3, 0.7, 0.26, 0.28, 160, -25), (0.04, 0.02), (0.57, 0.02)),),
    "3": (((0.28, 0.75, 0.24, 0.23, 150, -90), (0.28, 0.27, 0.28, 0.25, 90, -150)),),
    "4": (((0.4, 0.98), (0.03, 0.3), (0.57, 0.3)), ((0.42, 0.62), (0.42, 0.02))),
    "5": (((0.5, 0.98), (0.1, 0.98), (0.07, 0.55), (0.27, 0.32, 0.28, 0.3, 120, -150)),),
    "6": (((0.52, 0.55, 0.49, 0.43, 100, 185), (0.3, 0.3, 0.26, 0.28, 175, 535)),),
    "7": (((0.04, 0.98), (0.56, 0.98), (0.2, 0.02)),),
    "8": (((0.3, 0.74, 0.22, 0.24, -90, 270), (0.3, 0.26, 0.27, 0.24, 90, -270)),),
    "9": (((0.3, 0.7, 0.26, 0.28, -5, -365), (0.08, 0.45, 0.49, 0.43, 5, -80)),),
}
"""Strokes of each digit, in a box 0.6 wide and 1 high: points and arcs, joined in their order."""


def strokes_of(text: str, height: float) -> Iterable[Array]:
    """Strokes of a line of digits, each an array of points close together, shape (n, 3) [m].

    Raises
    ------
    InputError
        When a character is neither a digit nor a space.
    """
    for place, character in enumerate(text):
        if character not in (*FONT, " "):
            raise InputError(f"'{character}' is neither a digit nor a space")
        for stroke in FONT.get(character, ()):
            flat = np.array([point for element in stroke for point in _points_of(element)])
            flat[:, 0] += place * (WIDTH + GAP)
            yield height * np.column_stack([flat, np.zeros(len(flat))])


def between_corners(stroke: Array) -> list[Array]:
    """The stroke in pieces that have no corner inside, each of shape (n, 3)."""
    stroke = _without_repeats(stroke)
    steps = np.diff(stroke, axis=0)
    steps = steps / np.linalg.norm(steps, axis=1)[:, None]
    corners = np.flatnonzero(np.sum(steps[:-1] * steps[1:], axis=1) < math.cos(CORNER)) + 1
    edges = [0, *corners.tolist(), len(stroke) - 1]
    return [stroke[a : b + 1] for a, b in itertools.pairwise(edges)]


def _points_of(element: tuple[float, float] | Arc) -> list[tuple[float, float]]:
    if len(element) == 2:
        return [element]
    x, y, r_x, r_y, begin, end = element
    n = math.ceil(abs(math.radians(end - begin)) / ARC_STEP)
    angles = np.radians(np.linspace(begin, end, n + 1)).tolist()
    return [(x + r_x * math.cos(angle), y + r_y * math.sin(angle)) for angle in angles]


# -- time ----------------------------------------------------------------------------------------------


def _ramp(u: Array, order: int) -> Array:
    """``10 u^3 - 15 u^4 + 6 u^5``; its integral (order -1), or its derivative (order 1)."""
    if order < 0:
        return u**4 * (2.5 - 3.0 * u + u * u)
    return 30.0 * (u * (1.0 - u)) ** 2 if order else u**3 * (10.0 - 15.0 * u + 6.0 * u * u)


def _shortest(length: float, speed: float, acceleration: float) -> float:
    return max(15 / 8 * length / speed, math.sqrt(10 / math.sqrt(3) * length / acceleration))


def _points(times: Array, X: Pose, rows: Sequence[Array], R: Array) -> PosePoints:
    """Points, given position, velocity and acceleration in the frame of ``X``; the orientation stays."""
    p, v, a = rows
    poses = tuple(Pose(R, X.R @ row + X.p) for row in p)
    V, A = (np.hstack([x @ X.R.T, np.zeros_like(x)]) for x in (v, a))
    return PosePoints(times, poses, V, A)


def _without_repeats(p: Array) -> Array:
    if p.ndim != 2 or p.shape[1] != 3 or not np.isfinite(p).all():
        raise InputError("rows of 3 finite numbers are needed")
    kept = p[np.concatenate([[True], np.linalg.norm(np.diff(p, axis=0), axis=1) > 1e-9])]
    if len(kept) < 2:
        raise InputError("at least two different points are needed")
    return kept


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} = {value}: a positive number is needed")
