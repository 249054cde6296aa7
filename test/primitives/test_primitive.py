"""Primitives: what the form of the equations promises, and learning."""

from __future__ import annotations

import numpy as np
import pytest
from demonstrated_motions import bump, cycle

from arm_control.exceptions import InputError
from arm_control.maths import (
    Pose,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)
from arm_control.primitives import Demonstration, Primitive, rhythmic_basis

TURN = 2.0 * np.pi


# -- basis -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_basis", [2, 1000])
def test_narrow_functions_do_not_overflow(n_basis: int):
    """exp(h cos(phi - c) - 1) of h = 40,000 is infinite, and infinite by infinite is not a number."""
    psi = rhythmic_basis(np.linspace(0.0, TURN, 101)[:, None], n_basis)
    assert np.isfinite(psi).all()
    np.testing.assert_allclose(psi.sum(axis=1), 1.0, atol=1e-14)


# -- scaling ---------------------------------------------------------------------------------------------


def learned(goal: float = 0.01) -> Primitive:
    t, y = bump(goal)
    return Primitive.learn(Demonstration(t, y[:, None]))


def test_a_goal_near_the_start_does_not_make_another_goal_huge():
    t = np.linspace(0.0, 1.0, 501)
    peak = np.abs(learned().rollout(t, goal=[0.11]).q).max()
    assert 0.3 < peak <= 0.4


def test_a_goal_on_the_other_side_does_not_mirror_the_motion():
    t, y = bump()
    path = learned().rollout(t, goal=[-0.01]).q[:, 0]
    assert np.corrcoef(path, y)[0, 1] > 0.99


def test_a_motion_that_ends_where_it_began_is_learned():
    t, y = bump(0.0)
    motion = learned(0.0).rollout(t)
    assert np.isfinite(motion.q).all()
    np.testing.assert_allclose(motion.q[:, 0], y, atol=1e-4)


@pytest.mark.parametrize("goal", [-3.0, 100.0])
def test_every_goal_is_reached_at_the_end_and_kept(reach: Primitive, goal: float):
    motion = reach.rollout(np.linspace(0.0, 6.0, 61), goal=[goal, 1.0, -goal], start=[1.0, 2.0, 3.0], duration=3.0)
    for i in (30, 31, 60):
        np.testing.assert_allclose(motion.q[i], [goal, 1.0, -goal], rtol=0, atol=1e-9 * max(1.0, abs(goal)))
        np.testing.assert_allclose(motion.v[i], 0.0, atol=1e-9 * max(1.0, abs(goal)))
    np.testing.assert_allclose(motion.q[0], [1.0, 2.0, 3.0], atol=1e-15)
    assert not motion.v[0].any()
    assert np.abs(motion.a[[0, 30]]).max() < 1e-9 * max(1.0, abs(goal))


def test_velocities_at_both_ends_are_those_asked_for(reach: Primitive):
    t, v_0, v_g = np.linspace(0.0, 2.0, 201), [0.1, -0.2, 0.3], [-0.5, 0.0, 1.0]
    motion = reach.rollout(t, start_velocity=v_0, final_velocity=v_g)
    np.testing.assert_allclose(motion.v[[0, -1]], [v_0, v_g], atol=1e-12)
    np.testing.assert_allclose(motion.q[[0, -1]], [reach.start, reach.goal], atol=1e-12)
    later = reach.rollout([2.2, 4.0], final_velocity=v_g)  # it follows through, and returns
    assert later.q[0, 2] > reach.goal[2]
    np.testing.assert_allclose(later.q[1], reach.goal, atol=1e-5)


# -- learning --------------------------------------------------------------------------------------------


