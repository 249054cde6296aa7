"""The node of a controller: joint states and goals in, joint torque out, through the gate."""

from __future__ import annotations

from typing import Any, TypeVar

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from arm_control.control import (
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    ControlLoop,
    OscTuning,
    describe_proposals,
    resolve_parameters,
)
from arm_control.controllers import CONTROLLERS, new_loop
from arm_control.messages import goal_of
from arm_control.model import RobotModel
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.diagnostics import Diagnostics
from arm_control.nodes.support.goals import GoalSubscription, subscribe_to_jogs, subscribe_to_modulations
from arm_control.nodes.support.obstacles import ObstacleSubscription, warn_about_capsules
from arm_control.nodes.support.torque_pipeline import Health, PipelineHooks, TorquePipeline

GOALS = {
    "target_pose": PoseStamped,
    "pose_trajectory": MultiDOFJointTrajectory,
    "target_joint": JointState,
    "joint_trajectory": JointTrajectory,
    "target_wrench": WrenchStamped,
}
"""Topics with goals, of which every message counts, and their types."""
JOGS = {"target_twist": TwistStamped, "target_velocity": JointState}
"""Topics with velocities, of which the newest counts."""

C_co = TypeVar("C_co", bound=ControllerNodeParameters, covariant=True)


class ControllerNode(ArmNode[C_co]):
    """A controller as a node; a controller with more topics than those of its row has a class of its own.

    Parameters
    ----------
    row : ControllerRow
        The controller.

    Attributes
    ----------
    pipeline : TorquePipeline
        From states to torque.
    """

    def __init__(self, row: ControllerRow[Any]) -> None:
        self.row = row
        self._n_goals = 0
        self._obstacles: ObstacleSubscription | None = None
        super().__init__(row.name, row.node_parameters)  # type: ignore[arg-type]
        self.pipeline = TorquePipeline(self, row.torque_terms, row.figures, self.n_goals)
        self.prepare()
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def prepare(self) -> None:
        """Make what is needed before the robot is known."""

    def n_goals(self) -> int:
        """Return the number of goals known so far."""
        return self._n_goals

    def resolve_parameters(self, overrides: dict[str, Any], model: RobotModel | None) -> C_co:
        """Return all parameters; gains that nobody has set are proposed for the arm where the controller has such."""
        if not self.row.proposes_gains:
            return super().resolve_parameters(overrides, model)
        parameters: C_co = resolve_parameters(self.row.node_parameters, overrides, model)  # type: ignore[assignment]
        return parameters

    def on_model(self, first: bool) -> None:
        """Make the controller for this robot, and run it."""
        p = self.parameters
        if first:
            self.subscribe()
        if self.row.sees_obstacles(p):
            self._obstacles = self._obstacles or ObstacleSubscription(self, is_counted=True)
            self._obstacles.on_model()
        controller = self.make()
        if controller.avoidance is not None:
            warn_about_capsules(self, controller.avoidance)
        loop = new_loop(self.model, p, controller, waits_for_commands=p.lock_step)
        hooks = self.hooks(loop)
        self.pipeline.start(loop, hooks._replace(obstacles=None if self._obstacles is None else self._obstacles.at))

    def make(self) -> Controller:
        """Return the controller of this robot."""
        return self.row.make(self.model, self.parameters)

    def hooks(self, loop: ControlLoop) -> PipelineHooks:
        """Return what the node adds to a new loop."""
        return PipelineHooks()

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        if self.pipeline.loop is not None:
            self.pipeline.loop.controller.configure(self.control_parameters())
            self.pipeline.configure()

    def control_parameters(self) -> Any:
        """Return what the controller is configured with."""
        parameters: Any = self.parameters
        return parameters.control

    def health(self) -> Health:
        """Level, sentence and figures for ``/diagnostics``."""
        return self.pipeline.health()

    def log_proposals(self, tuning: OscTuning) -> None:
        """Log the gains and limits that are proposed for this arm."""
        if proposals := describe_proposals(tuning, self.overrides):
            self.get_logger().info(f"proposed for this arm: {proposals}")

    def subscribe(self) -> None:
        """Subscribe to the goals of the row; the robot is known."""
        goals = {topic: GOALS[topic] for topic in self.row.goals if topic in GOALS}
        GoalSubscription(self, goals, self.add_goal, self.pipeline.publish_goal_count)
        for topic in self.row.goals:
            if topic in JOGS:
                subscribe_to_jogs(self, JOGS[topic], topic, self.add_goal)
        for topic in self.row.number_topics:
            subscribe_to_modulations(self, Float64, topic, self.add_goal)

    def add_goal(self, topic: str, message: Any) -> None:
        """Give a goal to the controller.

        Raises
        ------
        ArmControlError
            When its values are wrong, or the controller does not follow such a goal.
        """
        assert self.pipeline.loop is not None
        self.pipeline.loop.controller.add(goal_of(topic, message, self.model, self.pipeline.now_ns))
        self._n_goals += topic in GOALS


def controller_node(name: str) -> ControllerNode[ControllerNodeParameters]:
    """Return the node of a controller that has no class of its own."""
    return ControllerNode(CONTROLLERS[name])
