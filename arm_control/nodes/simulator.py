"""The node ``simulator``: an arm in MuJoCo that publishes joint states and obeys joint torque.

Lock step: it publishes a state and waits for the command that carries the state's stamp. Nothing is
lost and no clock is involved, so two runs are the same to the last bit. Real time: it steps by the
steady clock and takes the newest command. In both, the torque passes a gate of its own, which brakes
by itself when no command comes.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from arm_control.description.urdf import read_source
from arm_control.exceptions import InputError, SimulationDiverged
from arm_control.gate import EffortGate, GateOutput, GateParameters
from arm_control.nodes.base import LATCHED, STATE, ArmNode, ArmParameters, run
from arm_control.nodes.conversions import NANOSECONDS, joint_state, nanoseconds, time_message
from arm_control.nodes.health import ERROR, OK, WARN, Diagnostics, Durations, Rate
from arm_control.nodes.states import PublisherLock
from arm_control.parameters import parameter
from arm_control.resources import urdf_path
from arm_control.scenario import world_of
from arm_control.simulators.mujoco_simulator import MujocoSimulator

COMMANDS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""A few may wait, so that none is lost from the count; the newest one acts."""


@dataclass(frozen=True)
class SimulatorParameters(GateParameters, ArmParameters):
    """Parameters of the node ``simulator``."""

    robot: str = parameter(
        "", "robot to simulate and publish as robot_description: a name, or a URDF or xacro file; empty: see there"
    )
    initial_position: tuple[float, ...] = parameter((), "joint positions at the start; empty: zero", unit="rad")
    timestep: float = parameter(0.001, "simulated time of one step", unit="s", lower=1e-5, upper=0.02)
    damping: float = parameter(0.0, "viscous damping of every joint", unit="N m s/rad", lower=0.0)
    real_time_factor: float = parameter(
        1.0, "simulated time per wall time: 0.25 is slow motion", lower=0.001, upper=10.0, live=True
    )
    start_paused: bool = parameter(False, "publish no state until ~/pause is called with false")
    resend_period: float = parameter(0.1, "lock step: wall time until a state is sent again", unit="s", lower=1e-3)
    world: str = parameter("", "scenario with pushes on the end effector: a name, or the path of its file; empty: none")
    loss_time: float = parameter(1.0, "lock step: wall time after which the controller is lost", unit="s", lower=0.01)


