"""The node ``osc``: joint states, target poses, pose trajectories and twists in, joint torque out, through the gate.

It may avoid ``obstacles``, takes torque that something known exerts from ``disturbance``, and presses with
``target_wrench`` where axes are controlled by force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sensor_msgs.msg import JointState

from arm_control.control.avoidance.avoidance_law import Avoidance
from arm_control.control.compiled_step import between_law_and_gate, step_limits
from arm_control.control.controllers import OscController
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.control.osc.osc_controller import TERMS
from arm_control.control.osc.tuning import OscTuning, describe_proposals, resolve_parameters
from arm_control.core.parameters import group, parameter
from arm_control.exceptions import InputError, ParameterError
from arm_control.model import RobotModel
from arm_control.motion.goals import WrenchGoal
from arm_control.motion.pose_follower import PoseFollower, ReferenceSource
from arm_control.nodes.support.arm_node import ArmNode, run
from arm_control.nodes.support.diagnostics import Diagnostics
from arm_control.nodes.support.goal_subscription import PoseGoals
from arm_control.nodes.support.obstacle_subscription import CountedObstacles, warn_about_capsules
from arm_control.nodes.support.qos import STATE
from arm_control.nodes.support.torque_pipeline import (
    ControllerNodeParameters,
    Health,
    PipelineHooks,
    Telemetry,
    TorquePipeline,
)
from arm_control.nodes.support.wrench_topics import WrenchTopics

NATIVE = "native"
"""Name of the loop that answers without Python."""
NATIVE_ALONE = "loop: native serves operational space control alone, not"
FIGURES = ("position_error", "orientation_error", "condition_number", "nearest_distance", "task_share")


@dataclass(frozen=True)
class OscNodeParameters(ControllerNodeParameters):
    """Parameters of the node ``osc``."""

    control: OscTuning = group(OscTuning)
    loop: str = parameter(
        "python",
        "what answers ordinary states: Python, or a compiled loop that needs nothing of it",
        choices=("python", NATIVE),
    )
    disturbance_timeout: float = parameter(
        0.1, "a disturbance that is older, by the states' stamps, has ended", unit="s", lower=0.0, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loop == NATIVE and (parts := between_law_and_gate(self)):
            raise ParameterError(f"{NATIVE_ALONE} {', '.join(parts)}")


class OscNode(ArmNode[OscNodeParameters]):
    """Operational space control as a node; the law is in ``arm_control.control.osc.osc_law``."""

    name = "osc"
    parameter_class: type[OscNodeParameters] = OscNodeParameters

    def __init__(self) -> None:
        super().__init__(self.name, self.parameter_class)
        self._goals: PoseGoals | None = None
        self._obstacles: CountedObstacles | None = None
        self._wrenches: WrenchTopics | None = None
        self._pipeline = TorquePipeline(self, (*TERMS, "avoidance"), FIGURES, lambda: len(self._goals or ()))
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def resolve_parameters(self, overrides: dict[str, Any], model: RobotModel | None) -> OscNodeParameters:
        """Return all parameters; gains that nobody has set are proposed for the arm."""
        return resolve_parameters(self.parameter_class, overrides, model)

    def on_model(self, first: bool) -> None:
        """Compile the law for this robot, and run it."""
        p = self.parameters
        if proposals := describe_proposals(p.control, self.overrides):
            self.get_logger().info(f"proposed for this arm: {proposals}")
        follower = self.reference_source(self._follow_goals().follower)
        limits = step_limits(self.model, p.gate, p)
        self._avoidance = self._avoid_obstacles()
        self._controller = OscController(self.model, p.control, follower, limits, self._avoidance)
        loop = ControlLoop(
            self.model,
            self._controller,
            p.gate,
            self._avoidance,
            observer=p.observer,
            adaptation=p.adaptation,
            waits_for_commands=p.lock_step,
        )
        loop.disturbance.timeout = p.disturbance_timeout
        hooks = PipelineHooks(native=self._controller if p.loop == NATIVE else None)
        if self._obstacles is not None:
            hooks = hooks._replace(obstacles=self._obstacles.at)
        if p.control.contact.is_active or loop.observer is not None:
            self._wrenches = self._wrenches or WrenchTopics(self, self._pipeline)
            hooks = hooks._replace(after=self._wrenches.publish)
        self._pipeline.start(loop, hooks._replace(telemetry=self.telemetry()))

    def reference_source(self, goals: PoseFollower) -> ReferenceSource:
        """Return what makes references of goals: here they are followed as they are."""
        return goals

    def telemetry(self) -> Callable[[TickResult], Telemetry] | None:
        """Return what makes more messages beside the torque; here there are none."""
        return None

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        if self._pipeline.loop is None:
            return
        self._controller.configure(self.parameters.control)
        self._pipeline.configure()
        self._pipeline.loop.disturbance.timeout = self.parameters.disturbance_timeout
        if self._avoidance is not None:
            self._avoidance.parameters = self.parameters.control.avoidance

    def destroy_node(self) -> None:
        """End the native loop, if there is one, and the node."""
        pipeline: TorquePipeline | None = getattr(self, "_pipeline", None)  # none where parameters were refused
        if pipeline is not None:
            pipeline.end()
        super().destroy_node()

    def health(self) -> Health:
        """Level, sentence and figures for ``/diagnostics``."""
        return self._pipeline.health()

    def _follow_goals(self) -> PoseGoals:
        """Subscribe to goals and disturbances, the first time."""
        if self._goals is None:
            now_ns, count = lambda: self._pipeline.now_ns, self._pipeline.publish_goal_count
            self._goals = PoseGoals(self, now_ns, count, jogs=True, press=self._press)
            self.control_path.subscribe(JointState, "disturbance", self._on_disturbance, STATE)
        self._goals.on_model()
        return self._goals

    def _press(self, goal: WrenchGoal) -> None:
        self._controller.add(goal)

    def _avoid_obstacles(self) -> Avoidance | None:
        """Subscribe to obstacles, the first time; return what avoids them."""
        if not self.parameters.control.avoid_obstacles:
            return None
        if self._obstacles is None:
            self._obstacles = CountedObstacles(self)
        self._obstacles.on_model()
        avoidance = Avoidance(self.model, self.parameters.control.avoidance)
        warn_about_capsules(self, avoidance)
        return avoidance

    def _on_disturbance(self, message: JointState, _: dict[str, Any]) -> None:
        assert self._pipeline.loop is not None
        try:
            tau_dist = self.model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            self.rejections.add("disturbance", error)
        else:
            self._pipeline.loop.disturbance.set(self._pipeline.now_ns, tau_dist)


def main() -> None:
    """Entry point of ``ros2 run arm_control osc``."""
    run(OscNode)


if __name__ == "__main__":
    main()
