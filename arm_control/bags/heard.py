"""What messages ask of a controller, as its node would take them."""

from __future__ import annotations

from typing import Any

from arm_control.laws import JointOrder
from arm_control.messages import (
    acting_stamp,
    link_of,
    pose_from_message,
    pose_points_from_message,
    waypoints_from_message,
)
from arm_control.model import RobotModel
from arm_control.pose_following import PoseMotion
from arm_control.reference import Target

ORDERS = ("target_pose", "pose_trajectory", "joint_trajectory", "target_joint")
"""Topics that ask something of a controller."""


def order_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Target | PoseMotion | JointOrder:
    """Return what a message on one of :data:`ORDERS` asks for, heard at the state with stamp ``now_ns`` [ns].

    Raises
    ------
    ArmControlError
        When a node would refuse it.
    """
    stamp_ns = acting_stamp(message.header.stamp, now_ns)
    if topic == "target_joint":
        return JointOrder(stamp_ns, model.in_joint_order(message.name, message.position))
    if topic == "joint_trajectory":
        return JointOrder(stamp_ns, waypoints_from_message(model, message))
    frame = link_of(message.header.frame_id, model)
    if topic == "target_pose":
        return Target(stamp_ns, frame, pose_from_message(message))
    return PoseMotion(stamp_ns, frame, pose_points_from_message(message, model.tip))
