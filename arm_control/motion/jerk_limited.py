"""Jerk-limited motions of the joints from point to point, by the library ruckig (extra ``jerk``).

Every joint goes from the present position, velocity and acceleration to a position at rest, as fast as limits of
velocity, acceleration and jerk allow, and all arrive at the same time. The jerk is constant in each phase of a joint,
so the motion is a cubic between the phases of all of them, and a
:class:`~arm_control.motion.joint_trajectory.JointTrajectory` as that of
:func:`~arm_control.motion.joint_trajectory.rest_to_rest` is.

Source: L. Berscheid, T. Kroeger, "Jerk-limited real-time trajectory generation with arbitrary target states", 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_control.exceptions import InputError, MissingExtra
from arm_control.maths import Array
from arm_control.motion.joint_trajectory import JointTrajectory
from arm_control.motion.references import JointReference

SHORTEST_PHASE = 1e-9
"""Duration below which a phase is none [s]."""


def jerk_limited(start: JointReference, q_goal: Array, v_max: Array, a_max: Array, j_max: Array) -> JointTrajectory:
    """Return the fastest jerk-limited motion to a position.

    Parameters
    ----------
    q_goal : ndarray, shape (nv,)
        Position at the end, at rest [rad or m].
    v_max, a_max, j_max : ndarray, shape (nv,)
        Limits of velocity [rad/s or m/s], acceleration [rad/s^2 or m/s^2] and jerk [rad/s^3 or m/s^3].

    Raises
    ------
    MissingExtra
        When ruckig is not installed.
    InputError
        When a limit is not positive, a number is not finite, or ruckig finds no motion.
    """
    rows = {"q_goal": q_goal, "v_max": v_max, "a_max": a_max, "j_max": j_max}
    n = len(start.q_des)
    for name, values in rows.items():
        if np.shape(values) != (n,) or not np.isfinite(values).all():
            raise InputError(f"{name} has shape {np.shape(values)}; allowed: {n} finite numbers")
        if name != "q_goal" and not (values > 0.0).all():
            raise InputError(f"{name} = {values.tolist()}: positive numbers are needed")
    if not (np.abs(q_goal - start.q_des) > 0.0).any() and not start.v_des.any() and not start.a_des.any():
        raise InputError("the goal is the present position at rest: there is no motion")
    profile = _solve(start, rows)
    knots = _knots(profile)
    states = [np.array(profile.at_time(float(t))[:3]) for t in knots]
    q, v, a = np.moveaxis(np.array(states), 1, 0)
    jerk = np.diff(a, axis=0) / np.diff(knots)[:, None]
    zero = np.zeros_like(jerk)
    return JointTrajectory(knots, np.stack([q[:-1], v[:-1], a[:-1] / 2.0, jerk / 6.0, zero, zero], axis=1))


def _solve(start: JointReference, rows: dict[str, Array]) -> Any:
    """Ruckig's own trajectory."""
    try:
        import ruckig  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra("ruckig", "jerk") from error
    n = len(start.q_des)
    problem, trajectory = ruckig.InputParameter(n), ruckig.Trajectory(n)
    problem.current_position, problem.current_velocity = start.q_des.tolist(), start.v_des.tolist()
    problem.current_acceleration = start.a_des.tolist()
    problem.target_position, problem.max_velocity = rows["q_goal"].tolist(), rows["v_max"].tolist()
    problem.max_acceleration, problem.max_jerk = rows["a_max"].tolist(), rows["j_max"].tolist()
    try:
        result = ruckig.Ruckig(n).calculate(problem, trajectory)
    except RuntimeError as error:
        raise InputError(f"ruckig finds no motion: {error}") from None
    if int(result) < 0:
        raise InputError(f"ruckig finds no motion: {result}")
    return trajectory


def _knots(trajectory: Any) -> Array:
    """Ends of the phases of all joints [s]."""
    ends = [0.0, trajectory.duration]
    for profile in trajectory.profiles[0]:
        ends += np.cumsum([profile.brake.duration, *profile.t]).tolist()
        ends += np.cumsum(profile.brake.t).tolist()
    times = np.unique(np.clip(ends, 0.0, trajectory.duration))
    kept = times[np.append(True, np.diff(times) > SHORTEST_PHASE)]
    kept[-1] = trajectory.duration
    return kept
