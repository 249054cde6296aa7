"""Stops along a path: time goes on ever more slowly, as fast as torques and accelerations allow.

A trajectory q(s) has s = t_0 + t until a stop begins at t_0. During the stop, of duration T, with x = t / T,

    (1)  s' = 1 - 3 x^2 + 2 x^3,     s = t_0 + T (x - x^3 + x^4 / 2)
    (2)  v = q' s',                  a = q'' s'^2 + q' s''

so that the joints stay on their path, and their accelerations are continuous. The shortest T of a list is taken for
which all torques M a + h and all accelerations are within their limits. A stop takes the time T, and the path of T / 2.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.motion import JointTrajectory, stacked
from arm_control.planning.execution.motion_checks import LimitCheck
from arm_control.planning.execution.rounded_in_time import stay

DURATIONS = 0.1 * 1.12 ** np.arange(27)
"""Durations T that are tried [s]; shorter ones ask for steps of torque that a gate limits."""
SAMPLES = 25
"""Moments of a stop at which limits are looked at; the knots of its trajectory."""
FULL = 0.97
"""Share of the limits that is used at the knots; between them it is a little more."""
STILL = 1e-9
"""Speeds below this are none [rad/s or m/s]."""


def stop(check: LimitCheck, trajectory: JointTrajectory, t: float) -> JointTrajectory:
    """Return the shortest stop along a trajectory within limits; its time 0 is the begin of the stop.

    Where none of the durations is within the limits, as where the trajectory is beyond them already, it is the one
    that exceeds them least.

    Parameters
    ----------
    check : LimitCheck
        The arm and its limits.
    trajectory : JointTrajectory
    t : float
        Time of the trajectory at which the stop begins [s].
    """
    if t >= trajectory.duration or np.abs(trajectory.sample(t).v_des).max() < STILL:
        return stay(trajectory.sample(t))
    q, v, a = _stops(trajectory, t)
    shape = q.shape
    shares = check.shares(*(x.reshape(-1, shape[-1]) for x in (q, v, a))).values()
    excess = np.max([share.reshape(len(DURATIONS), -1).max(axis=1) for share in shares], axis=0)
    within = np.flatnonzero(excess <= FULL)
    k = int(within[0]) if len(within) else int(excess.argmin())
    knots = DURATIONS[k] * np.linspace(0.0, 1.0, SAMPLES)
    return JointTrajectory.through_knots(knots, q[k], v[k], a[k])


def _stops(trajectory: JointTrajectory, t: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (2) of the stops of all durations, shape (k, SAMPLES, n)."""
    x = np.linspace(0.0, 1.0, SAMPLES)
    T = DURATIONS[:, None]
    s, rate, change = T * (x - x**3 + x**4 / 2.0), 1.0 - 3.0 * x**2 + 2.0 * x**3, (6.0 * x**2 - 6.0 * x) / T
    states = [trajectory.sample(t + float(way)) for way in s.ravel()]
    q, v, a = stacked(states)
    rate, change = np.broadcast_to(rate, s.shape).ravel()[:, None], change.ravel()[:, None]
    size = (*s.shape, q.shape[1])
    return q.reshape(size), (v * rate).reshape(size), (a * rate**2 + v * change).reshape(size)
