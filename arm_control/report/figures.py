"""Figures of motion and torque that live runs, simulations and bags share, and the table that prints figures.

    e_p = p_T - p_E,  e_R = rotation vector of R_T R_E^T          from the end effector E to the target T
    straightness = max |(p - p_0) - ((p - p_0) . u) u| / |p_T - p_0|,  u = (p_T - p_0) / |p_T - p_0|
    torque share = |tau| / tau_max

Where a live run (:mod:`arm_control.report.run_figures`, also used for bags) and a simulation
(:mod:`arm_control.report.simulation_figures`) define a figure differently:

| figure | live run, bag | simulation |
|---|---|---|
| error of a reached target | in the first state at the end of its period | in the last state before that |
| straightness | of every target | 0 for ways shorter than 10 mm |
| speed of the end effector | from the measured joint velocities, ``J v`` | from the difference of two positions |
| change of torque | per second | per tick |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.simulation import Recording


def linear_angular_norms(rows: Array) -> tuple[Array, Array]:
    """Return the norms, shape (n,) each, of the linear and of the angular part of twists or pose errors (n, 6)."""
    return np.linalg.norm(rows[:, :3], axis=1), np.linalg.norm(rows[:, 3:], axis=1)


def end_effector_motion(q: Array, v: Array, model: RobotModel) -> tuple[list[Pose], Array]:
    """Return the poses of the end effector in the world, and its twists, shape (n, 6) [m/s], [rad/s].

    Parameters
    ----------
    q, v : ndarray, shape (n, nv)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    model : RobotModel
        The arm.
    """
    states = (model.evaluate(*state) for state in zip(q, v, strict=True))
    motion = [(state.X_WE, state.V_WE) for state in states]
    return [X for X, _ in motion], np.array([V for _, V in motion])


def straightness(p: Array, goal: Array, shortest: float = 0.0) -> float:
    """Return the largest distance of a path from the straight way to its goal, as a share of the way's length.

    Parameters
    ----------
    p : ndarray, shape (n, 3)
        Positions from the start on [m].
    goal : ndarray, shape (3,)
        End of the straight way [m].
    shortest : float
        Length below which the result is 0 [m].
    """
    way = goal - p[0]
    length = float(np.linalg.norm(way))
    if length < shortest:
        return 0.0
    length = max(length, 1e-12)
    direction = way / length
    moved = p - p[0]
    off = moved - np.outer(moved @ direction, direction)
    return float(np.linalg.norm(off, axis=1).max()) / length


def torque_shares(tau: Array, model: RobotModel) -> Array:
    """Return each torque as a share of its joint's limit, shape (n, nv).

    Parameters
    ----------
    tau : ndarray, shape (n, nv)
        Torque [N m or N].
    model : RobotModel
        The arm.
    """
    return np.abs(tau) / model.tau_max


def goal_pose(target: Target, recording: Recording, model: RobotModel) -> Pose:
    """Return the pose of a target in the world.

    A target in the frame of a moving link is where the link was in the first state at or after the target's stamp.

    Parameters
    ----------
    target : Target
        The target; its stamp is not after the last state.
    recording : Recording
        The run.
    model : RobotModel
        The arm.
    """
    state = np.searchsorted(recording.state_stamps, target.stamp_ns)
    return model.pose(recording.q[state], target.frame) @ target.X_FT


def text_table(rows: Sequence[Sequence[str]], widths: Sequence[int] = (), gap: str = "  ", n_left: int = 1) -> str:
    """Return rows of cells as lines with aligned columns.

    Parameters
    ----------
    rows : sequence of sequence of str
        The cells; all rows have the same length.
    widths : sequence of int
        Least widths of the first columns.
    gap : str
        Text between two columns.
    n_left : int
        Number of columns that are aligned to the left; the others are aligned to the right.

    Examples
    --------
    >>> print(text_table([("joint", "torque"), ("elbow", "5"), ("wrist roll", "12.5")]))
    joint       torque
    elbow            5
    wrist roll    12.5
    """
    least = [*widths, *[0] * len(rows[0])]
    columns = zip(*rows, strict=True)
    used = [max(width, *map(len, column)) for width, column in zip(least, columns, strict=False)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < n_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, used, strict=True))
        ]
        lines.append(gap.join(cells).rstrip())
    return "\n".join(lines)
