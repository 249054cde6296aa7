"""Joint states from their bytes: what the middleware's own decoder makes of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from arm_control.messages import JointStateBytes, JointStateWriter, Rejections
from arm_control.nodes import ros
from arm_control.nodes.support.subscriptions import subscribe_to_joint_states

Q = np.array([0.0, -1.4, 1.9])


def fields_of(message: JointState) -> tuple[object, ...]:
    stamp = message.header.stamp
    arrays = (
        np.array(values, dtype=float).tobytes() for values in (message.position, message.velocity, message.effort)
    )
    return stamp.sec, stamp.nanosec, message.header.frame_id, list(message.name), *arrays


def test_bytes_and_messages_of_the_middleware_are_the_same_both_ways():
    rng, reader = np.random.default_rng(0), JointStateBytes()
    for n in (0, 1, 3, 3, 7):
        for shown in ((), ("position",), ("position", "velocity"), ("effort",), ("position", "velocity", "effort")):
            values = {field: rng.normal(size=n) for field in shown}
            names = [f"joint {'x' * i}" for i in range(n)]
            message = ros.joint_state(names, -3_000_000_001, **values)
            message.header.frame_id = "Gelenk für Öl"
            assert fields_of(reader.read(serialize_message(message))) == fields_of(message)
            if n and shown:
                data = JointStateWriter(names, shown).message(
                    -3_000_000_001, *values.values(), frame_id=message.header.frame_id
                )
                assert deserialize_message(data, JointState) == message


class Refusing:
    """A node whose one subscription is fed by hand."""

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.rejections = Rejections(SimpleNamespace(warning=self.logged.append))
        self.control_path = SimpleNamespace(subscribe=self._subscribe)

    def _subscribe(self, message_type, topic, callback, qos, *, raw: bool) -> None:
        assert raw
        self.feed = callback


@pytest.mark.parametrize("data", [b"", b"\0\1", b"\0\1\0\0" + b"\xff" * 40, bytes(70_000)])
def test_bytes_that_are_no_joint_state_are_counted_and_the_next_message_is_read(data: bytes):
    node, messages = Refusing(), []
    subscribe_to_joint_states(node, "joint_states", lambda message, _: messages.append(message))  # type: ignore[arg-type]
    node.feed(data, {})
    assert sum(node.rejections.counts.values()) == 1
    assert node.logged[0].startswith("joint_states refused: not ")
    node.feed(JointStateWriter(["a", "b", "c"], ("position",)).message(5, Q), {})
    np.testing.assert_array_equal(messages[0].position, Q)
