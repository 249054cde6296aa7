"""Following of primitives: start, moved goals, changes, brakes, limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array, Pose, rotation_from_rpy
from arm_control.motion import JointGoal, JointJog, JointReference, Modulation, Reference, Target, TwistJog, Waypoints
from arm_control.primitives import (
    Demonstration,
    JointSpace,
    PoseSpace,
    Primitive,
    PrimitiveFile,
    PrimitiveFollower,
    PrimitiveParameters,
    check_frame,
)

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
AWAY = HOME + np.array([0.6, 0.2, -0.3, 0.1, 0.0, 0.4])
T = np.linspace(0.0, 1.0, 101)
RISE = T**3 * (10.0 - 15.0 * T + 6.0 * T**2)


@pytest.fixture(scope="module")
def reach(ur5: RobotModel) -> Primitive:
    q = HOME + RISE[:, None] * (AWAY - HOME) + 0.1 * (np.sin(np.pi * T) ** 4)[:, None]
    return Primitive.learn(Demonstration(2.0 * T, q, names=ur5.joint_names))


@pytest.fixture(scope="module")
def wave(ur5: RobotModel) -> Primitive:
    q = HOME + 0.2 * np.sin(2.0 * np.pi * T)[:, None] * [1.0, 0.5, 0.0, 0.0, 0.0, 1.0]
    return Primitive.learn(Demonstration(2.0 * T, q, names=ur5.joint_names), "rhythmic")


@pytest.fixture(scope="module")
def joints(ur5: RobotModel) -> JointSpace:
    return JointSpace(ur5)


def follower_of(primitive: Primitive, space: JointSpace | PoseSpace, **values: float) -> PrimitiveFollower:
    follower = PrimitiveFollower(primitive, PrimitiveParameters(**values), space)
    follower.restart(HOME)
    return follower


def follow(follower: PrimitiveFollower, first: int, last: int, lag: float = 0.0) -> list[JointReference]:
    """References of every 5 ms, of an arm that follows at once, or is off by some radians."""
    references, q = [], HOME
    for ms in range(first, last, 5):
        references.append(follower.reference(ms * MS, q))
        q = references[-1].q_des + lag
    return references


def positions(references: list[JointReference]) -> Array:
    return np.array([reference.q_des for reference in references])


def largest_jump(references: list[JointReference]) -> float:
    """Largest difference of a position from where the velocities lead."""
    q, v = positions(references), np.array([reference.v_des for reference in references])
    return float(np.abs(np.diff(q, axis=0) - 0.5 * (v[1:] + v[:-1]) * 5e-3).max())


def test_a_goal_starts_it_where_the_arm_is_and_the_end_is_the_goal(reach: Primitive, joints: JointSpace):
    follower = follower_of(reach, joints)
    held = follow(follower, 0, 100)
    assert (positions(held) == HOME).all()
    assert not follower.is_running
    follower.add(JointGoal(100 * MS, AWAY))
    moving = follow(follower, 100, 2600)
    np.testing.assert_array_equal(moving[0].q_des, HOME)
    np.testing.assert_allclose(moving[-1].q_des, AWAY, atol=1e-5)
    assert largest_jump(moving) < 1e-4
    learned = reach.rollout(np.arange(0, 2.0, 5e-3)).q
    np.testing.assert_allclose(positions(moving)[: len(learned)], learned, atol=1e-6)


def test_a_goal_on_the_way_moves_that_of_the_motion(reach: Primitive, joints: JointSpace):
    follower = follower_of(reach, joints)
    follower.add(JointGoal(0, AWAY))
    follow(follower, 0, 1500)
    assert follower.phase == pytest.approx(0.75, abs=0.01)
    follower.add(JointGoal(1500 * MS, AWAY - 0.3))
    rest = follow(follower, 1500, 4500)
    assert follower.phase == pytest.approx(1.0), "it does not begin anew"
    assert largest_jump(rest) < 1e-4
    np.testing.assert_allclose(rest[-1].q_des, AWAY - 0.3, atol=1e-5)
    follower.add(JointGoal(4500 * MS, HOME))
    back = follow(follower, 4500, 7500)
    assert follower.phase == pytest.approx(1.0)
    np.testing.assert_allclose(back[0].q_des, AWAY - 0.3, atol=1e-5)
    np.testing.assert_allclose(back[-1].q_des, HOME, atol=1e-5)


def test_amplitude_and_period_change_from_their_stamp_on(wave: Primitive, joints: JointSpace):
    follower = follower_of(wave, joints, amplitude=0.5)
    follower.add(JointGoal(0, HOME))
    follower.add(Modulation(6000 * MS, "amplitude", 1.5))
    follower.add(Modulation(6000 * MS, "period", 1.0))
    first = positions(follow(follower, 0, 6000))[-400:, 0]
    second = positions(follow(follower, 6000, 12000))[-400:, 0]
    assert np.ptp(first) == pytest.approx(0.2, abs=2e-3)
    assert np.ptp(second) == pytest.approx(0.6, abs=5e-3)
    np.testing.assert_allclose(second[:200], second[200:], atol=1e-3, err_msg="two periods in 2 s")


@pytest.mark.parametrize("kind", ["discrete", "rhythmic"])
def test_a_hold_ends_the_motion_and_only_a_goal_begins_another(
    reach: Primitive, wave: Primitive, joints: JointSpace, kind: str
):
    follower = follower_of(reach if kind == "discrete" else wave, joints, starts_at_once=True)
    moving = follow(follower, 0, 1000)
    follower.add(Modulation(900 * MS, "amplitude", 0.5))
    assert np.abs(moving[-1].v_des).max() > 0.05
    q = HOME + 0.2
    for ms in range(1000, 3000, 5):
        follower.hold(ms * MS, q)
        follower.reference(ms * MS, q)
    follower.add(Modulation(3100 * MS, "period", 1.5))
    for reference in follow(follower, 3000, 6000):
        np.testing.assert_array_equal(reference.q_des, q)
        assert not reference.v_des.any()
    assert (follower.is_running, follower.is_holding, follower.phase) == (False, True, 0.0)
    follower.add(JointGoal(6000 * MS, AWAY))
    again = follow(follower, 6000, 12000)
    assert not follower.is_holding
    assert np.abs(again[0].q_des - q).max() < 1e-12
    if kind == "discrete":
        np.testing.assert_allclose(again[-1].q_des, AWAY, atol=1e-5)
    else:
        one_period = positions(again)[-300:]
        assert np.ptp(one_period[:, 0]) == pytest.approx(0.2, abs=5e-3), "the amplitude of before"
    follower.restart(HOME)
    assert not follower.is_holding
    assert np.array_equal(positions(follow(follower, 0, 900)), positions(moving)[:180]), "time has started over"


def test_a_goal_beyond_a_limit_is_refused_and_the_motion_goes_on(reach: Primitive, joints: JointSpace):
    follower = follower_of(reach, joints)
    follower.add(JointGoal(0, AWAY))
    follow(follower, 0, 500)
    follower.add(JointGoal(500 * MS, AWAY + [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]))
    follower.reference(500 * MS, HOME)
    assert "position beyond the limit: elbow_joint" in str(follower.refused)
    rest = follow(follower, 505, 3000)
    assert follower.refused is None
    np.testing.assert_allclose(rest[-1].q_des, AWAY, atol=1e-5)


def test_what_is_too_fast_is_refused_with_the_period_that_is_not(reach: Primitive, wave: Primitive, joints: JointSpace):
    follower = follower_of(reach, joints, period=0.2)
    follower.add(JointGoal(0, AWAY + [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    follower.reference(0, HOME)
    assert "velocity beyond the limit: shoulder_pan_joint" in str(follower.refused)
    assert "times the period keeps the speed" in str(follower.refused)
    assert not follower.is_running
    rhythm = follower_of(wave, joints)
    rhythm.add(JointGoal(0, HOME))
    rhythm.add(Modulation(3000 * MS, "period", 0.1))
    before = follow(rhythm, 0, 3000)
    rhythm.reference(3000 * MS, before[-1].q_des)
    assert "velocity beyond the limit" in str(rhythm.refused)
    after = positions(follow(rhythm, 3005, 7505))
    np.testing.assert_allclose(after[-400:], after[-800:-400], atol=1e-4, err_msg="the period is still 2 s")


def test_other_goals_are_refused(reach: Primitive, joints: JointSpace):
    follower = follower_of(reach, joints)
    trajectory = JointGoal(0, Waypoints(np.array([1.0]), HOME[None]))
    for goal in (trajectory, JointJog(0, 0, np.zeros(6)), TwistJog(0, 0, "tool0", np.zeros(6))):
        with pytest.raises(InputError, match="a primitive goes to target_pose or target_joint"):
            follower.add(goal)


@pytest.mark.parametrize(("quantity", "value"), [("amplitude", 101.0), ("period", 0.04)])
def test_absurd_amplitudes_and_periods_are_refused(reach: Primitive, joints: JointSpace, quantity: str, value: float):
    with pytest.raises(InputError, match=f"{quantity} {value:g}: from "):
        follower_of(reach, joints).add(Modulation(0, quantity, value))
    with pytest.raises(ParameterError, match=f"{quantity} = "):
        PrimitiveParameters(**{quantity: value})


def test_the_phase_waits_for_an_arm_that_lags(reach: Primitive, joints: JointSpace):
    phases = []
    for lag, gain in ((0.0, 1000.0), (0.05, 1000.0), (0.05, 0.0)):
        follower = follower_of(reach, joints, phase_stopping=gain)
        follower.add(JointGoal(0, AWAY))
        follow(follower, 0, 1000, lag)
        phases.append(follower.phase)
    assert phases[0] == phases[2] == pytest.approx(0.4975)
    assert phases[1] == pytest.approx(0.4975 / 3.5, rel=0.02)


def test_a_continuous_joint_goes_the_short_way(ur5: RobotModel, reach: Primitive):
    free = RobotModel.from_urdf(ur5.urdf.text.replace('type="revolute"', 'type="continuous"'))
    follower = follower_of(reach, JointSpace(free))
    follower.add(JointGoal(0, AWAY + 2.0 * np.pi))
    np.testing.assert_allclose(follow(follower, 0, 2600)[-1].q_des, AWAY, atol=1e-5)


def test_joints_go_to_a_pose_and_the_end_effector_to_joints(ur5: RobotModel, reach: Primitive, joints: JointSpace):
    X = ur5.pose(AWAY)
    follower = follower_of(reach, joints)
    follower.add(Target(0, "base_link", X))
    end = follow(follower, 0, 3000)[-1].q_des
    np.testing.assert_allclose(ur5.pose(end).p, X.p, atol=1e-4)
    unreachable = Target(3000 * MS, "base_link", Pose(X.R, np.array([3.0, 0.0, 0.0])))
    follower.add(unreachable)
    follower.reference(3000 * MS, end)
    assert "no joint positions within the limits" in str(follower.refused)
    hand = follower_of(PrimitiveFile.load("sweep").primitive, PoseSpace(ur5))
    hand.add(JointGoal(0, AWAY))
    for ms in range(0, 5000, 10):
        reference: Reference = hand.reference(ms * MS, HOME if ms < 10 else AWAY)
    assert reference.X_WT.p.tolist() != X.p.tolist(), "the arm that stands still is waited for"


def hand_path(follower: PrimitiveFollower, ur5: RobotModel, seconds: float, see: Callable[[], None]) -> list[Reference]:
    follower.restart(HOME)
    references = []
    for ms in range(0, round(1e3 * seconds), 10):
        see()
        references.append(follower.reference(ms * MS, HOME))
    return references


def test_the_end_effector_reaches_a_moved_pose_past_an_obstacle(ur5: RobotModel):
    primitive = PrimitiveFile.load("sweep").primitive
    start = ur5.pose(HOME)
    goal = Pose(rotation_from_rpy([0.3, 0.0, 0.2]) @ start.R, start.p + [-0.2, 0.4, 0.05])
    paths = []
    for gain in (0.0, 1000.0):
        follower = follower_of(primitive, PoseSpace(ur5), obstacle_gain=gain, phase_stopping=0.0, period=2.0)
        follower.add(Target(0, "base_link", start @ Pose(np.eye(3), np.array([0.0, 0.0, 0.1]))))
        follower.add(Target(500 * MS, "base_link", goal))
        middle = np.array([paths[0][100].X_WT.p]) if paths else np.zeros((0, 3))
        see = (lambda f=follower, m=middle: f.see(m, np.full(len(m), 0.02))) if gain else (lambda: None)
        paths.append(hand_path(follower, ur5, 5.0, see))
    free, bent = (np.array([reference.X_WT.p for reference in path]) for path in paths)
    distance = [np.linalg.norm(p - free[100], axis=1).min() for p in (free, bent)]
    assert distance[0] == 0.0
    assert distance[1] > 0.03
    for path in paths:
        np.testing.assert_allclose(path[0].X_WT.p, start.p, atol=1e-9)
        np.testing.assert_allclose(path[-1].X_WT.p, goal.p, atol=1e-5)
        np.testing.assert_allclose(path[-1].X_WT.R, goal.R, atol=1e-5)


def test_a_primitive_of_positions_or_of_another_frame_is_refused(ur5: RobotModel):
    line = Demonstration(T, np.column_stack([RISE, RISE, RISE]))
    with pytest.raises(ParameterError, match="a primitive of 3 coordinates without joints"):
        check_frame(Primitive.learn(line), ur5)
    quats = np.tile([0.0, 0.0, 0.0, 1.0], (101, 1))
    elsewhere = Demonstration(T, line.positions, quats, frame="table")
    with pytest.raises(ParameterError, match="in the frame table; the base of this arm is base_link"):
        check_frame(Primitive.learn(elsewhere), ur5)
