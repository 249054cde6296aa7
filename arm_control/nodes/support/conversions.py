"""Arrays to messages; the way back, which needs no ROS, is in :mod:`arm_control.messages.fields`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseArray, PoseStamped, Transform, TransformStamped, Twist, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from arm_control.core.time import NANOSECONDS
from arm_control.maths.poses import Array, Pose, quaternion_from_rotation
from arm_control.messages.fields import (
    nanoseconds,
    pose_from_message,
    pose_points_from_message,
    waypoints_from_message,
)
from arm_control.motion.pose_trajectory import PosePoints
from arm_control.motion.waypoints import Waypoints

__all__ = [
    "doubles",
    "duration_message",
    "joint_state",
    "multi_array",
    "nanoseconds",
    "pose_array",
    "pose_from_message",
    "pose_message",
    "pose_points_from_message",
    "pose_trajectory_message",
    "time_message",
    "trajectory_message",
    "twist_message",
    "waypoints_from_message",
]


def time_message(stamp_ns: int) -> Time:
    """Stamp [ns] as a message."""
    return Time(sec=stamp_ns // NANOSECONDS, nanosec=stamp_ns % NANOSECONDS)


def duration_message(seconds: float) -> Duration:
    """Time [s] as a message."""
    ns = round(seconds * NANOSECONDS)
    return Duration(sec=ns // NANOSECONDS, nanosec=ns % NANOSECONDS)


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


def transform_message(X: Pose, parent: str, child: str, stamp_ns: int) -> TransformStamped:
    """Pose of one frame in another, as TF takes it."""
    message = TransformStamped(child_frame_id=child, transform=_transform(X))
    message.header.frame_id, message.header.stamp = parent, time_message(stamp_ns)
    return message


def pose_array(poses: Sequence[Pose], frame: str, stamp_ns: int) -> PoseArray:
    """Poses in a frame, with a stamp."""
    message = PoseArray(poses=[pose_message(X, frame, stamp_ns).pose for X in poses])
    message.header.frame_id, message.header.stamp = frame, time_message(stamp_ns)
    return message


def twist_message(V: Array, frame: str, stamp_ns: int) -> TwistStamped:
    """Twist (linear, then angular) in a frame, with a stamp."""
    message = TwistStamped()
    message.header.frame_id, message.header.stamp = frame, time_message(stamp_ns)
    _fill(message.twist, V)
    return message


def _fill(twist: Twist, V: Array) -> Twist:
    linear, angular = twist.linear, twist.angular
    linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = V.tolist()
    return twist


def trajectory_message(names: Sequence[str], points: Waypoints, stamp_ns: int) -> JointTrajectory:
    """Points of these joints, to be followed from a stamp on; 0 means now."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = time_message(stamp_ns)
    for i, t in enumerate(points.times.tolist()):
        point = JointTrajectoryPoint(time_from_start=duration_message(t), positions=doubles(points.qs[i]))
        for field, rows in (("velocities", points.vs), ("accelerations", points.as_)):
            if rows is not None:
                setattr(point, field, doubles(rows[i]))
        message.points.append(point)
    return message


def pose_trajectory_message(link: str, points: PosePoints, frame: str, stamp_ns: int) -> MultiDOFJointTrajectory:
    """Poses of a link, empty for the end effector, to be gone through from a stamp on; 0 means now."""
    message = MultiDOFJointTrajectory(joint_names=[link] if link else [])
    message.header.frame_id, message.header.stamp = frame, time_message(stamp_ns)
    for i, (t, X) in enumerate(zip(points.times.tolist(), points.poses, strict=True)):
        point = MultiDOFJointTrajectoryPoint(time_from_start=duration_message(t), transforms=[_transform(X)])
        for field, rows in (("velocities", points.Vs), ("accelerations", points.As)):
            if rows is not None:
                setattr(point, field, [_fill(Twist(), rows[i])])
        message.points.append(point)
    return message


def _transform(X: Pose) -> Transform:
    transform = Transform()
    position, o = transform.translation, transform.rotation
    position.x, position.y, position.z = X.p.tolist()
    o.x, o.y, o.z, o.w = quaternion_from_rotation(X.R).tolist()
    return transform
