"""The KUKA LWR 4+ that ships with the package: published lengths and limits, identified sums of its dynamics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.collision import ArmShape, Validity
from arm_control.core import urdf_path
from arm_control.maths import Array
from arm_control.model import RobotModel

DH = [(0.3105, np.pi / 2), (0.0, -np.pi / 2), (0.4, -np.pi / 2), (0.0, np.pi / 2), (0.39, np.pi / 2)]
DH += [(0.0, -np.pi / 2), (0.078, 0.0)]
"""Denavit-Hartenberg lengths along the joint [m] and angles between joints [rad]; all other lengths are zero."""
LIMITS = [(170, 110, 176), (120, 110, 176), (170, 128, 100), (120, 128, 100), (170, 204, 100), (120, 184, 38)]
LIMITS += [(170, 184, 38)]
"""Largest angle [deg], speed [deg/s] and torque [N m] of each joint."""
G = 9.81


@pytest.fixture(scope="module")
def lwr() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("lwr"))


def test_its_limits_are_the_published_ones(lwr: RobotModel):
    angle, speed, torque = np.array(LIMITS, dtype=float).T
    np.testing.assert_allclose(np.degrees(lwr.q_max), angle, rtol=1e-9)
    np.testing.assert_allclose(lwr.q_min, -lwr.q_max)
    np.testing.assert_allclose(np.degrees(lwr.v_max), speed, rtol=1e-9)
    np.testing.assert_allclose(lwr.tau_max, torque)


def test_its_flange_is_where_the_published_lengths_put_it(lwr: RobotModel, states: Callable[..., list]):
    for q, _ in states(lwr, 20):
        X = np.eye(4)
        for (d, alpha), angle in zip(DH, q, strict=True):
            c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
            X = X @ [[c, -s * ca, s * sa, 0], [s, c * ca, -c * sa, 0], [0, sa, ca, d], [0, 0, 0, 1]]
        np.testing.assert_allclose(lwr.pose(q).p, X[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(lwr.pose(q).R, X[:3, :3], rtol=0, atol=1e-12)


def gravity(q: Array) -> Array:
    """Torque of gravity by the identified first moments [N m]: those of upper arm, forearm, hand, and off the forearm.

    Each is 9.81 times a moment along a direction; its derivatives are by the complex step.
    """
    moments = ((3.6, 3), (1.451193, 5), (0.0103752, 7))

    def height(q: Array) -> complex:
        R, axes = np.eye(3, dtype=complex), {}
        for j, ((_, alpha), angle) in enumerate(zip(DH, q, strict=True), 1):
            c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
            axes[j] = R[:, 2].copy()
            R = R @ np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0, sa, ca]])
            if j == 5:
                sideways = -0.0363 * R[2, 2]
        return sum(m * axes[j][2] for m, j in moments) + sideways

    return np.array([G * height(q + 1e-30j * unit).imag / 1e-30 for unit in np.eye(7)])


def test_its_gravity_is_the_identified_one(lwr: RobotModel, states: Callable[..., list]):
    for q, _ in states(lwr, 20):
        np.testing.assert_allclose(lwr.gravity(q), gravity(q), rtol=0, atol=2e-6)


def test_its_shapes_keep_apart_where_it_bends_as_far_as_it_can(lwr: RobotModel):
    validity = Validity(lwr, ArmShape(lwr))
    bent = np.zeros((8, 7))
    bent[np.arange(8), [0, 1, 1, 3, 3, 5, 5, 6]] = [2.9, 2.09, -2.09, 2.09, -2.09, 2.09, -2.09, 2.9]
    assert validity.free_states(bent).all()
    assert ("link5", "link7") in validity.link_pairs
    folded = np.array([[0.0, 2.09, 0.0, -2.09, 0.0, 2.09, 0.0], [0.0, 2.09, 0.0, 2.09, 0.0, 2.09, 0.0]])
    assert not validity.free_states(folded).all()
