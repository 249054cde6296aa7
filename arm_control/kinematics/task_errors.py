"""The error of selected rows of a pose, desired minus actual, its exact derivative, and the rows that an arm serves.

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

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, Scalar, cross, select, sqrt
from arm_control.model import RobotModel, drawn_range

TWIST_ROWS = ("x", "y", "z", "rx", "ry", "rz")
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

    An InputError when a row is unknown or comes twice, or there is none.
    """
    names = rows.split()
    if unknown := [name for name in names if name not in TWIST_ROWS]:
        raise InputError(f"rows: unknown {', '.join(unknown)}; allowed: {' '.join(TWIST_ROWS)}")
    if not names or len(set(names)) < len(names):
        raise InputError(f"rows are '{rows}'; allowed: at least one of {' '.join(TWIST_ROWS)}, none of them twice")
    return tuple(sorted(TWIST_ROWS.index(name) for name in names))


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


N_POSTURES = 24
SMALLEST_MOTION = 1e-6
"""Motion of a row per motion of a joint below which the joint does not move the row [m/rad, -]."""


class Rows(NamedTuple):
    """Selected rows of a pose.

    Attributes
    ----------
    frame : str
        Whose axes they are along: world, end_effector or target.
    """

    numbers: tuple[int, ...]
    frame: str

    def __str__(self) -> str:
        axes = "" if self.numbers == tuple(range(6)) else f" along the axes of {self.frame}"
        return f"'{' '.join(TWIST_ROWS[row] for row in self.numbers)}'{axes}"


def served_rows(model: RobotModel, frame: str | None = None) -> Rows:
    """As many rows of a link, by default the end effector with its tool, as an arm can move independently.

    Positions come before orientations: all six rows, or with too few joints as many as there are. A choice of angular
    rows is along the end effector's axes, and leaves free what the arm moves worst: a four-joint arm of one yaw and
    three pitch joints serves x y z and one angle.
    """
    derivatives = {axes: _derivatives(model, frame, axes) for axes in ("world", "end_effector")}
    for rows_of_one_size in _candidates(model.nq):
        singular_values = {
            rows: float(np.median(np.linalg.svd(derivatives[rows.frame][:, rows.numbers], compute_uv=False)[:, -1]))
            for rows in rows_of_one_size
        }
        best = max(singular_values, key=lambda rows: singular_values[rows])
        if singular_values[best] > SMALLEST_MOTION:
            return best
    raise InputError(f"no joint moves {frame or model.tip}; allowed: a link behind a movable joint")


def _candidates(n_joints: int) -> Iterator[list[Rows]]:
    """Selections of the same numbers of rows, the larger ones first."""
    sizes = [(linear, angular) for linear in range(4) for angular in range(4) if 0 < linear + angular <= n_joints]
    for n_linear, n_angular in sorted(sizes, key=lambda size: (sum(size), size[0]), reverse=True):
        frame = "end_effector" if n_linear == 3 and 0 < n_angular < 3 else "world"
        yield [
            Rows((*linear, *angular), frame)
            for linear in combinations(range(3), n_linear)
            for angular in combinations(range(3, 6), n_angular)
        ]


def pose_rank(model: RobotModel) -> int:
    """Number of rows of a pose that an arm moves independently of each other in most postures, 6 at most."""
    _, jacobians = sampled_jacobians(model, N_POSTURES)
    return int(np.median(np.linalg.matrix_rank(jacobians, tol=SMALLEST_MOTION)))


def chosen_rows(model: RobotModel, frame: str | None, rows: str, task_frame: str) -> Rows:
    """Rows that a user names, after checking that the arm can move each of them.

    An InputError when a row or the frame of the axes is unknown, or no joint moves a row.
    """
    if task_frame not in FRAMES:
        raise InputError(f"task_frame is '{task_frame}'; allowed: {', '.join(FRAMES)}")
    chosen = Rows(row_numbers(rows), task_frame)
    motion = np.abs(_derivatives(model, frame, task_frame)).max(axis=(0, 2))
    still = [TWIST_ROWS[row] for row in chosen.numbers if motion[row] < SMALLEST_MOTION]
    if still:
        served = served_rows(model, frame)
        raise InputError(f"no joint moves row {', '.join(still)} of {frame or model.tip}; this arm serves {served}")
    return chosen


def _derivatives(model: RobotModel, frame: str | None, axes: str) -> Array:
    """Derivatives of all rows at the target in random postures; shape (N_POSTURES, 6, n)."""
    postures, jacobians = sampled_jacobians(model, N_POSTURES, frame)
    if axes == "world":
        return jacobians
    R = np.array([model.pose(q, frame).R for q in postures]).transpose(0, 2, 1)
    return np.concatenate([R @ jacobians[:, :3], R @ jacobians[:, 3:]], axis=1)


def sampled_jacobians(model: RobotModel, n: int, frame: str | None = None) -> tuple[Array, Array]:
    """Random postures (n, nq) within the limits and half a turn, always the same, and their Jacobians (n, 6, nv)."""
    low, high = drawn_range(model.q_min, model.q_max)
    postures = np.random.default_rng(0).uniform(low, high, (n, model.nq))
    return postures, np.array([model.jacobian(q, frame) for q in postures])
