"""The wrench on the hand, from an observer's torque and from a sensor."""

from __future__ import annotations

import numpy as np

from arm_control.control import HandWrench, SensorReading
from arm_control.control.osc.wrench_estimate import WrenchEstimate
from arm_control.model import RobotModel

HOME = np.array([0.1, -1.4, 1.9, -2.07, -1.5, 0.2])
F = np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6])
MS = 1_000_000


def hand(*rows: int) -> HandWrench:
    shares = np.array([float(row in rows) for row in range(6)])
    return HandWrench(shares, np.eye(3), np.zeros(6), np.zeros(6), is_measured=False)


def test_what_was_there_before_the_contact_is_no_contact(ur5: RobotModel):
    t, estimate = ur5.evaluate(HOME, np.zeros(6)), WrenchEstimate(ur5)
    payload, contact = np.array([0.0, 0.0, -9.8, 0.0, 0.0, 0.0]), np.array([0.0, 2.0, 10.0, 0.0, 0.0, 0.0])
    assert not estimate.released(t, t.J.T @ payload, hand(), is_measured=False).any()
    released = estimate.released(t, t.J.T @ (payload + contact), hand(2), is_measured=False)
    np.testing.assert_allclose(released, t.J.T @ [0.0, 0.0, 10.0, 0.0, 0.0, 0.0], atol=1e-3)
    np.testing.assert_allclose(estimate.at(t, t.J.T @ (payload + contact)), contact, atol=1e-3)
    assert not estimate.released(t, t.J.T @ contact, hand(2), is_measured=True).any(), "a sensor knows the contact"


def test_a_sensor_is_read_about_the_hand_before_the_state_and_only_for_a_while(ur5: RobotModel):
    t, estimate = ur5.evaluate(HOME, np.zeros(6)), WrenchEstimate(ur5)
    assert estimate.measured(5 * MS, t) is None
    estimate.measure(SensorReading(4 * MS, "tool0", F))
    estimate.measure(SensorReading(5 * MS, "tool0", 2.0 * F))
    in_world = np.concatenate([t.X_WE.R @ F[:3], t.X_WE.R @ F[3:]])
    np.testing.assert_allclose(estimate.measured(5 * MS, t), in_world, err_msg="that of the state itself may be late")
    np.testing.assert_allclose(estimate.measured(6 * MS, t), 2.0 * in_world)
    assert estimate.measured(106 * MS, t) is None
    np.testing.assert_allclose(estimate.known(t, hand(0), in_world), in_world[0] * t.J[0])
    estimate.reset()
    assert estimate.measured(6 * MS, t) is None


def test_a_sensor_elsewhere_counts_with_its_lever(ur5: RobotModel):
    t, estimate = ur5.evaluate(HOME, np.zeros(6)), WrenchEstimate(ur5)
    X_WL = ur5.pose(HOME, "forearm_link")
    estimate.measure(SensorReading(0, "forearm_link", F))
    measured = estimate.measured(MS, t)
    point = X_WL.p - t.X_WE.p
    np.testing.assert_allclose(measured[:3], X_WL.R @ F[:3])
    np.testing.assert_allclose(measured[3:], X_WL.R @ F[3:] + np.cross(point, measured[:3]))
    assert np.linalg.norm(measured[3:]) > 0.5, "a lever of some decimetres"
