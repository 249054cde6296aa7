"""Goals of a plan from a pose of the end effector: postures of the arm there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arm_control.kinematics.inverse import InverseKinematics
from arm_control.maths.poses import Pose
from arm_control.planning.rrt.connect import RrtConnect
from arm_control.planning.rrt.plans import Outcome, Plan, no_path
from arm_control.planning.rrt.space_time import SpaceTimeRrt

STARTS = 32
"""Random starts from which postures of an arm with more joints than rows are searched."""


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
    planner : RrtConnect or SpaceTimeRrt
    inverse : InverseKinematics
        Of the same arm; its rows count.
    start : array_like, shape (n,)
        Joint positions [rad or m].
    X_WT : Pose
        Pose of the end effector.
    title : str, optional
        Title of a progress bar.

    Raises
    ------
    InputError
        When the pose or the start is not valid.
    """
    nearest = inverse.solve(X_WT, start)
    if not nearest.converged:
        return no_path(Outcome.UNREACHABLE, f"the goal cannot be reached: {nearest.why}", len(nearest.q))
    if len(inverse.rows.numbers) == len(nearest.q):
        goals = np.concatenate([nearest.q[None], inverse.all(X_WT, start).q])
        return planner.plan(start, goals, title=title)
    low, high = np.maximum(inverse.q_min, -np.pi), np.minimum(inverse.q_max, np.pi)
    starts = np.random.default_rng(planner.parameters.seed).uniform(low, high, (STARTS, len(low)))
    batch = inverse.solve_batch([X_WT] * STARTS, starts)
    return planner.plan(start, np.concatenate([nearest.q[None], batch.q[batch.converged]]), title=title)
