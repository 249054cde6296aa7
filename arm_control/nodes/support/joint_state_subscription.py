"""Joint states, and commands of the same type, read from their bytes for a node's control path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from arm_control.control import ArmNodeParameters
from arm_control.exceptions import InputError
from arm_control.messages import JointStateBytes, JointStateFields
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.topics import STATE


def subscribe_to_joint_states(
    node: ArmNode[ArmNodeParameters],
    topic: str,
    callback: Callable[[JointStateFields, dict[str, Any]], None],
    qos: QoSProfile = STATE,
) -> None:
    """Subscribe to a topic of ``JointState``; bytes that are none are refused and counted.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes.
    topic : str
        Name of the topic.
    callback : callable
        Takes the fields of a message and its info.
    qos : QoSProfile
        Quality of service.
    """
    reader = JointStateBytes()

    def on_data(data: bytes, info: dict[str, Any]) -> None:
        try:
            message = reader.read(data)
        except InputError as error:
            node.rejections.add(topic, error)
        else:
            callback(message, info)

    node.control_path.subscribe(JointState, topic, on_data, qos, raw=True)
