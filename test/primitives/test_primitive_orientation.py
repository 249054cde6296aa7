"""Rotation vectors of primitives: exact rates at every angle, and continuous through half a turn."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.maths import rotation_from_quaternion, rotation_from_vector, rotation_vector
from arm_control.primitives import rotation_coordinates, rotation_motion
from arm_control.primitives.orientation import nearest_turn


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.0999, 0.1001, 1.0, np.pi, 6.0])
def test_angular_velocity_and_acceleration_are_those_of_the_rotation(angle: float):
    rng, d = np.random.default_rng(3), 1e-4
    axis, rate, second = rng.normal(size=(3, 3))
    phi = angle * axis / np.linalg.norm(axis)

    def at(t: float) -> tuple[np.ndarray, ...]:
        return rotation_motion(phi + t * rate + 0.5 * t * t * second, rate + t * second, second)

    (R, omega, alpha), (R_1, omega_1, _), (R_0, omega_0, _) = (at(t) for t in (0.0, d, -d))
    np.testing.assert_allclose(R, rotation_from_vector(phi), atol=1e-14)
    np.testing.assert_allclose(omega, rotation_vector(R_1 @ R_0.T) / (2.0 * d), atol=1e-6)
    np.testing.assert_allclose(alpha, (omega_1 - omega_0) / (2.0 * d), atol=1e-6)


def test_coordinates_are_continuous_through_half_a_turn():
    axis, reference = np.array([0.6, 0.0, -0.8]), np.array([0.1, -0.7, 0.1, 0.7])
    reference /= np.linalg.norm(reference)
    R_ref, angles = rotation_from_quaternion(reference), np.linspace(0.0, 6.0, 61)
    x, y, z = reference[:3]
    quats = []
    for half in angles / 2.0:  # the product of the turn's quaternion and the reference, which changes no sign
        v, w = np.sin(half) * axis, np.cos(half)
        quats.append(
            [*(w * np.array([x, y, z]) + reference[3] * v + np.cross(v, [x, y, z])), w * reference[3] - v @ [x, y, z]]
        )
    for sign in (1.0, -1.0):
        phi = rotation_coordinates(sign * np.array(quats), reference)
        np.testing.assert_allclose(phi, np.outer(angles, axis), atol=1e-12)
    np.testing.assert_allclose(rotation_from_vector(phi[40]) @ R_ref, rotation_from_quaternion(quats[40]), atol=1e-12)


def test_of_two_ways_round_the_nearer_one_is_taken():
    z = np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(nearest_turn(3.0 * z, -3.2 * z), (3.0 - 2.0 * np.pi) * z, atol=1e-15)
    np.testing.assert_allclose(nearest_turn(-2.0 * z, 4.0 * z), (2.0 * np.pi - 2.0) * z, atol=1e-15)
    np.testing.assert_array_equal(nearest_turn(3.0 * z, 3.2 * z), 3.0 * z)
    np.testing.assert_array_equal(nearest_turn(0.0 * z, 3.2 * z), 0.0 * z)
