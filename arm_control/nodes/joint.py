"""The node ``joint``: joint states, trajectories and targets in, joint torque out, through the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from arm_control.control.controllers import JointController, JointControlParameters
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.core.parameters import group
from arm_control.messages.fields import joint_goal_of
from arm_control.motion.goals import GoalQueue, JointGoal
from arm_control.motion.joint_follower import HOLDING, REACHED
from arm_control.nodes.support.arm_node import ArmNode, run
from arm_control.nodes.support.diagnostics import WARN, Diagnostics
from arm_control.nodes.support.goal_subscription import GoalSubscription, subscribe_to_jogs
from arm_control.nodes.support.torque_pipeline import ControllerNodeParameters, Health, PipelineHooks, TorquePipeline

TORQUE_TERMS = ("feedback", "feedforward", "bias")
TOPICS = {"joint_trajectory": JointTrajectory, "target_joint": JointState}
JOG = "target_velocity"


@dataclass(frozen=True)
class JointNodeParameters(ControllerNodeParameters):
    """Parameters of the node ``joint``."""

    control: JointControlParameters = group(JointControlParameters)


class JointNode(ArmNode[JointNodeParameters]):
    """Joint space control as a node; the laws are in ``arm_control.control.joint_space``."""

    def __init__(self) -> None:
        super().__init__("joint", JointNodeParameters)
        self._goals: GoalQueue[JointGoal] = GoalQueue()
        self._outcome = HOLDING
        self._pipeline = TorquePipeline(self, TORQUE_TERMS, ("joint_error",), lambda: len(self._goals))
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Make the controller for this robot, and run it."""
        p = self.parameters
        self._controller = JointController(self.model, p.control, self._goals)
        if first:
            GoalSubscription(self, TOPICS, self._add_goal, self._pipeline.publish_goal_count)
            subscribe_to_jogs(self, JointState, JOG, self._add_jog)
        loop = ControlLoop(self.model, self._controller, p.gate, observer=p.observer, waits_for_commands=p.lock_step)
        self._pipeline.start(loop, PipelineHooks(after=self._log_outcome))

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        if self.ready:
            self._controller.configure(self.parameters.control)

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
        self._controller.add(joint_goal_of(topic, message, self.model, self._pipeline.now_ns))

    def _add_jog(self, message: JointState) -> None:
        self._add_goal(JOG, message)

    def _log_outcome(self, _: TickResult) -> None:
        """Log how a trajectory ends; a new one begins without a word."""
        outcome = self._controller.follower.outcome
        if outcome.state == self._outcome:
            return
        self._outcome = outcome.state
        if outcome.failed:
            self.get_logger().error(f"trajectory given up, {outcome}; the arm is held where it is")
        elif outcome.state == REACHED:
            self.get_logger().info(f"trajectory {outcome}")


def main() -> None:
    """Entry point of ``ros2 run arm_control joint``."""
    run(JointNode)


if __name__ == "__main__":
    main()
