"""Goals and results of the planner's action, without ROS: ``control_msgs/action/FollowJointTrajectory``.

No standard action has a goal without the way to it. Here the last point of ``trajectory`` is a goal of the joints, or
the last transform of ``multi_dof_trajectory`` one of the end effector; what is before it is up to the planner.
"""

from __future__ import annotations

from typing import Any

from arm_control.exceptions import ArmControlError, InputError
from arm_control.messages import link_of, pose_points_from_message
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, Target
from arm_control.processes.motion_process import MotionProcess, PlannerGoal
from arm_control.processes.motion_steps import Phase
from arm_control.processes.trajectory_actions import (
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
    ActionResult,
    GoalRefused,
    refuse_other_joints,
)

CODES = {
    Phase.REACHED: SUCCESSFUL,
    Phase.CANCELED: SUCCESSFUL,
    Phase.NO_PLAN: INVALID_GOAL,
    Phase.OFF_PATH: PATH_TOLERANCE_VIOLATED,
    Phase.MISSED: GOAL_TOLERANCE_VIOLATED,
}
"""Error codes of the action."""


def planner_goal_of(message: Any, model: RobotModel, now_ns: int) -> PlannerGoal:
    """Return the goal of a ``FollowJointTrajectory.Goal``, which acts now.

    Raises
    ------
    GoalRefused
        When it has no last point, or it is not one of this arm.
    """
    joints, hand = message.trajectory, message.multi_dof_trajectory
    if bool(len(joints.points)) == bool(len(hand.points)):
        raise GoalRefused(
            INVALID_GOAL, "a goal of the joints or one of the end effector is needed: points of one of them"
        )
    if message.path_tolerance or message.goal_tolerance:
        raise GoalRefused(INVALID_GOAL, "tolerances in a goal: those of the planner's parameters hold; leave them out")
    if len(hand.points):
        return _pose_goal(hand, model, now_ns)
    refuse_other_joints(joints.joint_names, model, "goal")
    try:
        q = model.in_joint_order(joints.joint_names, joints.points[-1].positions)
    except InputError as error:
        raise GoalRefused(INVALID_GOAL, str(error)) from error
    return JointGoal(now_ns, q, True)


def _pose_goal(message: Any, model: RobotModel, now_ns: int) -> Target:
    """The goal of a ``MultiDOFJointTrajectory``; its times mean nothing."""
    try:
        points = pose_points_from_message(message, model.tip)
        return Target(now_ns, link_of(message.header.frame_id, model), points.poses[-1], True)
    except ArmControlError as error:
        raise GoalRefused(INVALID_GOAL, str(error)) from error


def planner_result(process: MotionProcess, goal: PlannerGoal) -> ActionResult | None:
    """Return how a goal has ended; None while it goes on."""
    if process.goal is not goal:
        return ActionResult(INVALID_GOAL, "another goal has taken over, or time has started over")
    if not process.status.phase.is_over:
        return None
    return ActionResult(CODES.get(process.status.phase, INVALID_GOAL), str(process.status))
