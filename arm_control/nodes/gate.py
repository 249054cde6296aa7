"""The node ``gate``: torque of any controller in, torque that may reach the actuators out.

A gate inside the controller's process cannot catch that process hanging. On hardware, run this one as
a process of its own, between the controller (``effort_in``) and the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arm_control.control import ArmNodeParameters, DriverParameters, RealTimeParameters
from arm_control.core import group
from arm_control.gate import EffortGate, GateParameters, GateState
from arm_control.messages import JointStateFields, braked_frame
from arm_control.nodes.support.arm_node import IN_USE, ArmNode
from arm_control.nodes.support.diagnostics import OK, WARN, Health, Rate
from arm_control.nodes.support.gates import GateControl, GateStatePublisher
from arm_control.nodes.support.message_bytes import effort_array_writer, joint_state_writer
from arm_control.nodes.support.subscriptions import ObstacleSubscription, subscribe_to_joint_states
from arm_control.nodes.support.topics import STATE, full_names
from arm_control.processes import Answers, GateProcess

LOOKING_PERIOD = 0.25
"""Time between two looks for other publishers [s]."""
ENDING = "the node ends"
"""Why it brakes when a signal has come."""


@dataclass(frozen=True)
class GateNodeParameters(ArmNodeParameters):
    """Parameters of the node ``gate``."""

    gate: GateParameters = group(GateParameters)
    driver: DriverParameters = group(DriverParameters)
    real_time: RealTimeParameters = group(RealTimeParameters)


class GateNode(ArmNode[GateNodeParameters]):
    """``GateProcess`` as a node; the rules are in ``arm_control.processes.gate_process``.

    A driver holds the last torque that it got, so the node ends with an arm at rest: Ctrl-C makes it brake first.
    """

    ENDS_AT_REST = True

    def __init__(self) -> None:
        super().__init__("gate", GateNodeParameters)
        self._rate = Rate()
        self._process: GateProcess | None = None
        self._obstacles: ObstacleSubscription | None = None
        self._commands = self.create_publisher(JointState, "joint_commands", self.state_qos())
        has_array = self.parameters.driver.publish_effort_array
        array_topic = "effort_controller/commands"
        self._array = self.create_publisher(Float64MultiArray, array_topic, STATE) if has_array else None
        self._rivals = ""
        self._state = GateStatePublisher(self, self._gate)
        stop_topic = self.parameters.driver.driver_stop_topic
        self._control = GateControl(self, self._gate, self._release, stop_topic)
        self.why_model_stays = lambda: "" if self._process is None or self._process.may_take_model else IN_USE
        self.may_take = lambda model: self._process is None or self._process.may_take(model)
        self.steady_timer(LOOKING_PERIOD, self._look_for_rivals)
        self.find_model()

    def _gate(self) -> EffortGate | None:
        return None if self._process is None else self._process.gate

    def on_model(self, first: bool) -> None:
        """Make the gate for this robot and listen."""
        p, before = self.parameters, self._process
        if p.gate.constraints:
            self._obstacles = self._obstacles or ObstacleSubscription(self)
        obstacles = None if self._obstacles is None else self._obstacles.at
        self._process = GateProcess(self.model, p.gate, self.rejections.add, lock_step=p.lock_step, obstacles=obstacles)
        self._write, self._array_bytes = joint_state_writer(self.model.joint_names), effort_array_writer(self.model.nv)
        if before is not None:
            self._process.gate.succeed(before.gate)
        self._control.apply_stop()
        if first:
            subscribe_to_joint_states(self, "joint_states", self._on_state)
            subscribe_to_joint_states(self, "effort_in", self._on_effort)
            self.control_path.every(self._process.looking_period, self._look)

    def on_parameters(self) -> None:
        """Take other constraints; they act from the next state on."""
        if self._process is not None and "constraints" in self.changed:
            self._process.gate.change_constraints(self.parameters.gate.constraints)

    @property
    def _work(self) -> GateProcess:
        assert self._process is not None
        return self._process

    def _release(self) -> None:
        self._work.release()

    def _on_state(self, message: JointStateFields, info: dict[str, Any]) -> None:
        self._publish(self._work.on_state(message, info))

    def _on_effort(self, message: JointStateFields, info: dict[str, Any]) -> None:
        self._publish(self._work.on_effort(message, info))

    def _look(self) -> None:
        self._publish(self._work.look())

    def _look_for_rivals(self) -> None:
        """Brake where another node commands the driver, too: what the gate lets through is not what the driver gets."""
        if self._process is None:
            return
        before, self._rivals = self._rivals, self._find_rivals()
        if self._rivals:
            self._process.gate.brake(self._rivals)
        if self._rivals not in ("", before):
            self.get_logger().error(f"braking: {self._rivals}")

    def _find_rivals(self) -> str:
        """Return which topic other nodes publish, too, and who; empty where there is none."""
        for topic in (one.topic_name for one in (self._commands, self._array) if one is not None):
            if self.count_publishers(topic) > 1:
                names = full_names(self, topic)
                if (own := self.get_fully_qualified_name()) in names:
                    names.remove(own)  # a second one of this name counts
                who = ", ".join(names) or "one that is not known yet"
                return f"{topic} has other publishers than this gate: {who}"
        return ""

    def _publish(self, answers: Answers) -> None:
        for output, stamp_ns, g in answers:
            effort = output.tau - g if self.parameters.driver.driver_adds_gravity else output.tau
            frame_id = braked_frame(output.reason) if output.state is GateState.BRAKING else ""
            self._commands.publish(self._write(stamp_ns, effort, frame_id=frame_id))
            if self._array is not None:
                self._array.publish(self._array_bytes(effort))
            self._rate.tick()
            self._state.on_tick(output.tau, stamp_ns)

    def may_end(self) -> bool:
        """Brake, and return whether the arm rests."""
        if self._process is None:
            return True
        self._process.gate.brake(ENDING)
        if self._process.may_take_model:
            self.get_logger().info(f"the arm rests: {ENDING}")
        return self._process.may_take_model

    def health(self) -> Health:
        figures: dict[str, object] = {"rate [Hz]": self._rate.read()}
        if self._process is not None:
            figures["success rate [%]"] = 100.0 * self._process.gate.success_rate
            figures["braked"] = self._process.gate.is_braked
            figures["blind"] = self._process.is_blind
            figures |= self._process.gate.constraint_figures()
        reason = "" if self._process is None else self._process.gate.reason
        return (WARN, reason, figures) if reason else (OK, "passing commands", figures)
