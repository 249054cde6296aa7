"""Messages to arrays and back. Every conversion of the package is here."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from arm_control.exceptions import InputError
from arm_control.spatial import Array, Pose, quaternion_from_rotation, rotation_from_quaternion

NANOSECONDS = 1_000_000_000


def time_message(stamp_ns: int) -> Time:
    """Stamp [ns] as a message."""
    return Time(sec=stamp_ns // NANOSECONDS, nanosec=stamp_ns % NANOSECONDS)


def nanoseconds(stamp: Time) -> int:
    """Stamp of a message [ns]."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def joint_state(
    names: Sequence[str],
    stamp_ns: int,
    *,
    position: Array | None = None,
    velocity: Array | None = None,
    effort: Array | None = None,
) -> JointState:
    """Return a ``JointState`` of what is given; the other fields stay empty."""
    message = JointState(name=list(names))
    message.header.stamp = time_message(stamp_ns)
    for field, values in (("position", position), ("velocity", velocity), ("effort", effort)):
        if values is not None:
            setattr(message, field, doubles(values))
    return message


def doubles(values: Array) -> array[float]:
    """Return what a ``float64[]`` field takes without a copy per element, and without checks going wrong."""
    result: array[float] = array("d")
    result.frombytes(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return result


def multi_array(values: Array) -> Float64MultiArray:
    """Vector or matrix with labelled dimensions: ``rows``, then ``cols``, row-major."""
    message = Float64MultiArray(data=doubles(values))
    if values.ndim > 1:
        sizes = [*values.shape, 1]
        message.layout.dim = [
            MultiArrayDimension(label=label, size=sizes[i], stride=int(np.prod(sizes[i:])))
            for i, label in enumerate(("rows", "cols"))
        ]
    else:
        message.layout.dim = [MultiArrayDimension(label="rows", size=values.size, stride=values.size)]
    return message


def pose_message(X: Pose, frame: str, stamp_ns: int) -> PoseStamped:
    """Pose in a frame, with a stamp."""
    message = PoseStamped()
    message.header.frame_id, message.header.stamp = frame, time_message(stamp_ns)
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = X.p.tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = quaternion_from_rotation(X.R).tolist()
    return message


def pose_from_message(message: PoseStamped) -> Pose:
    """Pose of a message; its quaternion is normalised.

    Raises
    ------
    InputError
        When a number is not finite or the quaternion has no length.
    """
    position, o = message.pose.position, message.pose.orientation
    p = np.array([position.x, position.y, position.z])
    if not np.isfinite(p).all():
        raise InputError(f"position {p.tolist()} is not finite")
    return Pose(rotation_from_quaternion([o.x, o.y, o.z, o.w]), p)


def twist_message(V: Array, frame: str, stamp_ns: int) -> TwistStamped:
    """Twist (linear, then angular) in a frame, with a stamp."""
    message = TwistStamped()
    message.header.frame_id, message.header.stamp = frame, time_message(stamp_ns)
    linear, angular = message.twist.linear, message.twist.angular
    linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = V.tolist()
    return message
