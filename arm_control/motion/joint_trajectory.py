"""Joint trajectories: from points with their times to position, velocity and acceleration at any moment.

Between two points, a time T apart and with ``D = q_1 - q_0``, the joints follow the polynomial of lowest degree that
interpolates the given quantities, as in ros2_control's joint_trajectory_controller:

    (1)  positions             q_0 + D/T t
    (2)  and velocities        q_0 + v_0 t + (3 D/T^2 - (2 v_0 + v_1)/T) t^2 + (-2 D/T^3 + (v_0 + v_1)/T^2) t^3
    (3)  and accelerations     q_0 + v_0 t + a_0/2 t^2 + c_3 t^3 + c_4 t^4 + c_5 t^5

          c_3 =  10 D/T^3 - (6 v_0 + 4 v_1)/T^2 - (3 a_0 - a_1)/(2 T)
          c_4 = -15 D/T^4 + (8 v_0 + 7 v_1)/T^3 + (3 a_0 - 2 a_1)/(2 T^2)
          c_5 =   6 D/T^5 - (3 v_0 + 3 v_1)/T^4 - (a_0 - a_1)/(2 T^3)

The piece from the present reference to the first point is always (3). It begins with the present velocity and
acceleration and ends with those of the next piece, so a trajectory continues the one before without a jump, whichever
quantities its points give.

A path is a trajectory whose parameter s is not time but the length of the way; a time scaling makes a motion of it.
Through points q_0 ... q_n, at ``s_0 = 0`` and ``s_k = s_{k-1} + |q_k - q_{k-1}|``, it is the natural cubic spline:
position, direction and curvature are continuous, so that a motion along it needs no stop and its torque has no step.
With the curvatures ``m_k = q''(s_k)`` and ``h_k = s_{k+1} - s_k``,

    (4)  h_{k-1} m_{k-1} + 2 (h_{k-1} + h_k) m_k + h_k m_{k+1} = 6 ((q_{k+1} - q_k) / h_k - (q_k - q_{k-1}) / h_{k-1})
    (5)  q = q_k + ((q_{k+1} - q_k) / h_k - h_k (2 m_k + m_{k+1}) / 6) t + m_k / 2 t^2 + (m_{k+1} - m_k) / (6 h_k) t^3

with ``t = s - s_k`` and ``m_0 = m_n = 0``.

Source: C. de Boor, "A practical guide to splines", 1978, chapter 4, for (4) and (5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion.references import JointReference

EXPONENTS = np.arange(6)
SAMPLES = 32
"""Moments of each piece at which limits are checked."""
SLACK = 1e-6
"""Excess over a limit that counts as rounding [rad or m, rad/s or m/s]."""
SHORTEST = 1e-6
"""Distance of two points of a path below which they are one [rad or m]."""


# -- points --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Waypoints:
    """Points to pass, in the model's joint order.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Times from the start of the trajectory [s].
    qs : ndarray, shape (n, nv)
        Positions [rad or m].
    vs, as_ : ndarray, shape (n, nv), or None
        Velocities [rad/s or m/s] and accelerations [rad/s^2 or m/s^2]; None: not given.
    """

    times: Array
    qs: Array
    vs: Array | None = None
    as_: Array | None = None

    @classmethod
    def checked(
        cls,
        model: RobotModel,
        names: Sequence[str],
        times: Sequence[float] | Array,
        positions: npt.ArrayLike,
        velocities: npt.ArrayLike | None = None,
        accelerations: npt.ArrayLike | None = None,
    ) -> Waypoints:
        """Return points of a message or a file; refuse those that no arm should follow.

        Parameters
        ----------
        names : sequence of str
            Joint of each column, in any order.
        times : sequence of float
            Times from the start [s].
        positions, velocities, accelerations : array_like, shape (n, len(names))
            One row for each point; accelerations only together with velocities.

        Raises
        ------
        InputError
            When a joint is missing or named twice, a number is not finite, a size is wrong, the times do not
            increase from 0, the last point is not after the start or not at rest, or a limit is exceeded.
        """
        times = np.array(times, dtype=float)
        check_times(times)
        if accelerations is not None and velocities is None:
            raise InputError("accelerations without velocities: give both, or neither")
        qs = _rows(model, names, times.size, positions, "positions")
        vs = None if velocities is None else _rows(model, names, times.size, velocities, "velocities")
        as_ = None if accelerations is None else _rows(model, names, times.size, accelerations, "accelerations")
        if vs is not None and np.abs(vs[-1]).max() > 0.0:
            raise InputError(f"the last point moves at {vs[-1].tolist()}: it must be at rest")
        check_limits(model, qs, vs, times)
        return cls(times, qs, vs, as_)


def check_limits(
    model: RobotModel, qs: Array, vs: Array | None, times: Array, start: JointReference | None = None
) -> None:
    """Check positions and velocities of a motion, shape (n, nv), against the arm's limits; None: no velocities.

    Times (n,) are for the message [s]. When the start of the motion exceeds a limit, the motion may stay there, but
    exceed it no further.

    Raises
    ------
    InputError
        When a value exceeds its limit.
    """
    q_min, q_max, v_max = model.q_min, model.q_max, model.v_max
    if start is not None:
        q_min = np.minimum(q_min, start.q_des)
        q_max = np.maximum(q_max, start.q_des)
        v_max = np.maximum(v_max, np.abs(start.v_des))
    for name, values, low, high in (("position", qs, q_min, q_max), ("velocity", vs, -v_max, v_max)):
        if values is None:
            continue
        outside = np.argwhere((values < low - SLACK) | (values > high + SLACK))
        if outside.size:
            row, j = outside[0]
            raise InputError(
                f"{name} beyond the limit: {model.joint_names[j]} at {values[row, j]:.4f} after {times[row]:.3f} s,"
                f" allowed {low[j]:.4f} to {high[j]:.4f}"
            )


def check_times(times: Array) -> None:
    """Check the times of a trajectory's points, shape (n,) [s].

    Raises
    ------
    InputError
        When there is none, they do not increase from 0 on, or the only one is 0.
    """
    if times.ndim != 1 or not times.size:
        raise InputError("no points: at least one is needed")
    if not np.isfinite(times).all() or times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise InputError(f"times do not increase: {times.tolist()} s, each must be later, the first at 0 or later")
    if times[-1] == 0.0:
        raise InputError("no time: the last point must be later than the start")


def _rows(model: RobotModel, names: Sequence[str], n: int, values: Any, title: str) -> Array:
    """Return ``n`` rows in the model's joint order, shape (n, nv)."""
    if len(values) != n:
        raise InputError(f"{title} of {len(values)} points, times of {n}")
    return np.array([model.in_joint_order(names, row, title) for row in values])


