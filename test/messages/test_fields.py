"""Goals and measurements from messages: positions out of the world, wrenches that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.bags import plain
from arm_control.controllers import control_loop
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.maths import Pose
from arm_control.messages import goal_of, sensor_reading_of
from arm_control.model import RobotModel
from arm_control.motion import Modulation, PosePoints, Waypoints, WrenchGoal
from arm_control.simulation import Scenario, arm_and_parameters

WRENCH = (1.0, 2.0, 3.0, 0.4, 0.5, 0.6)
SECOND = 1_000_000_000


@pytest.mark.parametrize("topic", ["target_pose", "pose_trajectory", "target_joint", "joint_trajectory"])
def test_a_goal_out_of_the_world_is_refused(ur5: RobotModel, topic: str):
    free = RobotModel.from_urdf(ur5.urdf.text.replace('type="revolute"', 'type="continuous"'))
    assert np.isinf(free.q_max).all()
    names, t = free.joint_names, np.array([1.0])

    def message(x: float):
        """A goal with x in the place of a position."""
        X, q = Pose(np.eye(3), np.array([x, 0.0, 0.0])), np.array([x, *[0.0] * (free.nq - 1)])
        return {
            "target_pose": plain.pose_stamped(X, "", 0),
            "pose_trajectory": plain.pose_trajectory("", PosePoints(t, (X,)), "", 0),
            "target_joint": plain.joint_state(names, 0, position=q),
            "joint_trajectory": plain.joint_trajectory(names, Waypoints(t, q[None]), 0),
        }[topic]

    assert goal_of(topic, message(2.0), free, 0).stamp_ns == 0
    for x in (1e6, -1e300):
        with pytest.raises(InputError, match=r"(away; allowed: less than 1e\+06 m|less than 1e\+06 is needed)"):
            goal_of(topic, message(x), free, 0)


@pytest.mark.parametrize("quantity", ["amplitude", "period"])
def test_amplitude_and_period_act_from_the_newest_state_on_and_must_be_numbers(ur5: RobotModel, quantity: str):
    topic = f"primitive/{quantity}"
    assert goal_of(topic, plain.float64(0.5), ur5, 7) == Modulation(7, quantity, 0.5, True)
    for x in (np.nan, np.inf, 1e6):
        with pytest.raises(InputError, match=rf"{quantity} .*number below 1e\+06 is needed"):
            goal_of(topic, plain.float64(x), ur5, 7)
    if quantity == "period":
        with pytest.raises(InputError, match="a positive number"):
            goal_of(topic, plain.float64(0.0), ur5, 7)
    else:
        assert goal_of(topic, plain.float64(-1.0), ur5, 7).value == -1.0


def test_messages_of_wrenches_are_read_with_their_frame_and_time(ur5: RobotModel):
    goal = goal_of("target_wrench", plain.wrench_stamped(WRENCH, "tool0", 5), ur5, 3)
    assert goal == WrenchGoal(5, "tool0", WRENCH)
    now = goal_of("target_wrench", plain.wrench_stamped(WRENCH, "", 0), ur5, 7)
    assert now == WrenchGoal(7, "base_link", WRENCH, is_immediate=True)
    reading = sensor_reading_of(plain.wrench_stamped(WRENCH, "tool0", 0), ur5, 9)
    assert (reading.stamp_ns, reading.frame, tuple(reading.wrench)) == (9, "tool0", WRENCH)
    assert sensor_reading_of(plain.wrench_stamped(WRENCH, "tool0", 5), ur5, 0).stamp_ns == 5, "before the first state"


@pytest.mark.parametrize("read", [goal_of, lambda _, *rest: sensor_reading_of(*rest)], ids=["target", "sensor"])
def test_wrenches_that_cannot_be_are_refused(read, ur5: RobotModel):
    for value in (np.nan, np.inf, -1e300):
        with pytest.raises(InputError, match="finite numbers below 100000 are needed"):
            read("target_wrench", plain.wrench_stamped((value, *WRENCH[1:]), "tool0", 0), ur5, SECOND)
    with pytest.raises(FrameNotFound):
        read("target_wrench", plain.wrench_stamped(WRENCH, "nowhere", 0), ur5, SECOND)


def test_a_sensor_with_another_clock_is_refused(ur5: RobotModel):
    with pytest.raises(InputError, match=r"stamp -1.5 s from that of the states: one clock is needed"):
        sensor_reading_of(plain.wrench_stamped(WRENCH, "tool0", 1), ur5, 1_500_000_001)


def test_a_controller_without_force_axes_says_so():
    for name in ("ur5_osc", "ur5_joint"):
        model, parameters = arm_and_parameters(Scenario.load(name))
        with pytest.raises(InputError, match=r"force_axes is empty|not motions of the hand or wrenches"):
            control_loop(model, parameters).controller.add(WrenchGoal(0, "base_link", WRENCH))
