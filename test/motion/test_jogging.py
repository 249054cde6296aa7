"""Jogging: no jump at the begin, the end and in between, no velocity above the limits, no reference that runs away."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.maths import Pose, rotation_from_vector, rotation_vector
from arm_control.model import RobotModel
from arm_control.motion import JogLimits, JointJog, JointReference, PoseFollower, Reference, Target, TwistJog
from arm_control.motion.jogging import LEAD, JointJogging, PoseJogging

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
LIMITS = JogLimits(np.array([0.2, 0.5]), np.array([1.0, 4.0]), timeout=0.1)
TURNED = Pose(rotation_from_vector([0.0, 0.0, np.pi / 2]), np.array([0.4, 0.1, 0.3]))


def twist(ms: int, *velocity: float, frame: str = "") -> TwistJog:
    return TwistJog(ms * MS, ms * MS, frame, np.array(velocity))


def jogged(jogs: list[TwistJog], n: int) -> list[Reference]:
    """References of n milliseconds, of an arm that is where it should be."""
    jogging, references = PoseJogging(Reference(TURNED), 0), []
    for ms in range(n):
        newest = [jog for jog in jogs if jog.stamp_ns <= ms * MS][-1]
        references.append(jogging.tick(newest, ms * MS, LIMITS, jogging.reference.X_WT, TURNED.R))
    return references


def test_a_twist_is_reached_and_left_without_a_jump_and_its_pose_is_its_integral():
    references = jogged([twist(0, 0.1, 0.0, 0.0, 0.0, 0.0, 9.0), twist(300, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0)], 900)
    V, A = np.array([r.V_des for r in references]), np.array([r.A_des for r in references])
    np.testing.assert_allclose(np.diff(V, axis=0), A[1:] * 1e-3, rtol=0, atol=1e-12)
    for k, part in enumerate((slice(0, 3), slice(3, 6))):
        assert np.linalg.norm(A[:, part], axis=1).max() <= LIMITS.acceleration[k] * (1 + 1e-9)
        assert np.linalg.norm(V[:, part], axis=1).max() <= LIMITS.speed[k] * (1 + 1e-9)
    np.testing.assert_allclose(V[90], [0.0, 0.09, 0.0, 0.0, 0.0, 0.36], rtol=0, atol=1e-9)  # x of the frame is y here
    np.testing.assert_allclose(V[390], [0.091, 0.0, 0.0, 0.0, 0.0, 0.0], rtol=0, atol=1e-9)  # 91 steps from rest
    assert not V[-1].any(), "the time-out brings it to rest"
    p = np.array([r.X_WT.p for r in references])
    np.testing.assert_allclose(p[-1] - p[0], V[1:, :3].sum(axis=0) * 1e-3, rtol=0, atol=1e-9)
    turn = rotation_vector(references[-1].X_WT.R @ TURNED.R.T)
    np.testing.assert_allclose(turn, V[1:, 3:].sum(axis=0) * 1e-3, rtol=0, atol=1e-9)


def test_the_reference_does_not_run_away_from_an_arm_that_stands_still_and_does_not_creep_after_one_that_sags():
    jogging = PoseJogging(Reference(TURNED), 0)
    for ms in range(2000):
        jogging.tick(twist(ms, 0.2, 0.0, 0.0, 0.0, 0.0, 0.5), ms * MS, LIMITS, TURNED, np.eye(3))
    X_WT = jogging.reference.X_WT
    assert np.linalg.norm(X_WT.p - TURNED.p) == pytest.approx(LEAD * 0.2)
    assert np.linalg.norm(rotation_vector(X_WT.R @ TURNED.R.T)) == pytest.approx(LEAD * 0.5)
    sagging = PoseJogging(Reference(TURNED), 0)
    low = Pose(TURNED.R, TURNED.p - [0.0, 0.0, 0.1])
    for ms in range(500):
        sagging.tick(twist(0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0), ms * MS, LIMITS, low, np.eye(3))
    assert sagging.reference.X_WT.p[2] - TURNED.p[2] == pytest.approx(0.0, abs=2e-3)


def test_joints_keep_their_limits_and_stop_in_front_of_them():
    q_min, q_max = np.array([-1.0, -np.inf]), np.array([0.5, np.inf])
    limits = JogLimits(np.array([1.0, 2.0]), np.array([2.0, 2.0]), timeout=0.1)
    jogging, q = JointJogging(JointReference.at_rest(np.zeros(2)), 0, q_min, q_max), np.zeros(2)
    qs, vs = [], []
    for ms in range(1500):
        velocity = np.array([5.0, 5.0]) if ms < 1000 else np.array([-5.0, 5.0])
        jog = JointJog(min(ms, 1300) * MS, min(ms, 1300) * MS, velocity)
        reference = jogging.tick(jog, ms * MS, limits, q)
        q = reference.q_des
        qs.append(q)
        vs.append(reference.v_des)
    qs, vs = np.array(qs), np.array(vs)
    assert 0.495 < qs[:1000, 0].max() <= 0.5
    assert abs(vs[990, 0]) < 0.12, "slow in front of the limit, not thrown against it"
    assert np.abs(np.diff(vs, axis=0)).max() <= 2e-3 * (1 + 1e-9)
    assert vs[:, 1].max() == pytest.approx(1.0), "shortened as the faster joint is: the direction stays"
    assert np.abs(vs[:, 0]).max() <= 1.0
    assert vs[1350, 0] < -0.2
    assert np.abs(vs[-1]).max() < np.abs(vs[1401]).max() - 0.1, "the time-out slows it down"


def test_joints_that_stand_still_are_not_left_behind_and_a_gap_is_no_leap():
    limits = JogLimits(np.array([1.0]), np.array([10.0]), timeout=0.05)
    jogging = JointJogging(JointReference.at_rest(np.zeros(1)), 0, np.array([-9.0]), np.array([9.0]))
    for ms in range(1000):
        jogging.tick(JointJog(ms * MS, ms * MS, np.array([1.0])), ms * MS, limits, np.zeros(1))
    assert jogging.reference.q_des[0] == pytest.approx(LEAD * 1.0)
    before = jogging.reference.q_des
    jogging.tick(JointJog(5000 * MS, 5000 * MS, np.array([1.0])), 5000 * MS, limits, before)
    assert (jogging.reference.q_des - before)[0] == pytest.approx(0.05)


def test_the_newer_one_of_a_target_and_a_twist_counts(ur5: RobotModel):
    follower = PoseFollower(ur5)
    follower.restart(HOME)
    X_WE = ur5.pose(HOME)
    follower.add(Target(400 * MS, "base_link", TURNED))
    follower.add(twist(50, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, frame="tool0"))
    references = {ms: follower.reference(ms * MS, HOME) for ms in range(30)}
    np.testing.assert_array_equal(references[29].X_WT.p, X_WE.p)
    assert not references[29].V_des.any(), "not due yet"
    for ms in range(30, 400):
        references[ms] = follower.reference(ms * MS, HOME)
    V = references[90].V_des
    np.testing.assert_allclose(V[:3] / np.linalg.norm(V[:3]), X_WE.R[:, 2], rtol=0, atol=1e-9)
    assert not references[399].V_des.any()
    held = references[399].X_WT
    assert 0.005 < np.linalg.norm(held.p - X_WE.p) < 0.02
    np.testing.assert_array_equal(follower.reference(400 * MS, HOME).X_WT.p, TURNED.p)
    follower.add(twist(399, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, frame="base_link"))
    np.testing.assert_array_equal(follower.reference(401 * MS, HOME).X_WT.p, TURNED.p)
    follower.add(twist(402, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, frame="base_link"))
    for ms in (402, 403, 404):
        reference = follower.reference(ms * MS, HOME)
    assert reference.V_des[0] > 0.0
    assert np.linalg.norm(reference.X_WT.p - X_WE.p) < 0.06, "it begins near the arm, not at a target far away"
    follower.hold(404 * MS, HOME)
    assert not follower.reference(404 * MS, HOME).V_des.any()
    follower.restart(HOME)
    np.testing.assert_array_equal(follower.reference(402 * MS, HOME).X_WT.p, TURNED.p)
