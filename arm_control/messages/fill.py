"""Fields of messages from arrays and poses, for any classes of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arm_control.core import NANOSECONDS
from arm_control.maths import Array, Pose, quaternion_from_rotation


def set_header(message: Any, frame: str, stamp_ns: int) -> None:
    """Fill the header of a message."""
    message.header.frame_id = frame
    set_nanoseconds(message.header.stamp, stamp_ns)


def set_nanoseconds(message: Any, ns: int) -> Any:
    """Fill a ``Time`` or ``Duration`` from nanoseconds, and return it."""
    message.sec, message.nanosec = divmod(ns, NANOSECONDS)
    return message


def set_vector(message: Any, p: Sequence[float]) -> Any:
    """Fill a ``Point`` or ``Vector3``, and return it."""
    message.x, message.y, message.z = map(float, p)
    return message


def set_quaternion(message: Any, R: Array) -> None:
    """Fill a ``Quaternion`` from a rotation matrix, shape (3, 3)."""
    message.x, message.y, message.z, message.w = quaternion_from_rotation(R).tolist()


def set_pose(message: Any, X: Pose) -> Any:
    """Fill a ``Pose``, and return it."""
    set_vector(message.position, X.p.tolist())
    set_quaternion(message.orientation, X.R)
    return message


def set_transform(message: Any, X: Pose) -> Any:
    """Fill a ``Transform``, and return it."""
    set_vector(message.translation, X.p.tolist())
    set_quaternion(message.rotation, X.R)
    return message


def set_twist(message: Any, V: Array) -> Any:
    """Fill a ``Twist``, linear before angular, shape (6,), and return it."""
    set_vector(message.linear, V[:3].tolist())
    set_vector(message.angular, V[3:].tolist())
    return message
