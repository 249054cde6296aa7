"""The stop of a driver: a protective stop, an open brake circuit, a program that was ended at the robot's panel.

Torque that the driver does not apply must not be commanded on as if it did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_msgs.msg import Bool

from arm_control.control import ArmNodeParameters, DriverStopParameters
from arm_control.gate import EffortGate
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.qos import LATCHED, STATE

REASON = "the driver has stopped"
"""Why a gate brakes."""


class DriverStop:
    """Brakes a gate while a driver says that it has stopped; going on takes ``~/enable``, after the stop has ended.

    Parameters
    ----------
    node : ArmNode
        The node with the gate.
    parameters : DriverStopParameters
        The topic.
    gate : callable
        Returns the gate; None while there is none.
    """

    def __init__(
        self,
        node: ArmNode[ArmNodeParameters],
        parameters: DriverStopParameters,
        gate: Callable[[], EffortGate | None],
    ) -> None:
        self._logger, self._gate = node.get_logger(), gate
        self._is_stopped = False
        if parameters.driver_stop_topic:
            for qos in (STATE, LATCHED):
                node.control_path.subscribe(Bool, parameters.driver_stop_topic, self._on_stop, qos)

    def apply(self) -> None:
        """Brake the gate, which is new or has been enabled, where the driver is still stopped."""
        if self._is_stopped and (gate := self._gate()) is not None:
            gate.brake(REASON)

    def _on_stop(self, message: Bool, _: dict[str, Any]) -> None:
        if message.data and not self._is_stopped:
            self._logger.error(f"braking: {REASON}")
        self._is_stopped = bool(message.data)
        self.apply()
