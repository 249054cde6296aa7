"""What of a pose is controlled: rows of the twist, along the axes of a frame F.

A task is any choice of the six rows; the axes are those of the world, of the end effector or of the target. The
error of the rows that are chosen does not depend on the others. For the orientation, ``R = R_WF^T R_WT R_WE^T
R_WF`` leads from the end effector to the target, and the error is, with

    three rows     the rotation vector of R,
    two rows       the shortest rotation that takes the free axis to where R takes it,
    one row        the turn about that axis that R contains (the twist of swing and twist).

So an arm that may spin about its tool (rows x y z rx ry of the end effector) sees the angle between two axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.exceptions import ParameterError
from arm_control.maths.poses import TINY, Array, Pose, rotation_vector
from arm_control.maths.scalars import atan2, maximum, sqrt

ROWS = ("x", "y", "z", "rx", "ry", "rz")
"""Rows of a twist."""
FRAMES = ("world", "end_effector", "target")
"""Whose axes they may be along."""

Levels = tuple[tuple[int, ...], ...]


def rows_of(tasks: Sequence[str]) -> Levels:
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
    if unknown := [name for name in flat if name not in ROWS]:
        raise ParameterError(f"tasks: unknown {', '.join(unknown)}; allowed: {' '.join(ROWS)}")
    if len(set(flat)) < len(flat) or not all(names):
        raise ParameterError(f"tasks = {list(tasks)}: every task needs rows, and no row may come twice")
    return tuple(tuple(sorted(ROWS.index(name) for name in task)) for task in names)


def axes(frame: str, X_WE: Pose, X_WT: Pose) -> Array | None:
    """``R_WF`` of a task's frame; None for the world's own axes."""
    return {"world": None, "end_effector": X_WE.R, "target": X_WT.R}[frame]


def along(R_WF: Array | None, x: Array) -> Array:
    """A twist (6,), or the rows of a Jacobian (6, n), along the axes of F."""
    return x if R_WF is None else np.concatenate([R_WF.T @ x[:3], R_WF.T @ x[3:]])


def pose_error(X_WE: Pose, X_WT: Pose, rows: Sequence[int] = range(6), R_WF: Array | None = None) -> Array:
    """Error from the end effector to the target: desired minus actual.

    Parameters
    ----------
    X_WE, X_WT : Pose
        Pose of the end effector and of the target in the world.
    rows : sequence of int
        The rows that count.
    R_WF : ndarray, shape (3, 3), optional
        Axes of the rows; those of the world by default.

    Returns
    -------
    ndarray, shape (6,)
        Position error [m] and rotation [rad] along the axes of F; 0 in the rows that do not count.
    """
    R, p = X_WT.R @ X_WE.R.T, X_WT.p - X_WE.p
    if R_WF is not None:
        R, p = R_WF.T @ R @ R_WF, R_WF.T @ p
    turns = [row - 3 for row in rows if row >= 3]
    return chosen(np.concatenate([p, turn_error(R, turns) if turns else np.zeros(3)]), rows)


def chosen(x: Array, rows: Sequence[int]) -> Array:
    """A twist with zeros in the rows that do not count."""
    return x if len(rows) == 6 else np.array([x[row] if row in rows else 0.0 for row in range(6)])


def turn_error(R: Array, turns: Sequence[int]) -> Array:
    """Rotation (3,) [rad] about some of the axes that a rotation asks for; see the top of this module.

    Where two rows count and the free axis points the opposite way, all directions are equally near and the
    error is 0.
    """
    if len(turns) == 3:
        return rotation_vector(R)
    if len(turns) == 1:
        i, j, k = ((turns[0] + shift) % 3 for shift in (1, 2, 3))
        return np.array([atan2(R[j, i] - R[i, j], R[i, i] + R[j, j]) if axis == k else 0.0 for axis in range(3)])
    k = next(axis for axis in range(3) if axis not in turns)
    i, j = (k + 1) % 3, (k + 2) % 3
    sine = sqrt(R[i, k] * R[i, k] + R[j, k] * R[j, k])
    scale = atan2(sine, R[k, k]) / maximum(sine, TINY)
    e = [0.0, 0.0, 0.0]
    e[i], e[j] = -scale * R[j, k], scale * R[i, k]
    return np.array(e)
