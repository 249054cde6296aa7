"""The node ``joint``: joint states, trajectories and targets in, joint torque out, through the gate."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from arm_control.control import TickResult
from arm_control.controllers import CONTROLLERS, JointController, JointNodeParameters
from arm_control.core import NANOSECONDS
from arm_control.motion import REACHED, GoalQueue, JointGoal, Outcome, Target
from arm_control.nodes.support.action_server import TrajectoryAction
from arm_control.nodes.support.controller_node import ControllerNode
from arm_control.nodes.support.diagnostics import ERROR, OK, status_of
from arm_control.nodes.support.topics import LATCHED


class JointNode(ControllerNode[JointNodeParameters]):
    """Joint space control as a node; the laws are in ``arm_control.control.joint_space``."""

    def __init__(self) -> None:
        self._goals: GoalQueue[JointGoal | Target] = GoalQueue()
        self._outcome = ""
        self._followed: JointGoal | None = None
        super().__init__(CONTROLLERS["joint"])

    def prepare(self) -> None:
        """Serve the action and publish outcomes."""
        self._action = TrajectoryAction(self)
        self._outcomes = self.create_publisher(DiagnosticStatus, "~/outcome", LATCHED)
        self.pipeline.after = self._after

    def n_goals(self) -> int:
        return len(self._goals)

    def make(self) -> JointController:
        """Return joint space control of this robot, towards the goals that have come so far."""
        self._action.abort("another robot is taken")
        self._controller = self._action.follower = JointController(self.model, self.parameters.control, self._goals)
        self._controller.prepare_poses()
        return self._controller

    def own_health(self) -> tuple[str, dict[str, object]]:
        outcome = self._controller.follower.outcome
        return str(outcome) if outcome.failed else "", {"trajectory": str(outcome)}

    def _after(self, result: TickResult) -> None:
        """Tell how a trajectory goes: clients of the action, the topic and the log."""
        outcome, goal = self._controller.follower.outcome, self._controller.followed
        if outcome.state != self._outcome or goal is not self._followed:
            self._outcome, self._followed = outcome.state, goal
            self._publish_outcome(outcome, goal)
        self._action.on_tick(result)

    def _publish_outcome(self, outcome: Outcome, goal: JointGoal | None) -> None:
        """Publish and log how a trajectory ends; the log has no word of its begin."""
        values = {"state": outcome.state, "joint": outcome.joint, "error": f"{outcome.error:.3g}"}
        if goal is not None:
            values["goal_stamp"] = f"{goal.stamp_ns / NANOSECONDS:.9f}"
        level = ERROR if outcome.failed else OK
        self._outcomes.publish(status_of(f"{self.get_name()}: trajectory", level, str(outcome), values))
        if outcome.failed:
            self.get_logger().error(f"trajectory given up, {outcome}; the arm is held where it is")
        elif outcome.state == REACHED:
            self.get_logger().info(f"trajectory {outcome}")
