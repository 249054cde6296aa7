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

from arm_control.control.effort_gate import EffortGate, GateOutput, GateParameters
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.messages.fields import nanoseconds
from arm_control.nodes.support.arm_node import STATE, ArmNode, ArmParameters, run
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.diagnostics import OK, WARN, Diagnostics, Rate
from arm_control.nodes.support.publisher_lock import PublisherLock, State, StateReader


@dataclass(frozen=True)
class GateNodeParameters(GateParameters, ArmParameters):
    """Parameters of the node ``gate``."""


class GateNode(ArmNode):
    """``EffortGate`` as a process of its own; the rules are in ``arm_control.control.effort_gate``."""

    parameters: GateNodeParameters

    def __init__(self) -> None:
        super().__init__("gate", GateNodeParameters)
        self._lock = PublisherLock(math.inf if self.parameters.lock_step else PublisherLock.SILENCE)
        self._rate = Rate()
        self._open: State | None = None
        self._last: State | None = None
        self._early: tuple[JointState, dict[str, Any]] | None = None
        self._answer: GateOutput | None = None
        self._commands = self.create_publisher(JointState, "joint_commands", self.state_qos())
        self._array = self.create_publisher(Float64MultiArray, "effort_controller/commands", STATE)
        self.serve_enable()
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Make the gate for this robot and listen."""
        self._max_age = 0.0 if self.parameters.lock_step else self.parameters.max_age
        self.reader = StateReader(self.model, self._max_age)
        self.gate = EffortGate(self.model, self.parameters)
        if first:
            self.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
            self.control_path.subscribe(JointState, "effort_in", self._on_effort, STATE)
            self.control_path.every(self.parameters.max_age / 4 or 0.005, self._watch)

    def _on_state(self, message: JointState, info: dict[str, Any]) -> None:
        state = self.read_state(message, info)
        if state is None:
            if self.reader.repeated:
                self._repeat()
            return
        self._heard_at = time.monotonic()
        if self.reader.restarted:
            self.gate.reset()
            self._answer = None
        elif self._open is not None and not self.parameters.lock_step:
            self._tick(self._open)
        self._open = self._last = state
        if self._early is not None:
            self._on_effort(*self._early)

    def _on_effort(self, message: JointState, info: dict[str, Any]) -> None:
        """Let a command through for the open state; one that comes a period before its state waits for it."""
        stamp_ns, self._early = nanoseconds(message.header.stamp), None
        period = self.gate.period or self.parameters.max_age
        try:
            self._lock.check(info)
            if self._last is None or 0 < stamp_ns - self._last.stamp_ns <= round(period * NANOSECONDS):
                self._early = (message, info)
            elif self._open is None and stamp_ns <= self._last.stamp_ns:
                self._repeat()
            else:
                self.gate.offer(message.name, message.effort, (self._last.stamp_ns - stamp_ns) / NANOSECONDS)
                self._lock.take(info)
                if self._open is not None:
                    self._tick(self._open)
        except InputError as error:
            self.rejections.add("effort_in", error)

    def _repeat(self) -> None:
        """The state is answered already: the same answer again, computed once."""
        if self._open is None and self._last is not None and self._answer is not None:
            self._publish(self._answer, self._last.stamp_ns)

    def _tick(self, state: State) -> None:
        """Answer a state: with the offered command, or without one."""
        output = self.gate.tick(self.model.evaluate(state.q, state.v), state.dt)
        self._open, self._answer = None, output
        self._rate.tick()
        self._publish(output, state.stamp_ns)

    def _publish(self, output: GateOutput, stamp_ns: int) -> None:
        self._commands.publish(ros.joint_state(self.model.joint_names, stamp_ns, effort=output.tau))
        self._array.publish(Float64MultiArray(data=ros.doubles(output.tau)))

    def _watch(self) -> None:
        """No state for too long: carry the weight where the arm was seen last."""
        if self._last is None or not self._max_age:
            return
        silence = time.monotonic() - self._heard_at
        if silence > self._max_age:
            self.gate.brake(f"no state for {silence * 1e3:.0f} ms")
            terms = self.model.evaluate(self._last.q, np.zeros(self.model.nv))
            self._publish(self.gate.tick(terms, self._max_age / 4), self._last.stamp_ns)

    def on_enabled(self) -> None:
        """Listen to whoever commands next."""
        self._lock.release()

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, sentence and figures for ``/diagnostics``."""
        figures: dict[str, object] = {"rate [Hz]": self._rate.read()}
        if self.ready:
            figures["success rate [%]"] = 100.0 * self.gate.success_rate
            figures["braked"] = self.gate.latched
        figures.update(self.rejections.figures())
        braking = self.gate.braking if self.ready else "no robot_description yet"
        return (WARN, braking, figures) if braking else (OK, "passing commands", figures)


def main() -> None:
    """Entry point of ``ros2 run arm_control gate``."""
    run(GateNode)


if __name__ == "__main__":
    main()
