"""The gate of a node: what it does, who may brake and enable it, and the gates behind a controller.

``~/state`` says what it does. ``~/enable`` enables it (true) or makes it brake (false). A driver's stop (a protective
stop, an open brake circuit, a program that was ended at the robot's panel) brakes it: torque that the driver does not
apply must not be commanded on as if it did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from arm_control.control import ArmNodeParameters
from arm_control.exceptions import InputError
from arm_control.gate import EffortGate, GatesBehind, GateState
from arm_control.maths import Array
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.diagnostics import ERROR, OK, WARN, status_of
from arm_control.nodes.support.topics import LATCHED, STATE
from arm_control.processes import gate_values, read_gate_report

REASON = "the driver has stopped"
"""Why a gate brakes."""
HEARTBEAT = 0.1
"""Time between two messages of a gate where nothing changes [s]: on the steady clock, beside the executor, which has
time for one timer or service every 50 ms."""


class GateStatePublisher:
    """Publishes on ``~/state``, latched, what a gate does: at once when state or reason change, and as a heartbeat.

    The level is OK while commands pass, WARN while it holds the arm, ERROR while it brakes; the rest is in
    :mod:`arm_control.processes.gate_watch`.
    """

    LEVELS: ClassVar = {GateState.PASSING: OK, GateState.HOLDING: WARN, GateState.BRAKING: ERROR}

    def __init__(self, node: ArmNode[ArmNodeParameters], gate: Callable[[], EffortGate | None]) -> None:
        self._node, self._gate = node, gate
        self._publisher = node.create_publisher(DiagnosticStatus, "~/state", LATCHED)
        self._state = self._reason = ""
        self._tau: Array | None = None
        self._stamp_ns = self._since_ns = 0
        node.control_path.every(HEARTBEAT, self._beat)

    def on_tick(self, tau: Array, stamp_ns: int) -> None:
        """Take note of a tick of the gate; publish what has changed."""
        gate = self._gate()
        assert gate is not None
        self._tau, self._stamp_ns = tau, stamp_ns
        if (gate.state.value, gate.reason) != (self._state, self._reason):
            self._publish(gate)

    def _beat(self) -> None:
        if (gate := self._gate()) is not None:
            self._publish(gate)

    def _publish(self, gate: EffortGate) -> None:
        has_changed = gate.state.value != self._state
        self._since_ns = self._stamp_ns if has_changed else min(self._since_ns, self._stamp_ns)  # time may go back
        self._state, self._reason = gate.state.value, gate.reason
        word, joints = self._state, self._node.model.joint_names
        values = gate_values(gate.success_rate, self._stamp_ns, self._since_ns, self._tau, joints)
        message = f"{word}: {gate.reason}" if gate.reason else word
        name = self._node.get_fully_qualified_name()
        self._publisher.publish(status_of(name, self.LEVELS[gate.state], message, values))


def listen_to_gates(node: ArmNode[ArmNodeParameters], names: Sequence[str]) -> GatesBehind:
    """Return the gates behind a controller, which hear ``<name>/state`` of these nodes at once, on its control path."""
    gates = GatesBehind(names, time.monotonic, watches_silence=not node.parameters.lock_step)

    def on_state(name: str, status: DiagnosticStatus, _: dict[str, Any]) -> None:
        try:
            gates.hear(read_gate_report(status)._replace(name=name))
        except InputError as error:
            node.rejections.add(f"{name}/state", error)

    for name in gates.names:
        node.control_path.subscribe(DiagnosticStatus, f"{name}/state", partial(on_state, name), LATCHED)
    return gates


class GateControl:
    """Brakes and enables a node's gate: ``~/enable``, and while a driver says that it has stopped.

    Going on takes ``~/enable``, after the stop has ended.

    Parameters
    ----------
    on_enabled : callable
        Called when the gate has been enabled; it may make it brake again.
    """

    def __init__(
        self,
        node: ArmNode[ArmNodeParameters],
        gate: Callable[[], EffortGate | None],
        on_enabled: Callable[[], None],
        stop_topic: str = "",
    ) -> None:
        self._logger, self._gate, self._on_enabled = node.get_logger(), gate, on_enabled
        self._is_stopped = False
        node.create_service(SetBool, "~/enable", self._on_enable)
        for qos in (STATE, LATCHED) if stop_topic else ():
            node.control_path.subscribe(Bool, stop_topic, self._on_stop, qos)

    def apply_stop(self) -> None:
        """Brake the gate, which is new or has been enabled, where the driver is still stopped."""
        if self._is_stopped and (gate := self._gate()) is not None:
            gate.brake(REASON)

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        gate = self._gate()
        if gate is None:
            response.message = "no robot yet"
            return response
        if request.data:
            gate.enable()
            self._on_enabled()
            self.apply_stop()
        else:
            gate.brake("disabled")
        response.success, response.message = gate.is_braked is not request.data, gate.reason or "enabled"
        return response

    def _on_stop(self, message: Bool, _: dict[str, Any]) -> None:
        if message.data and not self._is_stopped:
            self._logger.error(f"braking: {REASON}")
        self._is_stopped = bool(message.data)
        self.apply_stop()
