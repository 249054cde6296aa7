"""Messages as bytes: by the layout that the package knows, or by rclpy where this release of ROS has another one.

The control path reads and writes ``JointState`` and ``Float64MultiArray`` at known offsets
(:mod:`arm_control.messages.joint_state_bytes`), several times as fast as rclpy. Each process tries once whether the two
agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.messages import FIELDS, JointStateBytes, JointStateWriter, effort_array_head
from arm_control.nodes.support.topics import ros

MOVED = "messages have other bytes in this release of ROS than messages/joint_state_bytes.py knows"
"""What is said where a layout has moved, before the type that has."""


@cache
def layout_differences() -> str:
    """Return which type has bytes that the package does not know, as a sentence; empty where none has."""
    names, x, stamp_ns, frame_id = ["a", "bcd"], np.array([1.5, -2.5]), 5_000_000_001, "why"
    readers = JointStateBytes().read, read_by_rclpy
    writers = JointStateWriter(names, FIELDS).message, partial(_write_by_rclpy, names, FIELDS)
    try:
        written = [write(stamp_ns, x, x + 1.0, x + 2.0, frame_id=frame_id) for write in writers]
        first, *others = (_values(read(data)) for read in readers for data in written)
        if any(other != first for other in others):
            return f"{MOVED}: sensor_msgs/JointState"
        if deserialize_message(effort_array_head(2) + x.tobytes(), Float64MultiArray) != Float64MultiArray(data=x):
            return f"{MOVED}: std_msgs/Float64MultiArray"
    except Exception as error:  # of rclpy or of the middleware, which know no common one
        return f"{MOVED}: {error}"
    return ""


def _values(message: Any) -> tuple[Any, ...]:
    header = message.header
    numbers = [list(getattr(message, field)) for field in FIELDS]
    return header.stamp.sec, header.stamp.nanosec, header.frame_id, list(message.name), numbers


def read_by_rclpy(data: bytes) -> Any:
    """Return a ``JointState``; an InputError when the bytes are none."""
    try:
        return deserialize_message(data, JointState)
    except Exception as error:
        raise InputError(f"not a JointState: {error}") from None


def _write_by_rclpy(
    names: Sequence[str], fields: Sequence[str], stamp_ns: int, *values: Array, frame_id: str = ""
) -> bytes:
    message = ros.joint_state(list(names), stamp_ns, **dict(zip(fields, values, strict=True)))
    message.header.frame_id = frame_id
    return bytes(serialize_message(message))


def joint_state_reader() -> Callable[[bytes], Any]:
    """Return what reads messages of this release of ROS."""
    return read_by_rclpy if layout_differences() else JointStateBytes().read


def joint_state_writer(names: Sequence[str], fields: Sequence[str] = ("effort",)) -> Callable[..., bytes]:
    """Return what writes messages of this release of ROS: :meth:`JointStateWriter.message` of these parameters."""
    if layout_differences():
        return partial(_write_by_rclpy, names, fields)
    return JointStateWriter(names, fields).message


def effort_array_writer(n: int) -> Callable[[Array], bytes]:
    """Return what writes torque of ``n`` joints as a ``Float64MultiArray`` of this release of ROS."""
    if layout_differences():
        return lambda tau: bytes(serialize_message(Float64MultiArray(data=tau)))
    return partial(effort_array_bytes, effort_array_head(n))


def effort_array_bytes(head: bytes, tau: Array) -> bytes:
    """Return torque as a ``Float64MultiArray``, behind the bytes that are always the same."""
    return head + tau.tobytes()
