"""The node ``osc``: joint states, target poses, pose trajectories and twists in, joint torque out, through the gate.

It may avoid ``obstacles``, takes torque that something known exerts from ``disturbance``, and presses with
``target_wrench`` where axes are controlled by force.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from arm_control.control import ControllerNodeParameters, ControllerRow, ControlLoop, TickResult
from arm_control.controllers import CONTROLLERS, NATIVE, OscController, OscNodeParameters, make_osc
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array
from arm_control.messages import WRENCH_GOAL, sensor_reading_of
from arm_control.motion import PoseFollower, ReferenceSource
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.controller_node import ControllerNode, TorquePipeline
from arm_control.nodes.support.topics import STATE, ros


class WrenchTopics:
    """``measured_wrench``, ``commanded_wrench`` and ``estimated_wrench`` of a controller's node."""

    def __init__(self, node: ArmNode[ControllerNodeParameters], pipeline: TorquePipeline) -> None:
        self._node, self._pipeline = node, pipeline
        self._states = 0
        self._commanded = node.create_publisher(WrenchStamped, "commanded_wrench", STATE)
        self._estimated = node.create_publisher(WrenchStamped, "estimated_wrench", STATE)
        self._figures = {
            name: node.create_publisher(Float64, f"controller_state/{name}", STATE)
            for name in ("commanded_force", "measured_force")
        }
        node.control_path.subscribe(WrenchStamped, "measured_wrench", self._on_measured, STATE)

    def publish(self, result: TickResult) -> None:
        """Publish the wrenches of a tick, as often as other telemetry."""
        self._states += 1
        loop = self._pipeline.loop
        if self._states % self._node.parameters.telemetry_every or loop is None:
            return
        stamp_ns, terms, hand = result.measurement.stamp_ns, result.law.terms, result.law.hand
        if hand is not None:
            self._commanded.publish(self._message(hand.in_world(hand.F), stamp_ns))
            self._publish_force("commanded_force", hand.F)
        if (measured := loop.wrench.measured(stamp_ns, terms)) is not None:
            self._publish_force("measured_force", measured)
        if loop.observer is not None:
            self._estimated.publish(self._message(loop.wrench.at(terms, loop.unknown_torque), stamp_ns))

    def _publish_force(self, name: str, F: Array) -> None:
        self._figures[name].publish(Float64(data=float(np.linalg.norm(F[:3]))))

    def _message(self, F_W: Array, stamp_ns: int) -> WrenchStamped:
        return ros.wrench_stamped(F_W.tolist(), self._node.frame(self._node.model.base), stamp_ns)

    def _on_measured(self, message: WrenchStamped, _: dict[str, Any]) -> None:
        loop = self._pipeline.loop
        if loop is None:
            return
        message.header.frame_id = self._node.link(message.header.frame_id)
        try:
            reading = sensor_reading_of(message, self._node.model, self._pipeline.now_ns)
        except ArmControlError as error:
            self._node.rejections.add("measured_wrench", error)
        else:
            loop.wrench.measure(reading)


class OscNode(ControllerNode[OscNodeParameters]):
    """Operational space control as a node; the law is in ``arm_control.control.osc.osc_law``."""

    def __init__(self, row: ControllerRow[Any] = CONTROLLERS["osc"]) -> None:
        self._goals: PoseFollower | None = None
        self._wrenches: WrenchTopics | None = None
        super().__init__(row)

    def n_goals(self) -> int:
        return 0 if self._goals is None else len(self._goals.queue) + self.taken[WRENCH_GOAL]

    def subscribe(self) -> None:
        """Subscribe to goals and disturbances."""
        super().subscribe()
        self.control_path.subscribe(JointState, "disturbance", self._on_disturbance, STATE)

    def make(self) -> OscController:
        """Return operational space control of this robot, towards the goals that have come so far."""
        self.log_proposals(self.parameters.control)
        self._goals = self._goals or PoseFollower(self.model)
        self._goals.model = self.model
        return make_osc(self.model, self.parameters, self.reference_source(self._goals))

    def reference_source(self, goals: PoseFollower) -> ReferenceSource:
        """Return what makes references of goals: here they are followed as they are."""
        return goals

    def on_loop(self, loop: ControlLoop) -> None:
        """Add the native loop, and wrenches, to a new loop."""
        p, controller = self.parameters, loop.controller
        loop.disturbance.timeout = p.disturbance_timeout
        assert isinstance(controller, OscController)
        if controller.has_contact or loop.observer is not None:
            self._wrenches = self._wrenches or WrenchTopics(self, self.pipeline)
        self.pipeline.after = None if self._wrenches is None else self._wrenches.publish
        self.pipeline.native = controller if p.loop == NATIVE else None

    def on_parameters(self) -> None:
        super().on_parameters()
        if self.pipeline.loop is not None:
            self.pipeline.loop.disturbance.timeout = self.parameters.disturbance_timeout

    def _on_disturbance(self, message: JointState, _: dict[str, Any]) -> None:
        assert self.pipeline.loop is not None
        try:
            tau_dist = self.model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            self.rejections.add("disturbance", error)
        else:
            self.pipeline.loop.disturbance.set(self.pipeline.now_ns, tau_dist)
