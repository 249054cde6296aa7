"""Messages to arrays and back. Every conversion of the package is here."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseArray, PoseStamped, Transform, Twist, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from arm_control.exceptions import InputError
from arm_control.model import RobotModel
from arm_control.pose_trajectory import PosePoints
from arm_control.spatial import Array, Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.waypoints import Waypoints

NANOSECONDS = 1_000_000_000


def time_message(stamp_ns: int) -> Time:
    """Stamp [ns] as a message."""
    return Time(sec=stamp_ns // NANOSECONDS, nanosec=stamp_ns % NANOSECONDS)


def duration_message(seconds: float) -> Duration:
    """Time [s] as a message."""
    ns = round(seconds * NANOSECONDS)
    return Duration(sec=ns // NANOSECONDS, nanosec=ns % NANOSECONDS)


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


def pose_array(poses: Sequence[Pose], frame: str, stamp_ns: int) -> PoseArray:
    """Poses in a frame, with a stamp."""
    message = PoseArray(poses=[pose_message(X, frame, stamp_ns).pose for X in poses])
    message.header.frame_id, message.header.stamp = frame, time_message(stamp_ns)
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


def waypoints_from_message(model: RobotModel, message: JointTrajectory) -> Waypoints:
    """Points of a message in the model's joint order, checked.

    Raises
    ------
    InputError
        When no arm should follow them; see :meth:`arm_control.waypoints.Waypoints.checked`.
    """
    if any(point.effort for point in message.points):
        raise InputError("effort in a trajectory: it is computed here; leave it out")
    times = _times_of(message)
    positions = [point.positions for point in message.points]
    rows = (_of_all_points(message, "velocities"), _of_all_points(message, "accelerations"))
    return Waypoints.checked(model, message.joint_names, times, positions, *rows)


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


def pose_points_from_message(message: MultiDOFJointTrajectory, tip: str) -> PosePoints:
    """Poses of the end effector ``tip``, checked.

    Raises
    ------
    InputError
        When it is about another link, or no arm should follow it; see
        :meth:`arm_control.pose_trajectory.PosePoints.checked`.
    """
    if list(message.joint_names) not in ([], [tip]):
        raise InputError(f"joint_names = {list(message.joint_names)}: it is ['{tip}'] that is moved; empty means that")
    if any(len(point.transforms) != 1 for point in message.points):
        raise InputError("one transform at each point is needed")
    poses = [_pose_of(point.transforms[0]) for point in message.points]
    rows = [_of_all_points(message, field) for field in ("velocities", "accelerations")]
    return PosePoints.checked(_times_of(message), poses, *(x and [_twist_of(twists) for twists in x] for x in rows))


def _transform(X: Pose) -> Transform:
    transform = Transform()
    position, o = transform.translation, transform.rotation
    position.x, position.y, position.z = X.p.tolist()
    o.x, o.y, o.z, o.w = quaternion_from_rotation(X.R).tolist()
    return transform


def _pose_of(transform: Transform) -> Pose:
    p, o = transform.translation, transform.rotation
    return Pose(rotation_from_quaternion([o.x, o.y, o.z, o.w]), np.array([p.x, p.y, p.z]))


def _twist_of(twists: Sequence[Twist]) -> list[float]:
    if len(twists) != 1:
        raise InputError(f"{len(twists)} twists at a point: one is needed")
    linear, angular = twists[0].linear, twists[0].angular
    return [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]


def _times_of(message: JointTrajectory | MultiDOFJointTrajectory) -> list[float]:
    return [point.time_from_start.sec + point.time_from_start.nanosec / NANOSECONDS for point in message.points]


def _of_all_points(message: JointTrajectory | MultiDOFJointTrajectory, field: str) -> list[Sequence[Any]] | None:
    rows = [getattr(point, field) for point in message.points]
    given = sum(map(bool, rows))
    if 0 < given < len(rows):
        raise InputError(f"{field} at {given} of {len(rows)} points: give them at all, or at none")
    return rows if given else None
