"""What messages ask of a controller, live and out of a recording. No ROS here."""

from __future__ import annotations

from typing import Any, NamedTuple

from arm_control.maths.poses import Array
from arm_control.messages.fields import (
    acting_stamp,
    link_of,
    pose_from_message,
    pose_points_from_message,
    waypoints_from_message,
)
from arm_control.model import RobotModel
from arm_control.motion.pose_follower import PoseMotion
from arm_control.motion.references import Target
from arm_control.motion.waypoints import Waypoints

POSE_ORDERS = ("target_pose", "pose_trajectory")
JOINT_ORDERS = ("joint_trajectory", "target_joint")
ORDERS = (*POSE_ORDERS, *JOINT_ORDERS)
"""Topics that ask something of a controller."""


class JointOrder(NamedTuple):
    """Points to go through, or positions (nv,) to go to [rad or m], from a stamp on [ns]."""

    stamp_ns: int
    goal: Waypoints | Array


Order = Target | PoseMotion | JointOrder


def order_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Order:
    """Return what a message on one of :data:`ORDERS` asks for, heard at the state with stamp ``now_ns`` [ns].

    Raises
    ------
    ArmControlError
        When it makes no sense, or not for this arm.
    """
    kind = joint_order_of if topic in JOINT_ORDERS else pose_order_of
    return kind(topic, message, model, now_ns)


def pose_order_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Target | PoseMotion:
    """The same for :data:`POSE_ORDERS`."""
    stamp_ns, frame = acting_stamp(message.header.stamp, now_ns), link_of(message.header.frame_id, model)
    if topic == "target_pose":
        return Target(stamp_ns, frame, pose_from_message(message))
    return PoseMotion(stamp_ns, frame, pose_points_from_message(message, model.tip))


def joint_order_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> JointOrder:
    """The same for :data:`JOINT_ORDERS`."""
    stamp_ns = acting_stamp(message.header.stamp, now_ns)
    if topic == "target_joint":
        return JointOrder(stamp_ns, model.in_joint_order(message.name, message.position))
    return JointOrder(stamp_ns, waypoints_from_message(model, message))
