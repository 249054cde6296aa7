"""Rows of a pose that an arm serves: as many as its joints can move independently of each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.kinematics.task_errors import FRAMES, ROWS, row_numbers
from arm_control.maths import Array
from arm_control.model import RobotModel

N_POSTURES = 24
SMALLEST_MOTION = 1e-6
"""Motion of a row per motion of a joint below which the joint does not move the row [m/rad, -]."""


class Rows(NamedTuple):
    """Selected rows of a pose.

    Attributes
    ----------
    numbers : tuple of int
        In their order in a twist.
    frame : str
        Whose axes they are along: world, end_effector or target.
    """

    numbers: tuple[int, ...]
    frame: str

    def __str__(self) -> str:
        axes = "" if self.numbers == tuple(range(6)) else f" along the axes of {self.frame}"
        return f"'{' '.join(ROWS[row] for row in self.numbers)}'{axes}"


def served_rows(model: RobotModel, frame: str | None = None) -> Rows:
    """As many rows as an arm can move independently: positions before orientations.

    All six, or with too few joints as many as there are. A choice of angular rows is along the end effector's axes, and
    leaves free what the arm moves worst: a four-joint arm of one yaw and three pitch joints serves x y z and one angle.

    Parameters
    ----------
    frame : str, optional
        A link; the end effector, with its tool, by default.
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

    Raises
    ------
    InputError
        When a row or the frame of the axes is unknown, or no joint moves a row.
    """
    if task_frame not in FRAMES:
        raise InputError(f"task_frame is '{task_frame}'; allowed: {', '.join(FRAMES)}")
    chosen = Rows(row_numbers(rows), task_frame)
    motion = np.abs(_derivatives(model, frame, task_frame)).max(axis=(0, 2))
    still = [ROWS[row] for row in chosen.numbers if motion[row] < SMALLEST_MOTION]
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
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    postures = np.random.default_rng(0).uniform(low, high, (n, model.nq))
    return postures, np.array([model.jacobian(q, frame) for q in postures])
