"""Goals of a plan from a pose of the end effector: postures of the arm there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Pose
from arm_control.planning.plans import Plan, SearchOutcome, no_path
from arm_control.planning.rrt.connect import RrtConnect
from arm_control.planning.rrt.space_time import SpaceTimeRrt

STARTS = 32
"""Random starts from which postures of an arm with more joints than rows are searched."""


def goals_of_pose(inverse: InverseKinematics, start: npt.ArrayLike, X_WT: Pose, seed: int = 0) -> tuple[Array, str]:
    """Return postures of the arm at a pose of the end effector, or why there are none.

    Joint positions of shape (k, n), the nearest to the start first [rad or m]; and a sentence where k is 0, else empty.

    Parameters
    ----------
    inverse : InverseKinematics
        Of the arm; its rows count.
    start : array_like, shape (n,)
        Joint positions [rad or m].
    X_WT : Pose
        Pose of the end effector.
    seed : int
        Of random postures, from which an arm with more joints than rows comes to the pose.

    Raises
    ------
    InputError
        When the pose or the start is not valid.
    """
    nearest = inverse.solve(X_WT, start)
    if not nearest.converged:
        return np.zeros((0, len(nearest.q))), f"the goal cannot be reached: {nearest.why}"
    if len(inverse.rows.numbers) == len(nearest.q):
        return np.concatenate([nearest.q[None], inverse.all(X_WT, start).q]), ""
    low, high = np.maximum(inverse.q_min, -np.pi), np.minimum(inverse.q_max, np.pi)
    starts = np.random.default_rng(seed).uniform(low, high, (STARTS, len(low)))
    batch = inverse.solve_batch([X_WT] * STARTS, starts)
    return np.concatenate([nearest.q[None], batch.q[batch.converged]]), ""


def plan_to_pose(
    planner: RrtConnect | SpaceTimeRrt,
    inverse: InverseKinematics,
    start: npt.ArrayLike,
    X_WT: Pose,
    title: str | None = None,
) -> Plan:
    """Plan a path to a pose of the end effector, to whichever posture is reached first.

    Parameters
    ----------
    inverse : InverseKinematics
        Of the same arm; its rows count.
    start : array_like, shape (n,)
        Joint positions [rad or m].
    X_WT : Pose
        Pose of the end effector.

    Raises
    ------
    InputError
        When the pose or the start is not valid.
    """
    goals, reason = goals_of_pose(inverse, start, X_WT, planner.parameters.seed)
    if reason:
        return no_path(SearchOutcome.UNREACHABLE, reason, goals.shape[1])
    return planner.plan(start, goals, title=title)
