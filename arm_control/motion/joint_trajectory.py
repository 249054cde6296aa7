"""Joint trajectories: points with their times in, position, velocity and acceleration at any moment out.

Between two points, T apart and ``D = q_1 - q_0``, the joints follow the polynomial of lowest degree that has
what the points state, as in ros2_control's joint_trajectory_controller:

    (1)  positions             q_0 + D/T t
    (2)  and velocities        q_0 + v_0 t + (3 D/T^2 - (2 v_0 + v_1)/T) t^2 + (-2 D/T^3 + (v_0 + v_1)/T^2) t^3
    (3)  and accelerations     q_0 + v_0 t + a_0/2 t^2 + c_3 t^3 + c_4 t^4 + c_5 t^5

          c_3 =  10 D/T^3 - (6 v_0 + 4 v_1)/T^2 - (3 a_0 - a_1)/(2 T)
          c_4 = -15 D/T^4 + (8 v_0 + 7 v_1)/T^3 + (3 a_0 - 2 a_1)/(2 T^2)
          c_5 =   6 D/T^5 - (3 v_0 + 3 v_1)/T^4 - (a_0 - a_1)/(2 T^3)

The way from where the joints should be now to the first point is always (3). It begins with the present
velocity and acceleration and ends with those the next piece begins with, so a trajectory that takes over
from another one continues it without a jump, whatever its points state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.motion.references import JointReference
from arm_control.motion.waypoints import Waypoints

SAMPLES = 32
"""Moments of each piece at which limits are checked."""


class JointTrajectory:
    """A motion of the joints, from a moment called 0 to its end, and at rest from then on.

    Parameters
    ----------
    knots : ndarray, shape (n + 1,)
        When the pieces begin, and the last one ends [s].
    pieces : ndarray, shape (n, 6, nv)
        Coefficients of each piece, from the constant one up.

    Examples
    --------
    >>> half = JointTrajectory.through(JointReference.at_rest(np.zeros(1)), Waypoints(np.array([2.0]), np.ones((1, 1))))
    >>> half.sample(1.0)
    JointReference(q_des=array([0.5]), v_des=array([0.9375]), a_des=array([0.]))
    """

    def __init__(self, knots: Array, pieces: Array) -> None:
        self.knots, self.pieces, self.duration = knots, pieces, float(knots[-1])
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
        """Go from where the joints should be now through all points.

        Parameters
        ----------
        start : JointReference
            Where the joints should be at time 0, and how they should move.
        points : Waypoints
            The points. One at time 0 must be where the start is; the way then begins at the start.
        continuous : array_like of bool, shape (nv,)
            Joints that turn without end: all their points are moved by the whole turns that bring the first
            one nearest to the start.
        start_tolerance : float
            How far a point at time 0 may be from the start [rad or m].

        Raises
        ------
        InputError
            When a point at time 0 is somewhere else.
        """
        turns = whole_turns(points.qs[0] - start.q_des, continuous)
        points = Waypoints(points.times, points.qs - turns, points.vs, points.as_)
        if points.times[0] == 0.0:
            points = _without_first(start, points, start_tolerance)
        rest = _pieces(points)
        first = _first_piece(start, points, rest)
        return cls(np.concatenate([[0.0], points.times]), np.concatenate([first[None], rest]))

    def sample(self, t: float) -> JointReference:
        """Desired motion at a moment [s]; before 0 that at 0, after the end at rest."""
        if t >= self.duration:
            return self.end
        i = max(int(np.searchsorted(self.knots, t, side="right")) - 1, 0)
        s = max(t, 0.0) - self.knots[i]
        q, v, a = powers(s) @ self.pieces[i]
        return JointReference(q, v, a)

    def samples(self) -> tuple[Array, Array, Array, Array]:
        """Moments (m,), and positions, velocities and accelerations at them, shape (m, nv)."""
        spans = np.diff(self.knots)
        s = spans[:, None] * np.linspace(0.0, 1.0, SAMPLES + 1)
        motions = np.einsum("dnsk,nkj->dnsj", powers(s), self.pieces)
        q, v, a = motions.reshape(3, s.size, -1)
        return (self.knots[:-1, None] + s).ravel(), q, v, a


def rest_to_rest(start: JointReference, q_goal: Array, v_max: Array, a_max: Array) -> JointTrajectory:
    """Go to a position by one quintic, as fast as limits of velocity and acceleration allow.

    From rest the shortest time has a closed form, ``max(15/8 D/v_max, sqrt(10/sqrt(3) D/a_max))`` of the slowest
    joint, and at least 0.1 s. From a motion it is looked for around that, in steps of 10 %; the present speed and
    acceleration are then allowed, too. Where no time keeps the limits, the one that breaks them least is taken.

    Parameters
    ----------
    start : JointReference
        Present desired motion.
    q_goal : ndarray, shape (nv,)
        Where to rest [rad or m].
    v_max, a_max : ndarray, shape (nv,)
        Limits.
    """
    D = np.abs(q_goal - start.q_des)
    shortest = max(0.1, float((15 / 8 * D / v_max).max()), float(np.sqrt(10 / np.sqrt(3) * D / a_max).max()))
    v_max, a_max = np.maximum(v_max, np.abs(start.v_des)), np.maximum(a_max, np.abs(start.a_des))
    moving = bool(start.v_des.any() or start.a_des.any())
    ways = []
    for k in range(-24 if moving else 0, 40):
        way = JointTrajectory.through(start, Waypoints(np.array([shortest * 1.1**k]), q_goal[None]))
        _, _, v, a = way.samples()
        excess = max(float((np.abs(v) / v_max).max()), float((np.abs(a) / a_max).max()))
        if excess <= 1.0 + 1e-6:
            return way
        ways.append((excess, k, way))
    return min(ways)[2]


def whole_turns(D: Array, continuous: npt.ArrayLike) -> Array:
    """Whole turns in differences of joints that turn without end, 0 for the others, shape (nv,) [rad]."""
    return np.where(continuous, 2 * np.pi * np.round(D / (2 * np.pi)), 0.0)


def _without_first(start: JointReference, points: Waypoints, tolerance: float) -> Waypoints:
    """The points but the one at time 0, which must be where the start is."""
    away = float(np.abs(points.qs[0] - start.q_des).max())
    if away > tolerance:
        raise InputError(f"the point at time 0 is elsewhere: {away:.4f} from where the arm should be now")
    later = [None if x is None else x[1:] for x in (points.vs, points.as_)]
    return Waypoints(points.times[1:], points.qs[1:], *later)


def _pieces(points: Waypoints) -> Array:
    """Coefficients between the points, equations (1) to (3), shape (n - 1, 6, nv)."""
    T, q, v, a = np.diff(points.times)[:, None], points.qs, points.vs, points.as_
    if v is not None and a is not None:
        return quintic(q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:], T)
    D = np.diff(q, axis=0)
    pieces = np.zeros((len(T), 6, q.shape[1]))
    pieces[:, 0] = q[:-1]
    if v is None:
        pieces[:, 1] = D / T  # (1)
        return pieces
    v0, v1 = v[:-1], v[1:]
    pieces[:, 1] = v0
    pieces[:, 2] = 3 * D / T**2 - (2 * v0 + v1) / T
    pieces[:, 3] = -2 * D / T**3 + (v0 + v1) / T**2  # (2)
    return pieces


def _first_piece(start: JointReference, points: Waypoints, rest: Array) -> Array:
    """From the start to the first point, shape (6, nv): ends as the next piece begins, or at rest."""
    v1, a1 = (rest[0, 1], 2 * rest[0, 2]) if len(rest) else (0.0, 0.0)
    if not len(rest) and points.as_ is not None:
        a1 = points.as_[0]
    return quintic(start.q_des, start.v_des, start.a_des, points.qs[0], v1, a1, points.times[0])


def quintic(q0: Array, v0: Array, a0: Array, q1: Array, v1: Any, a1: Any, T: Any) -> Array:
    """Coefficients of equation (3), shape (..., 6, nv)."""
    D = q1 - q0
    c3 = 10 * D / T**3 - (6 * v0 + 4 * v1) / T**2 - (3 * a0 - a1) / (2 * T)
    c4 = -15 * D / T**4 + (8 * v0 + 7 * v1) / T**3 + (3 * a0 - 2 * a1) / (2 * T**2)
    c5 = 6 * D / T**5 - (3 * v0 + 3 * v1) / T**4 - (a0 - a1) / (2 * T**3)
    return np.stack([q0, v0, a0 / 2, c3, c4, c5], axis=-2)


def powers(s: Any) -> Array:
    """Rows that turn coefficients into position, velocity and acceleration, shape (3, ..., 6)."""
    s = np.asarray(s, dtype=float)
    k = np.arange(6)
    p = s[..., None] ** k
    zero = np.zeros_like(s)[..., None]
    p1 = np.concatenate([zero, p[..., :-1]], axis=-1)
    p2 = np.concatenate([zero, zero, p[..., :-2]], axis=-1)
    return np.stack([p, k * p1, k * (k - 1) * p2])