def test_more_functions_reproduce_better_and_least_squares_better_than_one_by_one():
    t, y = bump(0.2)
    wave = Demonstration(t, np.column_stack([y, bump(0.0)[1] * np.sin(9.0 * t)]))
    errors = [np.abs(Primitive.learn(wave, n_basis=n).rollout(t).q - wave.positions).max() for n in (8, 25, 100)]
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]
    local = Primitive.learn(wave, method="locally_weighted")
    assert 0.1 > np.abs(local.rollout(t).q - wave.positions).max() > 10.0 * errors[1]


@pytest.mark.parametrize("n_basis", [10, 400])
def test_a_cycle_is_learned_about_the_middle_of_its_range(n_basis: int):
    t, y = cycle()
    one = Primitive.learn(Demonstration(t, y), "rhythmic", n_basis)
    np.testing.assert_allclose(one.goal, (y.min(axis=0) + y.max(axis=0)) / 2.0, atol=1e-15)
    assert np.abs(one.goal - y.mean(axis=0)).max() > 0.1  # not the average
    np.testing.assert_allclose(one.rollout(t).q, y, atol={10: 3e-3, 400: 1e-6}[n_basis])
    local = Primitive.learn(Demonstration(t, y), "rhythmic", n_basis, "locally_weighted")
    assert np.abs(local.rollout(t).q - y).max() < {10: 0.6, 400: 1e-3}[n_basis]


# -- cycles ----------------------------------------------------------------------------------------------


def test_a_cycle_repeats_and_is_reached_from_everywhere(walk: Primitive):
    t = np.linspace(0.0, 2.0, 101)
    on, later = walk.rollout(t), walk.rollout(t + 2.0)
    np.testing.assert_allclose(on.q, later.q, atol=1e-9)
    far = walk.rollout(t + 2.0, start=[50.0, -20.0], start_velocity=[100.0, 0.0])
    np.testing.assert_allclose(far.q, later.q, atol=1e-9)
    np.testing.assert_allclose(walk.rollout([0.0], start=[50.0, -20.0]).q, [[50.0, -20.0]], atol=1e-12)


# -- derivatives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["discrete", "cycle"])
def test_velocities_and_accelerations_are_the_derivatives(kind: str, reach: Primitive, walk: Primitive):
    t, d = np.linspace(0.05, 2.9, 40), 1e-4
    one, arguments = (
        (reach, {"goal": [1.0, 0.5, 0.2], "final_velocity": [0.1, 0.2, 0.3]}) if kind == "discrete" else (walk, {})
    )
    at, ahead, behind = (one.rollout(t + x, **arguments) for x in (0.0, d, -d))
    scale = np.abs(at.a).max()
    np.testing.assert_allclose((ahead.q - behind.q) / (2 * d), at.v, atol=1e-5 * scale)
    np.testing.assert_allclose((ahead.v - behind.v) / (2 * d), at.a, atol=1e-4 * scale)


# -- orientation -----------------------------------------------------------------------------------------


def test_a_pose_primitive_reproduces_poses_and_reaches_its_goal(pose_demonstration: Demonstration):
    one = Primitive.learn(pose_demonstration)
    assert (one.size, one.frame) == (6, "base_link")
    motion = one.rollout(pose_demonstration.times)
    for i in range(0, 301, 50):
        X, R = motion.pose(i), rotation_from_quaternion(pose_demonstration.orientations[i])
        np.testing.assert_allclose(X.p, pose_demonstration.positions[i], atol=1e-4)
        assert np.linalg.norm(rotation_vector(X.R @ R.T)) < 1e-3
    X_0 = Pose(rotation_from_vector([0.3, -1.0, 0.5]), np.array([0.1, 0.2, 0.3]))
    X_g = Pose(rotation_from_vector([-1.0, 1.4, 0.2]), np.array([0.6, -0.2, 0.4]))
    motion = one.rollout([0.0, 1.5, 9.0], start=X_0, goal=X_g)
    for i, X in enumerate((X_0, X_g, X_g)):
        assert np.linalg.norm(rotation_vector(motion.pose(i).R @ X.R.T)) < 1e-6
        np.testing.assert_allclose(motion.pose(i).p, X.p, atol=1e-9)
    moved = one.rollout([1.5], start=X_0)  # without a goal: the learned one
    np.testing.assert_allclose(
        moved.pose(0).R, rotation_from_quaternion(pose_demonstration.orientations[-1]), atol=1e-9
    )


