"""The node ``obstacle_avoidance``: torque of any controller in, torque that keeps clear of obstacles out.

It stands between a controller (``effort_in``) and the gate (``effort_out``). A command keeps its stamp, so the
gate sees how old it is; when nothing comes in, nothing goes out, and the gate brakes. The gate hears this node only, so
commands of a second publisher, and late or repeated ones, are refused here by the gate's rules.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from arm_control.control import (
    SPEED_LIMITS,
    ArmNodeParameters,
    Avoidance,
    AvoidanceOutput,
    AvoidanceParameters,
    Measurement,
    RealTimeParameters,
)
from arm_control.core import NANOSECONDS, group, parameter
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array
from arm_control.messages import JointStateFields, JointStateReader, PublisherLock, Refused, brake_reason, nanoseconds
from arm_control.model import Terms
from arm_control.nodes.support.arm_node import IN_USE, ArmNode
from arm_control.nodes.support.diagnostics import OK, WARN, Health, Rate
from arm_control.nodes.support.message_bytes import joint_state_writer
from arm_control.nodes.support.subscriptions import ObstacleSubscription, subscribe_to_joint_states
from arm_control.nodes.support.topics import STATE, ros
from arm_control.processes import OUT_OF_ORDER

SILENCE = 1.0
"""Time without a command after which another robot may be taken [s]."""


@dataclass(frozen=True)
class AvoidanceNodeParameters(ArmNodeParameters):
    """Parameters of the node ``obstacle_avoidance``."""

    avoidance: AvoidanceParameters = group(AvoidanceParameters)
    real_time: RealTimeParameters = group(RealTimeParameters)

    speed_limit_linear: float = parameter(
        SPEED_LIMITS[0], "speed of the hand up to which a push may bring it", unit="m/s", lower=1e-3, live=True
    )
    speed_limit_angular: float = parameter(
        SPEED_LIMITS[1], "the same of its angular speed", unit="rad/s", lower=1e-3, live=True
    )
    max_age: float = parameter(0.02, "age above which a state or a command is stale; 0: never", unit="s", lower=0.0)
    telemetry_every: int = parameter(20, "commands between two sets of avoidance/*", lower=1)


class ObstacleAvoidanceNode(ArmNode[AvoidanceNodeParameters]):
    """Obstacle avoidance as a node; the law is in ``arm_control.control.avoidance_law``."""

    _obstacles: ObstacleSubscription

    def __init__(self) -> None:
        super().__init__("obstacle_avoidance", AvoidanceNodeParameters)
        self._measurement: Measurement | None = None
        self._terms: Terms | None = None
        self._early: tuple[JointStateFields, dict[str, Any]] | None = None
        self._output: AvoidanceOutput | None = None
        self._rate, self._count = Rate(), 0
        self._efforts = self.create_publisher(JointState, "effort_out", self.state_qos())
        self._torque = self.create_publisher(JointState, "torque_terms/avoidance", STATE)
        self._figures = {
            name: self.create_publisher(Float64, f"avoidance/{name}", STATE) for name in ("distance", "task_share")
        }
        self._figure_set = self.create_publisher(Float64MultiArray, "avoidance/figures", STATE)
        self._passed_at = -math.inf
        self.why_model_stays = lambda: IN_USE if time.monotonic() - self._passed_at < SILENCE else ""
        self.find_model()

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Make the law for this robot and listen."""
        self._max_age = 0.0 if self.parameters.lock_step else self.parameters.max_age
        self._reader = JointStateReader(self.model, self._max_age, drives_arm=True)
        self._lock = PublisherLock(math.inf if self.parameters.lock_step else PublisherLock.SILENCE)
        self._accepted_ns = -1
        self._write = joint_state_writer(self.model.joint_names)
        self._measurement = self._terms = None
        self._avoidance = Avoidance(self.model, self.parameters.avoidance)
        self.on_parameters()
        if first:
            self._obstacles = ObstacleSubscription(self, is_counted=True)
            subscribe_to_joint_states(self, "joint_states", self._on_state)
            subscribe_to_joint_states(self, "effort_in", self._on_effort)

    def on_parameters(self) -> None:
        """New parameters act from the next command on; the gate smooths the step."""
        if self.ready:
            p = self.parameters
            self._avoidance.parameters = p.avoidance
            self._avoidance.speed_limits = p.speed_limit_linear, p.speed_limit_angular

    # -- one tick --------------------------------------------------------------------------------

    def _on_state(self, message: JointStateFields, info: dict[str, Any]) -> None:
        reading = self._reader.read(message, info)
        if isinstance(reading, Refused):
            self.rejections.add("joint_states", reading.error)
        if not isinstance(reading, Measurement):
            return
        self._obstacles.on_measurement(reading)
        self._measurement = reading
        if reading.is_restart:
            self._accepted_ns = -1
            if self.parameters.lock_step:  # nothing else ends ownership there: no clock counts
                self._lock.release()
        self._terms = self.model.evaluate(reading.q, reading.v)
        early, self._early = self._early, None
        if early is not None:
            self._on_effort(*early)

    def _on_effort(self, message: JointStateFields, info: dict[str, Any]) -> None:
        """Add avoidance to a command; one that comes before its state waits for it."""
        stamp_ns, measurement = nanoseconds(message.header.stamp), self._measurement
        try:
            self._lock.check(info)
            self._early = None
            if measurement is None or stamp_ns > measurement.stamp_ns:
                self._early = (message, info)
                return
            tau = self._checked_effort(message, stamp_ns, measurement)
        except ArmControlError as error:
            self.rejections.add("effort_in", error)
            return
        self._lock.take(info)
        assert self._terms is not None
        self._output = self._avoidance.tick(self._terms, self._obstacles.newest(measurement), tau)
        names = self.model.joint_names
        frame_id = message.header.frame_id  # says whether the controller brakes
        self._efforts.publish(self._write(stamp_ns, self._output.tau_total, frame_id=frame_id))
        self._passed_at = time.monotonic()
        self._rate.tick()
        if self._count % self.parameters.telemetry_every == 0:
            self._torque.publish(ros.joint_state(names, stamp_ns, effort=self._output.tau))
            figures = {"distance": self._output.distance, "task_share": self._output.task_share}
            for name, value in figures.items():
                self._figures[name].publish(Float64(data=value))
            self._figure_set.publish(ros.multi_array(np.array([*figures.values()]), (tuple(figures),), stamp_ns))
        self._count += 1

    def _checked_effort(self, message: JointStateFields, stamp_ns: int, measurement: Measurement) -> Array:
        """Return the torque of a command [N m or N]; raise for one that is stale, late or repeated."""
        age = (measurement.stamp_ns - stamp_ns) / NANOSECONDS
        if self._max_age and age > self._max_age:
            raise InputError(f"stale: {age * 1e3:.1f} ms old, allowed {self._max_age * 1e3:.1f} ms")
        tau = self.model.in_joint_order(message.name, message.effort, "effort")
        if not brake_reason(message):  # a late brake is a brake
            if stamp_ns <= self._accepted_ns and not self.parameters.lock_step:
                raise InputError(OUT_OF_ORDER)
            self._accepted_ns = stamp_ns
        return tau

    def health(self) -> Health:
        figures: dict[str, object] = {"rate [Hz]": self._rate.read()}
        if self._output is None:
            return WARN, "waiting for commands", figures
        figures["nearest [m]"] = self._output.distance
        pairs = self._output.pairs
        near = " and ".join(pairs.names[int(pairs.rho.argmin())]) if pairs.names else ""
        if self._output.takeover:
            return WARN, f"avoidance alone: {near}", figures
        return OK, f"near: {near}" if near else "nothing near", figures
