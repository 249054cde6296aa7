"""The UR5 that ships with the package, against published Denavit-Hartenberg lengths and known values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

from arm_control.model import load_urdf

REPO = Path(__file__).parents[2]
UR5 = REPO / "urdf" / "ur5" / "ur5.urdf"
NAMES = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
JOINTS = tuple(f"{name}_joint" for name in NAMES)
HOME = np.array([0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0])

Array = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def model() -> pin.Model:
    return pin.buildModelFromXML(load_urdf(UR5).text)


def random_configurations(n: int) -> Array:
    return np.random.default_rng(5).uniform(-2 * np.pi, 2 * np.pi, (n, 6))


def pose(model: pin.Model, q: Array, frame: str = "tool0") -> Array:
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(frame)].homogeneous


def dh_pose(q: Array) -> Array:
    """Rz(pi) times the product of the standard Denavit-Hartenberg transforms, lengths in m."""
    d = (0.089159, 0, 0, 0.10915, 0.09465, 0.0823)
    a = (0, -0.425, -0.39225, 0, 0, 0)
    alpha = (np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2, 0)
    X = np.diag([-1.0, -1.0, 1.0, 1.0])
    for i in range(6):
        turn, twist = np.eye(4), np.eye(4)
        turn[:3, :3], turn[2, 3] = pin.utils.rotate("z", q[i]), d[i]
        twist[:3, :3], twist[0, 3] = pin.utils.rotate("x", alpha[i]), a[i]
        X = X @ turn @ twist
    return X


def test_tool_pose_is_that_of_the_published_lengths(model: pin.Model):
    for q in random_configurations(20):
        np.testing.assert_allclose(pose(model, q), dh_pose(q), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("q", "expected"),
    [(np.zeros(6), [0, -53.8002, -15.6416, 0, 0, 0]), (HOME, [0, -17.1218, -17.1218, -1.4802, 0, 0])],
)
def test_gravity_torque(model: pin.Model, q: Array, expected: list[float]):
    g = pin.computeGeneralizedGravity(model, model.createData(), q)
    np.testing.assert_allclose(g, expected, atol=5e-5)


def test_limits(model: pin.Model):
    upper = np.array([2, 2, 1, 2, 2, 2]) * np.pi
    np.testing.assert_allclose(model.upperPositionLimit, upper, rtol=1e-15)
    np.testing.assert_allclose(model.lowerPositionLimit, -upper, rtol=1e-15)
    np.testing.assert_allclose(model.velocityLimit, np.full(6, np.pi), rtol=1e-15)
    np.testing.assert_array_equal(model.effortLimit, [150, 150, 150, 28, 28, 28])
    np.testing.assert_array_equal(model.damping, np.zeros(6))
    np.testing.assert_array_equal(model.friction, np.zeros(6))


def test_joints_and_links():
    robot = load_urdf(UR5)
    assert robot.movable_joints == robot.chain("tool0") == robot.chain("ft_frame") == JOINTS
    assert robot.leaves == ("ft_frame", "tool0", "base")
    assert all(joint.type in ("revolute", "fixed") for joint in robot.robot.joints)
