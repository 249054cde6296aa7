"""Goals and results of ``control_msgs/action/FollowJointTrajectory``, of a controller and of a planner, without ROS.

Fields are read by their names. A goal with other joints, with tolerances that mean nothing here or beyond the limits
of the arm is rejected, and the log has the sentence; one that fails on its way ends with an error code and a sentence.

No standard action has a goal without the way to it. For a planner the last point of ``trajectory`` is a goal of the
joints, or the last transform of ``multi_dof_trajectory`` one of the end effector; what is before it is up to the
planner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arm_control.control import Measurement, TickResult
from arm_control.controllers import JointController
from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array
from arm_control.messages import MessageBuilder, joint_goal_of, link_of, nanoseconds, pose_points_from_message
from arm_control.model import RobotModel
from arm_control.motion import OFF_PATH, REACHED, JointGoal, JointReference, JointTolerances, Outcome, Target
from arm_control.processes.motion_process import MotionProcess, Phase, PlannerGoal

SUCCESSFUL = 0
INVALID_GOAL = -1
INVALID_JOINTS = -2
OLD_HEADER_TIMESTAMP = -3
PATH_TOLERANCE_VIOLATED = -4
GOAL_TOLERANCE_VIOLATED = -5
"""Error codes of the action."""


CODES = {
    Phase.REACHED: SUCCESSFUL,
    Phase.CANCELED: SUCCESSFUL,
    Phase.NO_PLAN: INVALID_GOAL,
    Phase.OFF_PATH: PATH_TOLERANCE_VIOLATED,
    Phase.MISSED: GOAL_TOLERANCE_VIOLATED,
}
"""Error codes of the planner's action."""


class ActionResult(NamedTuple):
    """How a goal of the action ends."""

    code: int
    text: str


class GoalRefused(InputError):
    """A goal of the action that is not followed."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        super().__init__(text)


def refuse_other_joints(names: Sequence[str], model: RobotModel, what: str) -> None:
    """Refuse a goal whose joints are not those of the arm, in any order.

    A GoalRefused when a joint is missing, or is none of the arm.
    """
    if sorted(names) != sorted(model.joint_names):
        given, own = (", ".join(part) or "none" for part in (names, model.joint_names))
        raise GoalRefused(INVALID_JOINTS, f"joints of the {what}: {given}; of the arm: {own}")


def action_goal_of(message: Any, model: RobotModel, now_ns: int) -> JointGoal:
    """Return the goal of a ``FollowJointTrajectory.Goal``.

    A GoalRefused when it is not a trajectory of this arm, or has begun and ended in the past.
    """
    trajectory = message.trajectory
    refuse_other_joints(trajectory.joint_names, model, "trajectory")
    if len(message.multi_dof_trajectory.points) or message.component_path_tolerance or message.component_goal_tolerance:
        raise GoalRefused(INVALID_GOAL, "joints with several degrees of freedom: this arm has none")
    stamp_ns = nanoseconds(trajectory.header.stamp)
    if stamp_ns and trajectory.points:
        end_ns = stamp_ns + nanoseconds(trajectory.points[-1].time_from_start)
        if end_ns < now_ns:
            late = (now_ns - end_ns) / NANOSECONDS
            raise GoalRefused(OLD_HEADER_TIMESTAMP, f"the trajectory has ended {late:.3f} s before the newest state")
    tolerances = JointTolerances(
        _tolerance_of(message.path_tolerance, model, "path_tolerance"),
        _tolerance_of(message.goal_tolerance, model, "goal_tolerance"),
        nanoseconds(message.goal_time_tolerance) / NANOSECONDS,
    )
    try:
        goal = joint_goal_of("joint_trajectory", trajectory, model, now_ns)
    except InputError as error:
        raise GoalRefused(INVALID_GOAL, str(error)) from error
    assert isinstance(goal, JointGoal)
    return goal._replace(tolerances=tolerances, is_single=True)


def trajectory_result(goal: JointGoal, controller: JointController, tick: TickResult) -> ActionResult | None:
    """Return how a goal has ended; None while it goes on, is not due, or waits for an arm that is weighed."""
    if controller.followed is goal:
        return _result_of_outcome(controller.follower.outcome)
    reason = "another goal has taken over"
    if controller.goal is goal and tick.law.refused is not None:
        reason = str(tick.law.refused)
    elif not tick.gate.is_passing:
        reason = f"the gate brakes: {tick.gate.reason}"
    elif tick.measurement.is_restart:
        reason = "time has started over"
    elif goal.stamp_ns > tick.measurement.stamp_ns or controller.is_holding:
        return None
    return ActionResult(INVALID_GOAL, reason)


def fill_feedback(
    builder: MessageBuilder,
    feedback: Any,
    names: Sequence[str],
    measurement: Measurement,
    reference: JointReference,
    seconds: float,
) -> Any:
    """Fill the feedback of the action, and return it."""
    feedback.header.stamp = builder.time(measurement.stamp_ns)
    feedback.joint_names = list(names)
    e, e_v = reference.q_des - measurement.q, reference.v_des - measurement.v
    motions: dict[str, tuple[Array, Array]] = {
        "desired": (reference.q_des, reference.v_des),
        "actual": (measurement.q, measurement.v),
        "error": (e, e_v),
    }
    for name, (position, velocity) in motions.items():
        point = getattr(feedback, name)
        point.positions, point.velocities = builder.doubles(position), builder.doubles(velocity)
        point.time_from_start = builder.duration(seconds)
    return feedback


def _result_of_outcome(outcome: Outcome) -> ActionResult | None:
    if outcome.state == REACHED:
        return ActionResult(SUCCESSFUL, f"reached; largest error {outcome.error:.3g} of {outcome.joint}")
    if not outcome.failed:
        return None
    code = PATH_TOLERANCE_VIOLATED if outcome.state == OFF_PATH else GOAL_TOLERANCE_VIOLATED
    return ActionResult(code, f"{outcome}; the arm is held where it is")


def _tolerance_of(tolerances: Sequence[Any], model: RobotModel, what: str) -> Array:
    """Tolerance of each joint, shape (nv,); 0 where the goal has none."""
    values = np.zeros(model.nv)
    for tolerance in tolerances:
        if tolerance.name not in model.joint_names:
            raise GoalRefused(INVALID_JOINTS, f"{what} of {tolerance.name}, which is no joint of the arm")
        if tolerance.velocity > 0.0 or tolerance.acceleration > 0.0:
            raise GoalRefused(INVALID_GOAL, f"{what} of {tolerance.name}: only positions have tolerances here")
        if not np.isfinite(tolerance.position):
            raise GoalRefused(INVALID_GOAL, f"{what} of {tolerance.name} is {tolerance.position}")
        values[model.joint_names.index(tolerance.name)] = tolerance.position
    return values


def planner_goal_of(message: Any, model: RobotModel, now_ns: int) -> PlannerGoal:
    """Return the goal of a ``FollowJointTrajectory.Goal``, which acts now.

    A GoalRefused when it has no last point, or it is not one of this arm.
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
