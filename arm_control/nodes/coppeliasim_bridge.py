"""The node ``coppeliasim_bridge``: an arm in CoppeliaSim that publishes joint states and obeys joint torque.

It does what the node ``simulator`` does, with the physics of a CoppeliaSim that runs already. The two may lose each
other. When CoppeliaSim does not answer, the node says so, tries again every second, and when it is back finds and
checks everything anew; the arm then stays braked until it is enabled. When the node itself dies, the script it has
left in CoppeliaSim takes all torque away and pauses the simulation. A pause by hand over there is a pause here, and a
stop stays one until somebody presses play or resets.

An object of the scene can be the target: when it is moved there, its pose is published as ``target_pose``. Others can
be obstacles.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped
from visualization_msgs.msg import MarkerArray

from arm_control.core import group, parameter
from arm_control.exceptions import ModelError, SimulationDiverged, SimulatorLost
from arm_control.maths import Array, Obstacle, Pose, rotation_vector
from arm_control.model import Terms
from arm_control.nodes.support.diagnostics import Health
from arm_control.nodes.support.plant_node import PlantNode, PlantParameters, SensorTopics
from arm_control.nodes.support.topics import EVENTS, LATCHED, ros
from arm_control.simulation import CoppeliasimParameters, CoppeliasimSimulator

RETRY = 1.0
"""Wall time between two attempts to connect [s]."""
PERIOD_NS = 20_000_000
"""Simulated time after which the obstacles are told again [ns]."""
PAUSED = "paused in CoppeliaSim: press play there to go on"
STOPPED = "stopped in CoppeliaSim: call the service reset to begin again"
"""Why nothing moves after somebody has pressed a button there."""
MOVED = 1e-4
"""How far the target has to be moved to count as moved [m, rad]."""
NO_COMMAND = ("controller lost", "no command for")
"""How a gate's reasons begin that mean: nobody commands."""


@dataclass(frozen=True)
class CoppeliasimBridgeParameters(PlantParameters):
    """Parameters of the node ``coppeliasim_bridge``."""

    coppeliasim: CoppeliasimParameters = group(CoppeliasimParameters)
    timestep: float = parameter(
        0.005, "simulated time of one step, of the simulation and of its engine", unit="s", lower=1e-4, upper=0.005
    )
    lock_step: bool = parameter(True, "each state waits for its command: nothing is stale, no clock matters")
    on_loss: str = parameter(
        "hold",
        "without commands for loss_time: hold the arm, give it zero torque, or pause",
        choices=("hold", "zero", "pause"),
    )


