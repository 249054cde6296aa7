"""The Panda that ships with the package: the same arm as in another file, and shapes that keep apart."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.maths import rotation_vector
from arm_control.model import RobotModel, load_urdf

READY = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
PUBLISHED = {  # limits of Franka's control interface: lower, upper [rad], speed [rad/s], torque [N m]
    "panda_joint1": (-2.8973, 2.8973, 2.175, 87.0),
    "panda_joint2": (-1.7628, 1.7628, 2.175, 87.0),
    "panda_joint3": (-2.8973, 2.8973, 2.175, 87.0),
    "panda_joint4": (-3.0718, -0.0698, 2.175, 87.0),
    "panda_joint5": (-2.8973, 2.8973, 2.61, 12.0),
    "panda_joint6": (-0.0175, 3.7525, 2.61, 12.0),
    "panda_joint7": (-2.8973, 2.8973, 2.61, 12.0),
}
DH = [(0.0, 0.333, 0.0), (0.0, 0.0, -np.pi / 2), (0.0, 0.316, np.pi / 2), (0.0825, 0.0, np.pi / 2)]
DH += [(-0.0825, 0.384, -np.pi / 2), (0.0, 0.0, np.pi / 2), (0.088, 0.0, np.pi / 2)]
"""Published Denavit-Hartenberg lengths in Craig's order: a before the joint, d along it [m], alpha before it [rad]."""
HAND = (0.107, -np.pi / 4, 0.1034)
"""From the last joint to the flange [m], the hand's turn on it [rad], from there to between the fingertips [m]."""


@pytest.fixture(scope="module")
def ours() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("panda"))


def test_its_limits_are_the_published_ones(ours: RobotModel):
    assert ours.tip == "panda_hand_tcp"
    for k, name in enumerate(ours.joint_names):
        assert (ours.q_min[k], ours.q_max[k], ours.v_max[k], ours.tau_max[k]) == PUBLISHED[name]


def test_its_hand_is_where_the_published_lengths_put_it(ours: RobotModel, states):
    def turned(axis: int, angle: float) -> np.ndarray:
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        X = np.eye(4)
        X[i, i] = X[j, j] = np.cos(angle)
        X[j, i], X[i, j] = np.sin(angle), -np.sin(angle)
        return X

    def moved(x: float, z: float) -> np.ndarray:
        X = np.eye(4)
        X[0, 3], X[2, 3] = x, z
        return X

    for q, _ in [(READY, None), *states(ours, 20)]:
        X = np.eye(4)
        for (a, d, alpha), angle in zip(DH, q, strict=True):
            X = X @ turned(0, alpha) @ moved(a, 0.0) @ turned(2, angle) @ moved(0.0, d)
        X = X @ moved(0.0, HAND[0]) @ turned(2, HAND[1]) @ moved(0.0, HAND[2])
        pose = ours.pose(q)
        np.testing.assert_allclose(pose.p, X[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pose.R, X[:3, :3], rtol=0, atol=1e-12)


def test_it_moves_as_in_the_other_file(ours: RobotModel, panda: RobotModel, states):
    assert panda.joint_names == ours.joint_names
    for q, v in states(ours, 8):
        np.testing.assert_allclose(ours.mass_matrix(q), panda.mass_matrix(q), rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.gravity(q), panda.gravity(q), rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.bias(q, v), panda.bias(q, v), rtol=0, atol=1e-9)
        hand, other = ours.pose(q, "panda_hand"), panda.pose(q)
        np.testing.assert_allclose(hand.p, other.p, rtol=0, atol=1e-12)
        assert np.abs(rotation_vector(hand.R @ other.R.T)).max() < 1e-12


def test_what_can_move_has_a_mass_and_a_shape_and_nothing_needs_a_mesh():
    robot = load_urdf(urdf_path("panda"))
    shaped = {link.name for link in robot.robot.links if link.collisions}
    assert shaped == {*(f"panda_link{k}" for k in range(8)), "panda_hand", "panda_fingers"}
    assert shaped == set(robot.link_masses())
    assert "mesh" not in robot.text
