"""Poses of the end effector as goals of the joints: where inverse kinematics puts them, when they are due."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import Pose, RobotModel
from arm_control.control import Measurement
from arm_control.controllers import JointController, JointControlParameters
from arm_control.exceptions import InputError
from arm_control.motion import JointGoal, PoseMotion, PosePoints, Target

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
AWAY = HOME + [0.3, 0.2, -0.2, 0.1, 0.2, -0.3]


def tick(controller: JointController, k: int, q: np.ndarray = HOME):
    return controller.tick(Measurement(k * MS, q, np.zeros(6), 1e-3 if k else 0.0, is_restart=k == 0), None)


@pytest.fixture
def controller(ur5: RobotModel) -> JointController:
    controller = JointController(ur5, JointControlParameters())
    controller.prepare_poses()
    controller.restart(HOME)
    return controller


def test_a_pose_is_gone_to_at_the_joint_positions_near_the_present_ones_when_it_is_due(
    controller: JointController, ur5: RobotModel
):
    controller.add(Target(5 * MS, "base_link", ur5.pose(AWAY)))
    outputs = [tick(controller, k) for k in range(12)]
    assert not any(output.refused for output in outputs)
    assert controller.follower.desired(4 * MS).q_des == pytest.approx(HOME)
    at_end = controller.follower.desired(60_000 * MS).q_des
    assert at_end == pytest.approx(AWAY, abs=1e-5)
    assert controller.goal is not None
    assert controller.goal is controller.followed
    assert controller.goal.destination == pytest.approx(AWAY, abs=1e-5)


def test_a_pose_in_the_frame_of_the_hand_begins_where_the_hand_is(controller: JointController, ur5: RobotModel):
    controller.add(Target(0, "tool0", Pose(np.eye(3), np.array([0.0, 0.0, -0.05]))))
    tick(controller, 0)
    at_end = ur5.pose(controller.follower.desired(60_000 * MS).q_des)
    start = ur5.pose(HOME)
    np.testing.assert_allclose(at_end.p, start.p - 0.05 * start.R[:, 2], atol=1e-5)
    np.testing.assert_allclose(at_end.R, start.R, atol=1e-5)


def test_a_pose_out_of_reach_is_refused_once_and_the_present_goal_goes_on(controller: JointController, ur5: RobotModel):
    controller.add(JointGoal(0, AWAY))
    controller.add(Target(2 * MS, "base_link", Pose(ur5.pose(HOME).R, np.array([3.0, 0.0, 0.0]))))
    refused = [tick(controller, k).refused for k in range(5)]
    assert [k for k, error in enumerate(refused) if error] == [2]
    assert "no joint positions within the limits; the nearest found are" in str(refused[2])
    assert controller.follower.desired(60_000 * MS).q_des == pytest.approx(AWAY)


def test_a_motion_of_the_hand_is_not_for_joints(controller: JointController, ur5: RobotModel):
    X = ur5.pose(HOME)
    with pytest.raises(InputError, match="single poses, not motions of the hand"):
        controller.add(PoseMotion(0, "base_link", PosePoints(np.array([0.0, 1.0]), (X, X))))
