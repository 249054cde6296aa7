"""The error of selected rows of a pose, desired minus actual, and its exact derivative, over any scalar.

Rows and axes are those of the controllers (:mod:`arm_control.control.osc.task`): any of x y z rx ry rz along the axes
F of the world, of the end effector E or of the target T. The error of the selected rows does not depend on the others.

    (1)  e_p = R_WF^T (p_WT - p_WE)                               position error [m]
    (2)  (a, c) = quaternion of the rotation Q from E to T        a along F, c its scalar part
    (3)  e_R by the number of angular rows [rad, for small errors]:
           three   2 a
           two     2 s, where s belongs to the shortest rotation that takes the free axis k to Q k
           one     2 t, where t belongs to the rotation about that axis, with the shortest one to it taken off

These are sines of half an angle instead of angles: no arctangent is needed, and they vanish at the target only. The
derivative of the selected rows is exact where their error vanishes, however large the error of the others is:

    (4)  -de_p/dt = R_WE^T (v + w x (p_WT - p_WE))                along E; without w along W and T
    (5)  -de_R/dt = w                                             three rows
                    w, turned by the rotation about k along W     two rows
                    (c^2 k + c s a x k + (a.k) a).w / (c^2 + (a.k)^2), s = -1 along W, else 1       one row

Source: J. Sola, "Quaternion kinematics for the error-state Kalman filter", 2017, for the derivative of a quaternion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, Scalar, cross, select, sqrt

ROWS = ("x", "y", "z", "rx", "ry", "rz")
"""Rows of a twist."""
FRAMES = ("world", "end_effector", "target")
"""Frames that may give the axes."""
SMALLEST_COSINE = 1e-9
"""Cosine of half the shortest rotation below which the rotation about the free axis counts as none."""


class TaskError(NamedTuple):
    """Error of the selected rows and its derivative by the joint positions, with the opposite sign.

    Attributes
    ----------
    e : array, shape (m,)
        Desired minus actual [m, rad].
    J : array, shape (m, n)
        ``-de/dq``.
    """

    e: Array
    J: Array


def row_numbers(rows: str) -> tuple[int, ...]:
    """Numbers of rows, in their order in a twist, from a text such as ``"x y z rx"``.

    Raises
    ------
    InputError
        When a row is unknown or comes twice, or there is none.
    """
    names = rows.split()
    if unknown := [name for name in names if name not in ROWS]:
        raise InputError(f"rows: unknown {', '.join(unknown)}; allowed: {' '.join(ROWS)}")
    if not names or len(set(names)) < len(names):
        raise InputError(f"rows are '{rows}'; allowed: at least one of {' '.join(ROWS)}, none of them twice")
    return tuple(sorted(ROWS.index(name) for name in names))


def task_error(X_WE: Pose, X_WT: Pose, J: Array, rows: Sequence[int] = range(6), frame: str = "world") -> TaskError:
    """Error from the end effector to the target in the selected rows, equations (1) to (5).

    J is the end effector's Jacobian (6, n), linear rows first, in world axes; ``frame`` is one of FRAMES.
    """
    linear, angular = [row for row in rows if row < 3], [row - 3 for row in rows if row >= 3]
    e_p, J_p = _position_error(X_WE, X_WT, J, frame)
    e_R, J_R = _orientation_error(X_WE.R, X_WT.R, J[3:], angular, frame)
    return TaskError(np.concatenate([e_p[linear], e_R]), np.concatenate([J_p[linear], J_R]))


def _position_error(X_WE: Pose, X_WT: Pose, J: Array, frame: str) -> TaskError:
    """Equations (1) and (4), all three rows."""
    e_p = X_WT.p - X_WE.p
    if frame == "world":
        return TaskError(e_p, J[:3])
    if frame == "target":
        return TaskError(X_WT.R.T @ e_p, X_WT.R.T @ J[:3])
    carried = np.array([cross(w, e_p) for w in J[3:].T]).T
    return TaskError(X_WE.R.T @ e_p, X_WE.R.T @ (J[:3] + carried))


def _orientation_error(R_WE: Array, R_WT: Array, J_w: Array, axes: Sequence[int], frame: str) -> TaskError:
    """Equations (2), (3) and (5), the selected rows."""
    if not axes:
        return TaskError(np.zeros(0), J_w[:0])
    is_world = frame == "world"
    a, c = _half_turn(R_WT @ R_WE.T if is_world else R_WE.T @ R_WT)
    w = J_w if is_world else R_WE.T @ J_w
    if len(axes) == 3:
        return TaskError(2.0 * a, w)
    if len(axes) == 1:
        return _rotation_about(axes[0], a, c, w, -1.0 if is_world else 1.0)
    return _direction_error(list(axes), a, c, w, is_world)


def _rotation_about(axis: int, a: Array, c: Scalar, w: Array, sign: float) -> TaskError:
    """One angular row."""
    k = np.eye(3)[axis]
    squared = c * c + a[axis] * a[axis]
    scale = select(squared - SMALLEST_COSINE, 1.0 / select(squared - SMALLEST_COSINE, squared, 1.0), 0.0)
    row = (c * c * k + sign * c * cross(a, k) + a[axis] * a) * scale
    return TaskError(np.array([2.0 * a[axis] * sqrt(scale)]), np.array([row @ w]))


def _direction_error(axes: list[int], a: Array, c: Scalar, w: Array, is_world: bool) -> TaskError:
    """Two angular rows: the direction of the third axis."""
    k = 3 - sum(axes)
    i, j = (k + 1) % 3, (k + 2) % 3
    length = sqrt(c * c + a[k] * a[k])
    is_turned = length - SMALLEST_COSINE
    cosine = select(is_turned, c / select(is_turned, length, 1.0), 1.0)  # of half the rotation about k
    sine = select(is_turned, a[k] / select(is_turned, length, 1.0), 0.0)
    errors = {i: 2.0 * (cosine * a[i] - sine * a[j]), j: 2.0 * (cosine * a[j] + sine * a[i])}
    if is_world:
        C, S = cosine * cosine - sine * sine, 2.0 * cosine * sine
        rates = {i: C * w[i] - S * w[j], j: S * w[i] + C * w[j]}
    else:
        rates = {i: w[i], j: w[j]}
    return TaskError(np.array([errors[axis] for axis in axes]), np.array([rates[axis] for axis in axes]))


def _half_turn(R: Array) -> tuple[Array, Scalar]:
    """Vector and scalar part of a rotation's quaternion, the latter not negative.

    As :func:`~arm_control.maths.poses.quaternion_from_rotation`, with one division instead of eight and no second
    normalisation.
    """
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    columns = (
        [1 + a - e - i, b + d, g + c, h - f],
        [b + d, 1 - a + e - i, f + h, c - g],
        [g + c, f + h, 1 - a - e + i, d - b],
        [h - f, c - g, d - b, 1 + a + e + i],
    )
    column, largest = columns[0], columns[0][0]
    for k, other in enumerate(columns[1:], start=1):
        is_larger = other[k] - largest
        column = [select(is_larger, x, y) for x, y in zip(other, column, strict=True)]
        largest = select(is_larger, other[k], largest)
    scale = 0.5 / sqrt(largest)
    scale = select(-column[3], -scale, scale)
    return np.array([x * scale for x in column[:3]]), column[3] * scale
