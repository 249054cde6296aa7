"""The action ``FollowJointTrajectory``, where ``control_msgs`` is installed.

The action server does nothing but translate: a goal goes into the controller's queue, as one from a topic does, and
each state tells how it goes. All calls come from the thread of the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

from arm_control.control.joint_controller import JointController
from arm_control.control.loop import TickResult
from arm_control.maths.poses import Array
from arm_control.messages.trajectory_actions import (
    INVALID_GOAL,
    SUCCESSFUL,
    ActionResult,
    GoalRefused,
    action_goal_of,
    result_of,
)
from arm_control.motion.goals import JointGoal
from arm_control.nodes.support.arm_node import ArmNode, ArmNodeParameters
from arm_control.nodes.support.conversions import ros

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None
NAME = "~/follow_joint_trajectory"
FEEDBACK_EVERY = 20
"""States between two messages of feedback."""


@dataclass(eq=False)
class _Running:
    """A goal on its way, its handle of ROS, and the result to come."""

    goal: JointGoal
    handle: Any
    result: Future


class TrajectoryAction:
    """Serves the action for one node; without ``control_msgs`` it does nothing.

    Parameters
    ----------
    node : ArmNode
        The node.

    Attributes
    ----------
    controller : JointController or None
        The controller; None while the robot is unknown.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters]) -> None:
        self._node = node
        self.controller: JointController | None = None
        self._running: list[_Running] = []
        self._newest: TickResult | None = None
        self._states = 0
        if FollowJointTrajectory is None:
            node.get_logger().info(f"no action {NAME}: control_msgs is not installed; the topics are there")
            return
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            NAME,
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def tick(self, tick: TickResult) -> None:
        """Tell the clients what has come of their goals in a state."""
        self._newest = tick
        controller = self.controller
        assert controller is not None
        for running in list(self._running):
            if running.handle.is_cancel_requested:
                self._end(running, ActionResult(SUCCESSFUL, "canceled: the joints come to rest and are held"))
            elif (result := result_of(running.goal, controller, tick)) is not None:
                self._end(running, result)
            elif self._states % FEEDBACK_EVERY == 0 and controller.followed is running.goal:
                running.handle.publish_feedback(self._feedback(running, controller, tick))
        self._states += 1

    def abort(self, reason: str) -> None:
        """End all goals."""
        for running in list(self._running):
            self._end(running, ActionResult(INVALID_GOAL, reason))

    def _end(self, running: _Running, result: ActionResult) -> None:
        assert self._newest is not None
        assert self.controller is not None
        if running.handle.is_cancel_requested or result.code != SUCCESSFUL:
            self.controller.cancel(running.goal, self._newest.measurement.stamp_ns)
        self._running.remove(running)
        running.result.set_result(result)

    async def _execute(self, handle: Any) -> Any:
        """Serve one goal; the executor comes back here when its result is known."""
        try:
            result = await self._start(handle).result
        except GoalRefused as error:
            self._node.rejections.add("follow_joint_trajectory", error)
            result = ActionResult(error.code, str(error))
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.code == SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        answer = FollowJointTrajectory.Result()
        answer.error_code, answer.error_string = result
        return answer

    def _start(self, handle: Any) -> _Running:
        if self._newest is None or self.controller is None:
            raise GoalRefused(INVALID_GOAL, "no joint state yet")
        goal = action_goal_of(handle.request, self._node.model, self._newest.measurement.stamp_ns)
        self.controller.add(goal)
        running = _Running(goal, handle, Future(executor=self._node.executor))
        self._running.append(running)
        return running

    def _feedback(self, running: _Running, controller: JointController, tick: TickResult) -> Any:
        measurement = tick.measurement
        reference = controller.follower.desired(measurement.stamp_ns)
        seconds = (measurement.stamp_ns - running.goal.stamp_ns) * 1e-9
        feedback = FollowJointTrajectory.Feedback()
        feedback.header.stamp = ros.time(measurement.stamp_ns)
        feedback.joint_names = list(self._node.model.joint_names)
        e, e_v = reference.q_des - measurement.q, reference.v_des - measurement.v
        motions: dict[str, tuple[Array, Array]] = {
            "desired": (reference.q_des, reference.v_des),
            "actual": (measurement.q, measurement.v),
            "error": (e, e_v),
        }
        for name, (position, velocity) in motions.items():
            point = getattr(feedback, name)
            point.positions, point.velocities = ros.doubles(position), ros.doubles(velocity)
            point.time_from_start = ros.duration(seconds)
        return feedback
