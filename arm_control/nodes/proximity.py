"""The node ``proximity``: distances of the arm from obstacles and itself, pair by pair, and whether it is in contact.

No standard service takes joint positions and returns distances, so a topic asks and a topic answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from visualization_msgs.msg import MarkerArray

from arm_control.collision import AllowedPairs, ContactMonitor
from arm_control.control import ArmNodeParameters, Measurement
from arm_control.core import group, parameter
from arm_control.exceptions import ArmControlError, InputError
from arm_control.messages import nanoseconds
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.diagnostics import ERROR, OK, WARN, Health, Rate, status_of
from arm_control.nodes.support.subscriptions import ObstacleSubscription, WatchedStates
from arm_control.nodes.support.topics import EVENTS, STATE, ros
from arm_control.processes import ProximityParameters, ProximityProcess, Verdict


@dataclass(frozen=True)
class ProximityNodeParameters(ArmNodeParameters):
    """Parameters of the node ``proximity``."""

    proximity: ProximityParameters = group(ProximityParameters)

    rate: float = parameter(50.0, "sets of messages per second; 0: one for each state", unit="Hz", lower=0.0)
    allowed_pairs: str = parameter(
        "", "file of pairs of links that may touch, by arm_control distance; empty: found by sampling"
    )


class ProximityNode(ArmNode[ProximityNodeParameters]):
    """``ProximityProcess`` as a node; it affects no other node."""

    NICE = 5  # the control loop comes first
    NEEDS_NO_MASSES = True

    def __init__(self) -> None:
        super().__init__("proximity", ProximityNodeParameters)
        self._rate = Rate()
        self._process: ProximityProcess | None = None
        self._verdict: Verdict | None = None
        self._in_collision = self.create_publisher(Bool, "in_collision", STATE)
        self._distances = self.create_publisher(Float64MultiArray, "proximity/distances", STATE)
        self._lines = self.create_publisher(MarkerArray, "proximity/lines", STATE)
        self._answers = self.create_publisher(DiagnosticStatus, "proximity/answer", EVENTS)
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Measure this robot from now on; ``first``: it is the first one."""
        self._process = self._verdict = None
        file = self.parameters.allowed_pairs
        monitor = ContactMonitor(self.model, AllowedPairs.load(Path(file)) if file else None)
        self._process = ProximityProcess(monitor, self.parameters.proximity, ros)
        if first:
            self._obstacles = ObstacleSubscription(self)
            self.control_path.subscribe(JointState, "proximity/query", self._on_query, EVENTS)
            self._states = WatchedStates(self, self._publish, self.parameters.rate)

    def on_parameters(self) -> None:
        if self._process is not None:
            self._process.parameters = self.parameters.proximity

    def _publish(self, state: Measurement) -> None:
        if (process := self._process) is None:
            return
        obstacles = self._obstacles.at(state)
        self._verdict = process.verdict(state.q, obstacles, self._obstacles.names)
        self._in_collision.publish(Bool(data=self._verdict.in_collision))
        self._distances.publish(process.distances(self._verdict, state.stamp_ns))
        if self._lines.get_subscription_count():
            self._lines.publish(process.lines(self._verdict, self.frame(self.model.base), state.stamp_ns))
        self._rate.tick()

    def _on_query(self, message: JointState, _: dict[str, Any]) -> None:
        """Publish the distances of the joint positions in a message, among the present obstacles, or why not."""
        try:
            level, verdict = self._answer(message)
            text, distances = verdict.text, {pair.label: f"{pair.distance:.6f}" for pair in verdict.pairs}
        except ArmControlError as error:
            self.rejections.add("proximity/query", error)
            level, text, distances = WARN, str(error), {}
        stamp_ns = nanoseconds(message.header.stamp)
        values = {"stamp": f"{stamp_ns // 10**9}.{stamp_ns % 10**9:09d}", **distances}
        self._answers.publish(status_of(self.get_name(), level, text, values))

    def _answer(self, message: JointState) -> tuple[bytes, Verdict]:
        if self._process is None:
            raise InputError("no robot that can be measured")
        q = self.model.in_joint_order(message.name, message.position, "position")
        state = self._states.newest
        obstacles = [] if state is None else self._obstacles.newest(state)
        verdict = self._process.verdict(q, obstacles, self._obstacles.names if obstacles else [])
        return ERROR if verdict.in_collision else OK, verdict

    def health(self) -> Health:
        figures: dict[str, object] = {"rate [Hz]": self._rate.read()}
        if self._verdict is None:
            return WARN, "waiting for joint states", figures
        return (WARN if self._verdict.in_collision else OK), self._verdict.text, figures
