"""The node ``attractor``: goals pass a point attractor, in spiking neurons or without, on their way to the node's law.

Topics, parameters and law are those of the node ``osc``, and the parameters ``attractor.*``. Neurons are shown on two
more topics: ``~/neural_state`` has their position, the reference and the goal, and ``~/spikes``, where somebody
subscribes to it, the spikes of a few of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from rclpy.publisher import Publisher
from std_msgs.msg import Float64MultiArray

from arm_control.control import ControlLoop, TickResult
from arm_control.controllers import CONTROLLERS, AttractorNodeParameters
from arm_control.motion import PoseFollower
from arm_control.neural import AttractorFollower, SpikeRecord
from arm_control.nodes.osc import OscNode
from arm_control.nodes.support.controller_node import Telemetry
from arm_control.nodes.support.topics import STATE, ros

BINS = 50
"""Bins of time in a message about spikes."""


class AttractorNode(OscNode):
    """Operational space control of references that a point attractor makes, as a node."""

    parameters: AttractorNodeParameters

    def __init__(self) -> None:
        self._shown: tuple[Publisher, Publisher] | None = None
        super().__init__(CONTROLLERS["attractor"])

    def reference_source(self, goals: PoseFollower) -> AttractorFollower:
        """Return the attractor, which moves towards the goals."""
        p = self.parameters
        self._follower = AttractorFollower(self.model, p.attractor, p.control.rate, goals)
        return self._follower

    def on_loop(self, loop: ControlLoop) -> None:
        """Add the messages about neurons, where there are such, to a new loop."""
        super().on_loop(loop)
        if self._follower.spikes is None:
            self.pipeline.telemetry = None
            return
        state, spikes = self._shown = self._shown or tuple(
            self.create_publisher(Float64MultiArray, topic, STATE) for topic in ("~/neural_state", "~/spikes")
        )
        self.pipeline.telemetry = partial(self._show, self._follower, self._follower.spikes, state, spikes)

    def _show(
        self, follower: AttractorFollower, record: SpikeRecord, state: Publisher, spikes: Publisher, result: TickResult
    ) -> Telemetry:
        stamp_ns = result.measurement.stamp_ns
        positions = np.column_stack([follower.position, follower.reference_position, result.law.X_WT.p])
        messages = [(state, ros.multi_array(positions, ("xyz", ("decoded", "reference", "goal")), stamp_ns))]
        record.is_on = spikes.get_subscription_count() > 0
        if record.n_bins >= BINS:
            counts = record.take()
            rows = [f"{axis}{k}" for axis in "xyz" for k in range(len(counts) // 3)]
            columns = [str(k) for k in range(counts.shape[1])]
            messages.append((spikes, ros.multi_array(counts, (rows, columns), stamp_ns)))
        return messages