class SimulatorNode(ArmNode):
    """MuJoCo as a node; the physics is in ``arm_control.simulators.mujoco_simulator``."""

    parameters: SimulatorParameters
    BACKLOG = 5
    """Steps that may wait to be made up for; what is further behind is dropped, and simulated time slows."""
    OPEN = 100
    """States whose answers are still waited for, to measure the time it took."""

    def __init__(self) -> None:
        super().__init__("simulator", SimulatorParameters)
        self._world = world_of(self.parameters.world)
        silence = math.inf if self.parameters.lock_step else PublisherLock.SILENCE
        self._lock, self._array_lock = (PublisherLock(silence) for _ in range(2))
        self._latency, self._rate = Durations(), Rate()
        self._open: dict[int, int] = {}
        self._published = self._dropped = 0
        self._accepted_ns = -1
        self._output: GateOutput | None = None
        self._failure = ""
        self._states = self.create_publisher(JointState, "joint_states", self.state_qos())
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", STATE)
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self.serve_enable()
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._diagnostics = Diagnostics(self)
        if self.parameters.robot:
            description, _ = read_source(urdf_path(self.parameters.robot))
            self._take_model(description)
            self._description.publish(String(data=description))
        else:
            self.find_model()

    def on_model(self, first: bool) -> None:
        """Build the simulation and start."""
        p = self.parameters
        self._simulator = MujocoSimulator(
            self.model, p.initial_position or None, timestep=p.timestep, damping=p.damping
        )
        self.gate = EffortGate(self.model, p)
        self._tick_ns = round(p.timestep * NANOSECONDS)
        self._paused, self._published_ns = p.start_paused, -1
        if not first:
            return
        self.control_path.subscribe(JointState, "joint_commands", self._on_command, COMMANDS)
        self.control_path.subscribe(Float64MultiArray, "effort_controller/commands", self._on_array, COMMANDS)
        self.control_path.every(p.timestep / max(1.0, p.real_time_factor), self._on_pace)
        self._behind_since = time.perf_counter()

    # -- commands --------------------------------------------------------------------------------

    @property
    def stamp_ns(self) -> int:
        """Simulated time [ns]."""
        return self._simulator.steps * self._tick_ns

    def _on_command(self, message: JointState, info: dict[str, Any]) -> None:
        stamp_ns = nanoseconds(message.header.stamp)
        if self.parameters.lock_step and stamp_ns != self.stamp_ns:
            return
        age = (self.stamp_ns - stamp_ns) / NANOSECONDS
        repeated = stamp_ns == self._accepted_ns
        if self._accept(self._lock, "joint_commands", message.name, message.effort, age, info, repeated):
            self._accepted_ns = stamp_ns
            self._count_answer(stamp_ns, info["received_timestamp"])
            if self.parameters.lock_step:
                self._advance()

    def _on_array(self, message: Float64MultiArray, info: dict[str, Any]) -> None:
        """A command without a stamp, from any effort controller; where there are stamped ones, they count."""
        topic, names = "effort_controller/commands", self.model.joint_names
        free = not self._lock.held and self._accept(self._array_lock, topic, names, message.data, 0.0, info)
        if free and self.parameters.lock_step:
            self._advance()

    def _accept(
        self,
        lock: PublisherLock,
        topic: str,
        names: Any,
        effort: Any,
        age: float,
        info: dict[str, Any],
        repeated: bool = False,
    ) -> bool:
        """Offer a command to the gate; one whose stamp has been accepted already is passed over."""
        if self._paused or (self.parameters.lock_step and self.gate.latched):
            return False
        try:
            lock.check(info)
            if repeated:
                return False
            self.gate.offer(names, effort, age)
        except InputError as error:
            self.rejections.add(topic, error)
            return False
        lock.take(info)
        return True

    def _count_answer(self, stamp_ns: int, received_ns: int) -> None:
        published_ns = self._open.pop(stamp_ns, None)
        if published_ns is not None:
            self._latency.add((received_ns - published_ns) / NANOSECONDS)

    # -- time ------------------------------------------------------------------------------------

    def _on_pace(self) -> None:
        if self._paused:
            self._behind_since = time.perf_counter()
            if self._published_ns >= 0:
                self._resend()
        elif self._published_ns != self.stamp_ns:
            self._publish_state()
        elif self.parameters.lock_step and not self.gate.latched:
            self._behind_since = time.perf_counter()
            self._resend()
            self._watch_for_loss()
        else:
            self._catch_up()

    def _catch_up(self) -> None:
        """One step when the steady clock says so, so that commands are heard between two steps."""
        timestep = self.parameters.timestep / self.parameters.real_time_factor
        due = int((time.perf_counter() - self._behind_since) / timestep)
        if due > self.BACKLOG:
            self._dropped += due - self.BACKLOG
            self._behind_since += (due - self.BACKLOG) * timestep
        if due > 0:
            self._behind_since += timestep
            self._advance()

    def _resend(self) -> None:
        """Send a state again that nobody has answered for a while, or while paused."""
        if time.perf_counter() - self._sent_at >= self.parameters.resend_period:
            self._send_state()

    def _watch_for_loss(self) -> None:
        """Lock step: a state that stays unanswered too long is a lost controller; go on, braking."""
        if time.perf_counter() - self._published_at > self.parameters.loss_time:
            self.get_logger().error(f"no command for the state at {self.stamp_ns / NANOSECONDS:.3f} s: braking")
            self.gate.brake("controller lost")

    def _advance(self) -> None:
        """One step: torque through the gate, physics, the new state."""
        was_latched = self.gate.latched
        try:
            terms = self.model.evaluate(self._simulator.q, self._simulator.v)
            self._output = self.gate.tick(terms, self.parameters.timestep)
            if self._world.pushes:
                self._simulator.load(terms.J.T @ self._world.wrench(self.stamp_ns / NANOSECONDS))
            self._simulator.step(self._output.tau)
        except (InputError, SimulationDiverged) as error:
            self._paused, self._failure = True, str(error)
            self.get_logger().error(f"stopped: {error}")
            return
        if self.gate.latched and not was_latched:
            self.get_logger().error(f"braking: {self.gate.braking}; call {self.get_name()}/enable to go on")
        self._rate.tick()
        self._publish_state()

    def _publish_state(self) -> None:
        self._published_at, self._published_ns = time.perf_counter(), self.stamp_ns
        self._open[self.stamp_ns] = time.time_ns()
        if len(self._open) > self.OPEN:
            del self._open[next(iter(self._open))]
        self._published += 1
        self._send_state()

    def _send_state(self) -> None:
        self._sent_at = time.perf_counter()
        q, v = self._simulator.q, self._simulator.v
        effort = None if self._output is None else self._output.tau
        self._states.publish(joint_state(self.model.joint_names, self.stamp_ns, position=q, velocity=v, effort=effort))
        self._clock_publisher.publish(ClockMessage(clock=time_message(self.stamp_ns)))

    def _listen_to_anyone(self) -> None:
        self._lock.release()
        self._array_lock.release()
        self._accepted_ns = -1

    # -- services --------------------------------------------------------------------------------

    def on_enabled(self) -> None:
        """Listen to whoever commands next, and send the state again, so that it is answered."""
        self._listen_to_anyone()
        self._published_ns = -1

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self.ready and not (self._failure and not request.data)
        response.message = self._failure or ("paused" if request.data else "running")
        if response.success:
            self._paused, self._published_ns = request.data, -1 if not request.data else self._published_ns
        return response

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.ready and self._paused and not self._failure
        if response.success:
            self._advance()
            response.message = f"at {self.stamp_ns / NANOSECONDS:.3f} s"
        else:
            response.message = self._failure or "pause first"
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.ready
        if self.ready:
            self._simulator.reset()
            self.gate.reset()
            self._listen_to_anyone()
            self._failure, self._output = "", None
            self._publish_state()
        response.message = "at the initial position, at time 0" if self.ready else "no robot yet"
        return response

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, sentence and figures for ``/diagnostics``."""
        if not self.ready:
            return WARN, "no robot_description yet", {}
        answered = self._latency.count / max(self._published, 1)
        figures: dict[str, object] = {
            "rate [Hz]": self._rate.read(),
            "time [s]": self.stamp_ns / NANOSECONDS,
            "states": self._published,
            "states answered": self._latency.count,
            "answered within 2 ms [%]": 100.0 * self._latency.share_within(2e-3) * answered,
            "answer p50 [ms]": 1e3 * self._latency.quantile(0.5),
            "answer p99 [ms]": 1e3 * self._latency.quantile(0.99),
            "overruns": self._dropped,
            "success rate [%]": 100.0 * self.gate.success_rate,
        }
        figures.update(self.rejections.figures())
        level = ERROR if self._failure else WARN if self.gate.braking else OK
        return level, self._failure or self.gate.braking or ("paused" if self._paused else "running"), figures


def main() -> None:
    """Entry point of ``ros2 run arm_control simulator``."""
    run(SimulatorNode)


if __name__ == "__main__":
    main()
