"""Bytes of messages: the layout of this release of ROS, and rclpy in its place where it has moved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from rig import HOME, Driver, Rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arm_control import RobotModel
from arm_control.exceptions import InputError
from arm_control.nodes.support import message_bytes
from arm_control.nodes.support.message_bytes import MOVED, layout_differences, read_by_rclpy


def test_the_bytes_of_this_release_of_ros_are_known():
    """Else nodes let rclpy read and write, which is slower, until messages/joint_state_bytes.py knows the new ones."""
    assert layout_differences() == ""


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another layout of the array of torque."""
    monkeypatch.setattr(message_bytes, "effort_array_head", lambda n: bytes(12))
    layout_differences.cache_clear()
    yield
    monkeypatch.undo()
    layout_differences.cache_clear()


@pytest.mark.parametrize("broken", ["JointStateBytes", "JointStateWriter", "effort_array_head"])
def test_a_layout_that_has_moved_is_named(broken: str, moved: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    if broken == "effort_array_head":
        monkeypatch.setattr(message_bytes, broken, lambda n: bytes(12))
        assert layout_differences() == f"{MOVED}: std_msgs/Float64MultiArray"
        return
    kind = getattr(message_bytes, broken)
    method = "read" if broken == "JointStateBytes" else "message"
    whole = getattr(kind, method)
    spoilt = {"read": lambda self, data: whole(self, data[:-1]), "message": lambda *a, **b: whole(*a, **b)[:-8]}
    monkeypatch.setattr(message_bytes, broken, type(broken, (kind,), {method: spoilt[method]}))
    assert layout_differences().startswith(MOVED)


def test_rclpy_takes_the_place_and_the_torque_is_the_same(moved: None, rig: Rig, ur5: RobotModel):
    arrays = rig.hear(Float64MultiArray, "effort_controller/commands")
    held = Driver(rig, ur5, "osc", loop="native", publish_effort_array=True)
    taus = held.answers(3)
    np.testing.assert_allclose(taus[0], ur5.gravity(HOME), atol=1e-9)
    rig.spin(lambda: arrays, what="the array")
    np.testing.assert_array_equal(arrays[-1].data, taus[-1])
    assert f"{MOVED}: std_msgs/Float64MultiArray: rclpy reads and writes them, which is slower" in rig.log("osc")
    assert f"loop: native is not possible, Python answers all states: {MOVED}" in rig.log("osc")
    states = rig.publisher(JointState, "joint_states")
    states.publish(bytes([0, 1, 0, 0]))
    rig.spin(lambda: "joint_states refused: not a JointState: " in rig.log("osc"), what="the refusal")


def test_bytes_that_are_no_message_are_refused_by_rclpy_too():
    with pytest.raises(InputError, match="not a JointState"):
        read_by_rclpy(bytes([0, 1, 0, 0]))
