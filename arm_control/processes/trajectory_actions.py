"""Goals and results of the action ``control_msgs/action/FollowJointTrajectory``, without ROS.

Fields are read by their names. A goal with other joints, with tolerances that mean nothing here or beyond the limits
of the arm ends with an error code of the action and a sentence; it is not rejected without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arm_control.control import Measurement, TickResult
from arm_control.controllers import JointController
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.messages import MessageBuilder, joint_goal_of, nanoseconds
from arm_control.model import RobotModel
from arm_control.motion import OFF_PATH, REACHED, JointGoal, JointReference, JointTolerances, Outcome

SUCCESSFUL = 0
INVALID_GOAL = -1
INVALID_JOINTS = -2
OLD_HEADER_TIMESTAMP = -3
PATH_TOLERANCE_VIOLATED = -4
GOAL_TOLERANCE_VIOLATED = -5
"""Error codes of the action."""


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

    Parameters
    ----------
    what : str
        What has them, for the message.

    Raises
    ------
    GoalRefused
        When a joint is missing, or is none of the arm.
    """
    if sorted(names) != sorted(model.joint_names):
        given, own = (", ".join(part) or "none" for part in (names, model.joint_names))
        raise GoalRefused(INVALID_JOINTS, f"joints of the {what}: {given}; of the arm: {own}")


def action_goal_of(message: Any, model: RobotModel, now_ns: int) -> JointGoal:
    """Return the goal of a ``FollowJointTrajectory.Goal``.

    Raises
    ------
    GoalRefused
        When it is not a trajectory of this arm, or has begun and ended in the past.
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
    """Return how a goal has ended; None while it goes on, or is not due."""
    if controller.followed is goal:
        return _result_of_outcome(controller.follower.outcome)
    reason = "another goal has taken over"
    if controller.goal is goal and tick.law.refused is not None:
        reason = str(tick.law.refused)
    elif not tick.gate.is_passing:
        reason = f"the gate brakes: {tick.gate.reason}"
    elif tick.measurement.is_restart:
        reason = "time has started over"
    elif goal.stamp_ns > tick.measurement.stamp_ns:
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
    """Fill the feedback of the action, and return it.

    Parameters
    ----------
    seconds : float
        Time since the begin of the motion [s].
    """
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
        return ActionResult(SUCCESSFUL, f"reached; largest error {outcome.error:.5f} of {outcome.joint}")
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
