"""Jogging: references from velocities that somebody sends again and again.

A velocity acts until it is older than a time-out, by the stamps of the states. In each state, with the time ``dt``
since the state before,

    (1)  V_cmd = limit(R_WF V_F, V_max)           the velocity asked for; 0 after its time-out
    (2)  A_des = limit((V_cmd - V_des) / dt, A_max)
    (3)  V_des <- V_des + A_des dt                no jump, at the begin, at the end and between two velocities
    (4)  X_WT <- exp(V_des dt) X_WT

``limit`` shortens the linear and the angular part, each for itself. The joints do the same, each by itself, and slow
down before their limits of position:

    (5)  -sqrt(2 a d_min) <= v_cmd <= sqrt(2 a d_max)     d: distance from the limit; a: SHARE of a_max

The reference does not run away from an arm that cannot follow: no step (4) takes it farther than LEAD at full speed
from the measured pose, unless it is there already.

    V_F, V_des, V_cmd    twist: as sent, in the axes of frame F; desired; asked for     [m/s, rad/s]
    V_max, A_max         largest speed and acceleration, linear and angular             [m/s, rad/s; m/s^2, rad/s^2]
    X_WT                 desired pose of the end effector
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.maths import Array, Pose, limit_magnitude, rotation_from_vector, rotation_vector
from arm_control.motion.goals import JointJog, TwistJog
from arm_control.motion.references import JointReference, Reference

LEAD = 0.1
"""Largest lead of the reference, as time at full speed [s]."""
SHARE = 0.8
"""Share of the acceleration with which a joint slows down before its limit; the rest makes up for whole steps."""
LINEAR, ANGULAR = slice(0, 3), slice(3, 6)


class JogLimits(NamedTuple):
    """Limits of jogging.

    Attributes
    ----------
    speed : ndarray, shape (2,) or (nv,)
        Largest linear and angular speed [m/s, rad/s], or speed of each joint [rad/s or m/s].
    acceleration : ndarray, shape (2,) or (nv,)
        Largest acceleration, in the same order [m/s^2, rad/s^2; rad/s^2 or m/s^2].
    timeout : float
        Age from which a velocity is 0 [s].
    """

    speed: Array
    acceleration: Array
    timeout: float


class PoseJogging:
    """Reference of an end effector that is jogged, from the stamp of the state before the first one on [ns]."""

    def __init__(self, start: Reference, stamp_ns: int) -> None:
        self.reference = start
        self._stamp_ns = stamp_ns

    def tick(self, jog: TwistJog, stamp_ns: int, limits: JogLimits, X_WE: Pose, R_WF: Array) -> Reference:
        """Return the reference in a state, equations (1) to (4); R_WF are the axes of the frame of the velocity."""
        dt, self._stamp_ns = _period(self._stamp_ns, stamp_ns, limits), stamp_ns
        V_cmd = np.zeros(6)
        if not _is_over(jog.sent_ns, stamp_ns, limits):
            V_F = jog.velocity
            V_cmd = _limit(np.concatenate([R_WF @ V_F[LINEAR], R_WF @ V_F[ANGULAR]]), limits.speed)  # (1)
        before = self.reference
        change = _limit(V_cmd - before.V_des, limits.acceleration * dt)  # (2)
        V_des = before.V_des + change  # (3)
        X_WT = _advance(before.X_WT, V_des, dt, X_WE, LEAD * limits.speed)  # (4)
        self.reference = Reference(X_WT, V_des, change / dt if dt > 0.0 else np.zeros(6))
        return self.reference


class JointJogging:
    """Reference of joints jogged within limits (nv,), from the stamp of the state before the first one on [ns]."""

    def __init__(self, start: JointReference, stamp_ns: int, q_min: Array, q_max: Array) -> None:
        self.reference = start
        self._stamp_ns = stamp_ns
        self._q_min, self._q_max = q_min, q_max

    def tick(self, jog: JointJog, stamp_ns: int, limits: JogLimits, q: Array) -> JointReference:
        """Return the reference in a state, equations (1) to (5) of joints."""
        dt, self._stamp_ns = _period(self._stamp_ns, stamp_ns, limits), stamp_ns
        before = self.reference
        is_over = _is_over(jog.sent_ns, stamp_ns, limits)
        v_cmd = np.zeros_like(q) if is_over else jog.velocity * min(1.0, _shortening(jog.velocity, limits.speed))  # (1)
        low, high = (
            np.sqrt(2.0 * SHARE * limits.acceleration * np.maximum(distance, 0.0))
            for distance in (before.q_des - self._q_min, self._q_max - before.q_des)
        )
        v_cmd = np.clip(v_cmd, -low, high)  # (5)
        largest = limits.acceleration * dt
        change = np.clip(v_cmd - before.v_des, -largest, largest)  # (2)
        v_des = before.v_des + change  # (3)
        lead = np.maximum(LEAD * limits.speed, np.abs(before.q_des - q))
        q_des = np.clip(before.q_des + v_des * dt, q - lead, q + lead)  # (4)
        self.reference = JointReference(q_des, v_des, change / dt if dt > 0.0 else np.zeros_like(q))
        return self.reference


def _is_over(sent_ns: int, stamp_ns: int, limits: JogLimits) -> bool:
    """Whether a velocity has timed out in a state."""
    return stamp_ns - sent_ns > limits.timeout * NANOSECONDS


def _period(before_ns: int, stamp_ns: int, limits: JogLimits) -> float:
    """Time between two states, at most the time-out [s]: after a gap the reference goes on where it was."""
    return min((stamp_ns - before_ns) / NANOSECONDS, limits.timeout)


def _shortening(v: Array, v_max: Array) -> float:
    """Factor that brings the fastest joint to its limit."""
    share = float((np.abs(v) / v_max).max())
    return 1.0 / share if share > 0.0 else 1.0


def _limit(twist: Array, largest: Array) -> Array:
    """``limit`` of (1) and (2): linear and angular part each for itself."""
    return np.concatenate([limit_magnitude(twist[LINEAR], largest[0]), limit_magnitude(twist[ANGULAR], largest[1])])


def _advance(X_WT: Pose, V: Array, dt: float, X_WE: Pose, lead: Array) -> Pose:
    """Equation (4), no farther from the measured pose than the lead, or than before."""
    if not V.any():
        return X_WT
    p = X_WT.p + V[LINEAR] * dt
    R = rotation_from_vector(V[ANGULAR] * dt) @ X_WT.R
    farthest = max(lead[0], float(np.linalg.norm(X_WT.p - X_WE.p)))
    angle = max(lead[1], float(np.linalg.norm(rotation_vector(X_WT.R @ X_WE.R.T))))
    return near(Pose(R, p), X_WE, np.array([farthest, angle]))


def near(X: Pose, X_WE: Pose, lead: Array) -> Pose:
    """Return a pose, brought nearer to the measured one if it is farther than a distance and an angle (2,) [m, rad]."""
    turn = limit_magnitude(rotation_vector(X.R @ X_WE.R.T), lead[1])
    return Pose(rotation_from_vector(turn) @ X_WE.R, X_WE.p + limit_magnitude(X.p - X_WE.p, lead[0]))
