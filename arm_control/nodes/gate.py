"""The node ``gate``: torque of any controller in, torque that may reach the actuators out.

A gate inside the controller's process cannot catch that process hanging. On hardware, run this one as
a process of its own, between the controller (``effort_in``) and the driver.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arm_control.control.controllers import Measurement
from arm_control.control.effort_gate import EffortGate, GateOutput, GateParameters
from arm_control.core.parameters import group
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.messages.fields import nanoseconds
from arm_control.messages.joint_states import JointStateReader, Refused, Repeated
from arm_control.nodes.support.arm_node import ArmNode, ArmNodeParameters, run
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.diagnostics import OK, WARN, Diagnostics, Rate
from arm_control.nodes.support.publisher_lock import PublisherLock
from arm_control.nodes.support.qos import STATE


@dataclass(frozen=True)
class GateNodeParameters(ArmNodeParameters):
    """Parameters of the node ``gate``."""

    gate: GateParameters = group(GateParameters)


class GateNode(ArmNode[GateNodeParameters]):
    """``EffortGate`` as a process of its own; the rules are in ``arm_control.control.effort_gate``."""

    def __init__(self) -> None:
        super().__init__("gate", GateNodeParameters)
        self._lock = PublisherLock(math.inf if self.parameters.lock_step else PublisherLock.SILENCE)
        self._rate = Rate()
        self._gate: EffortGate | None = None
        self._open: Measurement | None = None
        self._last: Measurement | None = None
        self._early: tuple[JointState, dict[str, Any]] | None = None
        self._answer: GateOutput | None = None
        self._commands = self.create_publisher(JointState, "joint_commands", self.state_qos())
        self._array = self.create_publisher(Float64MultiArray, "effort_controller/commands", STATE)
        self.serve_enable(lambda: self._gate, self._lock.release)
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Make the gate for this robot and listen."""
        p = self.parameters
        self._max_age = 0.0 if p.lock_step else p.gate.max_age
        self._reader = JointStateReader(self.model, self._max_age)
        self._gate = EffortGate(self.model, p.gate)
        if first:
            self.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
            self.control_path.subscribe(JointState, "effort_in", self._on_effort, STATE)
            self.control_path.every(p.gate.max_age / 4 or 0.005, self._watch)

    def _on_state(self, message: JointState, info: dict[str, Any]) -> None:
        assert self._gate is not None
        reading = self._reader.read(message, info)
        if isinstance(reading, Refused):
            self.rejections.add("joint_states", reading.error)
            return
        if isinstance(reading, Repeated):
            self._repeat()
            return
        self._received_at = time.monotonic()
        if reading.is_restart:
            self._gate.reset()
            self._answer = None
        elif self._open is not None and not self.parameters.lock_step:
            self._tick(self._open)
        self._open = self._last = reading
        if self._early is not None:
            self._on_effort(*self._early)

    def _on_effort(self, message: JointState, info: dict[str, Any]) -> None:
        """Let a command through for the open state; one that comes a period before its state waits for it."""
        assert self._gate is not None
        stamp_ns = nanoseconds(message.header.stamp)
        self._early = None
        period = self._gate.period or self.parameters.gate.max_age
        try:
            self._lock.check(info)
            if self._last is None or 0 < stamp_ns - self._last.stamp_ns <= round(period * NANOSECONDS):
                self._early = (message, info)
            elif self._open is None and stamp_ns <= self._last.stamp_ns:
                self._repeat()
            else:
                self._gate.offer(message.name, message.effort, (self._last.stamp_ns - stamp_ns) / NANOSECONDS)
                self._lock.take(info)
                if self._open is not None:
                    self._tick(self._open)
        except InputError as error:
            self.rejections.add("effort_in", error)

    def _repeat(self) -> None:
        """The state is answered already: the same answer again, computed once."""
        if self._open is None and self._last is not None and self._answer is not None:
            self._publish(self._answer, self._last.stamp_ns)

    def _tick(self, state: Measurement) -> None:
        """Answer a state: with the offered command, or without one."""
        assert self._gate is not None
        output = self._gate.tick(self.model.evaluate(state.q, state.v), state.dt)
        self._open, self._answer = None, output
        self._rate.tick()
        self._publish(output, state.stamp_ns)

    def _publish(self, output: GateOutput, stamp_ns: int) -> None:
        self._commands.publish(ros.joint_state(self.model.joint_names, stamp_ns, effort=output.tau))
        self._array.publish(Float64MultiArray(data=ros.doubles(output.tau)))

    def _watch(self) -> None:
        """No state for too long: carry the weight where the arm was seen last."""
        if self._last is None or self._gate is None or not self._max_age:
            return
        silence = time.monotonic() - self._received_at
        if silence > self._max_age:
            self._gate.brake(f"no state for {silence * 1e3:.0f} ms")
            terms = self.model.evaluate(self._last.q, np.zeros(self.model.nv))
            self._publish(self._gate.tick(terms, self._max_age / 4), self._last.stamp_ns)

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, sentence and figures for ``/diagnostics``."""
        figures: dict[str, object] = {"rate [Hz]": self._rate.read()}
        if self._gate is not None:
            figures["success rate [%]"] = 100.0 * self._gate.success_rate
            figures["braked"] = self._gate.is_braked
        figures.update(self.rejections.figures())
        reason = "no robot_description yet" if self._gate is None else self._gate.reason
        return (WARN, reason, figures) if reason else (OK, "passing commands", figures)


def main() -> None:
    """Entry point of ``ros2 run arm_control gate``."""
    run(GateNode)


if __name__ == "__main__":
    main()
