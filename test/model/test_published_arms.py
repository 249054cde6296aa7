"""Arms that ship with the package, against published lengths and limits, and against known torque of gravity."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from arm_control.collision import ArmShape, Validity
from arm_control.core import urdf_path
from arm_control.maths import Array, rotation_vector
from arm_control.model import RobotModel, load_urdf

HALF, DEG = np.pi / 2, np.pi / 180.0


class Published(NamedTuple):
    """What is published of an arm.

    Attributes
    ----------
    tip : str
        The end of its chain.
    lengths : list of (float, float, float)
        Denavit-Hartenberg lengths d along the joint and a beside it [m], and the angle to the next joint [rad].
    turns : tuple of float
        Angles before the first joint and behind the last one [rad].
    limits : list of (float, float, float, float)
        Of each joint: lower, upper [rad], speed [rad/s], torque [N m].
    """

    tip: str
    lengths: list[tuple[float, float, float]]
    turns: tuple[float, float]
    limits: list[tuple[float, float, float, float]]


LWR = [(170, 110, 176), (120, 110, 176), (170, 128, 100), (120, 128, 100), (170, 204, 100), (120, 184, 38)]
"""Largest angle [deg], speed [deg/s] and torque [N m] of a joint."""
ARMS = {
    "ur5": Published(
        "tool0",
        [(0.089159, 0, HALF), (0, -0.425, 0), (0, -0.39225, 0)]
        + [(0.10915, 0, HALF), (0.09465, 0, -HALF), (0.0823, 0, 0)],
        (np.pi, 0.0),
        [(-n * np.pi, n * np.pi, np.pi, tau) for n, tau in zip((2, 2, 1, 2, 2, 2), 3 * [150] + 3 * [28], strict=True)],
    ),
    "panda": Published(
        "panda_hand_tcp",
        [(0.333, 0, -HALF), (0, 0, HALF), (0.316, 0.0825, HALF), (0, -0.0825, -HALF)]
        + [(0.384, 0, HALF), (0, 0.088, HALF), (0.107 + 0.1034, 0, 0)],  # to the flange, and to between the fingertips
        (0.0, -np.pi / 4),
        [(-2.8973, 2.8973, 2.175, 87.0), (-1.7628, 1.7628, 2.175, 87.0), (-2.8973, 2.8973, 2.175, 87.0)]
        + [(-3.0718, -0.0698, 2.175, 87.0), (-2.8973, 2.8973, 2.61, 12.0), (-0.0175, 3.7525, 2.61, 12.0)]
        + [(-2.8973, 2.8973, 2.61, 12.0)],
    ),
    "lwr": Published(
        "flange",
        [(0.3105, 0, HALF), (0, 0, -HALF), (0.4, 0, -HALF), (0, 0, HALF)]
        + [(0.39, 0, HALF), (0, 0, -HALF), (0.078, 0, 0)],
        (0.0, 0.0),
        [(-a * DEG, a * DEG, v * DEG, tau) for a, v, tau in [*LWR, (170, 184, 38)]],
    ),
}


@cache
def shipped(name: str) -> RobotModel:
    return RobotModel.from_urdf(urdf_path(name))


def turn(angle: complex, axis: int = 2) -> Array:
    """Transform of a turn about x (0) or z (2); also of a complex angle."""
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    X = np.eye(4, dtype=np.asarray(angle).dtype)
    X[i, i] = X[j, j] = np.cos(angle)
    X[j, i], X[i, j] = np.sin(angle), -np.sin(angle)
    return X


def shift(x: float, z: float) -> Array:
    X = np.eye(4)
    X[0, 3], X[2, 3] = x, z
    return X


def joint_frames(arm: Published, q: Array) -> list[Array]:
    """Transforms to behind each joint, by the published lengths."""
    X = [turn(arm.turns[0])]
    for (d, a, alpha), angle in zip(arm.lengths, q, strict=True):
        X.append(X[-1] @ turn(angle) @ shift(a, d) @ turn(alpha, axis=0))
    return [*X[1:-1], X[-1] @ turn(arm.turns[1])]


@pytest.mark.parametrize("name", ARMS)
def test_the_hand_is_where_the_published_lengths_put_it(name: str, states: Callable[..., list[tuple[Array, Array]]]):
    model = shipped(name)
    assert model.tip == ARMS[name].tip
    for q, _ in states(model, 20):
        X = joint_frames(ARMS[name], q)[-1]
        np.testing.assert_allclose(model.pose(q).p, X[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.pose(q).R, X[:3, :3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ARMS)
def test_the_limits_are_the_published_ones(name: str):
    model = shipped(name)
    limits = np.transpose([model.q_min, model.q_max, model.v_max, model.tau_max])
    np.testing.assert_allclose(limits, ARMS[name].limits, rtol=1e-10)


UR5_HOME = np.array([0, -HALF, HALF, -HALF, -HALF, 0])


@pytest.mark.parametrize(
    ("q", "expected"),
    [(np.zeros(6), [0, -53.8002, -15.6416, 0, 0, 0]), (UR5_HOME, [0, -17.1218, -17.1218, -1.4802, 0, 0])],
)
def test_the_ur5_has_the_known_torque_of_gravity(q: Array, expected: list[float]):
    np.testing.assert_allclose(shipped("ur5").gravity(q), expected, atol=5e-5)


def test_the_ur5_has_joints_and_links_of_the_makers():
    robot = load_urdf(urdf_path("ur5"))
    names = tuple(f"{x}_joint" for x in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"))
    assert robot.movable_joints == robot.chain("tool0") == robot.chain("ft_frame") == names
    assert robot.leaves == ("ft_frame", "tool0", "base")
    assert all(joint.type in ("revolute", "fixed") for joint in robot.robot.joints)


def lwr_gravity(q: Array) -> Array:
    """Torque of gravity by the identified first moments [N m]: those of upper arm, forearm, hand, and off the forearm.

    Each is 9.81 times a moment along a direction; its derivatives are by the complex step.
    """

    def height(q: Array) -> complex:
        X = joint_frames(ARMS["lwr"], q)
        along = 3.6 * X[1][2, 2] + 1.451193 * X[3][2, 2] + 0.0103752 * X[5][2, 2]
        return along - 0.0363 * X[4][2, 2]

    return np.array([9.81 * height(q + 1e-30j * unit).imag / 1e-30 for unit in np.eye(7)])


def test_the_gravity_of_the_lwr_is_the_identified_one(states: Callable[..., list[tuple[Array, Array]]]):
    for q, _ in states(shipped("lwr"), 20):
        np.testing.assert_allclose(shipped("lwr").gravity(q), lwr_gravity(q), rtol=0, atol=2e-6)


def test_the_shapes_of_the_lwr_keep_apart_where_it_bends_as_far_as_it_can():
    validity = Validity(shipped("lwr"), ArmShape(shipped("lwr")))
    bent = np.zeros((8, 7))
    bent[np.arange(8), [0, 1, 1, 3, 3, 5, 5, 6]] = [2.9, 2.09, -2.09, 2.09, -2.09, 2.09, -2.09, 2.9]
    assert validity.free_states(bent).all()
    assert ("link5", "link7") in validity.link_pairs
    folded = np.array([[0.0, 2.09, 0.0, -2.09, 0.0, 2.09, 0.0], [0.0, 2.09, 0.0, 2.09, 0.0, 2.09, 0.0]])
    assert not validity.free_states(folded).all()


def test_the_panda_moves_as_in_another_file(panda: RobotModel, states: Callable[..., list[tuple[Array, Array]]]):
    ours = shipped("panda")
    assert panda.joint_names == ours.joint_names
    for q, v in states(ours, 8):
        np.testing.assert_allclose(ours.mass_matrix(q), panda.mass_matrix(q), rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.bias(q, v), panda.bias(q, v), rtol=0, atol=1e-9)
        hand, other = ours.pose(q, "panda_hand"), panda.pose(q)
        np.testing.assert_allclose(hand.p, other.p, rtol=0, atol=1e-12)
        assert np.abs(rotation_vector(hand.R @ other.R.T)).max() < 1e-12


def test_what_of_the_panda_can_move_has_a_mass_and_a_shape_and_nothing_needs_a_mesh():
    robot = load_urdf(urdf_path("panda"))
    shaped = {link.name for link in robot.robot.links if link.collisions}
    assert shaped == {*(f"panda_link{k}" for k in range(8)), "panda_hand", "panda_fingers"}
    assert shaped == set(robot.link_masses())
    assert "mesh" not in robot.text
