"""Shorter motions along a task: their timing, and that they keep what the first motion keeps."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from line_task import PATH, START, TAU_MAX, V_MAX
from scipy.interpolate import CubicSpline

from arm_control.collision import course
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.motion import JointTrajectory
from arm_control.planning import Plan, TaskConstrainedProblem, TaskParameters, TaskPlanner, task_improvement
from arm_control.planning.task_improvement import (
    SLOWER,
    SPEED_SHARE,
    DelayGrid,
    joined,
    retimed,
    shortest_times,
    spline_through,
)
from arm_control.planning.task_search import _TaskSearch
from arm_control.planning.task_tree import TaskMotion, first_unproved

ROUNDS = 3
PARKED = course(Sphere(0.15), np.array([0.0, 4.0, 6.0]), [Pose.at([x, -0.25, 0.0]) for x in (1.2, 1.2, 2.4)])
RESTS = Obstacle(Sphere(0.15), Pose.at([1.6, 0.0, 0.0]))


def improved(planner: TaskPlanner, obstacle: Any, seed: int = 0) -> tuple[Plan, Plan]:
    planner.problem.validity.place([obstacle])
    plan = planner.plan(seed)
    return plan, planner.improve(plan, ROUNDS, seed)


def assert_keeps_all(plan: Plan, planner: TaskPlanner) -> None:
    assert plan.trajectory is not None
    assert first_unproved(planner.problem, plan.trajectory) is None
    times = np.linspace(0.0, plan.duration, 1001)
    q, s = plan.at(times)
    np.testing.assert_allclose(q[0], START, atol=1e-9)
    assert (s[0], s[-1]) == (0.0, pytest.approx(1.0, abs=1e-9))
    v = np.diff(q, axis=0) / times[1]
    assert (np.abs(v) <= V_MAX * (1.0 + 1e-6)).all()
    p = np.array([planner.problem.model.pose(state).p[:2] for state in q[::4]])
    assert np.abs(p - PATH.at(s[::4]).y).max() < 2e-5
    assert planner.problem.validity.free_states(q, times).all()


def shortened(planner: TaskPlanner, obstacle: Any) -> Plan:
    plan, shorter = improved(planner, obstacle)
    assert shorter.duration < 0.9 * plan.duration
    assert shorter.effort.rounds == plan.effort.rounds + ROUNDS
    assert_keeps_all(shorter, planner)
    return shorter


def test_nothing_stands_still_among_obstacles_that_rest(kinematic: TaskPlanner):
    shorter = shortened(kinematic, RESTS)
    assert shorter.trajectory is not None
    share = shortest_times(kinematic.problem, shorter.trajectory) / np.diff(shorter.times)
    np.testing.assert_allclose(share, 1.0, atol=1e-9)  # one joint or other moves at its limit


def test_the_arm_still_waits_for_what_leaves(kinematic: TaskPlanner):
    shorter = shortened(kinematic, PARKED)
    before = shorter.times < 4.0
    assert PATH.at(shorter.at(shorter.times)[1][before]).y[:, 1].max() < -0.25 - 0.15
    assert 4.0 < shorter.duration < 7.0


@pytest.mark.parametrize("obstacle", [RESTS, PARKED], ids=["rests", "parked"])
def test_a_shorter_dynamic_motion_is_from_rest_to_rest_within_torque(obstacle: Any, dynamic: TaskPlanner):
    shorter = shortened(dynamic, obstacle)
    assert shorter.trajectory is not None
    q, v, a = shorter.trajectory.at(np.linspace(0.0, shorter.duration, 1001))
    tau = np.array([dynamic.problem.model.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
    assert (np.abs(tau) <= TAU_MAX).all()
    assert np.abs(v[[0, -1]]).max() < 1e-7


A_MAX = np.array([0.8, 1.0, 1.5, 2.0])


@pytest.fixture(scope="module")
def smooth(problem: TaskConstrainedProblem) -> TaskPlanner:
    return TaskPlanner(replace(problem, a_max=A_MAX))


def assert_is_smooth(plan: Plan, a_max: Array = A_MAX) -> None:
    """From rest to rest, with accelerations by differences of positions within their limits."""
    times = np.linspace(0.0, plan.duration, 2001)
    q, h = plan.at(times)[0], times[1]
    v = np.diff(q, axis=0) / h
    assert np.abs(v[[0, -1]]).max() < 1.1 * h * A_MAX.max()
    assert (np.abs(np.diff(v, axis=0)) / h <= a_max * (1.0 + 1e-3)).all()


@pytest.mark.parametrize("obstacle", [RESTS, PARKED], ids=["rests", "parked"])
def test_a_motion_with_limited_accelerations_is_from_rest_to_rest(obstacle: Any, smooth: TaskPlanner):
    plan, shorter = improved(smooth, obstacle)
    assert shorter.duration < 0.9 * plan.duration
    for motion in (plan, shorter):
        assert_keeps_all(motion, smooth)
        assert_is_smooth(motion)


def test_torque_and_acceleration_are_limited_together(problem: TaskConstrainedProblem):
    """Of the time-optimal motions of one way, the one within both limits takes longest."""
    q, limits = START[None], {"torque": {"tau_max": 0.3 * TAU_MAX}, "acceleration": {"a_max": A_MAX}}
    limits["both"] = limits["torque"] | limits["acceleration"]
    problem.validity.place([])
    took: dict[str, float] = {}
    for name, values in limits.items():
        planner = TaskPlanner(replace(problem, **values))
        found = planner._improver.direct(q, np.random.default_rng(0))
        assert found is not None
        took[name] = found.joints.duration
        if "a_max" in values:
            assert np.abs(found.joints.at(np.linspace(0.0, took[name], 999))[2] / A_MAX).max() <= 1.0
    assert took["both"] > max(took["torque"], took["acceleration"]) * 1.001


def test_a_direct_motion_is_taken_where_the_tree_finds_none(
    smooth: TaskPlanner, kinematic: TaskPlanner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_TaskSearch, "grow", lambda _: None)
    smooth.problem.validity.place([RESTS])
    plan = smooth.plan(3)
    assert (plan.is_found, plan.effort.rounds) == (True, 10)
    assert_keeps_all(plan, smooth)
    assert_is_smooth(plan)
    np.testing.assert_array_equal(smooth.plan(3).path, plan.path)
    few = TaskPlanner(kinematic.problem, TaskParameters(rounds=12))
    assert not few.plan(3).is_found  # a kinematic problem has none


def test_equal_seeds_give_equal_motions_and_no_motion_stays_none(kinematic: TaskPlanner):
    plan, first = improved(kinematic, RESTS, 1)
    second = kinematic.improve(plan, ROUNDS, 1)
    np.testing.assert_array_equal(first.path, second.path)
    assert kinematic.improve(plan, 0).duration < plan.duration  # the same way in less time
    none = replace(plan, trajectory=None, progress=None)
    assert kinematic.improve(none) is none


def test_what_is_not_proved_is_not_taken(kinematic: TaskPlanner, dynamic: TaskPlanner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task_improvement, "first_unproved", lambda *_: 0)
    monkeypatch.setattr(TaskPlanner, "_nearer", lambda *_: None)
    for planner in (kinematic, dynamic):
        plan, same = improved(planner, RESTS)
        np.testing.assert_array_equal(same.path, plan.path)


def test_work_ends_the_search_for_shorter_motions(kinematic: TaskPlanner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("arm_control.planning.task_search.WORK", 1)
    plan, shorter = improved(kinematic, RESTS)
    assert shorter.effort.rounds == plan.effort.rounds  # to time the motion itself has taken more


# -- parts


def motion(times: Array, seed: int = 0) -> TaskMotion:
    rng = np.random.default_rng(seed)
    joints = JointTrajectory(times, rng.normal(size=(len(times) - 1, 6, 2)))
    return TaskMotion(joints, JointTrajectory(times, rng.normal(size=(len(times) - 1, 6, 1))))


def test_a_motion_in_other_times_passes_the_same_states():
    old = motion(np.array([0.0, 1.0, 1.5, 3.0]))
    T, waits = np.array([0.5, 0.0, 3.0]), np.array([0.0, 2.0, 0.25, 1.0])
    new = retimed(old, T, waits)
    np.testing.assert_allclose(new.joints.knots, [0.0, 0.5, 2.5, 2.75, 5.75, 6.75])
    for a, b in zip(old, new, strict=True):
        np.testing.assert_allclose(b.at(np.array([0.2]))[0], a.at(np.array([0.4]))[0])
        np.testing.assert_allclose(b.at(np.array([1.0]))[0][0], a.pieces[1, 0])  # it waits at the second knot
        np.testing.assert_allclose(b.at(np.array([2.75 + 1.2]))[0], a.at(np.array([1.5 + 0.6]))[0])
        np.testing.assert_allclose(b.at(np.array([6.5]))[0][0], a.end.q_des)


def test_motions_are_joined_where_one_is_left():
    first, second = motion(np.array([0.0, 1.0, 1.5, 3.0])), motion(np.array([0.0, 2.0]), 1)
    whole = joined(first, 2, second)
    np.testing.assert_allclose(whole.joints.knots, [0.0, 1.0, 1.5, 3.5])
    np.testing.assert_array_equal(whole.progress.pieces[2], second.progress.pieces[0])


def test_shortest_times_are_at_the_speed_limits(problem: TaskConstrainedProblem):
    c = np.zeros((1, 6, 4))
    c[0, 1, 2] = -0.2
    times = shortest_times(problem, JointTrajectory(np.array([0.0, 3.0]), c))
    np.testing.assert_allclose(times, [0.6 / (SPEED_SHARE * 0.5)])


def test_splines_have_the_derivatives_that_are_given():
    q = np.random.default_rng(0).normal(size=(9, 2))
    begin, end = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    expected = CubicSpline(np.linspace(0.0, 1.0, 9), q, bc_type=((1, begin), (1, end)))
    t = np.linspace(0.0, 0.999, 50)
    for order, values in enumerate(spline_through(q, begin, end).at(t)):
        np.testing.assert_allclose(values, expected(t, order), atol=1e-9 * 100**order)


class Places:
    """Stands for a Validity: place i is free at times of a table, a piece where both of its ends are, all along."""

    def __init__(self, is_free: Array, dt: float) -> None:
        self.is_free, self.dt = is_free, dt

    def motions(self, a: Array, b: Array, t_a: Array, t_b: Array, *_: Any, **__: Any) -> Any:
        def free(i: int, j: int, begin: float, end: float) -> bool:
            k = np.arange(round(begin / self.dt), max(round(end / self.dt), round(begin / self.dt) + 1))
            k = np.minimum(k, self.is_free.shape[1] - 1)
            return bool(self.is_free[i, k].all() and self.is_free[j, k].all())

        rows = zip(a[:, 0].astype(int), b[:, 0].astype(int), t_a, t_b, strict=True)
        return SimpleNamespace(is_free=np.array([free(*row) for row in rows]))


def earliest_by_force(grid: DelayGrid, m: int, K: int) -> int | None:
    """Equation (3) by a plain search."""
    stays, goes = grid.stays(), {j: grid.goes(j) for j in SLOWER}
    seen, stack = {(0, 0)}, [(0, 0)]
    while stack:
        i, k = stack.pop()
        nexts = [(i, k + 1)] if k + 1 < K and stays[i, k] and i < m else []
        nexts += [(i + 1, k + j) for j in SLOWER if i < m and k + j < K and goes[j][i, k]]
        stack += [node for node in nexts if node not in seen]
        seen |= set(nexts)
    return min((k for i, k in seen if i == m), default=None)


@pytest.mark.parametrize("seed", range(12))
def test_the_earliest_arrival_is_that_of_a_plain_search(seed: int):
    rng, m, dt = np.random.default_rng(seed), 4, 0.25
    is_free = rng.random((m + 1, 40)) < 0.8
    is_free[0, 0] = True
    T = dt * rng.integers(1, 4, m)
    latest = float(T.sum()) + 19 * dt
    q = np.arange(m + 1.0)[:, None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_improvement, "DELAYS", 19)
        grid = DelayGrid(Places(is_free, dt), q, np.zeros((m, 1)), T, latest)
    expected, found = earliest_by_force(grid, m, 20), grid.earliest()
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert sum(map(np.sum, found)) == pytest.approx(expected * dt)


def test_a_motion_that_may_only_begin_later_begins_at_the_first_free_moment():
    is_free = np.ones((3, 30), bool)
    is_free[1, :6] = False
    grid = DelayGrid(Places(is_free, 0.25), np.arange(3.0)[:, None], np.zeros((2, 1)), np.array([0.25, 0.25]), 5.0)
    k = grid.first_start()
    assert k is not None
    assert k * grid.dt == pytest.approx(1.5, abs=0.26)
    is_free[0, 2] = False
    assert grid.first_start() is None
