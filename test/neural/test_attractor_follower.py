"""References of a point attractor: no jump, consistent derivatives, the goal reached, brakes, restarts, gaps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector, rotation_vector
from arm_control.model import RobotModel
from arm_control.motion import JogLimits, PoseMotion, PosePoints, Reference, Target, TwistJog
from arm_control.neural import AttractorFollower, AttractorParameters
from arm_control.neural.attractor_follower import VARIANTS

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
WAY, TURN, OTHER_TURN = np.array([[0.2, -0.3, 0.1], [0.9, 0.4, -0.8], [-0.3, 0.9, 0.5]])


def follower(model: RobotModel, variant: str = "ideal", **parameters: float) -> AttractorFollower:
    made = AttractorFollower(model, AttractorParameters(variant=variant, **parameters), rate=1000.0)
    made.restart(HOME)
    return made


def target(model: RobotModel, ms: int, way: Array = WAY, turn: Array = TURN) -> Target:
    X = model.pose(HOME)
    return Target(ms * MS, model.frames[0], Pose(rotation_from_vector(turn) @ X.R, X.p + way))


def motion(source: AttractorFollower, stamps_ms: Sequence[int]) -> list[Reference]:
    return [source.reference(ms * MS, HOME) for ms in stamps_ms]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_goal_is_reached_without_a_jump_and_with_consistent_derivatives(ur5: RobotModel, variant: str):
    source = follower(ur5, variant)
    source.add(target(ur5, 20))
    source.add(target(ur5, 320, -WAY, OTHER_TURN))
    X = ur5.pose(HOME)
    before = motion(source, range(20))
    assert np.abs(before[-1].X_WT.p - X.p).max() < 1e-3
    references = motion(source, range(20, 1800))
    p = np.array([reference.X_WT.p for reference in references])
    V, A = (np.array([getattr(reference, name) for reference in references]) for name in ("V_des", "A_des"))
    assert np.abs(np.diff(p, axis=0)).max() < 1.5e-3, "0.3 m at 5 1/s over e, and twice that on the way back"
    tolerance = 1e-10 if variant == "neurons" else 0.02  # an integrator; the others are solved for each step
    np.testing.assert_allclose(np.diff(p, axis=0) / 1e-3, (V[1:] + V[:-1])[:, :3] / 2, atol=tolerance)
    assert np.abs(A[-300:, :3]).max() < 0.6, "it comes to rest"
    np.testing.assert_allclose(np.diff(V, axis=0) / 1e-3, A[:-1], atol=0.25)
    turns = [rotation_vector(b.X_WT.R @ a.X_WT.R.T) / 1e-3 for a, b in itertools.pairwise(references)]
    np.testing.assert_allclose(turns, (V[1:] + V[:-1])[:, 3:] / 2, atol=1e-4)
    end = references[-1].X_WT
    assert np.abs(end.p - X.p + WAY).max() < 5e-3
    assert np.abs(rotation_vector(end.R @ (rotation_from_vector(OTHER_TURN) @ X.R).T)).max() < 0.02
    assert source.goal is not None
    np.testing.assert_allclose(source.goal.p, X.p - WAY, atol=1e-12)


def test_steps_are_made_up_for_and_a_long_gap_is_waited_out(ur5: RobotModel):
    every, second, late = (follower(ur5) for _ in range(3))
    for source in (every, second, late):
        source.add(target(ur5, 0))
    p = motion(every, range(101))[-1].X_WT.p
    np.testing.assert_allclose(motion(second, range(0, 101, 2))[-1].X_WT.p, p, atol=1e-15)
    np.testing.assert_allclose(motion(late, [*range(51), *range(1050, 1100)])[-1].X_WT.p, p, atol=3e-3)
    stays = late.reference(3000 * MS, HOME)
    np.testing.assert_array_equal(stays.X_WT.p, late.reference(3000 * MS, HOME).X_WT.p)


def test_a_brake_takes_the_attractor_to_the_arm_and_a_restart_begins_anew(ur5: RobotModel):
    source = follower(ur5, "neurons")
    source.add(target(ur5, 0))
    first = [reference.X_WT.p for reference in motion(source, range(120))]
    q = HOME + 0.05
    for ms in range(120, 140):
        source.hold(ms * MS, q)
        held = source.reference(ms * MS, q)
        np.testing.assert_allclose(held.X_WT.p, ur5.pose(q).p, atol=1e-15)
        np.testing.assert_allclose(held.X_WT.R, ur5.pose(q).R, atol=1e-15)
        assert not held.V_des.any()
        assert not held.A_des.any()
    for ms in range(140, 300):
        after = source.reference(ms * MS, q)
        np.testing.assert_array_equal(after.X_WT.p, ur5.pose(q).p, err_msg="neurons do not drift")
        assert not np.any([after.V_des, after.A_des])
    assert source.is_holding
    source.add(target(ur5, 300))
    after = source.reference(300 * MS, q)
    assert not source.is_holding
    assert np.abs(after.X_WT.p - ur5.pose(q).p).max() < 1e-12, "it begins where the arm is"
    assert np.abs(after.V_des).max() < 1e-12
    turned = source.reference(320 * MS, q).X_WT.R
    assert np.abs(rotation_vector(turned @ ur5.pose(q).R.T)).max() > 1e-3, "towards its goal, with its orientation"
    source.restart(HOME)
    np.testing.assert_array_equal(source.reference(190 * MS, HOME).X_WT.p, ur5.pose(HOME).p)
    source.restart(HOME)
    assert not source.is_holding
    assert np.array_equal(first, [reference.X_WT.p for reference in motion(source, range(120))])


def test_a_brake_ends_jogging(ur5: RobotModel):
    source, X = follower(ur5), ur5.pose(HOME)
    source.jog_limits = JogLimits(np.array([0.5, 1.0]), np.array([2.5, 6.0]), timeout=1.0)
    source.add(TwistJog(0, 0, ur5.frames[0], np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0])))
    motion(source, range(500))
    assert source.goal is not None
    assert source.goal.p[0] - X.p[0] > 0.05
    source.hold(500 * MS, HOME)
    np.testing.assert_array_equal(source.reference(501 * MS, HOME).X_WT.p, X.p)
    assert source.goal is None


def test_a_goal_that_neurons_cannot_represent_is_passed_over_once_with_a_sentence(ur5: RobotModel):
    source = follower(ur5, "neurons", radius=0.25)
    source.add(target(ur5, 0, 0.5 * WAY))
    source.add(target(ur5, 10, WAY))
    source.add(target(ur5, 20, -0.5 * WAY))
    refused = []
    for ms in range(30):
        source.reference(ms * MS, HOME)
        refused.append(source.refused)
    assert [ms for ms, error in enumerate(refused) if error is not None] == [10]
    assert isinstance(refused[10], InputError)
    assert str(refused[10]) == (
        "the goal is 0.3 m from the start, along an axis; the neurons represent up to attractor.radius = 0.25 m"
    )
    np.testing.assert_allclose(source.goal.p, ur5.pose(HOME).p - 0.5 * WAY, atol=1e-12)
    source.hold(30 * MS, HOME + 0.01)
    source.add(target(ur5, 40, WAY))
    refused, held = [], []
    for ms in range(31, 80):
        held.append(source.reference(ms * MS, HOME + 0.01).X_WT)
        refused.append(source.refused is not None)
    assert [ms for ms, is_refused in zip(range(31, 80), refused, strict=True) if is_refused] == [40]
    assert source.goal is None
    assert source.is_holding, "no goal acts"
    np.testing.assert_array_equal([X.p for X in held], [ur5.pose(HOME + 0.01).p] * len(held))
    source.restart(HOME)
    for ms in range(50):
        source.reference(ms * MS, HOME)
    assert source.refused is None
    source.restart(HOME)
    assert any(source.reference(ms * MS, HOME) and source.refused for ms in range(50)), "time has started over"
    plain = follower(ur5, "discrete", radius=0.25)
    plain.add(target(ur5, 0, WAY))
    plain.reference(0, HOME)
    assert plain.refused is None


def test_a_goal_that_moves_is_followed_with_the_lag_of_the_attractor(ur5: RobotModel):
    """Of 4 / alpha, behind a constant speed."""
    source, speed, X = follower(ur5, alpha=40.0), 0.1, ur5.pose(HOME)
    poses = (X, Pose(rotation_from_vector([0.0, 0.0, 1.0]) @ X.R, X.p + [2.0 * speed, 0.0, 0.0]))
    V = np.array([[speed, 0.0, 0.0, 0.0, 0.0, 0.5]] * 2)
    points = PosePoints(np.array([0.0, 2.0]), poses, V, np.zeros((2, 6)))
    source.add(PoseMotion(0, ur5.frames[0], points))
    reference = motion(source, range(1501))[-1]
    t = 1500 * MS / NANOSECONDS - 4.0 / 40.0
    np.testing.assert_allclose(reference.X_WT.p, X.p + [speed * t, 0.0, 0.0], atol=2e-4)
    turned = rotation_vector(reference.X_WT.R @ X.R.T)
    np.testing.assert_allclose(turned, [0.0, 0.0, 0.5 * t], atol=1e-3)
    np.testing.assert_allclose(reference.V_des, V[0], atol=1e-3)
