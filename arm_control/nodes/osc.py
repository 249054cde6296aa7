"""The node ``osc``: joint states, target poses, pose trajectories and twists in, joint torque out, through the gate.

It may avoid ``obstacles``, takes torque that something known exerts from ``disturbance``, and presses with
``target_wrench`` where axes are controlled by force.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sensor_msgs.msg import JointState

from arm_control.control import ControllerRow, ControlLoop, TickResult
from arm_control.controllers import CONTROLLERS, NATIVE, OscController, OscNodeParameters, make_osc
from arm_control.exceptions import InputError
from arm_control.motion import PoseFollower, ReferenceSource, WrenchGoal
from arm_control.nodes.support.controller_node import ControllerNode
from arm_control.nodes.support.goals import PoseGoals
from arm_control.nodes.support.topics import STATE
from arm_control.nodes.support.torque_pipeline import PipelineHooks, Telemetry, TorquePipeline
from arm_control.nodes.support.wrench_topics import WrenchTopics


class OscNode(ControllerNode[OscNodeParameters]):
    """Operational space control as a node; the law is in ``arm_control.control.osc.osc_law``."""

    def __init__(self, row: ControllerRow[Any] = CONTROLLERS["osc"]) -> None:
        self._goals: PoseGoals | None = None
        self._wrenches: WrenchTopics | None = None
        super().__init__(row)

    def n_goals(self) -> int:
        """Return the number of goals known so far."""
        return len(self._goals or ())

    def subscribe(self) -> None:
        """Subscribe to goals and disturbances."""
        now_ns, count = lambda: self.pipeline.now_ns, self.pipeline.publish_goal_count
        self._goals = PoseGoals(self, now_ns, count, jogs=True, press=self._press)
        self.control_path.subscribe(JointState, "disturbance", self._on_disturbance, STATE)

    def make(self) -> OscController:
        """Return operational space control of this robot, towards the goals that have come so far."""
        assert self._goals is not None
        self.log_proposals(self.parameters.control)
        self._goals.on_model()
        return make_osc(self.model, self.parameters, self.reference_source(self._goals.follower))

    def reference_source(self, goals: PoseFollower) -> ReferenceSource:
        """Return what makes references of goals: here they are followed as they are."""
        return goals

    def hooks(self, loop: ControlLoop) -> PipelineHooks:
        """Return what the node adds to a new loop: the native loop, wrenches and telemetry."""
        p, controller = self.parameters, loop.controller
        loop.disturbance.timeout = p.disturbance_timeout
        assert isinstance(controller, OscController)
        if controller.has_contact or loop.observer is not None:
            self._wrenches = self._wrenches or WrenchTopics(self, self.pipeline)
        after = None if self._wrenches is None else self._wrenches.publish
        native = controller if p.loop == NATIVE else None
        return PipelineHooks(after=after, telemetry=self.telemetry(), native=native)

    def telemetry(self) -> Callable[[TickResult], Telemetry] | None:
        """Return what makes more messages beside the torque; here there are none."""
        return None

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        super().on_parameters()
        if self.pipeline.loop is not None:
            self.pipeline.loop.disturbance.timeout = self.parameters.disturbance_timeout

    def destroy_node(self) -> None:
        """End the native loop, if there is one, and the node."""
        pipeline: TorquePipeline | None = getattr(self, "pipeline", None)  # none where parameters were refused
        if pipeline is not None:
            pipeline.end()
        super().destroy_node()

    def _press(self, goal: WrenchGoal) -> None:
        assert self.pipeline.loop is not None
        self.pipeline.loop.controller.add(goal)

    def _on_disturbance(self, message: JointState, _: dict[str, Any]) -> None:
        assert self.pipeline.loop is not None
        try:
            tau_dist = self.model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            self.rejections.add("disturbance", error)
        else:
            self.pipeline.loop.disturbance.set(self.pipeline.now_ns, tau_dist)
