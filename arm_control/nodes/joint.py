"""The node ``joint``: joint states, trajectories and targets in, joint torque out, through the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from arm_control.control.joint_controller import JointController, JointControlParameters
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.core.parameters import group
from arm_control.core.time import NANOSECONDS
from arm_control.messages.fields import goal_of
from arm_control.motion.goals import GoalQueue, JointGoal, Target
from arm_control.motion.joint_follower import REACHED, Outcome
from arm_control.nodes.support.arm_node import ArmNode, run
from arm_control.nodes.support.diagnostics import WARN, Diagnostics
from arm_control.nodes.support.goal_subscription import GoalSubscription, subscribe_to_jogs
from arm_control.nodes.support.qos import LATCHED
from arm_control.nodes.support.torque_pipeline import ControllerNodeParameters, Health, PipelineHooks, TorquePipeline
from arm_control.nodes.support.trajectory_action import TrajectoryAction

TORQUE_TERMS = ("feedback", "feedforward", "bias")
TOPICS = {"joint_trajectory": JointTrajectory, "target_joint": JointState, "target_pose": PoseStamped}
JOG = "target_velocity"


@dataclass(frozen=True)
class JointNodeParameters(ControllerNodeParameters):
    """Parameters of the node ``joint``."""

    control: JointControlParameters = group(JointControlParameters)


class JointNode(ArmNode[JointNodeParameters]):
    """Joint space control as a node; the laws are in ``arm_control.control.joint_space``."""

    def __init__(self) -> None:
        super().__init__("joint", JointNodeParameters)
        self._goals: GoalQueue[JointGoal | Target] = GoalQueue()
        self._outcome = ""
        self._followed: JointGoal | None = None
        self._action = TrajectoryAction(self)
        self._outcomes = self.create_publisher(DiagnosticStatus, "~/outcome", LATCHED)
        self._pipeline = TorquePipeline(self, TORQUE_TERMS, ("joint_error",), lambda: len(self._goals))
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Make the controller for this robot, and run it."""
        p = self.parameters
        self._action.abort("another robot is taken")
        self._controller = self._action.controller = JointController(self.model, p.control, self._goals)
        self._controller.prepare_poses()
        if first:
            GoalSubscription(self, TOPICS, self._add_goal, self._pipeline.publish_goal_count)
            subscribe_to_jogs(self, JointState, JOG, self._add_jog)
        loop = ControlLoop(
            self.model,
            self._controller,
            p.gate,
            observer=p.observer,
            adaptation=p.adaptation,
            waits_for_commands=p.lock_step,
        )
        self._pipeline.start(loop, PipelineHooks(after=self._after))

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        if self.ready:
            self._controller.configure(self.parameters.control)
            self._pipeline.configure()

    def health(self) -> Health:
        """Level, sentence and figures for ``/diagnostics``."""
        level, sentence, figures = self._pipeline.health()
        if self.ready:
            outcome = self._controller.follower.outcome
            figures["trajectory"] = str(outcome)
            if outcome.failed and level != WARN:
                level, sentence = WARN, str(outcome)
        return level, sentence, figures

    def _add_goal(self, topic: str, message: Any) -> None:
        self._controller.add(goal_of(topic, message, self.model, self._pipeline.now_ns))

    def _add_jog(self, message: JointState) -> None:
        self._add_goal(JOG, message)

    def _after(self, result: TickResult) -> None:
        """Tell how a trajectory goes: clients of the action, the topic and the log."""
        outcome, goal = self._controller.follower.outcome, self._controller.followed
        if outcome.state != self._outcome or goal is not self._followed:
            self._outcome, self._followed = outcome.state, goal
            self._publish_outcome(outcome, goal)
        self._action.tick(result)

    def _publish_outcome(self, outcome: Outcome, goal: JointGoal | None) -> None:
        """Publish and log how a trajectory ends; the log has no word of its begin."""
        values = {"state": outcome.state, "joint": outcome.joint, "error": f"{outcome.error:.6f}"}
        if goal is not None:
            values["goal_stamp"] = f"{goal.stamp_ns / NANOSECONDS:.9f}"
        message = DiagnosticStatus(name=f"{self.get_name()}: trajectory", message=str(outcome))
        message.level = DiagnosticStatus.ERROR if outcome.failed else DiagnosticStatus.OK
        message.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        self._outcomes.publish(message)
        if outcome.failed:
            self.get_logger().error(f"trajectory given up, {outcome}; the arm is held where it is")
        elif outcome.state == REACHED:
            self.get_logger().info(f"trajectory {outcome}")


def main() -> None:
    """Entry point of ``ros2 run arm_control joint``."""
    run(JointNode)


if __name__ == "__main__":
    main()
