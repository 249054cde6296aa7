"""What messages say, as the numbers that the mathematics works with.

Fields are read by their names, so a message of ROS and one out of a bag, which needs no ROS, are read alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.maths.poses import Pose, rotation_from_quaternion
from arm_control.model import RobotModel
from arm_control.motion.joint_trajectory import Waypoints
from arm_control.motion.pose_trajectory import PosePoints

HORIZON_NS = 24 * 3600 * NANOSECONDS
"""A message that is to act later than this [ns] after the newest state has a wrong stamp."""


def link_of(frame_id: str, model: RobotModel) -> str:
    """The link that a ``frame_id`` names; empty: the base.

    Raises
    ------
    FrameNotFound
        When there is none of that name.
    """
    link = frame_id or model.base
    if link not in model.frames:
        raise FrameNotFound(link, model.frames)
    return link


def nanoseconds(stamp: Any) -> int:
    """Stamp of a message [ns]."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def acting_stamp(stamp: Any, now_ns: int) -> int:
    """When a message with this stamp acts from: then, but not before now [ns].

    Raises
    ------
    InputError
        When that is more than a day ahead.
    """
    stamp_ns = max(nanoseconds(stamp), now_ns)
    if stamp_ns - now_ns > HORIZON_NS:
        ahead = (stamp_ns - now_ns) / NANOSECONDS
        raise InputError(f"stamp too far ahead: {ahead:.0f} s after the state; 0 means now")
    return stamp_ns


def pose_from_message(message: Any) -> Pose:
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


def waypoints_from_message(model: RobotModel, message: Any) -> Waypoints:
    """Points of a message in the model's joint order, checked.

    Raises
    ------
    InputError
        When no arm should follow them; see :meth:`arm_control.motion.joint_trajectory.Waypoints.checked`.
    """
    if any(len(point.effort) for point in message.points):
        raise InputError("effort in a trajectory: it is computed here; leave it out")
    times = _times_of(message)
    positions = [point.positions for point in message.points]
    rows = (_of_all_points(message, "velocities"), _of_all_points(message, "accelerations"))
    return Waypoints.checked(model, message.joint_names, times, positions, *rows)


def pose_points_from_message(message: Any, tip: str) -> PosePoints:
    """Poses of the end effector ``tip``, checked.

    Raises
    ------
    InputError
        When it is about another link, or no arm should follow it; see
        :meth:`arm_control.motion.pose_trajectory.PosePoints.checked`.
    """
    if list(message.joint_names) not in ([], [tip]):
        raise InputError(f"joint_names = {list(message.joint_names)}: it is ['{tip}'] that is moved; empty means that")
    if any(len(point.transforms) != 1 for point in message.points):
        raise InputError("one transform at each point is needed")
    poses = [_pose_of(point.transforms[0]) for point in message.points]
    rows = [_of_all_points(message, field) for field in ("velocities", "accelerations")]
    return PosePoints.checked(_times_of(message), poses, *(x and [_twist_of(twists) for twists in x] for x in rows))


def _pose_of(transform: Any) -> Pose:
    p, o = transform.translation, transform.rotation
    return Pose(rotation_from_quaternion([o.x, o.y, o.z, o.w]), np.array([p.x, p.y, p.z]))


def _twist_of(twists: Sequence[Any]) -> list[float]:
    if len(twists) != 1:
        raise InputError(f"{len(twists)} twists at a point: one is needed")
    linear, angular = twists[0].linear, twists[0].angular
    return [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]


def _times_of(message: Any) -> list[float]:
    return [point.time_from_start.sec + point.time_from_start.nanosec / NANOSECONDS for point in message.points]


def _of_all_points(message: Any, field: str) -> list[Sequence[Any]] | None:
    rows = [getattr(point, field) for point in message.points]
    given = sum(len(row) > 0 for row in rows)
    if 0 < given < len(rows):
        raise InputError(f"{field} at {given} of {len(rows)} points: give them at all, or at none")
    return rows if given else None
