"""Why no joint positions were found for a pose, in a sentence: found out by further searches.

    more starts lead there                               the starts ended in local minima
    it is reached without limits                         joint limits
    it is missed by little, along what no joint moves    a singular posture, such as a stretched arm
    else                                                 out of reach, and how far

That a pose is out of reach is a finding of a search, not a proof.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arm_control.kinematics.search import Search
from arm_control.kinematics.task_errors import task_error
from arm_control.kinematics.task_rows import Rows, served_rows
from arm_control.maths import Array, Pose

N_STARTS = 400
"""Starts of a search that decides between a local minimum and a pose out of reach."""
SMALL_ERROR, SMALL_SINGULAR_VALUE = 1e-3, 1e-2
"""Error [m, rad] and singular value [m/rad, -] of what counts as a singular posture."""
BEYOND = 1e-6
"""Distance from a limit at which a joint counts as beyond it [rad or m]."""


def explain(search: Search, rows: Rows, target: Array, q: Array, error: Array) -> str:
    """Why a search did not reach a pose.

    Parameters
    ----------
    search : Search
        The search.
    rows : Rows
        The rows that count.
    target : ndarray, shape (12,)
        R_WT and p_WT.
    q : ndarray, shape (n,)
        Joint positions nearest to the pose [rad or m].
    error : ndarray, shape (m,)
        Error of the rows there [m, rad].
    """
    n_starts = max(N_STARTS, 4 * search.n_starts)
    if _search_again(search, n_starts).one_pose(target, q, q).is_done[0]:
        starts = "one start leads" if search.n_starts == 1 else f"{search.n_starts} starts lead"
        return f"{starts} to local minima only; the pose is within reach: allow more starts"
    free = _search_again(search, n_starts, is_limited=False).one_pose(target, q, q)
    if free.is_done[0]:
        return f"out of reach within the joint limits: {_beyond_limits(search, free.q[0])}"
    singular_value = _smallest_singular_value(search, rows, target, q)
    if np.abs(error).max() < SMALL_ERROR and singular_value < SMALL_SINGULAR_VALUE:
        return (
            f"a singular posture: the pose is missed by {np.linalg.norm(error):.1e}, in a direction in which no joint"
            f" moves the end effector (smallest singular value of the Jacobian {singular_value:.0e})"
        )
    return _out_of_reach(search, rows, target, q, error)


def _search_again(
    search: Search, n_starts: int, rows: tuple[int, ...] | None = None, is_limited: bool = True
) -> Search:
    """The same search with more starts, and perhaps for other rows or without limits."""
    task = search.task if rows is None else replace(search.task, rows=rows)
    q_min, q_max = (search.q_min, search.q_max) if is_limited else np.full((2, search.model.nq), [[-np.inf], [np.inf]])
    again = Search(search.model, task, q_min, q_max, search.tolerance, n_starts)
    again.follow_tool()
    return again


def _beyond_limits(search: Search, q: Array) -> str:
    names = search.model.joint_names
    beyond = [
        f"{name} at {x:.3g}, allowed {low:.3g} to {high:.3g}"
        for name, x, low, high in zip(names, q, search.q_min, search.q_max, strict=True)
        if not low - BEYOND <= x <= high + BEYOND
    ]
    return f"it takes {'; '.join(beyond)}" if beyond else "it is reached without them"


def _smallest_singular_value(search: Search, rows: Rows, target: Array, q: Array) -> float:
    model, frame = search.model, search.task.frame
    X_WT = Pose(target[:9].reshape(3, 3), target[9:])
    J = task_error(model.pose(q, frame), X_WT, model.jacobian(q, frame), rows.numbers, rows.frame).J
    return float(np.linalg.svd(J, compute_uv=False)[-1])


def _out_of_reach(search: Search, rows: Rows, target: Array, q: Array, error: Array) -> str:
    """How far from the pose the arm stays, and whether the orientation is to blame."""
    n_linear = sum(row < 3 for row in rows.numbers)
    if n_linear and n_linear < len(rows.numbers):
        alone = _search_again(search, search.n_starts, rows.numbers[:n_linear]).one_pose(target, q, q)
        if not alone.is_done[0]:
            return f"out of reach: the end effector comes to {np.linalg.norm(alone.error[0]):.3g} m of the position"
        degrees = np.degrees(2.0 * np.arcsin(min(1.0, np.linalg.norm(error[n_linear:]) / 2.0)))
        off = f"the nearest is {np.linalg.norm(error[:n_linear]):.3g} m and {degrees:.3g} degrees off"
        too_many = ""
        if len(rows.numbers) > search.model.nq:
            too_many = f"; {search.model.nq} joints serve {served_rows(search.model, search.task.frame)}"
        return f"out of reach with this orientation: {off}{too_many}"
    unit = "m of the position" if n_linear else "rad of the orientation"
    return f"out of reach: the end effector comes to {np.linalg.norm(error):.3g} {unit}"
