"""Threads that share what plans and checks motions: each one gets its own results, as by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from line_task import task_problem
from planar_arm import planar_validity, wall_with_gap
from problems import UR5_HOME, planar

from arm_control.collision import Validity
from arm_control.core import urdf_path
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.model import RobotModel
from arm_control.motion import JointReference, spline_path
from arm_control.optimal import ArmDynamics, Costs, Ilqr, LocalLqr, Term, control_error, position_error, state_error
from arm_control.planning import (
    MotionMonitor,
    MotionPlanner,
    MotionPlannerParameters,
    MotionRequest,
    PathLimits,
    PlannerInTime,
    RrtConnect,
    SpaceTimeRrt,
    TaskPlanner,
    TimeScaler,
    Travel,
    contact_time,
    shorten,
)
from arm_control.planning.planner_in_time import stay
from arm_control.planning.plans import proved_shares

START, GOAL = np.array([-0.8, 0.3]), np.array([1.0, 0.3])
PASSING = [Obstacle(Sphere(0.1), Pose.at([2.0, -1.0, 0.0]), (0.0, 0.4, 0.0, 0.0, 0.0, 0.0))]
LockDepths = Callable[[Any, Any, Sequence[str]], list[int]]


def arm_problem(ur5: RobotModel) -> tuple[ArmDynamics, Costs]:
    costs = Costs(
        Term(position_error(ur5.pose(UR5_HOME).p + [-0.2, 0.2, 0.1]), running=0.02, terminal=100.0),
        Term(state_error(np.zeros(12)), running=0.02, terminal=1.0, scale=[0.0] * 6 + [0.1] * 6),
        Term(control_error(ur5.gravity(UR5_HOME)), running=2e-6),
    )
    return ArmDynamics(ur5, 0.02), costs


# -- obstacles stay while a motion is checked ----------------------------------------------------------


CHECKS = ("place", "motions", "columns")
PATH = [START, START + 0.1]
REST = stay(JointReference.at_rest(START))
COMPOSED: dict[str, Callable[[Validity], object]] = {
    "first contact": lambda v: v.first_contact(PATH),
    "path": lambda v: RrtConnect(v).plan(START, GOAL),
    "path in time": lambda v: SpaceTimeRrt(v, Travel(np.ones(2), 5.0)).plan(START, GOAL),
    "proof": lambda v: proved_shares(v, np.array(PATH), np.zeros(2)),
    "time of contact": lambda v: contact_time(v, REST, 0.0, 1.0),
    "motion in time": lambda v: in_time(v).plan(JointReference.at_rest(START), GOAL, PASSING, hold=1.0),
    "look": lambda v: watched(v).look(0.0, PASSING),
}


def in_time(validity: Validity) -> PlannerInTime:
    return PlannerInTime(validity, PathLimits.of(validity.shape.model, a_max=8.0, share=0.9), 8.0)


def watched(validity: Validity) -> MotionMonitor:
    monitor = MotionMonitor(in_time(validity), START)
    monitor.start(REST, 0.0, [])
    return monitor


@pytest.mark.parametrize("name", COMPOSED)
def test_obstacles_stay_from_the_first_check_to_the_last(name: str, lock_depths: LockDepths):
    """All of them hold the lock around their checks, between which another thread would place its own obstacles."""
    validity = planar_validity()
    depths = lock_depths(validity, validity, CHECKS)
    COMPOSED[name](validity)
    assert depths
    assert 0 not in depths


def test_obstacles_stay_while_a_path_is_shortened(lock_depths: LockDepths):
    validity = planar_validity()
    validity.place(wall_with_gap())
    plan = RrtConnect(validity).plan([-1.2, 0.3], [1.2, -0.3])
    depths = lock_depths(validity, validity, CHECKS)
    assert shorten(validity, plan).is_found
    assert depths
    assert 0 not in depths


def test_obstacles_stay_while_chords_are_made_smaller(lock_depths: LockDepths):
    validity = planar_validity()
    depths = lock_depths(validity, validity, ("first_contact",))
    assert validity.first_contact_of(REST) is None
    assert depths == [1]


def test_obstacles_stay_while_a_motion_along_a_task_path_is_searched(lock_depths: LockDepths):
    problem = task_problem()
    depths = lock_depths(problem.validity, problem.validity, CHECKS)
    assert TaskPlanner(problem).plan().is_found
    assert depths
    assert 0 not in depths


@pytest.mark.parametrize("name", ["place", "check"])
def test_placing_and_checking_hold_the_lock(name: str, lock_depths: LockDepths):
    validity = planar_validity()
    depths = lock_depths(validity, validity._checks, (name,))
    validity.place(PASSING)
    validity.free_states([START])
    assert depths == [1]
    with pytest.raises(ValueError, match="times"):
        validity.motions([START], [START], -1.0)
    validity.place([])
    validity.free_states([START])
    assert depths == [1, 1]


@pytest.mark.parametrize("name", ["request", "plan"])
def test_a_planner_of_motions_answers_one_thread_after_the_other(name: str, lock_depths: LockDepths):
    planner = MotionPlanner(MotionPlannerParameters(rounds=50, horizon=6.0), RobotModel.from_urdf(urdf_path("planar3")))
    depths = lock_depths(planner, planner, ("_plan",))
    getattr(planner, name)(MotionRequest(0, np.zeros(3), np.full(3, 0.2), ()))
    assert depths == [1]


def test_a_work_space_is_that_of_one_thread(ur5: RobotModel, lock_depths: LockDepths):
    """Of the fastest motion, of local gains and of iterative LQR."""
    scaler = TimeScaler(planar(2), PathLimits(np.full(2, 2.0), np.array([60.0, 25.0]), np.full(2, 6.0)), 60)
    depths = lock_depths(scaler, scaler, ("_grid",))
    scaler.fastest(spline_path([[0.2, 0.5], [1.0, -0.6]]))
    x0, us = np.append(UR5_HOME, np.zeros(6)), np.tile(ur5.gravity(UR5_HOME), (20, 1))
    lqr, solver = LocalLqr(*arm_problem(ur5), 20), Ilqr(*arm_problem(ur5), 20)
    noted = lock_depths(lqr, lqr, ("_expand",)), lock_depths(solver, solver.passes, ("start", "rollout"))
    lqr.gains(x0, us[0])
    solver.solve(x0, us)
    assert depths == [1]
    assert all(set(entries) == {1} for entries in noted)
