"""Results of task-constrained planning: a motion in time, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import Pair
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.motion import JointTrajectory, powers
from arm_control.planning.rrt.plans import SearchOutcome
from arm_control.planning.task_constrained.task_motion import TaskMotion
from arm_control.planning.task_constrained.task_tree import DrawnTree, TaskTree


class TaskEffort(NamedTuple):
    """What a search took.

    Attributes
    ----------
    rounds : int
        Rounds of expansions.
    expansions : int
        Pieces of the task path that were followed.
    vertices : int
        Of the tree.
    seconds : float
        Time [s].
    """

    rounds: int = 0
    expansions: int = 0
    vertices: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class TaskPlan:
    """A motion along a task path, proved free of contact; or the reason why there is none.

    Attributes
    ----------
    outcome : SearchOutcome
    reason : str
        Why there is no motion, in one sentence; empty where there is one.
    times : ndarray, shape (m,)
        Ends of the steps, from 0 on [s].
    q, qd, qdd : ndarray, shape (m, n)
        Joint positions, velocities and accelerations there; where they have a step, the values before it.
    s, sd : ndarray, shape (m,)
        Place on the task path and its rate [1/s]; likewise.
    trajectory, progress : JointTrajectory or None
        The motion between them, where the task is held, too; and s(t), as of one joint.
    contacts : tuple of Pair
        What touches at the start, where that is the reason.
    effort : TaskEffort
    tree : DrawnTree
    """

    outcome: SearchOutcome
    reason: str
    times: Array
    q: Array
    qd: Array
    qdd: Array
    s: Array
    sd: Array
    trajectory: JointTrajectory | None
    progress: JointTrajectory | None
    contacts: tuple[Pair, ...]
    effort: TaskEffort
    tree: DrawnTree

    @property
    def is_found(self) -> bool:
        """Whether there is a motion."""
        return self.outcome is SearchOutcome.FOUND

    @property
    def duration(self) -> float:
        """Of the motion [s]; 0 where there is none."""
        return float(self.times[-1]) if len(self.times) else 0.0

    def at(self, times: npt.ArrayLike) -> tuple[Array, Array]:
        """Joint positions, shape (k, n), and places on the task path, shape (k,), at times, shape (k,) [s]."""
        if self.trajectory is None or self.progress is None:
            raise InputError(f"there is no motion: {self.reason}")
        t = np.asarray(times, dtype=float)
        return values_at(self.trajectory, t)[0], values_at(self.progress, t)[0][:, 0]


def values_at(trajectory: JointTrajectory, times: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration at many times, shape (k, n) each; at steps those behind them.

    Parameters
    ----------
    trajectory : JointTrajectory
    times : ndarray, shape (k,)
        Within the trajectory; others are taken as its begin or its end [s].
    """
    knots = trajectory.knots
    t = np.clip(times, knots[0], knots[-1])
    k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(trajectory.pieces) - 1)
    q, v, a = np.einsum("dkp,kpn->dkn", powers(t - knots[k]), trajectory.pieces[k])
    return q, v, a


def found(motion: TaskMotion, tree: TaskTree, levels: int, effort: TaskEffort) -> TaskPlan:
    """Return the plan of a motion.

    Parameters
    ----------
    motion : TaskMotion
    tree : TaskTree
    levels : int
        Number of pieces of the task path.
    effort : TaskEffort
    """
    joints, progress = motion
    times, T = joints.knots, np.diff(joints.knots)
    ends = [np.einsum("dkp,kpn->dkn", powers(T), part.pieces) for part in (joints, progress)]
    begins = [np.einsum("dkp,kpn->dkn", powers(np.zeros(1)), part.pieces[:1]) for part in (joints, progress)]
    (q, qd, qdd), (s, sd, _) = (np.concatenate(both, axis=1) for both in zip(begins, ends, strict=True))
    return TaskPlan(
        SearchOutcome.FOUND, "", times, q, qd, qdd, s[:, 0], sd[:, 0], joints, progress, (), effort, tree.drawn(levels)
    )


def not_found(
    outcome: SearchOutcome,
    reason: str,
    tree: TaskTree,
    levels: int,
    effort: TaskEffort,
    contacts: tuple[Pair, ...] = (),
) -> TaskPlan:
    """Return a plan without a motion.

    Parameters
    ----------
    outcome : SearchOutcome
    reason : str
        In one sentence.
    tree : TaskTree
    levels : int
        Number of pieces of the task path.
    effort : TaskEffort
    contacts : tuple of Pair
        What touches.
    """
    none, nothing = np.zeros((0, tree["q"].shape[1])), np.zeros(0)
    return TaskPlan(
        outcome, reason, nothing, none, none, none, nothing, nothing, None, None, contacts, effort, tree.drawn(levels)
    )
