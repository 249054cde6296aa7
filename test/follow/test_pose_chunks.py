"""Poses of a policy become joints of the branch on which the arm is, or are refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arm_control.follow import PASS, REFUSE, ChunkFollower, ChunkParameters
from arm_control.maths import Array, Pose, quaternion_from_rotation
from arm_control.model import RobotModel, Tool
from arm_control.motion import PoseChunk

MS = 1_000_000
FREE = ChunkParameters(follow_torque=0.0)
TIMES = np.arange(1, 31) / 30.0
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def joints(times: Array = TIMES) -> Array:
    return HOME + 0.2 * np.sin(np.outer(times, np.arange(1, 7)) / 3.0)


def row(X: Pose) -> list[float]:
    return [*X.p, *quaternion_from_rotation(X.R)]


def chunk(model: RobotModel, qs: Array, stamp_ns: int = 0, times: Array = TIMES) -> PoseChunk:
    return PoseChunk(stamp_ns, times, [row(model.pose(q)) for q in qs])


@pytest.fixture
def follower(ur5: RobotModel) -> ChunkFollower:
    f = ChunkFollower(ur5, FREE, HOME, 0)
    f.prepare_poses()
    return f


def test_poses_are_followed_on_the_branch_of_the_arm(ur5: RobotModel, follower: ChunkFollower):
    sent = chunk(ur5, joints())
    assert follower.take(sent._replace(poses=np.array(sent.poses) * ([1] * 3 + [-2] * 4)), 20 * MS).band == PASS
    np.testing.assert_allclose(follower.at(900 * MS).q_des, joints(np.array([0.9]))[0], atol=2e-3)
    np.testing.assert_allclose(follower.points, joints(), atol=1e-5)
    for t in (0.5, 0.9):
        assert np.linalg.norm(ur5.pose(follower.at(int(t * 1e9)).q_des).p - ur5.pose(joints(np.array([t]))[0]).p) < 2e-3


@pytest.mark.parametrize("frame", ["tool0", "forearm_link"])
def test_poses_in_a_frame_that_moves_count_from_where_it_was_meant_at_the_observation(ur5: RobotModel, frame: str):
    """Late chunks of a hand, or of a camera at the forearm, lead where those of the base lead."""
    ur5.attach(Tool(X_ET=Pose.at([0.0, 0.05, 0.1])))
    one, other = (ChunkFollower(ur5, replace(FREE, newest_weight=0.7), HOME, 0) for _ in range(2))
    meant, observed_ns = [HOME], 0
    for now in range(1, 1400):  # [ms]
        meant.append(one.at(now * MS).q_des)
        if now % 70:
            continue
        observed_ns = max(now - 37 * now % 400, observed_ns // MS + 1) * MS
        sent = chunk(ur5, joints(TIMES + observed_ns / 1e9), observed_ns)
        X_FW = ur5.pose(meant[observed_ns // MS], None if frame == "tool0" else frame).inverse()
        relative = [row(X_FW @ Pose.at(x[:3], x[3:])) for x in np.array(sent.poses)]
        assert one.take(sent, now * MS).band != REFUSE
        assert other.take(PoseChunk(observed_ns, TIMES, relative, frame), now * MS).band != REFUSE
        np.testing.assert_allclose(other.points, one.points, atol=1e-6)
    ur5.attach(None)
    other.restart(HOME, now * MS)
    report = other.take(PoseChunk(observed_ns, TIMES + 1.0, relative, frame), now * MS)
    assert report.reason == "it was observed before all that is known of this motion"


def test_poses_of_the_past_are_not_even_sought(ur5: RobotModel, follower: ChunkFollower):
    """Out of reach, but past; the last one before now counts, since what follows is straight from there."""
    sent = chunk(ur5, joints())
    poses = np.array(sent.poses)
    poses[:4, :3] += 9.0
    assert follower.take(sent._replace(poses=poses), 180 * MS).band != REFUSE
    assert len(follower.points) == 26
    again = ChunkFollower(ur5, FREE, HOME, 0)
    again.take(sent, 180 * MS)
    assert (again.at(500 * MS).q_des == follower.at(500 * MS).q_des).all()
    assert again.take(sent._replace(stamp_ns=1), 3000 * MS).reason == "all its points are past"


def test_a_tool_and_a_frame_that_stands_still_count(ur5: RobotModel):
    ur5.attach(Tool(X_ET=Pose.at([0.0, 0.05, 0.1])))
    X_WF = ur5.pose(HOME, "base")
    assert not np.allclose(X_WF.R, np.eye(3)), "another frame than base_link"
    f = ChunkFollower(ur5, FREE, HOME, 0)
    poses = [row(X_WF.inverse() @ ur5.pose(q)) for q in joints()]
    assert f.take(PoseChunk(0, TIMES, poses, "base"), 20 * MS).band == PASS
    np.testing.assert_allclose(f.points, joints(), atol=1e-5)
    ur5.attach(None)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda c, x: c._replace(stamp_ns=2000 * MS), "it was observed 1.000 s after now"),
        (lambda c, x: c._replace(frame="kitchen"), "unknown frame 'kitchen'"),
        (lambda c, x: c._replace(poses=x * np.where(np.arange(30) == 9, np.nan, 1.0)[:, None]), "pose 9 is [nan"),
        (lambda c, x: c._replace(poses=x * ([1] * 3 + [0] * 4)), "pose 0 is ["),
        (lambda c, x: c._replace(poses=x * 1e7), "pose 0 is ["),
        (lambda c, x: c._replace(poses=x[:, :6]), "poses of shape (30, 6) at times of shape (30,); allowed: 1 to 500"),
        (lambda c, x: c._replace(times=c.times[::-1]), "its times do not increase"),
        (lambda c, x: c._replace(poses=[["one"] * 7] * 30), "no numbers"),
        (
            lambda c, x: c._replace(poses=x + np.outer(TIMES > 0.5, np.eye(7)[2])),
            "pose 15, at [0.42, 0.16, 1.072] m, is out of reach on this branch",
        ),
    ],
)
def test_wrong_poses_are_refused_and_the_last_chunk_goes_on(ur5, follower: ChunkFollower, wrong, reason: str):
    follower.take(chunk(ur5, joints(TIMES + 0.9), 900 * MS), 940 * MS)
    before = follower.at(1500 * MS)
    sent = chunk(ur5, joints(TIMES + 0.95), 950 * MS)
    report = follower.take(wrong(sent, np.array(sent.poses)), 1000 * MS)
    assert (report.band, report.reason[: len(reason)]) == (REFUSE, reason)
    assert (follower.at(1500 * MS).q_des == before.q_des).all()
    assert follower.counts[REFUSE] == 1
    assert not len(follower.points)


def test_a_jump_to_another_branch_is_refused(ur5: RobotModel, follower: ChunkFollower):
    """A wrist that is turned round between two poses of the hand."""
    qs = np.tile(HOME, (30, 1))
    qs[15:, [3, 4, 5]] = HOME[[3, 4, 5]] + [np.pi, 3.0, np.pi]
    report = follower.take(chunk(ur5, qs), 20 * MS)
    assert (report.band, report.reason) == (REFUSE, "shoulder_lift_joint jumps by 0.466 between two points")


def test_an_arm_with_more_joints_than_a_pose_stays_near_its_posture(panda: RobotModel):
    q = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.7])
    f = ChunkFollower(panda, replace(FREE, max_jump=0.1), q, 0)
    X = panda.pose(q)
    for k in range(5):
        now_ns = (20 + 100 * k) * MS
        poses = [row(Pose(X.R, X.p + [0.0, 0.1 * np.sin(3.0 * (t + 0.1 * k)), 0.0])) for t in TIMES]
        assert f.take(PoseChunk(100 * k * MS, TIMES, poses), now_ns).band != REFUSE
    q_end = f.at(900 * MS).q_des
    assert np.linalg.norm(panda.pose(q_end).p - X.p - [0.0, 0.1 * np.sin(2.7), 0.0]) < 2e-3
    assert abs(q_end - q).max() < 0.4
