"""Wrenches of the hand on topics: what a sensor measures comes in; what is commanded and estimated goes out.

Two figures, ``controller_state/commanded_force`` and ``measured_force``, have the size of the forces, for plots.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64

from arm_control.control import ControllerNodeParameters, TickResult
from arm_control.exceptions import ArmControlError
from arm_control.maths import Array
from arm_control.messages import sensor_reading_of
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.topics import STATE, ros
from arm_control.nodes.support.torque_pipeline import TorquePipeline


class WrenchTopics:
    """``measured_wrench``, ``commanded_wrench`` and ``estimated_wrench`` of a controller's node.

    Parameters
    ----------
    node : ArmNode
        The node that owns it; its parameters are those of a controller.
    pipeline : TorquePipeline
        Its loop has the hand's wrench.
    """

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
