"""Plans of a planar arm whose hand follows a line, among discs: the task, the limits, contact, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from line_task import PATH, START, TAU_MAX, V_MAX

from arm_control import RobotModel, urdf_path
from arm_control.collision import Told, Validity, course
from arm_control.exceptions import InputError
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.motion import JointTrajectory, powers
from arm_control.planning import (
    Plan,
    SearchOutcome,
    TaskConstrainedProblem,
    TaskParameters,
    TaskPlanner,
    line,
    task_search,
)
from arm_control.planning.task_tree import first_unproved

LEAVES = 7.0
"""When the disc before the hand begins to leave [s]."""


def disc(*samples: tuple[float, float, float]) -> Told:
    """A disc that goes from one (t, x, y) to the next."""
    poses = [Pose.at([x, y, 0.0]) for _, x, y in samples]
    return course(Sphere(0.15), np.array([t for t, _, _ in samples]), poses)


PARKED = disc((0.0, 1.2, -0.25), (LEAVES, 1.2, -0.25), (9.0, 2.4, -0.25))
CROSSING = Obstacle(Sphere(0.15), Pose.at([1.4, 0.27, 0.0]), [-0.19, 0.13, 0.0, 0.0, 0.0, 0.0])


def planned(planner: TaskPlanner, obstacle: Told, seed: int = 0) -> Plan:
    planner.problem.validity.place([obstacle])
    plan = planner.plan(seed)
    assert plan.is_found, plan.reason
    return plan


def positions(model: RobotModel, q: Array) -> Array:
    return np.array([model.pose(x).p[:2] for x in q])


def assert_holds_the_task(plan: Plan, planner: TaskPlanner) -> None:
    """Between the ends of steps, too: speeds, the task, and distances from the disc at more than 1000 moments."""
    assert plan.trajectory is not None
    times = np.linspace(0.0, plan.duration, 1501)
    q, s = plan.at(times)
    v = np.diff(q, axis=0) / times[1]
    model, validity = planner.problem.model, planner.problem.validity
    assert (np.abs(v) <= V_MAX * (1.0 + 1e-6)).all()
    assert ((q >= model.q_min) & (q <= model.q_max)).all()
    errors = np.linalg.norm(positions(model, q[::5]) - PATH.at(s[::5]).y, axis=1)
    assert errors.max() < 2e-5
    assert s[0] == 0.0
    assert s[-1] == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(q[0], START)
    measured = validity.distances(q, times)
    assert min(measured.to_obstacles.min(), measured.between_links.min()) > 0.0


def test_the_hand_waits_for_the_disc_and_holds_the_task(kinematic: TaskPlanner):
    plan = planned(kinematic, PARKED)
    assert_holds_the_task(plan, kinematic)
    before = plan.times < LEAVES
    assert PATH.at(plan.at(plan.times)[1][before]).y[:, 1].max() < -0.25 - 0.15
    assert plan.duration > LEAVES


def test_a_dynamic_motion_keeps_torques_and_begins_and_ends_at_rest(dynamic: TaskPlanner):
    plan = planned(dynamic, CROSSING)
    assert_holds_the_task(plan, dynamic)
    assert plan.trajectory is not None
    q, v, a = plan.trajectory.at(np.linspace(0.0, plan.duration, 1501))
    tau = np.array([dynamic.problem.model.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
    assert (np.abs(tau) <= TAU_MAX).all()
    assert np.abs(v[0]).max() == 0.0
    assert np.abs(v[-1]).max() < 1e-7
    pieces = plan.trajectory.pieces
    ends = np.einsum("kp,kpn->kn", powers(np.diff(plan.times))[1], pieces)
    np.testing.assert_allclose(pieces[1:, 1], ends[:-1], atol=1e-7)  # no step of the velocity


def test_velocities_and_accelerations_are_those_along_the_path(dynamic: TaskPlanner):
    """q_dot = s_dot q', q_ddot = s_dot^2 q'' + s_ddot q', with q' and q'' by differences over s."""
    plan = planned(dynamic, CROSSING)
    assert plan.trajectory is not None
    assert plan.progress is not None
    middles = 0.5 * (plan.times[:-1] + plan.times[1:])
    _, v, a = plan.trajectory.at(middles)
    _, sd, sdd = plan.progress.at(middles)
    is_moving = np.abs(sd[:, 0]) > 1e-2
    assert is_moving.sum() > 40
    q_s, _ = derivatives_by_s(plan, middles, 1e-4 * np.diff(plan.times))
    np.testing.assert_allclose(v[is_moving], (sd * q_s)[is_moving], atol=1e-8)
    q_s, q_ss = derivatives_by_s(plan, middles, 3e-3 * np.diff(plan.times))
    np.testing.assert_allclose(a[is_moving], (sd**2 * q_ss + sdd * q_s)[is_moving], atol=1e-4)


def derivatives_by_s(plan: Plan, t: Array, h: Array) -> tuple[Array, Array]:
    """q' and q'' from the parabola through the moments t - h, t and t + h."""
    (q_0, s_0), (q, s), (q_1, s_1) = (plan.at(moments) for moments in (t - h, t, t + h))
    first, second = ((s - s_0)[:, None], (s_1 - s)[:, None])
    with np.errstate(invalid="ignore"):  # where the arm waits
        before, after = (q - q_0) / first, (q_1 - q) / second
        bend = 2.0 * (after - before) / (first + second)
    return before + 0.5 * bend * first, bend


