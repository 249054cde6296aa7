"""Goals of the action ``FollowJointTrajectory`` on their way, where ``control_msgs`` is installed.

The server only translates: a goal goes to whoever follows it, and each state tells how it goes. All calls come from
the thread of the node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

from arm_control.control import ArmNodeParameters, Measurement
from arm_control.motion import JointReference
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.conversions import ros
from arm_control.processes import INVALID_GOAL, SUCCESSFUL, ActionResult, GoalRefused, fill_feedback

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None
FEEDBACK_EVERY = 20
"""States between two messages of feedback."""
G = TypeVar("G")


@dataclass(eq=False)
class Running(Generic[G]):
    """A goal on its way, its handle of ROS, and the result to come."""

    goal: G
    handle: Any
    result: Future


class ActionGoals(Generic[G]):
    """The server of the action of one node, and its goals on their way; without ``control_msgs`` there are none.

    Parameters
    ----------
    node : ArmNode
        The node.
    name : str
        Name of the action.
    start : callable
        Takes the message of a goal, and returns the goal once it is followed.

    Attributes
    ----------
    running : list of Running
        The goals on their way.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters], name: str, start: Callable[[Any], G]) -> None:
        self._node, self._name, self._start = node, name, start
        self.running: list[Running[G]] = []
        if FollowJointTrajectory is None:
            node.get_logger().info(f"no action {name}: control_msgs is not installed; the topics are there")
            return
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            name,
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def end(self, running: Running[G], result: ActionResult) -> None:
        """End a goal.

        Parameters
        ----------
        running : Running
            The goal.
        result : ActionResult
            How it ends.
        """
        self.running.remove(running)
        running.result.set_result(result)

    def abort(self, reason: str) -> None:
        """End all goals."""
        for running in list(self.running):
            self.end(running, ActionResult(INVALID_GOAL, reason))

    def publish_feedback(
        self, running: Running[G], measurement: Measurement, reference: JointReference, seconds: float
    ) -> None:
        """Tell a client how its goal goes.

        Parameters
        ----------
        running : Running
            The goal.
        measurement : Measurement
            The newest state.
        reference : JointReference
            The desired one.
        seconds : float
            Time since the begin of the motion [s].
        """
        names, feedback = self._node.model.joint_names, FollowJointTrajectory.Feedback()
        running.handle.publish_feedback(fill_feedback(ros, feedback, names, measurement, reference, seconds))

    async def _execute(self, handle: Any) -> Any:
        """Serve one goal; the executor comes back here when its result is known."""
        try:
            running = Running(self._start(handle.request), handle, Future(executor=self._node.executor))
            self.running.append(running)
            result = await running.result
        except GoalRefused as error:
            self._node.rejections.add(self._name.removeprefix("~/"), error)
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
