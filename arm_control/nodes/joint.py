"""The node ``joint``: joint states, trajectories and targets in, joint torque out, through the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from arm_control.control.joint_space import JointParameters, JointSpaceController
from arm_control.exceptions import ArmControlError
from arm_control.messages.goal_messages import joint_goal_of
from arm_control.motion.goals import JointGoal
from arm_control.motion.joint_follower import Follower, FollowingParameters
from arm_control.motion.references import Queue
from arm_control.motion.waypoints import Waypoints
from arm_control.nodes.support.arm_node import run
from arm_control.nodes.support.controller_node import Command, EffortNode, EffortParameters
from arm_control.nodes.support.diagnostics import WARN
from arm_control.nodes.support.goal_subscription import GoalSubscription
from arm_control.nodes.support.publisher_lock import State


@dataclass(frozen=True)
class JointNodeParameters(JointParameters, FollowingParameters, EffortParameters):
    """Parameters of the node ``joint``."""


class JointNode(EffortNode):
    """Joint space control as a node; the laws are in ``arm_control.control.joint_space``."""

    parameters: JointNodeParameters

    def __init__(self) -> None:
        self._goals: Queue[JointGoal] = Queue()
        self._goal: JointGoal | None = None
        self._controller: JointSpaceController | None = None
        self._follower: Follower | None = None
        super().__init__("joint", JointNodeParameters, ("feedback", "feedforward", "bias"), ("joint_error",))

    def n_targets(self) -> int:
        """Trajectories and targets known so far."""
        return len(self._goals)

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Make the controller for this robot; it holds the first state until it is told otherwise."""
        self._controller, self._follower = JointSpaceController(self.model, self.parameters), None
        if first:
            kinds = {"joint_trajectory": JointTrajectory, "target_joint": JointState}
            GoalSubscription(self, kinds, self._add_goal, self.publish_target_count)
        super().on_model(first)

    def on_parameters(self) -> None:
        """New gains and tolerances act from the next state on; the gate smooths the step."""
        if self.ready:
            self._controller = JointSpaceController(self.model, self.parameters)
        if self._follower is not None:
            self._follower.parameters = self.parameters

    def _add_goal(self, topic: str, message: Any) -> None:
        self._goals.add(joint_goal_of(topic, message, self.model, self.now_ns))

    # -- one tick --------------------------------------------------------------------------------

    def restart(self, state: State) -> None:
        """Hold where the arm is until a trajectory is due."""
        self._goal = self._follower = None

    def law(self, state: State) -> Command:
        """Torque for the desired motion of this moment."""
        assert self._controller is not None
        follower = self._following(state)
        before = follower.outcome.state
        reference = follower.tick(state.stamp_ns, state.q)
        if follower.outcome.state != before:
            self._tell(follower)
        terms = self.model.evaluate(state.q, state.v)
        output = self._controller.tick(terms, reference)
        return Command(terms, output.tau, output.terms, lambda: {"joint_error": float(abs(output.error).max())})

    def _following(self, state: State) -> Follower:
        """The follower, with what is due taken up. A braked arm is let go: later it is held where it is then."""
        if self._follower is None or self.gate.latched:
            self._follower = Follower(self.model, self.parameters, state.q)
        goal = self._goals.active(state.stamp_ns)
        if goal is not None and goal is not self._goal:
            self._goal = goal
            self._start(self._follower, goal, state.stamp_ns)
        return self._follower

    def _start(self, follower: Follower, goal: JointGoal, now_ns: int) -> None:
        try:
            if isinstance(goal.destination, Waypoints):
                follower.follow(goal.destination, now_ns)
            else:
                follower.go_to(goal.destination, now_ns)
        except ArmControlError as error:
            self.rejections.add("start", error)

    def _tell(self, follower: Follower) -> None:
        if follower.outcome.failed:
            self.get_logger().error(f"trajectory given up, {follower.outcome}; the arm is held where it is")
        else:
            self.get_logger().info(f"trajectory {follower.outcome}")

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, sentence and figures for ``/diagnostics``."""
        level, sentence, figures = super().health()
        if self._follower is not None:
            figures["trajectory"] = str(self._follower.outcome)
            if self._follower.outcome.failed and level != WARN:
                level, sentence = WARN, str(self._follower.outcome)
        return level, sentence, figures


def main() -> None:
    """Entry point of ``ros2 run arm_control joint``."""
    run(JointNode)


if __name__ == "__main__":
    main()
