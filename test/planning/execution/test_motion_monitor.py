"""A planar arm whose obstacle leaves what was foretold: planned anew, stopped, evaded; never with a jump."""

from __future__ import annotations

import numpy as np
import pytest
from coal_scene import CoalScene
from planar_arm import planar_validity

from arm_control.collision import Validity, from_time, present
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.motion import JointReference
from arm_control.planning import Action, MonitorParameters, MotionMonitor, PathLimits, PlannerInTime, SearchParameters
from arm_control.planning.planner_in_time import stay

START, GOAL = np.array([-0.8, 0.3]), np.array([1.0, 0.3])
TICK = 0.01
FEW = SearchParameters(rounds=30, samples=16, connections=8)


@pytest.fixture(scope="module")
def validity() -> Validity:
    return planar_validity(margin=0.01)


@pytest.fixture(scope="module")
def planner(validity: Validity) -> PlannerInTime:
    return PlannerInTime(validity, PathLimits.of(validity.shape.model, a_max=10.0, share=0.9), 8.0, FEW)


def ball(p: tuple[float, float], v: tuple[float, float], radius: float = 0.15) -> Obstacle:
    return Obstacle(Sphere(radius), Pose(np.eye(3), np.array([*p, 0.0])), (*v, 0.0, 0.0, 0.0, 0.0))


def run(
    planner: PlannerInTime, first: Obstacle, after: Obstacle, t_break: float, duration: float = 6.0, **parameters: float
):
    """Follow a motion exactly; returns the actions, the smallest distance by coal, and the last joint positions."""
    timed = planner.plan(JointReference.at_rest(START), GOAL, [first], hold=3.0)
    assert timed.trajectory is not None, timed.reason
    monitor = MotionMonitor(planner, GOAL, MonitorParameters(**parameters))
    monitor.start(timed.trajectory, 0.0, [first])
    truth = from_time([after], -t_break)
    actions, smallest, last = [], np.inf, None
    for k in range(round(duration / TICK)):
        t = k * TICK
        there = present([first] if t < t_break else truth, t)
        decision = monitor.look(t, there)
        actions += [] if decision.action is Action.KEPT else [decision.action]
        now = monitor.trajectory.sample(t - monitor.begin)
        if last is not None:  # velocity and acceleration do not jump
            assert np.abs(now.q_des - last.q_des - TICK * 0.5 * (now.v_des + last.v_des)).max() < 2e-4
            assert np.abs(now.v_des - last.v_des).max() < 11.0 * TICK
        last = now
        if k % 4 == 0:
            smallest = min(smallest, float(CoalScene(planner.validity.shape, there).to_obstacles(now.q_des).min()))
    return actions, smallest, last.q_des


def test_nothing_happens_while_obstacles_move_as_foretold(planner: PlannerInTime):
    passing = ball((1.6, -2.5), (0.0, 1.0))
    actions, smallest, q = run(planner, passing, present([passing], 0.5)[0], 0.5, 3.0)
    assert actions == []
    assert smallest > 0.009
    assert np.allclose(q, GOAL)


def test_an_obstacle_that_turns_into_the_way_is_planned_around_or_stopped_for(planner: PlannerInTime):
    far = ball((2.4, 1.2), (0.0, 0.0))
    actions, smallest, q = run(planner, far, ball((2.4, 1.2), (-0.7, 0.0)), 0.3, 7.0)
    assert set(actions) <= {Action.PLANNED, Action.STOPPED}
    assert actions
    assert smallest > 0.009
    assert np.allclose(q, GOAL, atol=1e-6)


def test_an_arm_without_a_way_stops_and_goes_on_when_there_is_one(planner: PlannerInTime):
    """A ball comes to rest where the elbow cannot let the arm pass; later it goes away."""
    timed = planner.plan(JointReference.at_rest(START), GOAL, [ball((9.0, 9.0), (0.0, 0.0))])
    monitor = MotionMonitor(planner, GOAL)
    monitor.start(timed.trajectory, 0.0, [ball((9.0, 9.0), (0.0, 0.0))])
    blocking = ball((0.7, 0.25), (0.0, 0.0))
    actions = [monitor.look(t, [blocking]).action for t in np.arange(0.1, 2.0, TICK).tolist()]
    actions = [action for action in actions if action is not Action.KEPT]
    assert actions == [Action.STOPPED]
    assert not monitor.leads_to_goal
    gone = [monitor.look(t, [ball((9.0, 9.0), (0.0, 0.0))]).action for t in np.arange(2.0, 2.5, TICK).tolist()]
    assert Action.PLANNED in gone
    assert monitor.leads_to_goal


def test_a_resting_arm_evades_what_comes_at_it(planner: PlannerInTime):
    monitor = MotionMonitor(planner, GOAL)
    monitor.start(stay(JointReference.at_rest(GOAL)), 0.0, [])
    at_tip = planner.validity.shape.model.pose(GOAL).p
    coming = ball((at_tip[0] + 1.2, at_tip[1]), (-0.6, 0.0))
    decision = monitor.look(0.1, [coming])
    assert decision.action is Action.EVADED
    assert decision.trajectory is not None
    assert np.abs(decision.trajectory.end.q_des - GOAL).max() > 0.05
    assert decision.begin == pytest.approx(0.2)


def test_an_arm_that_is_hit_anyway_says_so(planner: PlannerInTime):
    monitor = MotionMonitor(planner, GOAL)
    monitor.start(stay(JointReference.at_rest(GOAL)), 0.0, [])
    elbow = np.array([np.cos(1.0), np.sin(1.0)])
    decision = monitor.look(0.0, [ball(tuple(elbow + [0.25, 0.0]), (-9.0, 0.0))])
    assert decision.action is Action.EXPOSED
    assert decision.contact < 0.02