class CoppeliasimBridgeNode(PlantNode[CoppeliasimBridgeParameters]):
    """CoppeliaSim as a node; the rest is in ``arm_control.simulation.coppeliasim.coppeliasim_simulator``."""

    def __init__(self) -> None:
        self._is_lost, self._was_connected, self._tried_at = True, False, -math.inf
        self._there, self._was_paused = "", False
        self._target: Pose | None = None
        self._told_ns = -PERIOD_NS
        self._sensors: SensorTopics | None = None
        super().__init__("coppeliasim_bridge", CoppeliasimBridgeParameters)

    def make_simulator(self) -> CoppeliasimSimulator:
        """Describe the arm in CoppeliaSim; nothing is connected yet."""
        p = self.parameters
        q = np.array(p.initial_position) if p.initial_position else None
        ranges = self.scenario.range_sensors
        if ranges or (p.wrench_rate and p.coppeliasim.force_sensor):
            rate = p.wrench_rate if p.coppeliasim.force_sensor else 0.0
            self._sensors = self._sensors or SensorTopics(self, ranges, rate)
        return CoppeliasimSimulator(self.model, q, timestep=p.timestep, parameters=p.coppeliasim, ranges=ranges)

    def on_model(self, first: bool) -> None:
        """Connect; a wrong scene ends the node, a server that does not answer yet does not."""
        if first:
            self._targets = self.create_publisher(PoseStamped, "target_pose", LATCHED)
            self._markers = self.create_publisher(MarkerArray, "obstacles", EVENTS)
        else:
            self.simulator.close()
            self._was_connected = False
        super().on_model(first)
        self.at_end.callback(self.simulator.close)
        self._connect()

    # -- losing each other -----------------------------------------------------------------------

    def _connect(self) -> None:
        self._tried_at = time.monotonic()
        try:
            self.simulator.connect()
        except SimulatorLost as error:
            self._lose(error)
        except ModelError as error:
            if not self._was_connected:
                raise
            self._lose(error)
        else:
            self._go_on()

    def _go_on(self) -> None:
        self.start_again()
        self.paused, self._there = self._was_paused if self._there else self.paused, ""
        self._told_ns, self._target = -PERIOD_NS, self.simulator.X_BT
        self.get_logger().info(f"connected with CoppeliaSim {self.simulator.version}")
        for name in self.simulator.unseen:
            self.get_logger().info(f"no proximity sensor /{name} in CoppeliaSim: nothing on range/{name}")
        if self.parameters.wrench_rate and not self.parameters.coppeliasim.force_sensor:
            self.get_logger().info("no wrench: the parameter force_sensor names the force sensor that measures it")
        if self._was_connected:
            self.gate.brake("CoppeliaSim was lost")
            self.log_brake()
        self._is_lost, self._was_connected = False, True

    def _lose(self, error: Exception) -> None:
        said, self._is_lost = f"lost: {error}", True
        if said != self.failure:
            self.get_logger().error(f"{said}; trying again every {RETRY:g} s")
        self.failure = said
        self.gate.brake("CoppeliaSim was lost")
        self.simulator.close()
        self._tried_at = time.monotonic()

    def on_pace(self) -> None:
        """Go on, or try to connect."""
        if self._is_lost:
            if time.monotonic() - self._tried_at >= RETRY:
                self._connect()
            return
        super().on_pace()
        if not self._is_lost:
            try:
                self.simulator.keep_alive()
            except (SimulatorLost, ModelError) as error:
                self._lose(error)
            except SimulationDiverged as error:
                self.stop(error)
            else:
                self._do_as_there()
                self._publish_target()

    # -- play, pause and stop in CoppeliaSim's window ---------------------------------------------

    def _do_as_there(self) -> None:
        """Stand still while somebody has paused or stopped the simulation by hand, and go on with it."""
        there = STOPPED if self.simulator.is_stopped else PAUSED if self.simulator.is_paused else ""
        if there and (there != self._there or not self.paused):
            self.get_logger().warning(there)
            self._was_paused = self._was_paused if self._there else self.paused
            self.paused, self.failure = True, there if there == STOPPED else ""
        elif self._there and not there:
            self.get_logger().info("the simulation in CoppeliaSim goes on")
            self.paused, self.failure = self._was_paused, ""
            self.on_enabled()
        self._there = there

    def advance(self) -> None:
        """Make one step, if CoppeliaSim is there."""
        try:
            super().advance()
        except (SimulatorLost, ModelError) as error:
            self._lose(error)
            return
        if self.parameters.on_loss == "pause" and self.gate.reason.startswith(NO_COMMAND):
            self.paused = True

    def on_controller_lost(self, what: str) -> None:
        """Pause, if that is wanted; else go on, braking."""
        if self.parameters.on_loss != "pause":
            super().on_controller_lost(what)
            return
        self.get_logger().error(f"{what}: paused; call {self.get_name()}/pause with false to go on")
        self.paused = True

    def before_step(self, t: Terms, tau: Array) -> Array:
        """Push, as every simulated arm; return zero without a command, if that is wanted."""
        tau = super().before_step(t, tau)
        is_limp = self.parameters.on_loss == "zero" and self.gate.reason.startswith(NO_COMMAND)
        return np.zeros_like(tau) if is_limp else tau

    # -- what is published -----------------------------------------------------------------------

    def effort(self) -> Array | None:
        """What CoppeliaSim's motors give."""
        return None if self.output is None else self.simulator.effort

    def publish_state(self) -> None:
        """Publish the state, and what of the scene has moved."""
        super().publish_state()
        if self._sensors is not None:
            self._sensors.publish(self.stamp_ns, self.simulator)
        self._publish_target()
        if self.simulator.obstacles and not self._told_ns < self.stamp_ns < self._told_ns + PERIOD_NS:
            self._told_ns = self.stamp_ns
            self._markers.publish(self._obstacles())

    def _publish_target(self) -> None:
        X, last = self.simulator.X_BT, self._target
        if X is None or last is None or not _has_moved(X, last):
            return
        self._target = X
        self._targets.publish(ros.pose_stamped(X, self.frame(self.model.base), self.stamp_ns))

    def _obstacles(self) -> MarkerArray:
        message, shapes = MarkerArray(), self.simulator.obstacles
        for number, ((_, shape), X_BO) in enumerate(zip(shapes, self.simulator.X_BO, strict=True)):
            marker = ros.marker(Obstacle(shape, X_BO))
            marker.header.stamp, marker.header.frame_id = ros.time(self.stamp_ns), self.frame(self.model.base)
            marker.ns, marker.id = "coppeliasim", number
            message.markers.append(marker)
        return message

    def health(self) -> Health:
        level, message, figures = super().health()
        if self.ready:
            figures["CoppeliaSim"] = self.simulator.version
        return level, message, figures


def _has_moved(X: Pose, last: Pose) -> bool:
    turned = rotation_vector(X.R @ last.R.T)
    return bool(np.abs(X.p - last.p).max() > MOVED or np.abs(turned).max() > MOVED)
