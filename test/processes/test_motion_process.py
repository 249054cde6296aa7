"""From a goal to a motion that is executed, without ROS: an arm that follows what it is told, among obstacles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from arm_control import Pose, RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.control import Measurement
from arm_control.maths import Array, Obstacle, Sphere
from arm_control.motion import FollowingParameters, JointFollower, JointGoal, Target, Waypoints
from arm_control.planning import (
    Action,
    MotionPlanner,
    MotionPlannerParameters,
    MotionRequest,
    PlannerAnswer,
    PlannerRequest,
    WatchAnswer,
)
from arm_control.processes import ExecutionParameters, MotionProcess, Phase
from arm_control.processes.motion_process import DIED, MOVES, MotionCommand, behind_begin

MS = 1_000_000
STEP_NS = 10 * MS
GOAL = np.array([1.6, 0.0])
BALL = Obstacle(Sphere(0.06), Pose.at([0.36, 0.36, 0.0]))


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar2"))


@pytest.fixture(scope="module")
def planner(model: RobotModel) -> MotionPlanner:
    return MotionPlanner(MotionPlannerParameters(rounds=50, horizon=6.0, speed=0.2, acceleration=20.0), model)


class SlowPlanner:
    """A planner whose answers come after some polls, or never."""

    def __init__(self, planner: MotionPlanner) -> None:
        self.planner, self.polls, self.look_polls, self.alive = planner, 0, 0, True
        self.is_exposed = False
        self._left = 0

    def request(self, request: PlannerRequest) -> None:
        self._left = self.polls if isinstance(request, MotionRequest) else self.look_polls
        self.planner.request(request)

    def poll(self, wait: bool = False) -> PlannerAnswer | None:
        self._left -= 1
        answer = self.planner.poll() if self._left < 0 and self.alive else None
        is_overruled = isinstance(answer, WatchAnswer) and self.is_exposed
        return answer._replace(action=Action.EXPOSED) if is_overruled else answer


class Bench:
    """An arm that follows its commands exactly, and obstacles that move as they are told."""

    def __init__(self, model: RobotModel, planner: MotionPlanner, obstacles: Sequence[Obstacle] = (), **given) -> None:
        self.planner = SlowPlanner(planner)
        self.process = MotionProcess(model, ExecutionParameters(**given), self.planner)
        self.model, self.obstacles, self.push = model, obstacles, np.zeros(model.nv)
        self.commands, self.qs, self.words = list[MotionCommand](), list[Array](), list[str]()
        self.restart()

    def restart(self) -> None:
        """Let time start over."""
        self.now_ns, self._waiting = 0, None  # type: int, MotionCommand | None
        self.follower = JointFollower(self.model, FollowingParameters(), np.zeros(self.model.nv))

    def now(self) -> Sequence[Obstacle]:
        """The obstacles now."""
        t = self.now_ns * 1e-9
        return [Obstacle(o.shape, Pose(o.X_WO.R, o.X_WO.p + t * np.array(o.V_WO[:3])), o.V_WO) for o in self.obstacles]

    def step(self) -> None:
        command = self._waiting
        if command is not None and command[1] <= self.now_ns:
            self.follower.follow(command[0], self.now_ns)
            self._waiting = None
        reference = self.follower.tick(self.now_ns, self.follower.desired(self.now_ns).q_des)
        state = Measurement(self.now_ns, reference.q_des + self.push, reference.v_des, 0.01, self.now_ns == 0)
        step = self.process.on_state(state, self.now())
        if step.command is not None:
            self.commands.append(step.command)
            self._waiting = step.command
        self.qs.append(state.q)
        if (word := str(self.process.status)) not in self.words[-1:]:
            self.words.append(word)
        self.now_ns += STEP_NS

    def run(self, until: Phase | Callable[[], bool], most: int = 2000) -> str:
        """Go on until a phase or a condition; returns the status."""
        for _ in range(most):
            self.step()
            if self.process.status.phase is until if isinstance(until, Phase) else until():
                return str(self.process.status)
        raise AssertionError(f"still {self.process.status}")


def joint_goal(q: Array, stamp_ns: int = 0, is_immediate: bool = False) -> JointGoal:
    return JointGoal(stamp_ns, np.array(q), is_immediate)


def test_a_goal_of_joints_is_planned_around_a_ball_and_reached(model, planner):
    bench = Bench(model, planner, [BALL])
    bench.process.add(joint_goal(GOAL))
    assert bench.run(Phase.REACHED) == "reached"
    assert bench.words == ["planning", "moving", "reached"]
    ((points, begin_ns),) = bench.commands
    assert begin_ns == 0
    np.testing.assert_allclose(bench.qs[-1], GOAL, atol=2e-3)
    validity = Validity(model, margin=0.01)
    validity.place([BALL])
    assert validity.first_contact(np.array(bench.qs)) is None, "the way that was gone"
    validity.place([])
    straight = MotionRequest(1, np.zeros(2), GOAL, ())
    assert planner.plan(straight).duration < points.times[-1], "the way around takes longer"


def test_a_pose_is_reached_and_one_out_of_reach_is_a_sentence(model, planner):
    bench = Bench(model, planner)
    bench.process.add(Target(0, model.base, model.pose(GOAL)))
    bench.run(Phase.REACHED)
    np.testing.assert_allclose(model.pose(bench.qs[-1]).p, model.pose(GOAL).p, atol=2e-3)
    bench.process.add(Target(bench.now_ns, model.base, Pose.at([5.0, 0.0, 0.0]), True))
    assert bench.run(Phase.NO_PLAN).startswith("no plan: the goal cannot be reached: out of reach")
    n = len(bench.commands)
    bench.process.add(joint_goal(bench.qs[-1], bench.now_ns, True))
    assert bench.run(Phase.REACHED) == "reached"
    assert len(bench.commands) == n, "it is there already"


def test_a_goal_in_contact_says_what_touches(model, planner):
    bench = Bench(model, planner, [BALL])
    bench.process.add(joint_goal(np.array([0.74, 0.0])))
    assert "in contact: 'link" in bench.run(Phase.NO_PLAN)


def test_among_moving_obstacles_the_motion_begins_at_its_time(model, planner):
    ball = Obstacle(Sphere(0.06), Pose.at([0.8, 0.36, 0.0]), (-0.5, 0.0, 0.0, 0.0, 0.0, 0.0))
    bench = Bench(model, planner, [ball], lead=0.1)
    bench.process.add(joint_goal(GOAL))
    bench.planner.polls = 30
    bench.run(Phase.MOVING)
    assert "the plan came too late; the next one has 0.2 s" in "".join(bench.words)
    assert bench.commands[-1][1] > bench.now_ns
    plan = bench.process.plan
    assert plan is not None
    t = bench.commands[-1][1] * 1e-9
    np.testing.assert_allclose(plan.obstacles[0].X_WO.p, ball.X_WO.p + t * np.array(ball.V_WO[:3]), atol=1e-12)
    bench.run(Phase.REACHED)


def test_another_goal_stops_the_arm_on_its_path_first(model, planner):
    bench = Bench(model, planner)
    bench.process.add(joint_goal(GOAL))
    bench.run(lambda: bench.process.status.progress > 0.4)
    before = bench.process.plan
    bench.process.add(joint_goal(np.zeros(2), bench.now_ns, True))
    bench.run(Phase.PLANNING)
    np.testing.assert_allclose(bench.qs[-1] / bench.qs[-1][0], GOAL / GOAL[0], atol=1e-3)  # on the straight way
    assert np.abs(np.diff(bench.qs, axis=0)).max() < 1.1 * STEP_NS * 1e-9 * model.v_max.max()
    bench.run(Phase.REACHED)
    assert bench.process.plan is not before
    np.testing.assert_allclose(bench.qs[-1], 0.0, atol=2e-3)


def test_cancel_stops_and_nothing_moves_any_more(model, planner):
    bench = Bench(model, planner, stop_acceleration=40.0)
    assert not bench.process.cancel(), "there is no goal"
    bench.process.add(joint_goal(GOAL))
    bench.run(lambda: bench.process.status.progress > 0.4)
    assert bench.process.cancel()
    assert bench.run(Phase.CANCELED) == "canceled"
    rest = bench.qs[-1]
    for _ in range(50):
        bench.step()
    np.testing.assert_array_equal(bench.qs[-1], rest)
    assert 0.3 * GOAL[0] < rest[0] < 0.95 * GOAL[0]
    bench.process.add(joint_goal(GOAL, bench.now_ns, True))
    bench.planner.polls = 5
    bench.run(Phase.PLANNING)
    assert bench.process.cancel()
    for _ in range(10):
        bench.step()
    assert str(bench.process.status) == "canceled", "the answer that comes later is dropped"


def test_a_command_to_an_arm_in_motion_is_followed_from_a_little_ahead_or_behind():
    times = np.array([0.0, 0.01, 0.04, 0.06, 0.1])
    points = behind_begin(Waypoints(times, np.arange(10.0).reshape(5, 2), np.arange(10.0).reshape(5, 2)))
    np.testing.assert_array_equal(points.times, [0.06, 0.1])
    np.testing.assert_array_equal(points.qs, [[6.0, 7.0], [8.0, 9.0]])
    assert points.vs is not None
    assert points.as_ is None
    at_once = behind_begin(Waypoints(np.array([0.0, 0.001]), np.ones((2, 2))))
    np.testing.assert_array_equal(at_once.times, [0.05])


def test_an_arm_that_is_held_back_gives_up_and_one_that_moves_is_waited_for(model, planner):
    bench = Bench(model, planner)
    bench.process.add(joint_goal(GOAL))
    bench.run(lambda: bench.process.status.progress > 0.4)
    bench.push = np.array([0.0, 0.3])
    bench.step()
    assert bench.run(Phase.OFF_PATH) == f"off the path: {model.joint_names[1]} is 0.300 away"
    near = Bench(model, planner)
    near.process.add(joint_goal(GOAL))
    near.run(Phase.MOVING)
    near.push = np.array([0.03, 0.0])
    assert near.run(Phase.MISSED) == f"goal missed: {model.joint_names[0]} is 0.030 away"
    state = Measurement(near.now_ns, GOAL, np.array([0.5, 0.0]), 0.01)
    near.process.add(joint_goal(GOAL, near.now_ns, True))
    near.process.on_state(state, [])
    near.process.on_state(state, [])
    assert near.process.status.reason == MOVES


def test_past_what_comes_into_the_way_another_motion_is_planned_on_the_way(model, planner):
    bench = Bench(model, planner)
    ball, far = Obstacle(Sphere(0.06), Pose.at([0.1, 0.5, 0.0])), np.array([2.4, 0.0])
    bench.process.add(joint_goal(far))
    bench.run(lambda: bench.process.status.progress > 0.05)
    bench.obstacles = [ball]
    bench.run(Phase.REACHED)
    assert "moving: something came into the way: planned anew" in bench.words
    assert "stopping" not in bench.words
    np.testing.assert_allclose(bench.qs[-1], far, atol=2e-3)
    validity = Validity(model)
    validity.place([ball])
    assert validity.first_contact(np.array(bench.qs)) is None, "the way that was gone"


def test_a_decision_that_comes_too_late_stops_the_arm(model, planner):
    bench = Bench(model, planner, stop_acceleration=40.0)
    bench.process.add(joint_goal(np.array([2.4, 0.0])))
    bench.planner.look_polls = 40
    bench.run(Phase.MOVING)
    bench.obstacles = [Obstacle(Sphere(0.06), Pose.at([0.1, 0.5, 0.0]))]
    bench.run(Phase.STOPPING)
    assert bench.words[-1].startswith("stopping: something came into the way: ")
    assert bench.words[-1].endswith(", but too late")
    bench.run(Phase.REACHED)


def test_a_motion_is_not_watched_by_a_dead_planner(model, planner):
    bench = Bench(model, planner)
    bench.process.add(joint_goal(GOAL))
    bench.run(Phase.MOVING)
    bench.planner.alive = False
    assert bench.run(Phase.NO_PLAN) == f"no plan: {DIED}"
    assert bench.qs[-1][0] < 0.9 * GOAL[0]


def test_a_plan_waits_for_its_execution(model, planner):
    bench = Bench(model, planner, execute=False)
    bench.process.add(joint_goal(GOAL))
    bench.run(Phase.PLANNED)
    for _ in range(20):
        bench.step()
    assert bench.commands == []
    assert bench.process.execute()
    bench.run(Phase.REACHED)
    assert not bench.process.execute()


def test_a_failed_plan_is_tried_again_while_obstacles_move(model, planner):
    ball = Obstacle(Sphere(0.06), Pose.at([0.5, 0.0, 0.0]), (0.0, -0.5, 0.0, 0.0, 0.0, 0.0))
    patient = Bench(model, planner, [ball], lead=0.02)
    patient.process.add(joint_goal(GOAL))
    patient.run(Phase.REACHED)
    assert any(word.startswith("planning: the rounded motion cannot be proved free") for word in patient.words)
    hasty = Bench(model, planner, [ball], lead=0.02, patience=0.0)
    hasty.process.add(joint_goal(GOAL))
    assert hasty.run(Phase.NO_PLAN).startswith("no plan: the rounded motion cannot be proved free")


def test_time_starts_over_and_goals_act_again_but_for_single_ones(model, planner):
    bench = Bench(model, planner)
    bench.process.add(joint_goal(GOAL))
    bench.run(Phase.REACHED)
    bench.process.add(joint_goal(0.5 * GOAL, bench.now_ns, True), is_single=True)
    bench.run(Phase.MOVING)
    bench.restart()
    bench.run(Phase.REACHED)
    np.testing.assert_allclose(bench.qs[-1], GOAL, atol=2e-3)
