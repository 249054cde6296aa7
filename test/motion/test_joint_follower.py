"""Following: preemption without a jump, tolerances and their outcomes, holding."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import FollowingParameters, JointFollower, Waypoints

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def follower(model: RobotModel, q: Array = HOME, **tolerances: float) -> JointFollower:
    return JointFollower(model, FollowingParameters(**tolerances), q)


def somewhere(seed: int, times: list[float]) -> Waypoints:
    away = np.random.default_rng(seed).uniform(-0.3, 0.3, (len(times), 6))
    return Waypoints(np.array(times), HOME + away)


def test_without_a_trajectory_it_holds(ur5: RobotModel):
    f = follower(ur5)
    for ms in (0, 5000):
        now = f.tick(ms * MS, HOME + 0.5)
        np.testing.assert_array_equal(now.q_des, HOME)
        assert not now.v_des.any()
    assert (f.outcome.state, f.outcome.failed) == ("holding", False)


def test_preemption_continues_the_present_desired_motion(ur5: RobotModel):
    """Over three trajectories and two targets, each taking over from the one before, nothing jumps."""
    f = follower(ur5)
    orders = {0: somewhere(0, [1.0, 2.0]), 700: somewhere(50, [0.9]), 1300: HOME + 0.2}
    orders |= {1500: somewhere(99, [1.0, 1.5]), 2700: HOME}
    motions = []
    for ms in range(6000):
        order = orders.get(ms)
        if isinstance(order, Waypoints):
            f.follow(order, ms * MS)
        elif order is not None:
            f.go_to(order, ms * MS)
        motions.append(f.tick(ms * MS, f.desired(ms * MS).q_des))
    q, v, a = (np.array([getattr(m, name) for m in motions]) for name in ("q_des", "v_des", "a_des"))
    steps = {ms + 1 for ms in orders}
    taken_over = sorted(step for step in steps if step < 6000)
    for ms in taken_over:
        assert np.abs(q[ms] - q[ms - 1]).max() < 2e-3
        assert np.abs(v[ms] - v[ms - 1]).max() < 0.02
    for ms in orders:
        if ms:
            np.testing.assert_allclose(q[ms], q[ms - 1] + 1e-3 * v[ms - 1], rtol=0, atol=2e-5)
            np.testing.assert_allclose(v[ms], v[ms - 1] + 1e-3 * a[ms - 1], rtol=0, atol=2e-3)
    np.testing.assert_allclose(q[-1], HOME, rtol=0, atol=1e-12)
    assert f.outcome.state == "reached"


def test_a_trajectory_that_is_refused_leaves_the_present_one_alone(ur5: RobotModel):
    f = follower(ur5)
    f.follow(somewhere(1, [1.0, 2.0]), 0)
    before = f.desired(900 * MS)
    hasty, elsewhere = somewhere(2, [0.01]), Waypoints(np.array([0.0, 1.0]), np.array([HOME + 0.5, HOME]))
    with pytest.raises(InputError, match="velocity beyond the limit"):
        f.follow(hasty, 500 * MS)
    with pytest.raises(InputError, match="the point at time 0 is"):
        f.follow(elsewhere, 500 * MS)
    with pytest.raises(InputError, match="position beyond the limit: elbow_joint"):
        f.go_to(np.array([0, 0, 3.3, 0, 0, 0]), 500 * MS)
    np.testing.assert_array_equal(f.desired(900 * MS).q_des, before.q_des)


def test_a_target_is_gone_to_at_the_pace_of_the_parameters(ur5: RobotModel):
    f = follower(ur5, target_speed=0.1, target_acceleration=50.0)
    f.go_to(HOME + 0.5, 0)
    speed = max(np.abs(f.desired(ms * MS).v_des / ur5.v_max).max() for ms in range(0, 5000, 5))
    assert speed == pytest.approx(0.1, rel=1e-3)
    slow = follower(ur5, target_speed=1.0, target_acceleration=0.5)
    slow.go_to(HOME + 0.5, 0)
    assert max(np.abs(slow.desired(ms * MS).a_des).max() for ms in range(0, 5000, 5)) == pytest.approx(0.5, rel=1e-3)


def test_an_arm_off_the_path_is_held_where_it_is(ur5: RobotModel):
    f, arm = follower(ur5, path_tolerance=0.1), HOME + [0, 0, 0, 0, -0.11, 0]
    f.follow(somewhere(1, [1.0]), 0)
    f.tick(1 * MS, HOME + [0, 0, 0, 0, -0.09, 0])
    assert f.outcome.state == "following"
    now = f.tick(2 * MS, arm)
    np.testing.assert_array_equal(now.q_des, arm)
    assert not now.v_des.any()
    assert (f.outcome.state, f.outcome.joint) == ("off the path", "wrist_2_joint")
    assert f.outcome.error == pytest.approx(0.11, abs=1e-4)
    assert str(f.outcome) == "off the path: wrist_2_joint has an error of 0.11"
    np.testing.assert_array_equal(f.tick(900 * MS, HOME).q_des, arm)
    assert f.outcome.failed


def test_a_goal_must_be_reached_in_time(ur5: RobotModel):
    f, goal = follower(ur5, goal_tolerance=0.02, goal_time=0.5), somewhere(1, [1.0])
    f.follow(goal, 0)
    stuck = goal.qs[0] - [0, 0.03, 0, 0, 0, 0]
    for ms, state in ((999, "following"), (1000, "following"), (1500, "following"), (1501, "goal missed")):
        f.tick(ms * MS, stuck)
        assert f.outcome.state == state, ms
    assert f.outcome.joint == "shoulder_lift_joint"
    np.testing.assert_array_equal(f.tick(2000 * MS, HOME).q_des, stuck)


def test_without_a_goal_time_it_waits(ur5: RobotModel):
    f, goal = follower(ur5), somewhere(1, [1.0])
    f.follow(goal, 0)
    f.tick(60_000 * MS, goal.qs[0] + 0.1)
    assert f.outcome.state == "following"
    f.tick(60_001 * MS, goal.qs[0])
    assert f.outcome.state == "reached"


def test_joints_without_an_end_take_the_short_way(load_robot):
    pendulum = load_robot("double_pendulum")
    assert np.isinf(pendulum.q_max).all()
    f = follower(pendulum, np.array([3.0, 0.0]), path_tolerance=0.1)
    f.go_to(np.array([-3.0, 6.5]), 0)
    end = f.tick(60_000 * MS, np.array([-3.0, 6.5])).q_des
    np.testing.assert_allclose(end, [2 * np.pi - 3.0, 6.5 - 2 * np.pi], rtol=0, atol=1e-12)
    assert f.outcome.state == "reached"
    f.follow(Waypoints(np.array([20.0]), np.array([[3.0, 0.0]])), 60_000 * MS)
    np.testing.assert_allclose(f.desired(90_000 * MS).q_des, [3.0, 0.0], rtol=0, atol=1e-12)
    f.follow(Waypoints(np.array([20.0]), np.array([[-3.0, 6.5]])), 90_000 * MS)
    np.testing.assert_allclose(f.desired(120_000 * MS).q_des, end, rtol=0, atol=1e-12)
