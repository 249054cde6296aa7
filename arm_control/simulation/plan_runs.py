"""Plans of a scene, seed by seed, each checked by :mod:`arm_control.simulation.plan_check`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.kinematics import ROWS, InverseKinematics, served_rows
from arm_control.planning import (
    TIMED,
    PathLimits,
    Plan,
    RrtConnect,
    SearchParameters,
    SpaceTimeRrt,
    TaskConstrainedProblem,
    TaskParameters,
    TaskPath,
    TaskPlanner,
    TimeScaler,
    Travel,
    fastest_motion,
    plan_to_pose,
    shorten,
)
from arm_control.simulation.independent_arm import IndependentArm
from arm_control.simulation.plan_check import PlanCheck, TimedPath, check_plan
from arm_control.simulation.plan_scene import PlanScene

WARM_UP = 20
"""Rounds before time is measured."""


class PlanRun(NamedTuple):
    """Result of one seed.

    Attributes
    ----------
    plan : Plan
        Its effort counts all that the motion took.
    motion : TimedPath or None
        The motion in time.
    check : PlanCheck or None
        None where there is no plan.
    """

    seed: int
    plan: Plan
    motion: TimedPath | None
    check: PlanCheck | None

    @property
    def is_valid(self) -> bool:
        """Whether there is a plan, and nothing was found against it."""
        return self.check is not None and self.check.is_valid


class ScenePlanner:
    """Plans for one scene.

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
        plan, motion = self._plan_path(seed) if self._tasks is None else self._plan_task(self._tasks, seed)
        check = None if motion is None else check_plan(motion, self.scene, arm=self._checker)
        return PlanRun(seed, plan, motion, check)

    def _task_planner(self, task: TaskPath) -> TaskPlanner:
        """Return the planner, after some rounds of another one, which compile what is not in the cache."""
        scene = self.scene
        tau_max = scene.model.tau_max if scene.kind == "dynamic" else None
        problem = TaskConstrainedProblem(self._validity, task, scene.horizon, scene.start, tau_max=tau_max)
        TaskPlanner(problem, TaskParameters(rounds=WARM_UP)).plan(0)
        return TaskPlanner(problem)

    def _plan_task(self, planner: TaskPlanner, seed: int) -> tuple[Plan, TimedPath | None]:
        plan = planner.plan(seed)
        return plan, plan if plan.is_found else None

    def _plan_path(self, seed: int) -> tuple[Plan, TimedPath | None]:
        """Plan to joint positions or to a pose; in time where obstacles move."""
        begin, scene = time.perf_counter(), self.scene
        travel = Travel(scene.model.v_max, scene.horizon)
        if scene.is_moving:
            plan = self._to_goal(SpaceTimeRrt(self._validity, travel, replace(TIMED, seed=seed)))
        else:
            plan = self._to_goal(RrtConnect(self._validity, SearchParameters(seed=seed)))
        motion = self._in_time(plan, travel, seed) if plan.is_found else None
        return replace(plan, effort=replace(plan.effort, seconds=time.perf_counter() - begin)), motion

    def _to_goal(self, planner: RrtConnect | SpaceTimeRrt) -> Plan:
        scene = self.scene
        if scene.start is None:
            raise InputError(f"{scene.name}: joint positions at the start are missing")
        if scene.pose is None:
            return planner.plan(scene.start, np.zeros((0, scene.model.nq)) if scene.goal is None else scene.goal)
        served = served_rows(scene.model).numbers
        rows = None if scene.has_orientation else " ".join(ROWS[row] for row in served if row < 3)
        return plan_to_pose(planner, InverseKinematics(scene.model, rows), scene.start, scene.pose)

    def _in_time(self, plan: Plan, travel: Travel, seed: int) -> TimedPath:
        """Give a path its times: those it has, or as fast as the limits allow."""
        if self.scene.is_moving:
            return plan
        short = shorten(self._validity, plan, seed=seed)
        if self.scene.kind == "dynamic":
            a_max = self.scene.a_max if np.isfinite(self.scene.a_max).all() else None
            limits = PathLimits.of(self.scene.model, a_max=a_max)
            return fastest_motion(TimeScaler(self.scene.model, limits), self._validity, short)
        times = np.concatenate([[0.0], np.cumsum(travel.need(np.diff(short.path, axis=0)))])
        return replace(short, times=times)