def test_angular_velocity_and_acceleration_are_the_derivatives(pose_demonstration: Demonstration):
    one, d = Primitive.learn(pose_demonstration), 1e-4
    for t in (0.1, 0.7, 1.3):
        at, ahead, behind = (one.rollout([t + x]).reference(0) for x in (0.0, d, -d))
        omega = rotation_vector(ahead.X_WT.R @ behind.X_WT.R.T) / (2 * d)
        np.testing.assert_allclose(at.V_des[3:], omega, atol=1e-5)
        np.testing.assert_allclose(at.A_des, (ahead.V_des - behind.V_des) / (2 * d), atol=1e-3)


# -- files and refusals ----------------------------------------------------------------------------------


def test_a_mapping_brings_back_the_same_primitive(walk: Primitive, pose_demonstration: Demonstration):
    for one in (walk, Primitive.learn(pose_demonstration)):
        values = one.as_mapping()
        again = Primitive.from_mapping(values)
        np.testing.assert_array_equal(again.rollout([0.1, 0.7]).q, one.rollout([0.1, 0.7]).q)
        assert again.as_mapping() == values


T3, Y3 = np.linspace(0.0, 1.0, 20), np.linspace(0.0, 1.0, 20)[:, None] ** 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("round",), "kind = 'round'"),
        (("discrete", 1), "1 basis functions; allowed for a discrete primitive: 2 to 200"),
        (("discrete", 25.0), "25.0 basis functions"),
        (("discrete", 25, "guess"), "method = 'guess'"),
        (("discrete", 25, "least_squares", 2.0), "no period"),
        (("discrete", 25, "least_squares", None, [0.0, 1.0]), r"final_velocity has shape \(2,\)"),
        (("rhythmic",), "is 1 away from its beginning, of a way of 1: give the period"),
        (("rhythmic", 25, "least_squares", 2.0), "lasts 1 s, less than the period of 2 s"),
        (("rhythmic", 25, "least_squares", -1.0), "duration = -1.0"),
        (("rhythmic", 25, "least_squares", None, [0.0]), "no final velocity"),
    ],
)
def test_what_cannot_be_learned_is_refused(arguments: tuple, sentence: str):
    with pytest.raises(InputError, match=sentence):
        Primitive.learn(Demonstration(T3, Y3), *arguments)


def test_what_cannot_be_rolled_out_is_refused(reach: Primitive, pose_demonstration: Demonstration):
    for name, value in (
        ("goal", [0.0, np.nan, 0.0]),
        ("start", [[0.0] * 3]),
        ("duration", 0.0),
        ("amplitude", np.nan),
        ("start_velocity", [1.0]),
        ("goal", Pose.identity()),
        ("goal", [1e7, 0, 0]),
    ):
        with pytest.raises(InputError):
            reach.rollout([0.0], **{name: value})
    with pytest.raises(InputError, match="times"):
        reach.rollout([[0.0]])
    with pytest.raises(InputError, match="without orientation"):
        reach.rollout([0.0]).pose(0)
    half = np.linspace(0.0, 3.1, 50)
    quats = np.column_stack([np.zeros((50, 2)), np.sin(half), np.cos(half)])
    with pytest.raises(InputError, match="more than 340 deg"):
        Primitive.learn(Demonstration(half, np.outer(half, [1, 0, 0]), quats))
    np.testing.assert_allclose(
        quaternion_from_rotation(Primitive.learn(pose_demonstration).learned_goal().R) * -1.0,
        pose_demonstration.orientations[-1],
        atol=1e-9,
    )
