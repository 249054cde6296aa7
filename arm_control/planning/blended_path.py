"""A plan as a motion of the arm: corners are rounded, the rounded path is proved free, and time is scaled along it.

At a corner c between directions u_1 and u_2 (unit vectors in joint space) a parabola replaces the last d of the one
straight motion and the first d of the other, with s its parameter from 0 to 2 d:

    (1)  q = c - d u_1 + s u_1 + s^2 (u_2 - u_1) / (4 d)

Its direction is that of the straight motions at both ends. K chords of it are proved free with all motions that deviate
from them as far as the parabola does:

    (2)  |deviation| <= |u_2 - u_1| d / (4 K^2)

What cannot be proved is tried again with half of d. Where the smallest d is not enough, or the path turns back on
itself, the arm stops at the corner.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.motion import JointReference, JointTrajectory
from arm_control.planning.plans import PROOF_LOOKS, Plan
from arm_control.planning.time_scaling import ScaledMotion, TimeScaler

RADIUS = 0.3
"""Largest d [rad or m]."""
CHORDS = 8
"""Number K."""
HALVINGS = 7
"""How often d is halved."""
SHARPEST = -0.95
"""Cosine of the angle between two directions below which the arm stops."""
SHORTEST = 1e-6
"""Distance of two points of a path below which they are one [rad or m]."""


class PlannedMotion:
    """Motions from rest to rest, one behind the other; they take ``duration`` [s]."""

    def __init__(self, parts: tuple[ScaledMotion, ...]) -> None:
        self.parts = parts
        self._begins = np.concatenate([[0.0], np.cumsum([part.duration for part in parts])])
        self.duration = float(self._begins[-1])

    def sample(self, t: float) -> JointReference:
        """Return the reference at time ``t`` [s]; at rest before the start and after the end."""
        k = int(np.clip(np.searchsorted(self._begins, t, side="right") - 1, 0, len(self.parts) - 1))
        return self.parts[k].sample(t - float(self._begins[k]))

    def at(self, times: Array) -> tuple[Array, Array]:
        """Joint positions at times, as those of a plan, and places on a task path that there is not: zero."""
        return np.array([self.sample(t).q_des for t in times.tolist()]), np.zeros(len(times))


def fastest_motion(scaler: TimeScaler, validity: Validity, plan: Plan) -> PlannedMotion:
    """Return the fastest motion along a plan's path with rounded corners, within the limits of a time scaling.

    Arguments and errors are those of :func:`rounded_paths`; and an InputError where the arm cannot stand still.
    """
    return PlannedMotion(tuple(scaler.fastest(path) for path in rounded_paths(validity, plan)))


def rounded_paths(validity: Validity, plan: Plan) -> tuple[JointTrajectory, ...]:
    """Return paths without corners, from stop to stop, along a plan's path; proved free without a gap.

    The validity has the obstacles of the plan, which stand still.

    An InputError when the plan has no path, is one in time, or does not move.
    """
    if not plan.is_found:
        raise InputError(f"a plan without a path: {plan.reason}")
    if plan.times.any():
        raise InputError("the plan has times of its own; another motion along its path may meet an obstacle")
    steps = np.linalg.norm(np.diff(plan.path, axis=0), axis=1)
    q = plan.path[np.concatenate([[True], steps > SHORTEST])]
    if len(q) < 2:
        raise InputError("the plan does not move: its start is its goal")
    lengths = np.linalg.norm(np.diff(q, axis=0), axis=1)
    directions = np.diff(q, axis=0) / lengths[:, None]
    d = _distances(validity, q, lengths, directions)
    stops = [0, *np.flatnonzero(d == 0.0).tolist(), len(q) - 1]
    stops = sorted(set(stops))
    return tuple(
        _path(q[i : j + 1], lengths[i:j], directions[i:j], np.concatenate([[0.0], d[i + 1 : j], [0.0]]))
        for i, j in itertools.pairwise(stops)
    )


def _distances(validity: Validity, q: Array, lengths: Array, directions: Array) -> Array:
    """Distance d of each corner, shape (m,); 0 at the ends, and where the arm has to stop [rad or m]."""
    d = np.zeros(len(q))
    d[1:-1] = np.minimum(RADIUS, 0.5 * np.minimum(lengths[:-1], lengths[1:]))
    cosines = np.einsum("ij,ij->i", directions[:-1], directions[1:])
    is_open = np.flatnonzero(cosines > SHARPEST) + 1
    d[1 + np.flatnonzero(cosines <= SHARPEST)] = 0.0
    for _ in range(HALVINGS):
        if not len(is_open):
            break
        is_proved = _are_free(validity, q[is_open], directions[is_open - 1], directions[is_open], d[is_open])
        is_open = is_open[~is_proved]
        d[is_open] *= 0.5
    d[is_open] = 0.0
    return d


def _are_free(validity: Validity, corners: Array, u_1: Array, u_2: Array, d: Array) -> npt.NDArray[np.bool_]:
    """Which parabolas are proved free, shape (k,): equations (1) and (2)."""
    s = np.linspace(0.0, 2.0, CHORDS + 1)[:, None, None] * d[:, None]
    points = corners - d[:, None] * u_1 + s * u_1 + s**2 * (u_2 - u_1) / (4.0 * d[:, None])
    deviation = np.abs(u_2 - u_1) * d[:, None] / (4.0 * CHORDS**2)
    n = corners.shape[1]
    begin, end = points[:-1].reshape(-1, n), points[1:].reshape(-1, n)
    free = validity.motions(begin, end, deviation=np.tile(deviation, (CHORDS, 1)), most_looks=PROOF_LOOKS).is_free
    is_free: npt.NDArray[np.bool_] = np.logical_and.reduce(free.reshape(CHORDS, -1))
    return is_free


def _path(q: Array, lengths: Array, directions: Array, d: Array) -> JointTrajectory:
    """Straight pieces and parabolas from the first point to the last one."""
    pieces = list(_pieces(q, lengths, directions, d))
    knots = np.concatenate([[0.0], np.cumsum([length for length, _ in pieces])])
    return JointTrajectory(knots, np.array([piece for _, piece in pieces]))


def _pieces(q: Array, lengths: Array, directions: Array, d: Array) -> Iterator[tuple[float, Array]]:
    """Length and coefficients of each piece."""
    for k, (length, u) in enumerate(zip(lengths, directions, strict=True)):
        straight = length - d[k] - d[k + 1]
        if straight > SHORTEST:
            yield float(straight), _coefficients(q[k] + d[k] * u, u, 0.0 * u)
        if d[k + 1] > 0.0:
            bend = (directions[k + 1] - u) / (4.0 * d[k + 1])
            yield float(2.0 * d[k + 1]), _coefficients(q[k + 1] - d[k + 1] * u, u, bend)


def _coefficients(*of_degrees: Array) -> Array:
    """Coefficients of one piece, shape (6, n)."""
    piece = np.zeros((6, len(of_degrees[0])))
    piece[: len(of_degrees)] = of_degrees
    return piece
