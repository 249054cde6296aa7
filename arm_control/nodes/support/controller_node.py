"""What the node of every controller does, whatever its law: states in, torque out, through the gate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from arm_control.control.effort_gate import EffortGate, GateOutput, GateParameters
from arm_control.core.parameters import parameter
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.messages.fields import nanoseconds
from arm_control.model import Terms
from arm_control.nodes.support.arm_node import LATCHED, STATE, ArmNode, ArmParameters
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.diagnostics import OK, WARN, Diagnostics, Durations, Rate
from arm_control.nodes.support.publisher_lock import State, StateReader


@dataclass(frozen=True)
class EffortParameters(GateParameters, ArmParameters):
    """Parameters of every node that sends torque."""

    telemetry_every: int = parameter(20, "states between two sets of torque_terms and controller_state", lower=15)
    publish_effort_array: bool = parameter(
        True, "also publish effort_controller/commands, for ros2_control's effort controllers"
    )


class Command(NamedTuple):
    """What a law says in one state: the state's terms, torque (nv,), what it is made of, and figures of its own.

    The figures are only computed when they are published.
    """

    state: Terms
    tau: Array
    parts: dict[str, Array]
    figures: Callable[[], dict[str, float]]


class EffortNode(ArmNode):
    """A controller as a node. Its own part is :meth:`restart`, :meth:`law` and what it listens to.

    Parameters
    ----------
    name, parameter_class
        As those of :class:`ArmNode`.
    terms : sequence of str
        Names of the torque's terms, published as ``torque_terms/*``.
    figures : sequence of str
        Names of the law's own figures, published as ``controller_state/*``.
    """

    parameters: Any
    FIRST_DT = 1e-3
    """Time that the first state stands for, in the rate limit [s]."""

    def __init__(
        self, name: str, parameter_class: type[EffortParameters], terms: Sequence[str], figures: Sequence[str]
    ) -> None:
        super().__init__(name, parameter_class)
        self._answer: JointState | None = None
        self._output: GateOutput | None = None
        self._telemetry: list[tuple[Publisher, Any]] = []
        self._duration, self._rate, self._skipped, self._states = Durations(), Rate(), 0, 0
        self._commands = self.create_publisher(JointState, "joint_commands", self.state_qos())
        self._array = self.create_publisher(Float64MultiArray, "effort_controller/commands", STATE)
        self._target_count = self.create_publisher(Float64, "controller_state/targets", LATCHED)
        self._figures: dict[str, Publisher] = {
            figure: self.create_publisher(Float64, f"controller_state/{figure}", STATE)
            for figure in (*figures, "saturation", "braking")
        }
        self._terms: dict[str, Publisher] = {
            term: self.create_publisher(JointState, f"torque_terms/{term}", STATE) for term in (*terms, "gate")
        }
        self.serve_enable()
        self._diagnostics = Diagnostics(self)
        self.find_model()

    # -- a law's own part --------------------------------------------------------------------------

    def restart(self, state: State) -> None:
        """Called before the first state, and when time has started over."""
        raise NotImplementedError

    def law(self, state: State) -> Command:
        """Return what the law says in this state."""
        raise NotImplementedError

    def n_targets(self) -> int:
        """Targets known so far."""
        raise NotImplementedError

    # -- one tick ------------------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Make reader and gate for this robot, and listen to its states."""
        self.reader = StateReader(self.model, 0.0 if self.parameters.lock_step else self.parameters.max_age)
        self.gate = EffortGate(self.model, self.parameters)
        if first:
            self.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
        self.publish_target_count()

    @property
    def now_ns(self) -> int:
        """Stamp of the newest state [ns]; 0 before the first."""
        return nanoseconds(self._answer.header.stamp) if self._answer is not None else 0

    def publish_target_count(self) -> None:
        """Tell how many targets are known: a run waits for that before it starts."""
        self._target_count.publish(Float64(data=float(self.n_targets())))

    def _on_state(self, message: JointState, info: dict[str, Any]) -> None:
        start = time.perf_counter()
        state = self.read_state(message, info)
        if state is not None:
            self._tick(state)
        elif not self.reader.repeated:
            return
        self._commands.publish(self._answer)
        if state is not None and self.parameters.publish_effort_array and self._output is not None:
            self._array.publish(Float64MultiArray(data=ros.doubles(self._output.tau)))
        if self._telemetry:
            publisher, report = self._telemetry.pop()
            publisher.publish(report)
        self._duration.add(time.perf_counter() - start)

    def _tick(self, state: State) -> None:
        if self.reader.restarted:
            self.gate.reset()
            self._period = 0.0
            self.restart(state)
        self._watch_gap(state)
        command = self.law(state)
        try:
            self.gate.offer(self.model.joint_names, command.tau.tolist())
        except InputError as error:
            self.rejections.add("torque", error)
        self._output = self.gate.tick(command.state, state.dt or self.FIRST_DT)
        self._answer = ros.joint_state(self.model.joint_names, state.stamp_ns, effort=self._output.tau)
        self._rate.tick()
        if self._states % self.parameters.telemetry_every == 0:
            self._telemetry = self._new_telemetry(state.stamp_ns, command, self._output)
        self._states += 1

    def _watch_gap(self, state: State) -> None:
        """After too long without a state, the last torque says nothing any more: brake."""
        self._period = min(self._period or state.dt, state.dt or self._period)
        if self._period and state.dt > 1.5 * self._period:
            self._skipped += round(state.dt / self._period) - 1
            if state.dt > self.parameters.max_missed * self._period and not self.parameters.lock_step:
                self.gate.brake(f"no state for {state.dt * 1e3:.0f} ms")

    # -- what goes out beside the torque ---------------------------------------------------------------

    def _new_telemetry(self, stamp_ns: int, command: Command, gate: GateOutput) -> list[tuple[Publisher, Any]]:
        """What is to be told of this tick; it goes out one by one, behind the commands of the next ticks."""
        names, parts = self.model.joint_names, {**command.parts, "gate": gate.tau - command.tau}
        saturation = float(np.abs(command.tau / self.model.tau_max).max())
        figures = {**command.figures(), "saturation": saturation, "braking": float(bool(gate.braking))}
        return [
            *((self._terms[name], ros.joint_state(names, stamp_ns, effort=tau)) for name, tau in parts.items()),
            *((self._figures[name], Float64(data=value)) for name, value in figures.items()),
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
            "targets": self.n_targets(),
            "braked": self.ready and self.gate.latched,
        }
        figures.update(self.rejections.figures())
        return (WARN, braking, figures) if braking else (OK, "passing commands", figures)
