"""The node ``osc``: joint states and target poses in, joint torque out, through the gate."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from arm_control.controllers import CompiledOsc, OscOutput, OscParameters
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.gate import EffortGate, GateOutput, GateParameters
from arm_control.nodes.base import EVENTS, LATCHED, LATCHED_EVENTS, STATE, ArmNode, ArmParameters, run
from arm_control.nodes.conversions import NANOSECONDS, doubles, joint_state, nanoseconds, pose_from_message
from arm_control.nodes.health import OK, WARN, Diagnostics, Durations, Rate
from arm_control.nodes.states import State, StateReader
from arm_control.parameters import parameter
from arm_control.reference import Reference, Target, TargetQueue
from arm_control.spatial import Array, Pose

HORIZON_NS = 24 * 3600 * NANOSECONDS


@dataclass(frozen=True)
class OscNodeParameters(OscParameters, GateParameters, ArmParameters):
    """Parameters of the node ``osc``."""

    telemetry_every: int = parameter(20, "states between two sets of torque_terms and controller_state", lower=10)
    publish_effort_array: bool = parameter(
        True, "also publish effort_controller/commands, for ros2_control's effort controllers"
    )


class OscNode(ArmNode):
    """Operational space control as a node; the law is in ``arm_control.controllers.osc``."""

    parameters: OscNodeParameters
    FIRST_DT = 1e-3
    """Time that the first state stands for, in the rate limit [s]."""

    def __init__(self) -> None:
        super().__init__("osc", OscNodeParameters)
        self._targets = TargetQueue()
        self._target: Target | None = None
        self._controller: CompiledOsc | None = None
        self._answer: JointState | None = None
        self._output: GateOutput | None = None
        self._telemetry: list[tuple[Publisher, Any]] = []
        self._duration, self._rate, self._skipped, self._states = Durations(), Rate(), 0, 0
        self._commands = self.create_publisher(JointState, "joint_commands", self.state_qos())
        self._array = self.create_publisher(Float64MultiArray, "effort_controller/commands", STATE)
        self._target_count = self.create_publisher(Float64, "controller_state/targets", LATCHED)
        self._figures: dict[str, Publisher] = {
            name: self.create_publisher(Float64, f"controller_state/{name}", STATE)
            for name in ("position_error", "orientation_error", "condition_number", "saturation", "braking")
        }
        self._terms: dict[str, Publisher] = {
            name: self.create_publisher(JointState, f"torque_terms/{name}", STATE)
            for name in ("task", "posture", "bias", "gate")
        }
        self.serve_enable()
        self._diagnostics = Diagnostics(self)
        self.find_model()

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Make reader, gate and, with the first state, the controller for this robot."""
        self.reader = StateReader(self.model, 0.0 if self.parameters.lock_step else self.parameters.max_age)
        self.gate = EffortGate(self.model, self.parameters)
        self._controller = None
        self._new_controller(np.zeros(self.model.nv))  # compiled now, not with the first state
        if first:
            for qos in (EVENTS, LATCHED_EVENTS):
                self.control_path.subscribe(PoseStamped, "target_pose", self._on_target, qos)
            self.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
        self._publish_target_count()

    def on_parameters(self) -> None:
        """New gains act from the next state on; the gate smooths the step."""
        if self._controller is not None:
            self._controller = self._new_controller(np.array(self._controller.parameters.posture))

    def _on_target(self, message: PoseStamped, _: dict[str, Any]) -> None:
        try:
            self._targets.add(self._checked_target(message))
        except (InputError, FrameNotFound) as error:
            self.rejections.add("target_pose", error)
        self._publish_target_count()

    def _checked_target(self, message: PoseStamped) -> Target:
        now_ns = self._stamp_ns()
        stamp_ns = max(nanoseconds(message.header.stamp), now_ns)
        if stamp_ns - now_ns > HORIZON_NS:
            ahead = (stamp_ns - now_ns) / NANOSECONDS
            raise InputError(f"stamp too far ahead: {ahead:.0f} s after the state; 0 means now")
        frame = message.header.frame_id or self.model.base
        if frame not in self.model.frames:
            raise FrameNotFound(frame, self.model.frames)
        return Target(stamp_ns, frame, pose_from_message(message))

    def _stamp_ns(self) -> int:
        return nanoseconds(self._answer.header.stamp) if self._answer is not None else 0

    def _publish_target_count(self) -> None:
        self._target_count.publish(Float64(data=float(len(self._targets))))

    # -- one tick --------------------------------------------------------------------------------

    def _on_state(self, message: JointState, info: dict[str, Any]) -> None:
        start = time.perf_counter()
        state = self.read_state(message, info)
        if state is not None:
            self._tick(state)
        elif not self.reader.repeated:
            return
        self._commands.publish(self._answer)
        if state is not None and self.parameters.publish_effort_array and self._output is not None:
            self._array.publish(Float64MultiArray(data=doubles(self._output.tau)))
        if self._telemetry:
            publisher, report = self._telemetry.pop()
            publisher.publish(report)
        self._duration.add(time.perf_counter() - start)

    def _tick(self, state: State) -> None:
        if self.reader.restarted:
            self._restart(state)
        self._watch_gap(state)
        if self._controller is None:
            self._controller = self._new_controller(state.q)
        output = self._controller.tick(state.q, state.v, Reference(self._target_pose(state)))
        try:
            self.gate.offer(self.model.joint_names, output.tau.tolist())
        except InputError as error:
            self.rejections.add("torque", error)
        self._output = self.gate.tick(output.state, state.dt or self.FIRST_DT)
        self._answer = joint_state(self.model.joint_names, state.stamp_ns, effort=self._output.tau)
        self._rate.tick()
        if self._states % self.parameters.telemetry_every == 0:
            self._telemetry = self._new_telemetry(state.stamp_ns, output, self._output)
        self._states += 1

    def _restart(self, state: State) -> None:
        """The first state, or time started over: hold where the arm is until a target is due."""
        self.gate.reset()
        self._start, self._target, self._period = self.model.pose(state.q), None, 0.0

    def _watch_gap(self, state: State) -> None:
        """After too long without a state, the last torque says nothing any more: brake."""
        self._period = min(self._period or state.dt, state.dt or self._period)
        if self._period and state.dt > 1.5 * self._period:
            self._skipped += round(state.dt / self._period) - 1
            if state.dt > self.parameters.max_missed * self._period and not self.parameters.lock_step:
                self.gate.brake(f"no state for {state.dt * 1e3:.0f} ms")

    def _target_pose(self, state: State) -> Pose:
        """Pose of the active target in the world, fixed at the moment it becomes active."""
        target = self._targets.active(state.stamp_ns)
        if target is None:
            return self._start
        if target is not self._target:
            self._target, self._X_WT = target, self.model.pose(state.q, target.frame) @ target.X_FT
        return self._X_WT

    def _new_controller(self, posture: Array) -> CompiledOsc:
        chosen = self.parameters.posture or tuple(posture.tolist())
        return CompiledOsc(self.model, self.parameters.replace(posture=chosen))

    # -- what goes out beside the torque -----------------------------------------------------------

    def _new_telemetry(self, stamp_ns: int, output: OscOutput, gate: GateOutput) -> list[tuple[Publisher, Any]]:
        """What is to be told of this tick; it goes out one by one, behind the commands of the next ticks."""
        sigma = output.singular_values
        figures = {
            "position_error": np.linalg.norm(output.error[:3]),
            "orientation_error": np.linalg.norm(output.error[3:]),
            "condition_number": sigma[0] / max(sigma[-1], 1e-12),
            "saturation": np.abs(output.tau / self.model.tau_max).max(),
            "braking": bool(gate.braking),
        }
        terms = {**output.terms, "gate": gate.tau - output.tau}
        names = self.model.joint_names
        return [
            *((self._terms[name], joint_state(names, stamp_ns, effort=tau)) for name, tau in terms.items()),
            *((self._figures[name], Float64(data=float(value))) for name, value in figures.items()),
        ]

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, sentence and figures for ``/diagnostics``."""
        braking = self.gate.braking if self.ready else "no robot_description yet"
        figures: dict[str, object] = {
            "rate [Hz]": self._rate.read(),
            "tick p50 [ms]": 1e3 * self._duration.quantile(0.5),
            "tick p99 [ms]": 1e3 * self._duration.quantile(0.99),
            "tick longest [ms]": 1e3 * self._duration.longest,
            "states skipped": self._skipped,
            "targets": len(self._targets),
        }
        figures.update(self.rejections.figures())
        return (WARN, braking, figures) if braking else (OK, "passing commands", figures)


def main() -> None:
    """Entry point of ``ros2 run arm_control osc``."""
    run(OscNode)


if __name__ == "__main__":
    main()
