"""The controlled part of a pose: rows of the twist, along the axes of a frame F, and their error e.

A task is any choice of the six rows; the axes are those of the world, of the end effector or of the target. The
error of the selected rows does not depend on the other ones:

    (1)  e_p = R_WF^T (p_WT - p_WE)                     position error [m]
    (2)  R = R_WF^T R_WT R_WE^T R_WF                    rotation from the end effector to the target, along F
    (3)  e_R, from R, by the number of angular rows     orientation error [rad]:
           three rows   the rotation vector of R
           two rows     the shortest rotation that takes the free axis k to R k, at an angle atan2(|R k x k|, k^T R k)
           one row      the twist of the swing-twist decomposition of R about that axis

So an arm that may spin about its tool (rows x y z rx ry of the end effector) sees the angle between two axes. The
rates of such an error are no projections of twists (:mod:`~arm_control.maths.free_axes`); those of one or two linear
rows are taken along the axes as they stand, their own turning apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import ParameterError
from arm_control.kinematics import TWIST_ROWS
from arm_control.maths import TINY, Array, Pose, atan2, columns, maximum, partial_turns, rotation_vector, sqrt
from arm_control.maths import rows as rows_of_columns
from arm_control.model import Terms
from arm_control.motion import Reference

Tasks = tuple[tuple[int, ...], ...]
"""Rows of each task, the most important task first."""


class TaskRowMotion(NamedTuple):
    """Motion of the hand and of its target along the rows of a task: error, velocities and accelerations.

    Attributes
    ----------
    e : array, shape (6,)
        Error, desired minus actual [m, rad].
    V, V_des, A_des : array, shape (6,)
        Velocity, ``V = J v``, and the desired one [m/s, rad/s]; desired acceleration [m/s^2, rad/s^2].
    J : array, shape (6, n)
        Jacobian [m or 1].
    Jdot_v : array, shape (6,)
        Acceleration at zero joint acceleration [m/s^2, rad/s^2].
    """

    e: Array
    V: Array
    V_des: Array
    A_des: Array
    J: Array
    Jdot_v: Array


def rows_of(tasks: Sequence[str]) -> Tasks:
    """Rows of each task, from texts such as ``"x y z"``.

    Raises
    ------
    ParameterError
        When a row is unknown or comes twice, or a task has none.

    Examples
    --------
    >>> rows_of(["x y z", "rz"])
    ((0, 1, 2), (5,))
    """
    names = [task.split() for task in tasks]
    flat = [name for task in names for name in task]
    if unknown := [name for name in flat if name not in TWIST_ROWS]:
        raise ParameterError(f"tasks: unknown {', '.join(unknown)}; allowed: {' '.join(TWIST_ROWS)}")
    if len(set(flat)) < len(flat) or not all(names):
        raise ParameterError(f"tasks = {list(tasks)}: every task needs rows, and no row may come twice")
    return tuple(tuple(sorted(TWIST_ROWS.index(name) for name in task)) for task in names)


def task_rotation(frame: str, X_WE: Pose, X_WT: Pose) -> Array | None:
    """Rotation ``R_WF`` of the task's frame; None stands for the identity.

    Parameters
    ----------
    frame : str
        One of :data:`~arm_control.kinematics.task_errors.FRAMES`.
    """
    return {"world": None, "end_effector": X_WE.R, "target": X_WT.R}[frame]


def rotate_to(R_WF: Array | None, x: Array) -> Array:
    """Express world-aligned twists along the axes of F: ``R_WF^T`` times the linear and the angular rows.

    Parameters
    ----------
    R_WF : ndarray, shape (3, 3), or None
        Axes of F; None: those of the world.
    x : ndarray, shape (6,) or (6, n)
        A twist, or the columns of a Jacobian.
    """
    return x if R_WF is None else np.concatenate([R_WF.T @ x[:3], R_WF.T @ x[3:]])


def task_motion(terms: Terms, reference: Reference, frame: str, rows: Sequence[int]) -> TaskRowMotion:
    """Motion of the hand and of its target along the rows of a task.

    Parameters
    ----------
    frame : str
        One of :data:`~arm_control.kinematics.task_errors.FRAMES`.
    """
    X_WE, X_WT = terms.X_WE, reference.X_WT
    R_WF = task_rotation(frame, X_WE, X_WT)
    V, V_des, A_des = (rotate_to(R_WF, x) for x in (terms.V_WE, reference.V_des, reference.A_des))
    J, Jdot_v = rotate_to(R_WF, terms.J), rotate_to(R_WF, terms.Jdot_v)
    whole = TaskRowMotion(pose_error(X_WE, X_WT, rows, R_WF), V, V_des, A_des, J, Jdot_v)
    axes = [row - 3 for row in rows if row >= 3]
    if len(axes) in (0, 3):
        return whole
    rates = terms.V_WE[3:], reference.V_des[3:], reference.A_des[3:]
    turns = partial_turns(X_WE.R, X_WT.R, rates, axes, in_world=R_WF is None)
    return TaskRowMotion(
        whole.e,
        np.concatenate([V[:3], turns.E @ terms.V_WE[3:]]),
        np.concatenate([V_des[:3], turns.V_des]),
        np.concatenate([A_des[:3], turns.A_des]),
        np.concatenate([J[:3], turns.E @ terms.J[3:]]),
        np.concatenate([Jdot_v[:3], turns.E @ terms.Jdot_v[3:]]),
    )


def pose_error(X_WE: Pose, X_WT: Pose, rows: Sequence[int] = range(6), R_WF: Array | None = None) -> Array:
    """Error from the end effector to the target, desired minus actual: equations (1) to (3).

    Parameters
    ----------
    R_WF : ndarray, shape (3, 3), optional
        Axes of the rows; those of the world by default.

    Returns
    -------
    ndarray, shape (6,)
        ``e_p`` [m] and ``e_R`` [rad]; 0 in the other rows.
    """
    R = X_WT.R @ X_WE.R.T
    e_p = X_WT.p - X_WE.p
    if R_WF is not None:
        R = R_WF.T @ R @ R_WF  # (2)
        e_p = R_WF.T @ e_p  # (1)
    angular_rows = [row - 3 for row in rows if row >= 3]
    e_R = orientation_error(R, angular_rows) if angular_rows else np.zeros(3)
    return select_rows(np.concatenate([e_p, e_R]), rows)


def pose_errors(X_WE: Sequence[Pose], X_WT: Sequence[Pose]) -> Array:
    """Errors of many poses at once, in all rows along the axes of the world: :func:`pose_error` of each.

    Returns
    -------
    ndarray, shape (n, 6)
        ``e_p`` [m] and ``e_R`` [rad].
    """
    n = len(X_WE)
    R_WE, R_WT = (np.array([X.R for X in poses]).reshape(n, 3, 3) for poses in (X_WE, X_WT))
    p_WE, p_WT = (np.array([X.p for X in poses]).reshape(n, 3) for poses in (X_WE, X_WT))
    return error_rows(R_WE, p_WE, R_WT, p_WT)


def error_rows(R_WE: Array, p_WE: Array, R_WT: Array, p_WT: Array) -> Array:
    """:func:`pose_errors` of rotations, shape (n, 3, 3), and positions, shape (n, 3)."""
    n = len(p_WE)
    R = R_WT @ R_WE.transpose(0, 2, 1)
    e_R = rotation_vector(columns(R.reshape(n, 9).T).reshape(3, 3))
    return np.hstack([p_WT - p_WE, rows_of_columns(e_R, n).T])


def select_rows(x: Array, rows: Sequence[int]) -> Array:
    """Return a twist (6,) with zeros in all rows but the selected ones."""
    return x if len(rows) == 6 else np.array([x[row] if row in rows else 0.0 for row in range(6)])


def orientation_error(R: Array, axes: Sequence[int]) -> Array:
    """Rotation (3,) [rad] about some of the axes, equation (3).

    Parameters
    ----------
    axes : sequence of int
        One to three of the axes 0, 1, 2. With two of them and the free axis reversed, all directions are equally
        near and the error is 0.
    """
    if len(axes) == 3:
        return rotation_vector(R)
    if len(axes) == 1:
        i, j, k = ((axes[0] + shift) % 3 for shift in (1, 2, 3))
        twist = atan2(R[j, i] - R[i, j], R[i, i] + R[j, j])
        return np.array([twist if axis == k else 0.0 for axis in range(3)])
    k = next(axis for axis in range(3) if axis not in axes)
    i, j = (k + 1) % 3, (k + 2) % 3
    sine = sqrt(R[i, k] * R[i, k] + R[j, k] * R[j, k])
    scale = atan2(sine, R[k, k]) / maximum(sine, TINY)
    e_R = [0.0, 0.0, 0.0]
    e_R[i] = -scale * R[j, k]
    e_R[j] = scale * R[i, k]
    return np.array(e_R)
