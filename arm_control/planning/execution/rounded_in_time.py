"""Polylines in joint space and time as smooth trajectories: steps of the velocity are spread over some time.

A plan in space-time goes straight from q_i at t_i to q_{i+1} at t_{i+1}: before t_0 with the velocity v_0 of the arm,
from t_m on at rest. With ``dv_i`` for the step of its velocity at t_i, and (x)_+ for the larger one of x and 0,

    (1)  q(t) = q_0 + v_0 (t - t_0) + sum_i dv_i (t - t_i)_+

Each step is spread over a time h_i to both sides, by the weights of a triangle:

    (2)  q~(t) = q_0 + v_0 (t - t_0) + sum_i dv_i h_i psi((t - t_i) / h_i)

         psi(x) = 0 for x < -1,   (1 + x)^3 / 6 up to 0,   x + (1 - x)^3 / 6 up to 1,   x from there on

so that position, velocity and acceleration are continuous, the pieces are cubic, and path and times are kept: at t_i,
where no other step is near, q~ is off the corner by ``dv_i h_i / 6``, and back on the polyline at t_i + h_i. A step
that stands alone has

    (3)  max |q~''| = |dv_i| / h_i

An acceleration a_0 that the arm has at the beginning fades in a polynomial of degree 5, which is added.

    h       time over which a step is spread, to each side      [s]
    psi     twice integrated triangle: psi'' = 1 - |x|
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import Array
from arm_control.motion import JointReference, JointTrajectory, powers, quintic, stacked

TINY = 1e-9
"""Knots that are nearer to each other are one [s]; steps of the velocity that are smaller are none [rad/s or m/s]."""


class Polyline(NamedTuple):
    """A motion of straight pieces in time.

    Attributes
    ----------
    qs : ndarray, shape (m + 1, n)
        Corners [rad or m].
    times : ndarray, shape (m + 1,)
        Their times, increasing [s].
    v_start : ndarray, shape (n,)
        Velocity before the first one [rad/s or m/s].
    """

    qs: Array
    times: Array
    v_start: Array

    @property
    def steps(self) -> Array:
        """Steps of the velocity at the corners, shape (m + 1, n) [rad/s or m/s]."""
        v = np.diff(self.qs, axis=0) / np.diff(self.times)[:, None]
        return np.diff(np.concatenate([self.v_start[None], v, 0.0 * v[:1]]), axis=0)


def round_in_time(line: Polyline, h: Array, begin: float, end: float, a_start: Array | None = None) -> JointTrajectory:
    """Return the trajectory (2), whose time 0 is the beginning.

    Parameters
    ----------
    h : ndarray, shape (m + 1,)
        Time over which each step is spread, to each side; the first one begins at ``begin`` or later, the last one
        ends at ``end`` or earlier [s].
    begin, end : float
        Begin and end of the trajectory, on the clock of the polyline [s].
    a_start : ndarray, shape (n,), optional
        Acceleration at the begin, which fades until as long after the first corner [rad/s^2 or m/s^2].
    """
    fade = min(2.0 * (line.times[0] - begin), end - begin)
    inner = np.concatenate([line.times - h, line.times, line.times + h, [begin + fade]])
    knots = np.unique(np.concatenate([[begin], inner[(inner > begin + TINY) & (inner < end - TINY)], [end]]))
    knots = knots[np.concatenate([[True], np.diff(knots) > TINY])]
    knots[-1] = end
    q, v, a = _motion(line, h, knots)
    if a_start is not None and a_start.any():
        zero = np.zeros_like(a_start)
        dq, dv, da = _fading(quintic(zero, zero, a_start, zero, zero, zero, fade), knots - begin, fade)
        q, v, a = q + dq, v + dv, a + da
    T = np.diff(knots)[:, None]
    return JointTrajectory(knots - begin, quintic(q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:], T))


def _motion(line: Polyline, h: Array, t: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of (2) at times, shape (k, n)."""
    x, dv = (t[:, None] - line.times) / h, line.steps
    rising, falling = np.clip(1.0 + x, 0.0, 1.0), np.clip(1.0 - x, 0.0, 1.0)
    psi = np.where(x < 0.0, rising**3 / 6.0, x + falling**3 / 6.0)
    slope = np.where(x < 0.0, rising**2 / 2.0, 1.0 - falling**2 / 2.0)
    triangle = np.maximum(1.0 - np.abs(x), 0.0)
    q = line.qs[0] + (t - line.times[0])[:, None] * line.v_start + (h * psi) @ dv
    return q, line.v_start + slope @ dv, (triangle / h) @ dv


def _fading(piece: Array, t: Array, duration: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of one piece at times, shape (k, n); zero behind its end."""
    motion = np.einsum("dkc,cn->dkn", powers(np.minimum(t, duration)), piece)
    motion[:, t >= duration] = 0.0
    return motion[0], motion[1], motion[2]


def spreads(line: Polyline, a_max: Array) -> Array:
    """Least times over which the steps are spread, by (3), shape (m + 1,) [s].

    Parameters
    ----------
    a_max : ndarray, shape (n,)
        Largest acceleration [rad/s^2 or m/s^2].
    """
    return (np.abs(line.steps) / a_max).max(axis=1)


def rest_of(trajectory: JointTrajectory, t: float) -> JointTrajectory:
    """Return what is left of a trajectory from a time on, which becomes its time 0."""
    if t >= trajectory.duration - TINY:
        return stay(trajectory.end)
    knots = np.concatenate([[t], trajectory.knots[trajectory.knots > t + TINY]])
    return through_states([trajectory.sample(float(knot)) for knot in knots[:-1]] + [trajectory.end], knots - t)


def through_states(states: list[JointReference], times: Array) -> JointTrajectory:
    """Return the trajectory of degree 5 through states.

    Parameters
    ----------
    states : list of JointReference
        The last one is at rest.
    times : ndarray, shape (k,)
        From 0 on [s].
    """
    return JointTrajectory.through_knots(times, *stacked(states))


STAY = 1e-3
"""Duration of a trajectory that stays where it is [s]."""


def stay(state: JointReference) -> JointTrajectory:
    """Return the trajectory that rests at the joint positions of a state."""
    at_rest = JointReference.at_rest(state.q_des)
    return through_states([at_rest, at_rest], np.array([0.0, STAY]))
