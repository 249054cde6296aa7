"""The action ``FollowJointTrajectory`` of the node ``joint``: goals into the controller's queue, as from a topic."""

from __future__ import annotations

from typing import Any

from arm_control.control import ArmNodeParameters, TickResult
from arm_control.controllers import JointController
from arm_control.motion import JointGoal
from arm_control.nodes.support.action_goals import FEEDBACK_EVERY, ActionGoals, Running
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.processes import INVALID_GOAL, SUCCESSFUL, ActionResult, GoalRefused, action_goal_of, trajectory_result

NAME = "~/follow_joint_trajectory"


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
        self._newest: TickResult | None = None
        self._states = 0
        self._goals = ActionGoals(node, NAME, self._start)

    def tick(self, tick: TickResult) -> None:
        """Tell the clients what has come of their goals in a state."""
        self._newest = tick
        controller = self.controller
        assert controller is not None
        for running in list(self._goals.running):
            if running.handle.is_cancel_requested:
                self._end(running, ActionResult(SUCCESSFUL, "canceled: the joints come to rest and are held"))
            elif (result := trajectory_result(running.goal, controller, tick)) is not None:
                self._end(running, result)
            elif self._states % FEEDBACK_EVERY == 0 and controller.followed is running.goal:
                self._publish_feedback(running, controller, tick)
        self._states += 1

    def abort(self, reason: str) -> None:
        """End all goals."""
        for running in list(self._goals.running):
            self._end(running, ActionResult(INVALID_GOAL, reason))

    def _end(self, running: Running[JointGoal], result: ActionResult) -> None:
        assert self._newest is not None
        assert self.controller is not None
        if running.handle.is_cancel_requested or result.code != SUCCESSFUL:
            self.controller.cancel(running.goal, self._newest.measurement.stamp_ns)
        self._goals.end(running, result)

    def _start(self, message: Any) -> JointGoal:
        if self._newest is None or self.controller is None:
            raise GoalRefused(INVALID_GOAL, "no joint state yet")
        goal = action_goal_of(message, self._node.model, self._newest.measurement.stamp_ns)
        self.controller.add(goal)
        return goal

    def _publish_feedback(self, running: Running[JointGoal], controller: JointController, tick: TickResult) -> None:
        measurement = tick.measurement
        reference = controller.follower.desired(measurement.stamp_ns)
        seconds = (measurement.stamp_ns - running.goal.stamp_ns) * 1e-9
        self._goals.publish_feedback(running, measurement, reference, seconds)
