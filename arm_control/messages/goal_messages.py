"""Goals in messages: from a topic, or from a bag."""

from __future__ import annotations

from typing import Any

from arm_control.messages.fields import (
    acting_stamp,
    link_of,
    pose_from_message,
    pose_points_from_message,
    waypoints_from_message,
)
from arm_control.model import RobotModel
from arm_control.motion.goals import Goal, JointGoal, PoseMotion, Target

POSE_GOALS = ("target_pose", "pose_trajectory")
JOINT_GOALS = ("joint_trajectory", "target_joint")
GOAL_TOPICS = (*POSE_GOALS, *JOINT_GOALS)
"""Topics with goals."""


def goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Goal:
    """Return what a message on one of :data:`GOAL_TOPICS` asks for, heard at the state with stamp ``now_ns`` [ns].

    Raises
    ------
    ArmControlError
        When it makes no sense, or not for this arm.
    """
    kind = joint_goal_of if topic in JOINT_GOALS else pose_goal_of
    return kind(topic, message, model, now_ns)


def pose_goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Target | PoseMotion:
    """The same for :data:`POSE_GOALS`."""
    stamp_ns, frame = acting_stamp(message.header.stamp, now_ns), link_of(message.header.frame_id, model)
    if topic == "target_pose":
        return Target(stamp_ns, frame, pose_from_message(message))
    return PoseMotion(stamp_ns, frame, pose_points_from_message(message, model.tip))


def joint_goal_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> JointGoal:
    """The same for :data:`JOINT_GOALS`."""
    stamp_ns = acting_stamp(message.header.stamp, now_ns)
    if topic == "target_joint":
        return JointGoal(stamp_ns, model.in_joint_order(message.name, message.position))
    return JointGoal(stamp_ns, waypoints_from_message(model, message))
