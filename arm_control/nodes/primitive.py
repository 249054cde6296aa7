"""The node ``primitive``: joint states, goals, amplitude and period in, joint torque out, through the gate.

The primitive is read from a file, which says whether joints or the end effector move. Obstacles may bend the path of an
end effector, and be avoided as in the node ``osc``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from arm_control.control.avoidance.avoidance_law import Avoidance
from arm_control.control.loop import ControlLoop
from arm_control.control.osc.osc_controller import TERMS
from arm_control.control.osc.tuning import describe_proposals, resolve_parameters
from arm_control.control.primitive_controllers import (
    JointPrimitiveController,
    PrimitiveController,
    PrimitiveControlParameters,
    load_primitive,
    primitive_controller,
)
from arm_control.core.parameters import group
from arm_control.exceptions import ArmControlError
from arm_control.messages.fields import MODULATIONS, goal_of
from arm_control.model import RobotModel
from arm_control.motion.goals import Goal
from arm_control.nodes.joint import TORQUE_TERMS
from arm_control.nodes.osc import FIGURES as POSE_FIGURES
from arm_control.nodes.support.arm_node import ArmNode, run
from arm_control.nodes.support.diagnostics import Diagnostics
from arm_control.nodes.support.goal_subscription import GoalSubscription
from arm_control.nodes.support.obstacle_subscription import CountedObstacles, warn_about_capsules
from arm_control.nodes.support.qos import EVENTS
from arm_control.nodes.support.torque_pipeline import ControllerNodeParameters, Health, PipelineHooks, TorquePipeline

TOPICS = {"target_pose": PoseStamped, "target_joint": JointState}
ALL_TERMS = tuple(dict.fromkeys((*TERMS, "avoidance", *TORQUE_TERMS)))
"""Terms of the torque, of either law."""
FIGURES = (*POSE_FIGURES, "joint_error", "phase")
"""Figures of either law."""


@dataclass(frozen=True)
class PrimitiveNodeParameters(ControllerNodeParameters):
    """Parameters of the node ``primitive``."""

    control: PrimitiveControlParameters = group(PrimitiveControlParameters)


class PrimitiveNode(ArmNode[PrimitiveNodeParameters]):
    """A movement primitive as a node; its laws are in ``arm_control.motion.primitives``."""

    def __init__(self) -> None:
        super().__init__("primitive", PrimitiveNodeParameters)
        self._primitive = load_primitive(self.parameters.control.primitive.file)
        self._controller: PrimitiveController | None = None
        self._obstacles: CountedObstacles | None = None
        self._pipeline = TorquePipeline(self, ALL_TERMS, FIGURES, self._n_goals)
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def resolve_parameters(self, overrides: dict[str, Any], model: RobotModel | None) -> PrimitiveNodeParameters:
        """Return all parameters; gains that nobody has set are proposed for the arm."""
        return resolve_parameters(PrimitiveNodeParameters, overrides, model)

    def on_model(self, first: bool) -> None:
        """Make the controller for this robot, and run it."""
        p = self.parameters
        controller = primitive_controller(self.model, p.control, self._primitive)
        if isinstance(controller, JointPrimitiveController):
            controller.prepare_poses()
        elif proposals := describe_proposals(p.control.osc, self.overrides):
            self.get_logger().info(f"proposed for this arm: {proposals}")
        if self._controller is not None:
            controller.follower.take_goals(self._controller.follower)
        self._controller = controller
        avoidance = self._avoid_obstacles()
        loop = ControlLoop(
            self.model,
            controller,
            p.gate,
            avoidance,
            observer=p.observer,
            adaptation=p.adaptation,
            waits_for_commands=p.lock_step,
        )
        if first:
            self._subscribe()
        self._pipeline.start(loop, PipelineHooks(obstacles=None if self._obstacles is None else self._obstacles.at))

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        if self._pipeline.loop is None or self._controller is None:
            return
        self._controller.configure(self.parameters.control)
        self._pipeline.configure()
        if self._pipeline.loop.avoidance is not None:
            self._pipeline.loop.avoidance.parameters = self.parameters.control.osc.avoidance

    def health(self) -> Health:
        """Level, sentence and figures for ``/diagnostics``."""
        level, sentence, figures = self._pipeline.health()
        if self._controller is not None:
            figures["phase"] = f"{self._controller.follower.phase:.3f}"
        return level, sentence, figures

    def _n_goals(self) -> int:
        return 0 if self._controller is None else len(self._controller.follower.goals)

    def _subscribe(self) -> None:
        GoalSubscription(self, TOPICS, self._add_goal, self._pipeline.publish_goal_count)
        for topic in MODULATIONS:
            self.control_path.subscribe(Float64, topic, partial(self._modulate, topic), EVENTS)

    def _add_goal(self, topic: str, message: Any) -> None:
        assert self._controller is not None
        goal: Goal = goal_of(topic, message, self.model, self._pipeline.now_ns)
        self._controller.add(goal)

    def _modulate(self, topic: str, message: Float64, _: dict[str, Any]) -> None:
        try:
            self._add_goal(topic, message)
        except ArmControlError as error:
            self.rejections.add(topic, error)

    def _avoid_obstacles(self) -> Avoidance | None:
        """Subscribe to obstacles, the first time; return what avoids them with the whole arm."""
        control = self.parameters.control
        if not control.osc.avoid_obstacles and not control.primitive.obstacle_gain:
            return None
        if self._obstacles is None:
            self._obstacles = CountedObstacles(self)
        self._obstacles.on_model()
        if not control.osc.avoid_obstacles:
            return None
        avoidance = Avoidance(self.model, control.osc.avoidance)
        warn_about_capsules(self, avoidance)
        return avoidance


def main() -> None:
    """Entry point of ``ros2 run arm_control primitive``."""
    run(PrimitiveNode)


if __name__ == "__main__":
    main()
