"""Rotations and poses against SciPy, at every size of angle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from arm_control.exceptions import InputError
from arm_control.maths import (
    Array,
    Pose,
    limit_magnitude,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    rotation_from_vector,
    rotation_vector,
    rotation_with_z,
    rpy_from_rotation,
    wrap_angle,
)

ANGLES = [*np.geomspace(1e-12, 3.0, 8), np.pi - 1e-3, np.pi - 1e-9]
AXES = np.vstack([np.eye(3), -np.eye(3), np.random.default_rng(1).normal(size=(4, 3))])
AXES /= np.linalg.norm(AXES, axis=1)[:, None]


@pytest.fixture(scope="module")
def rotations() -> Rotation:
    return Rotation.random(60, random_state=np.random.default_rng(2))


@pytest.mark.parametrize("angle", ANGLES)
def test_log_undoes_exp_at_every_angle(angle: float):
    for axis in AXES:
        back = rotation_vector(rotation_from_vector(axis * angle))
        np.testing.assert_allclose(back, axis * angle, rtol=0, atol=5e-15 * angle)


def test_log_undoes_exp_at_half_a_turn_up_to_the_sign():
    for axis in AXES:
        back = rotation_vector(rotation_from_vector(axis * np.pi))
        assert np.linalg.norm(back) == pytest.approx(np.pi, abs=1e-15)
        assert abs(back @ axis) == pytest.approx(np.pi, abs=1e-14)


def test_quaternions_agree_with_scipy_both_ways(rotations: Rotation):
    for R in rotations:
        np.testing.assert_allclose(rotation_from_quaternion(R.as_quat()), R.as_matrix(), rtol=0, atol=1e-15)
        quat = quaternion_from_rotation(R.as_matrix())
        np.testing.assert_allclose(quat, R.as_quat(canonical=True), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "quat",
    [
        (0, 0, 0, 0),
        (0, 0, 0, np.nan),
        (np.inf, 0, 0, 1),
        (1e200, 0, 0, 1e200),  # its length overflows
        (0, 0, 1),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_no_quaternion_is_refused(quat: object):
    with pytest.raises(InputError, match=r"^quaternion .* is not a rotation; allowed: 4 finite numbers, not all 0"):
        rotation_from_quaternion(quat)


PITCHES = [s * (np.pi / 2 - d) for s in (1, -1) for d in (0.0, *np.geomspace(1e-12, 1.5, 5))]


@pytest.mark.parametrize("pitch", PITCHES)
def test_rpy_there_and_back_at_every_pitch(pitch: float):
    for roll, yaw in np.random.default_rng(6).uniform(-np.pi, np.pi, (6, 2)):
        R = rotation_from_rpy([roll, pitch, yaw])
        rounded = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()  # what is 0 in R is 1e-16 here
        np.testing.assert_allclose(R, rounded, rtol=0, atol=1e-15)
        np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(rounded)), rounded, rtol=0, atol=2e-15)
        back = rpy_from_rotation(R)
        if np.cos(pitch) > 1e-3:
            np.testing.assert_allclose(back, [roll, pitch, yaw], rtol=0, atol=1e-12)


def test_rpy_agrees_with_scipy(rotations: Rotation):
    for R in rotations:
        np.testing.assert_allclose(rpy_from_rotation(R.as_matrix()), R.as_euler("xyz"), rtol=0, atol=1e-12)


def random_pose(seed: int) -> Pose:
    rng = np.random.default_rng(seed)
    return Pose(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))


def homogeneous(X: Pose) -> Array:
    return np.block([[X.R, X.p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


@pytest.mark.parametrize("seed", range(2))
def test_poses_compose_and_invert_like_homogeneous_matrices(seed: int):
    X_AB, X_BC = random_pose(seed), random_pose(seed + 100)
    np.testing.assert_allclose(homogeneous(X_AB @ X_BC), homogeneous(X_AB) @ homogeneous(X_BC), rtol=0, atol=1e-15)
    inverse = np.linalg.inv(homogeneous(X_AB))
    np.testing.assert_allclose(homogeneous(X_AB.inverse()), inverse, rtol=0, atol=1e-14)
    np.testing.assert_allclose(homogeneous(X_AB.inverse() @ X_AB), np.eye(4), rtol=0, atol=1e-15)


def test_wrapped_angles_differ_by_whole_turns_and_lie_within_half_a_turn():
    angles = np.random.default_rng(3).uniform(-50, 50, 1000)
    wrapped = wrap_angle(angles)
    assert wrapped.min() >= -np.pi
    assert wrapped.max() < np.pi
    turns = (angles - wrapped) / (2 * np.pi)
    np.testing.assert_allclose(turns, turns.round(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 6])
def test_limit_shortens_what_is_too_long_and_keeps_its_direction(n: int):
    for vector in np.random.default_rng(4).normal(size=(50, n)):
        limited = limit_magnitude(vector, 1e-6)
        assert np.linalg.norm(limited) == pytest.approx(1e-6, rel=1e-14, abs=0)
        np.testing.assert_allclose(limited / 1e-6, vector / np.linalg.norm(vector), rtol=0, atol=1e-14)


def test_limit_leaves_what_is_short_enough_alone():
    vector = np.array([3.0, 4.0])
    np.testing.assert_array_equal(limit_magnitude(vector, 5.0), vector)
    np.testing.assert_array_equal(limit_magnitude(np.zeros(3), 0.0), np.zeros(3))
    np.testing.assert_array_equal(limit_magnitude(vector, 0.0), np.zeros(2))


@pytest.mark.parametrize("axis", [*np.eye(3), (0, 0, -1), (-1, 1e-9, 0), (0.3, -0.2, 0.9)])
def test_rotation_with_z_is_a_rotation_with_that_third_column(axis: tuple[float, ...]):
    unit = np.array(axis, dtype=float) / np.linalg.norm(axis)
    R = rotation_with_z(unit)
    np.testing.assert_array_equal(R[:, 2], unit)
    np.testing.assert_allclose(R.T @ R, np.eye(3), rtol=0, atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
