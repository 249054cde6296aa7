"""Demonstrations: a motion that was recorded, checked once and for all, by its own times.

Positions of joints or of a link's origin, with or without the link's orientation. Samples may be spaced in any way; all
that is computed from them goes by their times, never by their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array

TURN = 2.0 * np.pi
NEAR_A_TURN = 0.3
"""A jump that is this near a whole turn [rad] is an angle that was wrapped."""
STILL = 1e-9
"""Motion below which there is none [rad or m]."""
LARGEST_TURN = np.deg2rad(175.0)
"""Largest rotation between two samples [rad]: near half a turn its direction would depend on rounding."""


@dataclass(frozen=True)
class Demonstration:
    """A recorded motion.

    Attributes
    ----------
    times : ndarray, shape (N,)
        Times of the samples, increasing [s].
    positions : ndarray, shape (N, n)
        Joint positions [rad or m], or positions of a link's origin [m].
    orientations : ndarray, shape (N, 4), or None
        Quaternions x, y, z, w of the link; stored with length 1 and without changes of sign.
    names : tuple of str
        The joints; empty for the end effector.
    frame : str
        Link in whose frame the poses are; empty where that does not matter.

    Raises
    ------
    InputError
        When there is one sample only, a time is repeated or decreases, a number is not finite, an angle jumps by a
        turn, nothing moves, or a shape is wrong.
    """

    times: Array
    positions: Array
    orientations: Array | None = None
    names: tuple[str, ...] = field(default=())
    frame: str = ""

    def __post_init__(self) -> None:
        times, positions = _floats(self.times, "times"), _floats(self.positions, "positions")
        _check_times(times)
        if positions.ndim != 2 or len(positions) != len(times) or not positions.shape[1]:
            raise InputError(f"positions have shape {positions.shape}; allowed: ({len(times)}, n), a row for each time")
        names = tuple(self.names)
        if names and len(names) != positions.shape[1]:
            raise InputError(f"positions of {positions.shape[1]} joints, names of {len(names)}: {', '.join(names)}")
        if len(set(names)) != len(names):
            raise InputError(f"a joint is named twice among {', '.join(names)}")
        _check_finite(positions, times, "position")
        if names:
            _check_wrapping(positions, times, names)
        orientations = None if self.orientations is None else _orientations(self.orientations, times)
        if orientations is not None and positions.shape[1] != 3:
            raise InputError(f"orientations beside {positions.shape[1]} numbers: a pose has a position of 3")
        _check_motion(positions, orientations)
        for name, value in (("times", times), ("positions", positions), ("orientations", orientations)):
            if value is not None:
                value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", names)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def size(self) -> int:
        """Number of joints, or of coordinates of the position."""
        return int(self.positions.shape[1])

    def part(self, begin: float, end: float) -> Demonstration:
        """Return the samples of a stretch of time.

        Raises
        ------
        InputError
            When fewer than two samples lie there, or nothing moves.
        """
        keep = (self.times >= begin) & (self.times <= end)
        if keep.sum() < 2:
            raise InputError(
                f"{keep.sum()} samples from {begin} s to {end} s; the demonstration is from {self.times[0]:g} s"
                f" to {self.times[-1]:g} s"
            )
        orientations = None if self.orientations is None else self.orientations[keep]
        return Demonstration(self.times[keep], self.positions[keep], orientations, self.names, self.frame)

    def resample(self, times: npt.ArrayLike) -> Demonstration:
        """Return the demonstration at other times, at least two, which increase within its own [s].

        Positions follow the cubic with the slope of the parabola through the sample and its neighbours (C^1, and of
        third order for any spacing), orientations turn evenly from sample to sample.

        Raises
        ------
        InputError
            When a time lies outside of the demonstration, or times do not increase.
        """
        t = _floats(times, "times")
        _check_times(t)
        slack = 1e-9 * self.duration
        if t[0] < self.times[0] - slack or t[-1] > self.times[-1] + slack:
            raise InputError(
                f"times from {t[0]:g} s to {t[-1]:g} s; the demonstration is from {self.times[0]:g} s"
                f" to {self.times[-1]:g} s"
            )
        orientations = None if self.orientations is None else _turned_evenly(self.times, self.orientations, t)
        return Demonstration(t, _cubic(self.times, self.positions, t), orientations, self.names, self.frame)


def _floats(values: npt.ArrayLike, what: str) -> Array:
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} are not an array of numbers") from None


def _check_times(times: Array) -> None:
    if times.ndim != 1:
        raise InputError(f"times have shape {times.shape}; allowed: (N,)")
    if len(times) < 2:
        raise InputError(f"a demonstration of {len(times)} sample: at least 2 are needed")
    if not np.isfinite(times).all():
        raise InputError(f"time {int(np.argmin(np.isfinite(times)))} is not finite")
    steps = np.diff(times)
    if times[-1] == times[0]:
        raise InputError(f"a demonstration of zero length: all times are {times[0]:g} s")
    k = int(np.argmin(steps))
    if steps[k] == 0.0:
        raise InputError(f"time {times[k]:g} s is there twice: samples {k} and {k + 1}")
    if steps[k] < 0.0:
        raise InputError(f"times decrease from {times[k]:g} s to {times[k + 1]:g} s: samples {k} and {k + 1}")


def _check_finite(values: Array, times: Array, what: str) -> None:
    is_bad = ~np.isfinite(values).all(axis=1)
    if is_bad.any():
        raise InputError(f"a {what} at {times[int(np.argmax(is_bad))]:g} s is not finite")


def _check_wrapping(positions: Array, times: Array, names: tuple[str, ...]) -> None:
    jumps = np.abs(np.diff(positions, axis=0))
    is_wrapped = np.abs(jumps - TURN) < NEAR_A_TURN
    if is_wrapped.any():
        i, j = (int(k) for k in np.argwhere(is_wrapped)[0])
        raise InputError(
            f"{names[j]} jumps by {jumps[i, j]:.3g} rad at {times[i + 1]:g} s, about 2 pi: unwrap the angle first"
        )


def _orientations(values: npt.ArrayLike, times: Array) -> Array:
    """Quaternions of length 1, without changes of sign."""
    quats = _floats(values, "orientations")
    if quats.shape != (len(times), 4):
        raise InputError(f"orientations have shape {quats.shape}; allowed: ({len(times)}, 4), x y z w for each time")
    _check_finite(quats, times, "quaternion")
    lengths = np.linalg.norm(quats, axis=1)
    if lengths.min() < 1e-6:
        raise InputError(f"the quaternion at {times[int(lengths.argmin())]:g} s is zero")
    quats /= lengths[:, None]
    cosines = np.sum(quats[1:] * quats[:-1], axis=1)
    quats[1:] *= np.cumprod(np.where(cosines < 0.0, -1.0, 1.0))[:, None]
    k = int(np.argmin(np.abs(cosines)))
    angle = 2.0 * np.arccos(min(1.0, abs(float(cosines[k]))))
    if angle > LARGEST_TURN:
        raise InputError(f"the orientation turns by {np.rad2deg(angle):.0f} deg from {times[k]:g} s to the next sample")
    return quats


def _check_motion(positions: Array, orientations: Array | None) -> None:
    way = float(np.ptp(positions, axis=0).max())
    turn = 0.0 if orientations is None else float(np.ptp(orientations, axis=0).max())
    if max(way, turn) < STILL:
        raise InputError("nothing moves in the demonstration")


def _cubic(times: Array, values: Array, t: Array) -> Array:
    """Values of the cubic described at :meth:`Demonstration.resample`."""
    steps = np.diff(times)[:, None]
    slopes = np.diff(values, axis=0) / steps
    if len(times) == 2:
        return values[0] + (t - times[0])[:, None] * slopes[0]
    inner = (steps[1:] * slopes[:-1] + steps[:-1] * slopes[1:]) / (steps[1:] + steps[:-1])
    tangents = np.vstack([2.0 * slopes[0] - inner[0], inner, 2.0 * slopes[-1] - inner[-1]])
    k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    h = steps[k]
    u = (t - times[k])[:, None] / h
    rise = slopes[k] * h
    bend = (tangents[k] * h - rise) * (1.0 - u) - (tangents[k + 1] * h - rise) * u
    return values[k] + u * (rise + (1.0 - u) * bend)


def _turned_evenly(times: Array, quats: Array, t: Array) -> Array:
    """Orientations at times t, on the great circle from one quaternion to the next."""
    k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    u = (t - times[k]) / (times[k + 1] - times[k])
    q_0, q_1 = quats[k], quats[k + 1]
    half = np.arctan2(np.linalg.norm(q_1 - q_0, axis=1), np.linalg.norm(q_1 + q_0, axis=1)) * 2.0
    weights = np.array([np.sinc((1.0 - u) * half / np.pi) * (1.0 - u), np.sinc(u * half / np.pi) * u])
    mixed = weights[0][:, None] * q_0 + weights[1][:, None] * q_1
    return mixed / np.linalg.norm(mixed, axis=1)[:, None]
