"""Reading joint states: what becomes a measurement, and what is refused."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from arm_control.control.controllers import Measurement
from arm_control.messages.joint_states import JointStateReader, Refused, Repeated
from arm_control.model import RobotModel

INFO = {"source_timestamp": 0}


def message(names, position, velocity=(), stamp_ns: int = 0) -> SimpleNamespace:
    header = SimpleNamespace(stamp=SimpleNamespace(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9))
    return SimpleNamespace(header=header, name=list(names), position=list(position), velocity=list(velocity))


def test_a_message_without_joints_is_refused_first_and_later(ur5: RobotModel):
    reader, names = JointStateReader(ur5, 0.0), ur5.joint_names
    for stamp_ns in (0, 1, 2):
        reading = reader.read(message([], [], [], stamp_ns), INFO)
        assert isinstance(reading, Refused)
        assert "no position for joint shoulder_pan_joint" in str(reading.error)
    assert isinstance(reader.read(message(names, range(6), range(6), 3), INFO), Measurement)
    assert isinstance(reader.read(message([], [], [], 4), INFO), Refused)


def test_joints_are_matched_by_name_whenever_their_order_changes(ur5: RobotModel):
    reader, rng = JointStateReader(ur5, 0.0), np.random.default_rng(0)
    names = [*ur5.joint_names, "finger"]
    for k in range(20):
        order = rng.permutation(7)
        q, v = np.arange(7.0) + k, np.arange(7.0) - k
        reading = reader.read(message([names[i] for i in order], q[order], v[order], k), INFO)
        assert isinstance(reading, Measurement)
        np.testing.assert_array_equal(reading.q, q[:6])
        np.testing.assert_array_equal(reading.v, v[:6])
        assert reading.is_restart == (k == 0)


@pytest.mark.parametrize("field", ["position", "velocity"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_only_the_numbers_of_the_arm_must_be_finite(ur5: RobotModel, field: str, value: float):
    reader, names = JointStateReader(ur5, 0.0), [*ur5.joint_names, "finger"]
    for bad, expected in ((6, Measurement), (2, Refused)):
        values = {"position": np.zeros(7), "velocity": np.zeros(7)}
        values[field][bad] = value
        reading = reader.read(message(names, values["position"], values["velocity"], bad), INFO)
        if bad == 2:
            reading = reader.read(message(names, values["position"], values["velocity"], 7), INFO)
            assert f"{field} is not finite: {{'elbow_joint'" in str(reading.error)
        assert isinstance(reading, expected)


@pytest.mark.parametrize(("n_q", "n_v", "what"), [(5, 6, "5 position"), (7, 6, "7 position"), (6, 5, "5 velocity")])
def test_one_value_for_each_name_is_needed(ur5: RobotModel, n_q: int, n_v: int, what: str):
    reader = JointStateReader(ur5, 0.0)
    reading = reader.read(message(ur5.joint_names, np.zeros(n_q), np.zeros(n_v), 1), INFO)
    assert isinstance(reading, Refused)
    assert f"6 joint names with {what} values" in str(reading.error)


def test_finite_numbers_whose_sum_is_not_are_read_without_a_warning(ur5: RobotModel):
    reader, huge = JointStateReader(ur5, 0.0), np.full(6, 1e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reading = reader.read(message(ur5.joint_names, huge, -huge, 1), INFO)
    np.testing.assert_array_equal(reading.q, huge)


def test_a_repeated_stamp_an_older_one_and_a_new_run(ur5: RobotModel):
    reader, q = JointStateReader(ur5, 0.0), np.zeros(6)
    reader.read(message(ur5.joint_names, q, q, 5_000_000), INFO)
    second = reader.read(message(ur5.joint_names, q + 0.002, (), 7_000_000), INFO)
    np.testing.assert_allclose(second.v, np.ones(6))
    assert second.dt == 0.002
    assert reader.read(message(ur5.joint_names, q, q, 7_000_000), INFO) == Repeated(7_000_000)
    assert isinstance(reader.read(message(ur5.joint_names, q, q, 6_000_000), INFO), Refused)
    assert reader.read(message(ur5.joint_names, q, q, 0), INFO).is_restart