def test_a_branch_whose_proof_fails_is_cut_off_with_all_behind_it(
    kinematic: TaskPlanner, monkeypatch: pytest.MonkeyPatch
):
    first_edges: list[tuple[float, ...]] = []

    def refuse(problem: TaskConstrainedProblem, motion: JointTrajectory) -> int | None:
        first_edges.append(tuple(motion.pieces[0, 1]))
        return 0 if len(first_edges) <= 6 else first_unproved(problem, motion)

    monkeypatch.setattr(task_search, "first_unproved", refuse)
    plan = planned(kinematic, CROSSING)
    assert plan.trajectory is not None
    assert len(first_edges) > 6
    assert len(set(first_edges[:7])) == 7
    assert tuple(plan.trajectory.pieces[0, 1]) == first_edges[-1]


def test_a_start_is_found_where_none_is_given(problem: TaskConstrainedProblem):
    problem.validity.place([CROSSING])
    plan = TaskPlanner(replace(problem, q_start=None, horizon=20.0)).plan(seed=1)
    assert plan.is_found, plan.reason
    np.testing.assert_allclose(positions(problem.model, plan.path[:1]), PATH.at([0.0]).y, atol=1e-5)


def test_no_posture_at_the_begin_is_no_plan(problem: TaskConstrainedProblem, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task_search, "N_ROOTS", 0)
    plan = TaskPlanner(replace(problem, q_start=None)).plan()
    assert plan.outcome is SearchOutcome.LIMIT
    assert "no posture at the begin of the task path" in plan.reason


def test_what_cannot_be_planned_has_a_reason(problem: TaskConstrainedProblem):
    validity = problem.validity
    validity.place([Obstacle(Sphere(0.15), Pose.at([1.2, 0.2, 0.0]))])
    few = TaskParameters(rounds=4)
    stuck = TaskPlanner(problem, few).plan()
    assert stuck.outcome is SearchOutcome.IMPOSSIBLE
    assert "; from s = 0.51 to 0.775 the task path lies in obstacle 0" in stuck.reason
    assert stuck.trajectory is None
    with pytest.raises(InputError, match="there is no motion"):
        stuck.at([0.0])
    far = TaskPlanner(replace(problem, path=line([1.2, -0.7], [2.6, -0.7])), few).plan()
    assert far.outcome is SearchOutcome.UNREACHABLE
    assert "s = 0.5, x = 1.9, y = -0.7 m: out of reach" in far.reason
    validity.place([Obstacle(Sphere(0.15), Pose.at([1.2, -0.6, 0.0]))])
    touching = TaskPlanner(problem, few).plan()
    assert touching.outcome is SearchOutcome.START_IN_CONTACT
    assert "the start is in contact: 'link3' is" in touching.reason
    assert "mm deep in obstacle 0" in touching.reason


def test_a_search_says_how_far_it_came(problem: TaskConstrainedProblem):
    problem.validity.place([PARKED])
    plan = TaskPlanner(replace(problem, horizon=9.0), TaskParameters(rounds=4)).plan()
    assert plan.outcome is SearchOutcome.LIMIT
    assert plan.tree is not None
    reached = plan.tree.s.max()
    assert 0.0 < reached < 0.3
    assert plan.reason == (
        f"no motion was found in 4 rounds of samples: it came up to s = {reached:.3g}; each place behind it has"
        " postures that are free at some time"
    )


def test_a_horizon_that_is_too_short_is_refused(problem: TaskConstrainedProblem):
    problem.validity.place([CROSSING])
    plan = TaskPlanner(replace(problem, horizon=1.0)).plan()
    assert (plan.outcome, plan.effort.rounds) == (SearchOutcome.IMPOSSIBLE, 10)
    assert plan.reason.startswith("the horizon of 1 s is too short: at the speed limits the fastest of 128 ways")
    late = TaskPlanner(replace(problem, horizon=1.7), TaskParameters(rounds=12)).plan()
    assert late.outcome is SearchOutcome.LIMIT
    assert late.reason.endswith(" s, the horizon is 1.7 s")


def test_obstacles_that_are_placed_later_count(problem: TaskConstrainedProblem):
    planner = TaskPlanner(problem)
    problem.validity.place([Obstacle(Sphere(0.15), Pose.at([1.2, 0.7, 0.0]))])
    assert "lies in obstacle 0" in planner.why_impossible()
    problem.validity.place([])
    assert planner.why_impossible() == ""


def test_what_is_no_problem_is_refused(problem: TaskConstrainedProblem):
    with pytest.raises(InputError, match="mm off the begin of the task path"):
        TaskPlanner(replace(problem, q_start=START + 0.1))
    with pytest.raises(InputError, match="beyond the limits: 'joint0'"):
        TaskPlanner(replace(problem, q_start=START + [9.0, 0.0, 0.0, 0.0]))
    for name, value, sentence in (
        ("horizon", -1.0, "a positive time"),
        ("v_max", np.zeros(4), "positive numbers"),
        ("tau_max", np.ones(3), "4 finite numbers"),
        ("a_max", np.ones(3), "4 finite numbers"),
        ("a_max", np.zeros(4), "positive numbers"),
    ):
        with pytest.raises(InputError, match=sentence):
            replace(problem, **{name: value})
    with pytest.raises(InputError, match="lanes is 0"):
        TaskParameters(lanes=0)
    with pytest.raises(InputError, match="greedy is 2"):
        TaskParameters(greedy=2.0)
    two_joints = Validity(RobotModel.from_urdf(urdf_path("planar2")))
    with pytest.raises(InputError, match="a task of 2 rows leaves 2 joints nothing to choose"):
        TaskConstrainedProblem(two_joints, line([0.3, 0.0], [0.3, 0.2]), 5.0)
