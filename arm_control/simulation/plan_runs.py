"""Plans of a scene, seed by seed, each checked by :mod:`arm_control.simulation.plan_check`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.kinematics import ROWS, InverseKinematics, served_rows
from arm_control.maths import Array
from arm_control.motion import JointTrajectory, powers
from arm_control.planning import (
    TIMED,
    DrawnTree,
    PathLimits,
    Plan,
    PlannedMotion,
    RrtConnect,
    SearchOutcome,
    SearchParameters,
    SpaceTimeRrt,
    TaskConstrainedProblem,
    TaskParameters,
    TaskPath,
    TaskPlanner,
    TimeScaler,
    Travel,
    fastest_motion,
    goals_of_pose,
    no_path,
    shorten,
)
from arm_control.simulation.independent_arm import IndependentArm
from arm_control.simulation.plan_check import PlanCheck, TimedPath, check_plan
from arm_control.simulation.plan_scene import PlanScene

WARM_UP = 20
"""Rounds before time is measured."""


@dataclass(frozen=True)
class Corners:
    """Straight motions in joint space from corner to corner.

    Attributes
    ----------
    times : ndarray, shape (m,)
        [s].
    qs : ndarray, shape (m, n)
        Joint positions [rad or m].
    """

    times: Array
    qs: Array

    @property
    def duration(self) -> float:
        """Time of the last corner [s]."""
        return float(self.times[-1])

    def at(self, times: Array) -> tuple[Array, Array]:
        """Joint positions at times, and places on a path that there is not: zero."""
        q = np.column_stack([np.interp(times, self.times, column) for column in self.qs.T])
        return q, np.zeros(len(times))


@dataclass(frozen=True)
class Smooth:
    """A motion from rest to rest along a path without corners."""

    motion: PlannedMotion

    @property
    def duration(self) -> float:
        """Of the motion [s]."""
        return self.motion.duration

    def at(self, times: Array) -> tuple[Array, Array]:
        """Joint positions at times, and places on a path that there is not: zero."""
        return np.array([self.motion.sample(t).q_des for t in times.tolist()]), np.zeros(len(times))


@dataclass(frozen=True)
class TaskRun:
    """A motion along a task path.

    Attributes
    ----------
    trajectory : JointTrajectory
    times, s : ndarray, shape (m,)
        Times [s], and places on the path then.
    """

    trajectory: JointTrajectory
    times: Array
    s: Array

    @property
    def duration(self) -> float:
        """Of the motion [s]."""
        return self.trajectory.duration

    def at(self, times: Array) -> tuple[Array, Array]:
        """Joint positions and places at times."""
        knots, pieces = self.trajectory.knots, self.trajectory.pieces
        k = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(pieces) - 1)
        q = np.einsum("kd,kdj->kj", powers(times - knots[k])[0], pieces[k])
        return q, np.interp(times, self.times, self.s)


class PlanRun(NamedTuple):
    """What came of one seed.

    Attributes
    ----------
    seed : int
    outcome, reason : str
        ``found``, or why there is no plan.
    seconds : float
        Time of the search [s].
    rounds, size : int
        Rounds of samples; vertices of the tree, or motions that were looked at.
    path : TimedPath or None
    check : PlanCheck or None
        None where there is no plan.
    tree : DrawnTree or None
        Of a search along a task path.
    """

    seed: int
    outcome: str
    reason: str
    seconds: float
    rounds: int
    size: int
    path: TimedPath | None
    check: PlanCheck | None
    tree: DrawnTree | None

    @property
    def is_valid(self) -> bool:
        """Whether there is a plan, and nothing was found against it."""
        return self.check is not None and self.check.is_valid


class ScenePlanner:
    """Plans for one scene.

    Parameters
    ----------
    scene : PlanScene

    Raises
    ------
    InputError
        When the start is beyond the limits or not at the begin of the task path, or nothing plans such a scene.
    """

    def __init__(self, scene: PlanScene) -> None:
        self.scene = scene
        self._validity = Validity(scene.model, margin=scene.margin)
        self._validity.place(scene.obstacles)
        self._checker = IndependentArm(scene.model, scene.obstacles, self._validity.link_pairs)
        self._tasks = None if scene.task is None else self._task_planner(scene.task)
        if self._tasks is None and scene.kind == "dynamic" and scene.is_moving:
            raise InputError(f"{scene.name}: torques are limited among obstacles that move along a task path only")

    def plan(self, seed: int) -> PlanRun:
        """Plan with the random numbers of a seed, and check the plan."""
        run = self._plan_path(seed) if self._tasks is None else self._plan_task(self._tasks, seed)
        return run if run.path is None else run._replace(check=check_plan(run.path, self.scene, arm=self._checker))

    def _task_planner(self, task: TaskPath) -> TaskPlanner:
        """Return the planner, after some rounds of another one, which compile what is not in the cache."""
        scene = self.scene
        tau_max = scene.model.tau_max if scene.kind == "dynamic" else None
        problem = TaskConstrainedProblem(self._validity, task, scene.horizon, scene.start, tau_max=tau_max)
        TaskPlanner(problem, TaskParameters(rounds=WARM_UP)).plan(0)
        return TaskPlanner(problem)

    def _plan_task(self, planner: TaskPlanner, seed: int) -> PlanRun:
        plan = planner.plan(seed)
        path = None if plan.trajectory is None else TaskRun(plan.trajectory, plan.times, plan.s)
        effort = plan.effort
        words = plan.outcome.value, plan.reason
        return PlanRun(seed, *words, effort.seconds, effort.rounds, effort.vertices, path, None, plan.tree)

    def _plan_path(self, seed: int) -> PlanRun:
        """Plan to joint positions or to a pose; in time where obstacles move."""
        begin, scene = time.perf_counter(), self.scene
        travel = Travel(scene.model.v_max, scene.horizon)
        if scene.is_moving:
            plan = self._to_goal(SpaceTimeRrt(self._validity, travel, replace(TIMED, seed=seed)))
        else:
            plan = self._to_goal(RrtConnect(self._validity, SearchParameters(seed=seed)))
        path = self._in_time(plan, travel, seed) if plan.is_found else None
        seconds, effort = time.perf_counter() - begin, plan.effort
        return PlanRun(seed, plan.outcome.value, plan.reason, seconds, effort.rounds, effort.motions, path, None, None)

    def _to_goal(self, planner: RrtConnect | SpaceTimeRrt) -> Plan:
        scene = self.scene
        if scene.start is None:
            raise InputError(f"{scene.name}: joint positions at the start are missing")
        if scene.pose is None:
            return planner.plan(scene.start, np.zeros((0, scene.model.nq)) if scene.goal is None else scene.goal)
        served = served_rows(scene.model).numbers
        rows = None if scene.has_orientation else " ".join(ROWS[row] for row in served if row < 3)
        goals = goals_of_pose(InverseKinematics(scene.model, rows), scene.start, scene.pose, planner.parameters.seed)
        if goals.reason:
            return no_path(SearchOutcome.UNREACHABLE, goals.reason, scene.model.nq)
        return planner.plan(scene.start, goals.qs)

    def _in_time(self, plan: Plan, travel: Travel, seed: int) -> TimedPath:
        """Give a path its times: those it has, or as fast as the limits allow."""
        if self.scene.is_moving:
            return Corners(plan.times, plan.path)
        short = shorten(self._validity, plan, seed=seed)
        if self.scene.kind == "dynamic":
            a_max = self.scene.a_max if np.isfinite(self.scene.a_max).all() else None
            limits = PathLimits.of(self.scene.model, a_max=a_max)
            return Smooth(fastest_motion(TimeScaler(self.scene.model, limits), self._validity, short))
        return Corners(np.concatenate([[0.0], np.cumsum(travel.need(np.diff(short.path, axis=0)))]), short.path)
