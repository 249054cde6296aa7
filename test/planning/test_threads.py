"""Threads that share what plans and checks motions: each one gets its own results, as by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from planar_arm import planar_validity, wall_with_gap
from problems import UR5_HOME, planar

from arm_control.collision import Validity
from arm_control.core import urdf_path
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import RobotModel
from arm_control.motion import JointReference, spline_path
from arm_control.optimal import ArmDynamics, ControlError, Costs, Ilqr, LocalLqr, PositionError, StateError, Term
from arm_control.planning import (
    MotionMonitor,
    MotionPlanner,
    MotionPlannerParameters,
    MotionRequest,
    PathLimits,
    PlannerInTime,
    RrtConnect,
    SpaceTimeRrt,
    TaskConstrainedProblem,
    TaskPlanner,
    TimeScaler,
    Travel,
    contact_time,
    line,
    shorten,
)
from arm_control.planning.execution.rounded_in_time import stay
from arm_control.planning.plans import proved_shares

START, GOAL = np.array([-0.8, 0.3]), np.array([1.0, 0.3])
PASSING = [Obstacle(Sphere(0.1), Pose.at([2.0, -1.0, 0.0]), (0.0, 0.4, 0.0, 0.0, 0.0, 0.0))]
InTwoThreads = Callable[[Callable[[int], object]], None]
LockDepths = Callable[[Any, Any, Sequence[str]], list[int]]


# -- one object, two threads ---------------------------------------------------------------------------


def test_what_touches_something_is_called_free_to_no_thread(ur5: RobotModel, in_two_threads: InTwoThreads):
    rng = np.random.default_rng(0)
    validity = Validity(ur5)
    validity.place([Obstacle(Sphere(0.1), Pose.at(list(p))) for p in rng.uniform(-0.8, 0.8, (10, 3))])
    a = rng.uniform(-2.0, 2.0, (2, 64, 6))
    b = a + rng.uniform(-0.4, 0.4, a.shape)
    is_free = [validity.free_motions(*motions) for motions in zip(a, b, strict=True)]
    assert 0 < np.sum(is_free) < 128
    counts = np.zeros((2, 2), int)

    def work(i: int) -> None:
        for _ in range(300):
            found = validity.free_motions(a[i], b[i])
            counts[i] += (found & ~is_free[i]).sum(), (found != is_free[i]).sum()

    in_two_threads(work)
    assert counts.tolist() == [[0, 0], [0, 0]]


def paths(validity: Validity) -> Callable[[int], Sequence[Array]]:
    validity.place(wall_with_gap())
    planner = RrtConnect(validity)
    ends = [[-1.2, 0.3], [1.2, -0.3]], [[-0.9, 0.6], [0.9, 0.5]]
    return lambda i: [planner.plan(*ends[i]).path]


def motions_in_time(validity: Validity) -> Callable[[int], Sequence[Array]]:
    """Each thread has an obstacle of its own."""
    planner = PlannerInTime(validity, PathLimits.of(validity.shape.model, a_max=8.0, share=0.9), 8.0)
    obstacles = PASSING, [Obstacle(Sphere(0.1), Pose.at([1.7, 0.1, 0.0]))]
    return lambda i: [planner.plan(JointReference.at_rest(START), GOAL, obstacles[i]).trajectory.pieces]


def fastest_motions(_: Validity) -> Callable[[int], Sequence[Array]]:
    scaler = TimeScaler(planar(2), PathLimits(np.full(2, 2.0), np.array([60.0, 25.0]), np.full(2, 6.0)), 60)
    ways = [spline_path([[0.2, 0.5], [1.0, x], [0.1, -1.2]]) for x in (-0.6, 0.4)]
    return lambda i: [scaler.fastest(ways[i]).x]


def arm_problem(ur5: RobotModel) -> tuple[ArmDynamics, Costs]:
    costs = Costs(
        Term(PositionError(ur5.pose(UR5_HOME).p + [-0.2, 0.2, 0.1]), running=0.02, terminal=100.0),
        Term(StateError(np.zeros(12)), running=0.02, terminal=1.0, scale=[0.0] * 6 + [0.1] * 6),
        Term(ControlError(ur5.gravity(UR5_HOME)), running=2e-6),
    )
    return ArmDynamics(ur5, 0.02), costs


def local_gains(_: Validity) -> Callable[[int], Sequence[Array]]:
    model = RobotModel.from_urdf(urdf_path("ur5"))
    lqr, u0 = LocalLqr(*arm_problem(model), 30), model.gravity(UR5_HOME)
    return lambda i: lqr.gains(np.append(UR5_HOME + 0.1 * i, np.zeros(6)), u0)


def iterated_controls(_: Validity) -> Callable[[int], Sequence[Array]]:
    model = RobotModel.from_urdf(urdf_path("ur5"))
    solver, us = Ilqr(*arm_problem(model), 20), np.tile(model.gravity(UR5_HOME), (20, 1))
    return lambda i: [solver.solve(np.append(UR5_HOME + 0.1 * i, np.zeros(6)), us).us]


@pytest.mark.parametrize("make", [paths, motions_in_time, fastest_motions, local_gains, iterated_controls])
def test_threads_may_share_a_planner(make: Callable[[Validity], Any], in_two_threads: InTwoThreads):
    solve = make(planar_validity(margin=0.01))
    expected, wrong = [solve(0), solve(1)], []

    def work(i: int) -> None:
        for _ in range(20):
            try:
                found = solve(i)
            except Exception as error:  # would end the thread, and no more
                wrong.append(error)
                continue
            wrong.extend(x for x, y in zip(found, expected[i], strict=True) if not np.array_equal(x, y))

    in_two_threads(work)
    assert wrong == []


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
    validity = Validity(RobotModel.from_urdf(urdf_path("planar4")))
    q = np.array([0.86549746, -1.23313677, -0.9210975, 0.2886459])
    planner = TaskPlanner(TaskConstrainedProblem(validity, line([1.2, -0.7], [1.2, 0.7]), 12.0, q, np.full(4, 0.5)))
    depths = lock_depths(validity, validity, CHECKS)
    assert planner.plan().is_found
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
