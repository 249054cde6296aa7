"""Which of targets and motions counts, where their frames are, and that nothing jumps that need not."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.maths import Pose, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.motion import PoseFollower, PoseMotion, PosePoints, Target

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
OTHER = HOME + 0.1
A, B = (Pose(rotation_from_vector([0.1 * k, 0, 0]), np.array([0.3, 0.1 * k, 0.4])) for k in (1, 2))


def motion(stamp: int, frame: str = "base_link", first: float = 0.0) -> PoseMotion:
    points = PosePoints(np.array([first, first + 1.0]), (A, B), np.zeros((2, 6)), np.zeros((2, 6)))
    return PoseMotion(stamp * MS, frame, points)


@pytest.fixture
def follower(ur5: RobotModel) -> PoseFollower:
    follower = PoseFollower(ur5)
    follower.restart(HOME)
    return follower


def test_until_something_is_due_it_stays(follower: PoseFollower, ur5: RobotModel):
    follower.queue.add(Target(10 * MS, "base_link", A))
    reference = follower.reference(9 * MS, OTHER)
    np.testing.assert_array_equal(reference.X_WT.p, ur5.pose(HOME).p)
    assert follower.active is None
    np.testing.assert_array_equal(follower.reference(10 * MS, OTHER).X_WT.p, A.p)


def test_the_newest_that_is_due_wins_whatever_it_is(follower: PoseFollower):
    follower.queue.add(motion(100))
    follower.queue.add(Target(500 * MS, "base_link", B))
    follower.queue.add(Target(50 * MS, "base_link", B))
    follower.queue.add(motion(700))
    for ms, p in ((50, B.p), (100, A.p), (500, B.p), (700, A.p), (1700, B.p), (9000, B.p)):
        np.testing.assert_allclose(follower.reference(ms * MS, HOME).X_WT.p, p, rtol=0, atol=1e-12)
    halfway = follower.reference(1200 * MS, HOME)
    np.testing.assert_allclose(halfway.X_WT.p, (A.p + B.p) / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(halfway.V_des[:3], 15 / 8 * (B.p - A.p), rtol=0, atol=1e-12)


def test_a_frame_is_where_it_was_when_the_target_or_motion_became_active(follower: PoseFollower, ur5: RobotModel):
    follower.queue.add(Target(10 * MS, "tool0", A))
    follower.queue.add(motion(20, "forearm_link"))
    for ms, frame in ((10, "tool0"), (20, "forearm_link")):
        X = ur5.pose(HOME, frame) @ A
        for q in (HOME, OTHER):
            reference = follower.reference(ms * MS, q)
            np.testing.assert_allclose(reference.X_WT.p, X.p, rtol=0, atol=1e-12)
            np.testing.assert_allclose(reference.X_WT.R, X.R, rtol=0, atol=1e-12)
    V = follower.reference(520 * MS, OTHER).V_des
    np.testing.assert_allclose(V[:3], ur5.pose(HOME, "forearm_link").R @ (15 / 8 * (B.p - A.p)), rtol=0, atol=1e-12)


def test_a_first_point_later_than_0_is_gone_to_from_the_present_motion(follower: PoseFollower):
    follower.queue.add(motion(0))
    follower.queue.add(motion(500, first=0.4))
    before, after = follower.reference(500 * MS - 1, HOME), follower.reference(500 * MS, HOME)
    assert np.linalg.norm(before.V_des) > 0.1, "it is in full motion when the other takes over"
    for name in ("V_des", "A_des"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), rtol=0, atol=1e-6)
    np.testing.assert_allclose(after.X_WT.p, before.X_WT.p, rtol=0, atol=1e-8)
    a, b = follower.reference(900 * MS - 1, HOME), follower.reference(900 * MS, HOME)
    np.testing.assert_allclose(a.X_WT.p, A.p, rtol=0, atol=1e-8)
    np.testing.assert_allclose(b.X_WT.p, A.p, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.V_des, b.V_des, rtol=0, atol=1e-6)


def test_a_target_for_now_removes_those_that_wait_and_no_other(follower: PoseFollower):
    for stamp in (5, 20, 30):
        follower.queue.add(Target(stamp * MS, "base_link", A))
    follower.queue.add(Target(10 * MS, "base_link", B, is_immediate=True))
    assert len(follower.queue) == 2
    np.testing.assert_array_equal(follower.reference(9 * MS, OTHER).X_WT.p, A.p)
    np.testing.assert_array_equal(follower.reference(99 * MS, OTHER).X_WT.p, B.p)


def test_a_motion_that_acts_again_behind_a_hold_begins_there(follower: PoseFollower, ur5: RobotModel):
    follower.queue.add(motion(100))
    for ms in (100, 400):
        follower.hold(ms * MS, HOME)
        np.testing.assert_array_equal(follower.reference(ms * MS, HOME).X_WT.p, ur5.pose(HOME).p)
    follower.restart(HOME)
    np.testing.assert_allclose(follower.reference(401 * MS, HOME).X_WT.p, A.p, rtol=0, atol=1e-6)
    np.testing.assert_allclose(follower.reference(900 * MS, HOME).X_WT.p, (A.p + B.p) / 2, rtol=0, atol=1e-12)
    follower.restart(HOME)  # time starts over
    follower.reference(100 * MS, HOME)
    np.testing.assert_allclose(follower.reference(600 * MS, HOME).X_WT.p, (A.p + B.p) / 2, rtol=0, atol=1e-12)
