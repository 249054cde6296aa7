"""From ``joint_states`` to ``joint_commands``: reader, control loop and publishers, for the node of any controller."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from arm_control.control.avoidance.obstacles import Obstacle
from arm_control.control.controllers import Measurement
from arm_control.control.effort_gate import EffortGate, GateParameters, GateState
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.control.state_prediction import is_at_rest
from arm_control.core.parameters import group, parameter
from arm_control.core.time import NANOSECONDS
from arm_control.messages.fields import braked_frame, nanoseconds
from arm_control.messages.joint_states import JointStateReader, Refused
from arm_control.nodes.support.arm_node import IN_USE, ArmNode, ArmNodeParameters
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.diagnostics import OK, WARN, Durations
from arm_control.nodes.support.qos import LATCHED, STATE

Telemetry = list[tuple[Publisher, Any]]
"""Messages beside the torque, each with its publisher."""
Health = tuple[bytes, str, dict[str, object]]
"""Level, sentence and figures for ``/diagnostics``."""


@dataclass(frozen=True)
class ControllerNodeParameters(ArmNodeParameters):
    """Parameters of every node with a controller."""

    gate: GateParameters = group(GateParameters)
    telemetry_every: int = parameter(20, "states between two sets of torque_terms and controller_state", lower=15)
    publish_effort_array: bool = parameter(
        True, "also publish effort_controller/commands, for ros2_control's effort controllers"
    )


class PipelineHooks(NamedTuple):
    """What a node adds to the pipeline.

    Attributes
    ----------
    obstacles : callable
        Returns the obstacles at a measurement.
    after : callable
        Called with the result of each tick, once its torque is published.
    telemetry : callable
        Returns more messages beside the torque.
    """

    obstacles: Callable[[Measurement], Sequence[Obstacle]] | None = None
    after: Callable[[TickResult], None] | None = None
    telemetry: Callable[[TickResult], Telemetry] | None = None


class TorquePipeline:
    """States in, torque out; telemetry follows, one message behind each of the next commands.

    Parameters
    ----------
    node : ArmNode
        The node that owns it; its parameters are :class:`ControllerNodeParameters`.
    torque_terms : sequence of str
        Names of the torque's terms, published as ``torque_terms/*``.
    figures : sequence of str
        Names of the law's figures, published as ``controller_state/*``.
    n_goals : callable
        Returns the number of goals known so far.

    Attributes
    ----------
    loop : ControlLoop or None
        The control loop; None while the robot is unknown.
    """

    def __init__(
        self,
        node: ArmNode[ControllerNodeParameters],
        torque_terms: Sequence[str],
        figures: Sequence[str],
        n_goals: Callable[[], int],
    ) -> None:
        self._node = node
        self._n_goals = n_goals
        self.loop: ControlLoop | None = None
        self._hooks = PipelineHooks()
        self._answer = JointState()
        self._now_ns: int | None = None
        self._telemetry: Telemetry = []
        self._duration = Durations()
        self._states = 0
        self._commands = node.create_publisher(JointState, "joint_commands", node.state_qos())
        self._array = node.create_publisher(Float64MultiArray, "effort_controller/commands", STATE)
        self._goal_count = node.create_publisher(Float64, "controller_state/targets", LATCHED)
        self._figures: dict[str, Publisher] = {
            name: node.create_publisher(Float64, f"controller_state/{name}", STATE)
            for name in (*figures, "saturation", "braking")
        }
        self._terms: dict[str, Publisher] = {
            name: node.create_publisher(JointState, f"torque_terms/{name}", STATE) for name in (*torque_terms, "gate")
        }
        self._result: TickResult | None = None
        node.serve_enable(self._gate, self._on_enabled)
        node.why_model_stays = self._why_model_stays

    def start(self, loop: ControlLoop, hooks: PipelineHooks) -> None:
        """Run a loop on the states of the node's robot, from now on.

        Parameters
        ----------
        loop : ControlLoop
            The loop.
        hooks : PipelineHooks
            What the node adds.
        """
        p = self._node.parameters
        is_first = self.loop is None
        if self.loop is not None:
            loop.gate.succeed(self.loop.gate)
        self._reader = JointStateReader(self._node.model, 0.0 if p.lock_step else p.gate.max_age, drives_arm=True)
        self.loop = loop
        self._hooks = hooks
        self._answer = JointState(name=list(self._node.model.joint_names))
        if is_first:
            self._node.control_path.subscribe(JointState, "joint_states", self._on_joint_state, STATE)
        self.publish_goal_count()

    @property
    def now_ns(self) -> int:
        """Stamp of the newest state [ns]; 0 before the first."""
        return self._now_ns or 0

    def publish_goal_count(self) -> None:
        """Publish the number of goals: a run waits for that before it starts."""
        self._goal_count.publish(Float64(data=float(self._n_goals())))

    def _gate(self) -> EffortGate | None:
        return None if self.loop is None else self.loop.gate

    def _on_enabled(self) -> None:
        self._reader.release()

    def _why_model_stays(self) -> str:
        result = self._result
        may_change = result is None or (result.gate.state is GateState.BRAKED and is_at_rest(result.measurement.v))
        return "" if may_change else IN_USE

    # -- one tick --------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState, info: dict[str, Any]) -> None:
        start = time.perf_counter()
        reading = self._reader.read(message, info)
        if isinstance(reading, Refused):
            self._refuse(reading, nanoseconds(message.header.stamp))
            return
        if isinstance(reading, Measurement):
            assert self.loop is not None
            obstacles = () if self._hooks.obstacles is None else self._hooks.obstacles(reading)
            self._publish(self.loop.tick(reading, obstacles))
        elif self._now_ns is not None:
            self._commands.publish(self._answer)
        if self._telemetry:
            publisher, report = self._telemetry.pop()
            publisher.publish(report)
        self._duration.add(time.perf_counter() - start)

    def _refuse(self, reading: Refused, stamp_ns: int) -> None:
        """Count a refused state. After a wrong measurement brake at once: whoever waits for torque hears that."""
        self._node.rejections.add("joint_states", reading.error)
        if self.loop is None or self._now_ns is None:
            return
        if reading.is_fault:
            self.loop.gate.brake(str(reading.error))
        if reading.is_fault or self._node.parameters.lock_step:
            refusal = ros.joint_state(self._node.model.joint_names, stamp_ns, effort=self._answer.effort)
            refusal.header.frame_id = braked_frame(str(reading.error))
            self._commands.publish(refusal)

    def _publish(self, result: TickResult) -> None:
        """Publish the torque; the rest may wait."""
        header, effort = self._answer.header, array("d", result.gate.tau)
        header.stamp.sec, header.stamp.nanosec = divmod(result.measurement.stamp_ns, NANOSECONDS)
        if result.gate.state is GateState.BRAKED:
            header.frame_id = braked_frame(result.gate.reason)
        elif header.frame_id:
            header.frame_id = ""
        self._answer.effort = effort
        self._result = result
        self._now_ns = result.measurement.stamp_ns
        self._commands.publish(self._answer)
        if self._node.parameters.publish_effort_array:
            self._array.publish(Float64MultiArray(data=effort))
        if result.refused is not None:
            self._node.rejections.add("torque", result.refused)
        if result.law.refused is not None:
            self._node.rejections.add("goal", result.law.refused)
        if self._hooks.after is not None:
            self._hooks.after(result)
        if self._states % self._node.parameters.telemetry_every == 0:
            more = [] if self._hooks.telemetry is None else self._hooks.telemetry(result)
            self._telemetry = [*self._telemetry_of(result), *more]
        self._states += 1

    # -- what goes out beside the torque ---------------------------------------------------------

    def _telemetry_of(self, result: TickResult) -> Telemetry:
        names, stamp_ns = self._node.model.joint_names, result.measurement.stamp_ns
        terms = {**result.torque_terms, "gate": result.gate.tau - result.tau}
        figures = {
            **result.law.figures(),
            "saturation": float(np.abs(result.tau / self._node.model.tau_max).max()),
            "braking": float(not result.gate.is_passing),
        }
        if result.avoidance is not None:
            figures["nearest_distance"] = result.avoidance.distance
            figures["task_share"] = result.avoidance.task_share
        return [
            *((self._terms[name], ros.joint_state(names, stamp_ns, effort=tau)) for name, tau in terms.items()),
            *((self._figures[name], Float64(data=value)) for name, value in figures.items()),
        ]

    def health(self) -> Health:
        """Level, sentence and figures for ``/diagnostics``."""
        loop = self.loop
        reason = "no robot_description yet" if loop is None else loop.gate.reason
        figures: dict[str, object] = {
            "rate [Hz]": self._duration.rate(),
            "tick p50 [ms]": 1e3 * self._duration.quantile(0.5),
            "tick p99 [ms]": 1e3 * self._duration.quantile(0.99),
            "tick longest [ms]": 1e3 * self._duration.longest,
            "states skipped": 0 if loop is None else loop.gaps.skipped,
            "targets": self._n_goals(),
            "braked": loop is not None and loop.gate.is_braked,
            **self._node.rejections.figures(),
        }
        return (WARN, reason, figures) if reason else (OK, "passing commands", figures)
