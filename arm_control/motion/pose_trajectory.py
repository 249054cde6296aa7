"""Pose trajectories: from poses with their times to pose, twist and acceleration at any moment.

Between two poses, a time T apart, the position p and the rotation vector phi from the first pose follow one polynomial
that interpolates the given quantities at both ends,

    (1)  R = exp(phi) R_0,      phi(0) = 0,      phi(T) = log(R_1 R_0^T)
    (2)  omega = phi' + a phi x phi' + b phi x (phi x phi')
    (3)  domega/dt = phi'' + a phi x phi'' + b (phi x (phi x phi'') + phi' x (phi x phi')) + a' phi x phi'
                     + b' phi x (phi x phi')

          a = (1 - cos x)/x^2,  b = (x - sin x)/x^3,  x = |phi|,  and ' is d/dt

so that V_des and A_des are the exact derivatives of the pose, and the twist has no step at a point. The rotation
between two neighbours is below half a turn and takes the short way.

The polynomial is a cubic when only twists are given, a quintic when accelerations are given, too. Without both the
motion rests at both ends, passes a point in between with the mean velocity of its two sides, and has zero
acceleration at the points (quintic).

Source: J. Sola, J. Deray, D. Atchuthan, "A micro Lie theory for state estimation in robotics", 2018, for the left
Jacobian of rotations in (2).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector, rotation_vector, skew
from arm_control.motion.joint_trajectory import check_times, powers, quintic
from arm_control.motion.references import Reference, check_distance

LARGEST_TURN = math.radians(175.0)
"""Largest rotation between two neighbours [rad]; near half a turn its direction would depend on rounding."""
SERIES = 0.1
"""Angle below which the coefficients of (2) and (3) are computed as series [rad]."""


@dataclass(frozen=True)
class PosePoints:
    """Poses to pass, in some frame.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Times from the start of the motion [s].
    Vs, As : ndarray, shape (n, 6), or None
        Twists [m/s, rad/s] and accelerations [m/s^2, rad/s^2] along the axes of the same frame; None: not given.
    """

    times: Array
    poses: tuple[Pose, ...]
    Vs: Array | None = None
    As: Array | None = None

    @classmethod
    def checked(
        cls,
        times: Sequence[float] | Array,
        poses: Sequence[Pose],
        twists: npt.ArrayLike | None = None,
        accelerations: npt.ArrayLike | None = None,
    ) -> PosePoints:
        """Return points of a message or a file; refuse those that no arm should follow.

        Parameters
        ----------
        times : sequence of float
            Times from the start [s].
        twists, accelerations : array_like, shape (n, 6)
            One row for each pose; accelerations only together with twists.

        Raises
        ------
        InputError
            When a number is not finite, a size is wrong, a pose is 1e6 m away or more, accelerations come without
            twists, the times do not increase from 0, the last point is not after the start or not at rest, or a turn
            is ambiguous.
        """
        times = np.array(times, dtype=float)
        _check_times(times, len(poses))
        if accelerations is not None and twists is None:
            raise InputError("accelerations without velocities: give both, or neither")
        Vs = _rows(twists, times.size, "velocities")
        As = _rows(accelerations, times.size, "accelerations")
        if Vs is not None and np.abs(Vs[-1]).max() > 0.0:
            raise InputError(f"the last point moves at {Vs[-1].tolist()}: it must be at rest")
        if not np.isfinite([X.p for X in poses]).all():
            raise InputError("a position is not finite")
        for i, X in enumerate(poses):
            check_distance(math.hypot(*X.p), f"point {i}")
        for i, (a, b) in enumerate(itertools.pairwise(poses)):
            angle = float(np.linalg.norm(rotation_vector(b.R @ a.R.T)))
            if angle > LARGEST_TURN:
                raise InputError(f"points {i} and {i + 1} are {math.degrees(angle):.0f} deg apart: put one in between")
        return cls(times, tuple(poses), Vs, As)

    def delayed(self, seconds: float) -> PosePoints:
        """Return the same points, later by a time [s]."""
        return replace(self, times=self.times + seconds)


class PoseTrajectory:
    """A motion through one point or more; at rest before the first and after the last one.

    Attributes
    ----------
    duration : float
        Time of the last point [s].
    """

    def __init__(self, points: PosePoints) -> None:
        self.points = points
        self.duration = float(points.times[-1])
        self._first = Reference(points.poses[0])
        self._last = Reference(points.poses[-1])
        self._pieces = _pieces(points)
        self._turns = [bool(piece[:, 3:].any()) for piece in self._pieces]
        self._knots = points.times.tolist()

    def sample(self, t: float) -> Reference:
        """Return the reference at time ``t`` [s], in the frame of the points."""
        if t < self._knots[0]:
            return self._first
        if t >= self.duration:
            return self._last
        i = int(np.searchsorted(self.points.times, t, side="right")) - 1
        x, x1, x2 = powers(t - self._knots[i]) @ self._pieces[i]
        if not self._turns[i]:  # J is 1
            return Reference(Pose(self.points.poses[i].R, x[:3]), x1, x2)
        J, J_dot = left_jacobian(x[3:], x1[3:])
        R, p = rotation_from_vector(x[3:]) @ self.points.poses[i].R, x[:3]  # (1)
        V = np.concatenate([x1[:3], J @ x1[3:]])  # (2)
        A = np.concatenate([x2[:3], J @ x2[3:] + J_dot @ x1[3:]])  # (3)
        return Reference(Pose(R, p), V, A)


def join_points(*parts: PosePoints) -> PosePoints:
    """Return several motions with twists and accelerations as one; each begins at time 0 where the one before ends.

    An InputError when a part has no twists or no accelerations.
    """
    end = 0.0
    times, Vs, As = [], [], []
    poses: tuple[Pose, ...] = ()
    for k, part in enumerate(parts):
        if part.Vs is None or part.As is None:
            raise InputError("parts of a motion need velocities and accelerations")
        rest = slice(1 if k else 0, None)
        times.append(part.times[rest] + end)
        poses += part.poses[rest]
        Vs.append(part.Vs[rest])
        As.append(part.As[rest])
        end += float(part.times[-1])
    return PosePoints(np.concatenate(times), poses, np.concatenate(Vs), np.concatenate(As))


def transform_reference(X_WF: Pose, reference: Reference) -> Reference:
    """Return a reference in the world, of one in a frame F that rests there."""
    V, A = (np.concatenate([X_WF.R @ x[:3], X_WF.R @ x[3:]]) for x in (reference.V_des, reference.A_des))
    return Reference(X_WF @ reference.X_WT, V, A)


# -- pieces --------------------------------------------------------------------------------------------


def _pieces(points: PosePoints) -> Array:
    """Return coefficients of position and rotation vector between the points, shape (n - 1, 6, 6)."""
    T, zero = np.diff(points.times)[:, None], np.zeros((len(points.poses), 6))
    p = np.array([X.p for X in points.poses])
    D = np.array([rotation_vector(b.R @ a.R.T) for a, b in itertools.pairwise(points.poses)])
    D = np.hstack([np.diff(p, axis=0), D.reshape(-1, 3)])
    V = points.Vs if points.Vs is not None else _mean_velocities(D, T, zero)
    v0, v1 = V[:-1].copy(), V[1:].copy()
    a0, a1 = zero[:-1].copy(), zero[1:].copy()
    if points.As is not None:
        a0, a1 = points.As[:-1].copy(), points.As[1:].copy()
    for i, d in enumerate(D):
        v1[i, 3:] = np.linalg.solve(left_jacobian(d[3:], v1[i, 3:])[0], v1[i, 3:])
        J, J_dot = left_jacobian(d[3:], v1[i, 3:])
        a1[i, 3:] = np.linalg.solve(J, a1[i, 3:] - J_dot @ v1[i, 3:])
    if points.Vs is not None and points.As is None:  # the cubic, as the quintic with its accelerations
        a0, a1 = 6 * D / T**2 - (4 * v0 + 2 * v1) / T, -6 * D / T**2 + (2 * v0 + 4 * v1) / T
    start = np.hstack([p[:-1], np.zeros_like(p[:-1])])
    return quintic(start, v0, a0, start + D, v1, a1, T)


def _mean_velocities(D: Array, T: Array, zero: Array) -> Array:
    """Return velocities at the points: the mean of both sides, weighted by the time of the other; zero at the ends."""
    V = zero.copy()
    V[1:-1] = (T[1:] * D[:-1] / T[:-1] + T[:-1] * D[1:] / T[1:]) / (T[:-1] + T[1:])
    return V


def left_jacobian(phi: Array, rate: Array) -> tuple[Array, Array]:
    """Return J with ``omega = J phi'`` of (2), and its derivative at the rate ``phi'``, shapes (3, 3)."""
    x2 = float(phi @ phi)
    a, b, a_x, b_x = _coefficients(x2)
    P, Q = skew(phi), skew(rate)
    PP, along = P @ P, float(phi @ rate)
    return np.eye(3) + a * P + b * PP, a * Q + b * (Q @ P + P @ Q) + along * (a_x * P + b_x * PP)


def _coefficients(x2: float) -> tuple[float, float, float, float]:
    """Return a and b of (2), and their derivatives by x, divided by x; ``x2`` is the square of x."""
    x = math.sqrt(x2)
    if x < SERIES:
        a = 1 / 2 - x2 / 24 + x2 * x2 / 720 - x2**3 / 40320
        b = 1 / 6 - x2 / 120 + x2 * x2 / 5040 - x2**3 / 362880
        a_x = -1 / 12 + x2 / 180 - x2 * x2 / 6720 + x2**3 / 453600
        b_x = -1 / 60 + x2 / 1260 - x2 * x2 / 60480 + x2**3 / 4989600
        return a, b, a_x, b_x
    sine, cosine = math.sin(x), math.cos(x)
    a, b = (1 - cosine) / x2, (x - sine) / (x2 * x)
    return a, b, (sine / x - 2 * a) / x2, ((1 - cosine) / x2 - 3 * b) / x2


def _check_times(times: Array, n: int) -> None:
    if not n:
        raise InputError("no points: at least one is needed")
    if times.shape != (n,):
        raise InputError(f"times of {times.size} points, poses of {n}")
    check_times(times)


def _rows(rows: npt.ArrayLike | None, n: int, title: str) -> Array | None:
    if rows is None:
        return None
    values = np.array(rows, dtype=float)
    if values.shape != (n, 6) or not np.isfinite(values).all():
        raise InputError(f"{title}: {n} rows of 6 finite numbers are needed")
    return values