# -- trajectories --------------------------------------------------------------------------------------


class JointTrajectory:
    """A motion of the joints from time 0 to its end, and at rest from then on.

    Parameters
    ----------
    knots : ndarray, shape (n + 1,)
        Begin of each piece, and end of the last one [s].
    pieces : ndarray, shape (n, 6, nv)
        Coefficients of each piece, from degree 0 to 5.
    """

    def __init__(self, knots: Array, pieces: Array) -> None:
        self.knots = knots
        self.pieces = pieces
        self.duration = float(knots[-1])
        T = knots[-1] - knots[-2]
        self.end = JointReference.at_rest((T ** np.arange(6)) @ pieces[-1])

    @classmethod
    def through(
        cls,
        start: JointReference,
        points: Waypoints,
        *,
        continuous: npt.ArrayLike = False,
        start_tolerance: float = 0.01,
    ) -> JointTrajectory:
        """Return the motion from a reference through all points.

        Parameters
        ----------
        start : JointReference
            Reference at time 0.
        points : Waypoints
            The points. One at time 0 must agree with the start, which then takes its place.
        continuous : array_like of bool, shape (nv,)
            Continuous joints: all their points are shifted by the whole turns that bring the first one nearest to
            the start.
        start_tolerance : float
            Largest distance of a point at time 0 from the start [rad or m].

        Raises
        ------
        InputError
            When a point at time 0 is farther away.
        """
        turns = whole_turns(points.qs[0] - start.q_des, continuous)
        points = Waypoints(points.times, points.qs - turns, points.vs, points.as_)
        if points.times[0] == 0.0:
            points = _without_first(start, points, start_tolerance)
        rest = _pieces(points)
        first = _first_piece(start, points, rest)
        return cls(np.concatenate([[0.0], points.times]), np.concatenate([first[None], rest]))

    @classmethod
    def through_knots(cls, knots: Array, q: Array, v: Array, a: Array) -> JointTrajectory:
        """Return the motion through states, a polynomial of degree 5 between two of them; it rests behind the last one.

        The knots, shape (k,), are times from 0 on [s]; q, v and a, shape (k, nv), the states at them.
        """
        return cls(knots, quintic(q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:], np.diff(knots)[:, None]))

    def sample(self, t: float) -> JointReference:
        """Return the reference at time ``t`` [s]; at ``t < 0`` that at 0, after the end that at rest."""
        if t >= self.duration:
            return self.end
        i = max(int(np.searchsorted(self.knots, t, side="right")) - 1, 0)
        s = max(t, 0.0) - self.knots[i]
        q, v, a = powers(s) @ self.pieces[i]
        return JointReference(q, v, a)

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at many times, shape (k, nv) each; at a knot those behind it.

        Times beyond the trajectory, shape (k,), are taken as its begin or its end [s].
        """
        t = np.clip(times, self.knots[0], self.knots[-1])
        k = np.clip(np.searchsorted(self.knots, t, side="right") - 1, 0, len(self.pieces) - 1)
        q, v, a = np.einsum("dkp,kpn->dkn", powers(t - self.knots[k]), self.pieces[k])
        return q, v, a

    def samples(self) -> tuple[Array, Array, Array, Array]:
        """Return times, shape (m,), and positions, velocities and accelerations at them, shape (m, nv)."""
        spans = np.diff(self.knots)
        s = spans[:, None] * np.linspace(0.0, 1.0, SAMPLES + 1)
        motions = np.einsum("dnsk,nkj->dnsj", powers(s), self.pieces)
        q, v, a = motions.reshape(3, s.size, -1)
        return (self.knots[:-1, None] + s).ravel(), q, v, a


def rest_to_rest(start: JointReference, q_goal: Array, v_max: Array, a_max: Array) -> JointTrajectory:
    """Return one quintic to a position at rest, as fast as the limits of velocity and acceleration allow.

    From rest the shortest time has a closed form, ``max(15/8 D/v_max, sqrt(10/sqrt(3) D/a_max))`` of the slowest
    joint, and at least 0.1 s. From a motion, times around that are tried in steps of 10 %; the present speed and
    acceleration are then allowed, too. When none of them keeps the limits, the one with the least excess is taken.
    """
    D = np.abs(q_goal - start.q_des)
    shortest = max(0.1, float((15 / 8 * D / v_max).max()), float(np.sqrt(10 / np.sqrt(3) * D / a_max).max()))
    v_max, a_max = np.maximum(v_max, np.abs(start.v_des)), np.maximum(a_max, np.abs(start.a_des))
    is_moving = bool(start.v_des.any() or start.a_des.any())
    rejected = []
    for k in range(-24 if is_moving else 0, 40):
        trajectory = JointTrajectory.through(start, Waypoints(np.array([shortest * 1.1**k]), q_goal[None]))
        _, _, v, a = trajectory.samples()
        excess = max(float((np.abs(v) / v_max).max()), float((np.abs(a) / a_max).max()))
        if excess <= 1.0 + 1e-6:
            return trajectory
        rejected.append((excess, k, trajectory))
    return min(rejected)[2]


def spline_path(points: npt.ArrayLike) -> JointTrajectory:
    """Return the path through points (n, nv), equations (4) and (5); one straight piece for two of them [rad or m].

    Raises
    ------
    InputError
        When there are fewer than two points, a number is not finite, or two neighbours are one point.
    """
    q = np.array(points, dtype=float)
    if q.ndim != 2 or len(q) < 2 or not np.isfinite(q).all():
        raise InputError(f"points of shape {q.shape}: two rows or more of finite numbers are needed")
    D = np.diff(q, axis=0)
    h = np.linalg.norm(D, axis=1)
    if h.min() < SHORTEST:
        raise InputError(f"points {h.argmin()} and {h.argmin() + 1} are one: leave one out")
    slopes, m = D / h[:, None], np.zeros_like(q)
    if len(q) > 2:
        system = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
        m[1:-1] = np.linalg.solve(system, 6.0 * np.diff(slopes, axis=0))  # (4)
    pieces = np.zeros((len(h), 6, q.shape[1]))
    pieces[:, 0] = q[:-1]
    pieces[:, 1] = slopes - h[:, None] * (2.0 * m[:-1] + m[1:]) / 6.0
    pieces[:, 2] = m[:-1] / 2.0
    pieces[:, 3] = np.diff(m, axis=0) / (6.0 * h[:, None])  # (5)
    return JointTrajectory(np.concatenate([[0.0], np.cumsum(h)]), pieces)


def whole_turns(D: Array, continuous: npt.ArrayLike) -> Array:
    """Return the whole turns in joint differences, shape (nv,) [rad]; 0 for joints that are not continuous."""
    return np.where(continuous, 2 * np.pi * np.round(D / (2 * np.pi)), 0.0)


def _without_first(start: JointReference, points: Waypoints, tolerance: float) -> Waypoints:
    """Return the points without the one at time 0, which must agree with the start."""
    distance = float(np.abs(points.qs[0] - start.q_des).max())
    if distance > tolerance:
        raise InputError(
            f"the point at time 0 is {distance:.4f} from the arm's desired position, allowed: {tolerance:g}"
        )
    later = [None if x is None else x[1:] for x in (points.vs, points.as_)]
    return Waypoints(points.times[1:], points.qs[1:], *later)


def _pieces(points: Waypoints) -> Array:
    """Return the coefficients between the points, equations (1) to (3), shape (n - 1, 6, nv)."""
    T, q, v, a = np.diff(points.times)[:, None], points.qs, points.vs, points.as_
    if v is not None and a is not None:
        return quintic(q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:], T)
    if v is not None:
        return cubic(q[:-1], v[:-1], q[1:], v[1:], T)
    pieces = np.zeros((len(T), 6, q.shape[1]))
    pieces[:, 0], pieces[:, 1] = q[:-1], np.diff(q, axis=0) / T  # (1)
    return pieces


def _first_piece(start: JointReference, points: Waypoints, rest: Array) -> Array:
    """Return the piece from the start to the first point, shape (6, nv); it ends as the next one begins, or at rest."""
    v1, a1 = (rest[0, 1], 2 * rest[0, 2]) if len(rest) else (0.0, 0.0)
    if not len(rest) and points.as_ is not None:
        a1 = points.as_[0]
    return quintic(start.q_des, start.v_des, start.a_des, points.qs[0], v1, a1, points.times[0])


def cubic(q0: Array, v0: Array, q1: Array, v1: Array, T: Any) -> Array:
    """Return the coefficients of equation (2), shape (..., 6, nv); arguments as those of :func:`quintic`."""
    D, zero = q1 - q0, np.zeros_like(q0)
    c2 = 3 * D / T**2 - (2 * v0 + v1) / T
    c3 = -2 * D / T**3 + (v0 + v1) / T**2
    return np.stack([q0, v0, c2, c3, zero, zero], axis=-2)


def quintic(q0: Array, v0: Array, a0: Array, q1: Array, v1: Any, a1: Any, T: Any) -> Array:
    """Return the coefficients of equation (3), shape (..., 6, nv).

    All arguments are of shape (..., nv); scalars at the end are broadcast, and the duration T [s] is (..., 1) or a
    number.
    """
    D = q1 - q0
    c3 = 10 * D / T**3 - (6 * v0 + 4 * v1) / T**2 - (3 * a0 - a1) / (2 * T)
    c4 = -15 * D / T**4 + (8 * v0 + 7 * v1) / T**3 + (3 * a0 - 2 * a1) / (2 * T**2)
    c5 = 6 * D / T**5 - (3 * v0 + 3 * v1) / T**4 - (a0 - a1) / (2 * T**3)
    return np.stack([q0, v0, a0 / 2, c3, c4, c5], axis=-2)


def powers(s: Any) -> Array:
    """Return rows that map coefficients to position, velocity and acceleration at times ``s``, shape (3, ..., 6)."""
    s = np.asarray(s, dtype=float)
    p, rows = s[..., None] ** EXPONENTS, np.zeros((3, *s.shape, 6))
    rows[0] = p
    rows[1, ..., 1:] = EXPONENTS[1:] * p[..., :-1]
    rows[2, ..., 2:] = (EXPONENTS * (EXPONENTS - 1))[2:] * p[..., :-2]
    return rows
