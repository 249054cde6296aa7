"""What every node that simulates an arm does, whichever program does the physics.

Lock step: it publishes a state and waits for the command that carries the state's stamp. Nothing is lost and no clock
is involved, so two runs are the same to the last bit. Real time: it steps by the steady clock and takes the newest
command. Paced is lock step by the steady clock: a late command slows simulated time, and nothing else. In all of them
the torque passes a gate of its own, which brakes by itself when no command comes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, Range
from std_msgs.msg import Float64, Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from arm_control.control import ArmNodeParameters
from arm_control.core import NANOSECONDS, group, parameter
from arm_control.exceptions import ArmControlError, InputError, SimulationDiverged
from arm_control.gate import EffortGate, GateOutput, GateParameters, is_at_rest
from arm_control.maths import Array
from arm_control.messages import FIELDS, JointStateFields, PublisherLock, brake_reason, nanoseconds
from arm_control.model import Terms, read_description
from arm_control.nodes.support.arm_node import IN_USE, ArmNode
from arm_control.nodes.support.diagnostics import ERROR, OK, WARN, AnswerLatency, Health, Rate
from arm_control.nodes.support.gates import GateControl, GateStatePublisher
from arm_control.nodes.support.message_bytes import joint_state_writer
from arm_control.nodes.support.subscriptions import subscribe_to_joint_states
from arm_control.nodes.support.topics import COMMANDS, LATCHED, STATE, full_names, ros
from arm_control.processes import OUT_OF_ORDER
from arm_control.simulation import CoppeliasimSimulator, RangeSensor, Sampling, Scenario, SimulatedSensors, scenario_in

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # it is not among the wheels on PyPI
    TFMessage = None

COMMAND_TOPICS = ("joint_commands", "effort_controller/commands")
"""Topics with commands, with stamps and without."""
CLOCK = "/clock"
LOOKING_PERIOD = 1.0
"""Wall time between two looks for other publishers [s]."""
NOTICE_PERIOD = 10.0
"""Time between two notices of what is awaited [s]."""


class StepPacer:
    """Paces the steps of a simulation by the steady clock.

    Attributes
    ----------
    dropped : int
        Steps that are not made up for: simulated time went slower instead.
    """

    BACKLOG = 5
    """Steps that may be late and are made up for; more are dropped."""

    def __init__(self) -> None:
        self.dropped = 0
        self.restart()

    def restart(self) -> None:
        """Begin now: no step is due."""
        self._since = time.perf_counter()

    def take_step(self, timestep: float) -> bool:
        """Return whether a step is due, and count it as done."""
        due = int((time.perf_counter() - self._since) / timestep)
        if due > self.BACKLOG:
            self.dropped += due - self.BACKLOG
            self._since += (due - self.BACKLOG) * timestep
        if due > 0:
            self._since += timestep
        return due > 0


class ClockPublisher:
    """Publishes ``/clock``, unless a node whose full name comes first in the alphabet does.

    So two simulators in a domain have one clock, and the other one goes on with it when its owner ends.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(Clock, CLOCK, STATE)
        self._name = node.get_fully_qualified_name()
        self._looked_at = -LOOKING_PERIOD
        self._is_owner = True

    def publish(self, stamp_ns: int) -> None:
        """Publish a time [ns], if this node owns the clock."""
        now = time.monotonic()
        if now - self._looked_at >= LOOKING_PERIOD:
            self._looked_at = now
            self._look()
        if self._is_owner:
            self._publisher.publish(Clock(clock=ros.time(stamp_ns)))

    def _look(self) -> None:
        """Find the owner of the clock."""
        owner = self._name
        if self._node.count_publishers(CLOCK) > 1:
            owner = min([self._name, *full_names(self._node, CLOCK)])
        if self._is_owner and owner != self._name:
            self._node.get_logger().info(f"{CLOCK} is left to {owner}")
        self._is_owner = owner == self._name


class AwaitedCounts:
    """Counts that the controller publishes as ``controller_state/*``, and the least that each must reach.

    A count of 0 is awaited, too: with its first one a controller says that it has its model and its law.

    Parameters
    ----------
    least : mapping of str to int
        Awaited number by name, such as ``targets`` and ``obstacles``.

    Attributes
    ----------
    missing : dict of str to int
        Those that are not reached yet.
    """

    def __init__(self, node: Node, least: Mapping[str, int]) -> None:
        self._node = node
        self._noticed_at = time.monotonic()
        self.missing = dict(least)
        for name in least:
            self._await(name)

    def _await(self, name: str) -> None:
        def on_count(message: Float64) -> None:
            if name in self.missing and message.data >= self.missing[name]:
                del self.missing[name]

        self._node.create_subscription(Float64, f"controller_state/{name}", on_count, LATCHED)

    def say_what_is_missing(self) -> None:
        """Log what is awaited, if it is time to."""
        now = time.monotonic()
        if self.missing and now - self._noticed_at >= NOTICE_PERIOD:
            self._noticed_at = now
            awaited = ", ".join(f"{name} (at least {least})" for name, least in self.missing.items())
            self._node.get_logger().warning(f"waiting for a controller that knows its {awaited}")


class SensorTopics:
    """Publishers of the sensors; of ``wrench`` at a rate [Hz], 0: no such topic."""

    def __init__(self, node: ArmNode[ArmNodeParameters], ranges: Sequence[RangeSensor], wrench_rate: float) -> None:
        self._node, qos = node, node.state_qos()
        self._wrench = node.create_publisher(WrenchStamped, "wrench", qos) if wrench_rate else None
        self._wrench_sampling = Sampling(wrench_rate)
        self._ranges = [
            (sensor, Sampling(sensor.rate), node.create_publisher(Range, f"range/{sensor.name}", qos))
            for sensor in ranges
        ]
        turned = [sensor for sensor in ranges if not sensor.is_at_link]
        if TFMessage is not None and turned:
            self._tf_static = node.create_publisher(TFMessage, "/tf_static", LATCHED)
            self._tf_static.publish(TFMessage(transforms=[self._transform(sensor) for sensor in turned]))

    def publish(self, stamp_ns: int, sensors: SimulatedSensors | CoppeliasimSimulator) -> None:
        """Publish what is due; called once for each state."""
        if self._wrench is not None and self._wrench_sampling.is_due(stamp_ns):
            F_E = sensors.wrench()
            if F_E is not None:
                tip = self._node.frame(self._node.model.tip)
                self._wrench.publish(ros.wrench_stamped(F_E.tolist(), tip, stamp_ns))
        for sensor, sampling, publisher in self._ranges:
            if sampling.is_due(stamp_ns):
                distance = sensors.distance(sensor)
                if distance is not None:
                    publisher.publish(ros.range_reading(sensor, distance, self._frame(sensor), stamp_ns))

    def _frame(self, sensor: RangeSensor) -> str:
        return self._node.frame(sensor.frame(self._node.model.tip))

    def _transform(self, sensor: RangeSensor) -> object:
        link = self._node.frame(sensor.link or self._node.model.tip)
        return ros.transform_stamped(sensor.X_LS, link, self._frame(sensor), 0)


@dataclass(frozen=True)
class PlantParameters(ArmNodeParameters):
    """Parameters of a node that simulates an arm."""

    gate: GateParameters = group(GateParameters)
    robot: str = parameter(
        "", "robot to simulate and publish as robot_description: a name, or a URDF or xacro file; empty: the topic's"
    )
    initial_position: tuple[float, ...] = parameter((), "joint positions at the start; empty: zero", unit="rad")
    timestep: float = parameter(0.001, "simulated time of one step", unit="s", lower=1e-5, upper=0.02)
    real_time_factor: float = parameter(
        1.0, "simulated time per wall time: 0.25 is slow motion", lower=0.001, upper=10.0, live=True
    )
    paced: bool = parameter(
        False, "lock step at the pace of the clock: a late command slows simulated time, and nothing else"
    )
    world: str = parameter(
        "", "scenario with pushes, solid obstacles and range sensors: a name, or the path of its file; empty: none"
    )
    wrench_rate: float = parameter(
        0.0,
        "messages of wrench, a force-torque sensor at the end effector; 0: none",
        unit="Hz",
        lower=0.0,
        upper=1000.0,
    )
    start_paused: bool = parameter(False, "publish no state until ~/pause is called with false")
    awaited_targets: int = parameter(
        -1, "time begins when the controller knows so many targets, and with its first command; -1: at once", lower=-1
    )
    awaited_obstacles: int = parameter(0, "the same for obstacles; 0: none is awaited", lower=0)
    resend_period: float = parameter(0.1, "lock step: wall time until a state is sent again", unit="s", lower=1e-3)
    loss_time: float = parameter(
        1.0, "lock step: wall time without any publisher of commands after which the arm brakes", unit="s", lower=0.01
    )


P_co = TypeVar("P_co", bound=PlantParameters, covariant=True)


class PlantNode(ArmNode[P_co]):
    """An arm that publishes joint states and obeys joint torque.

    Attributes
    ----------
    simulator : object
        What does the physics, as :meth:`make_simulator` has made it.
    output : GateOutput or None
        What the gate let through in the last step.
    failure : str
        Why it cannot go on; empty while it can.
    """

    simulator: Any
    gate: EffortGate
    scenario: Scenario

    def __init__(self, name: str, parameter_class: type[P_co]) -> None:
        super().__init__(name, parameter_class)
        silence = math.inf if self.parameters.lock_step else PublisherLock.SILENCE
        self._lock, self._array_lock = (PublisherLock(silence, time.monotonic) for _ in range(2))
        self._latency, self._rate = AnswerLatency(), Rate()
        self._pacer, self._accepted_ns, self._answered_ns = StepPacer(), -1, -1
        self.output: GateOutput | None = None
        self.failure = ""
        self._states = self.create_publisher(JointState, "joint_states", self.state_qos())
        self._time = ClockPublisher(self)
        self._awaited = AwaitedCounts(self, self._least_counts())
        self._awaits_command = bool(self._awaited.missing) and not self.parameters.lock_step
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._gate_state = GateStatePublisher(self, lambda: self.gate if self.ready else None)
        self._gate_control = GateControl(self, lambda: self.gate if self.ready else None, self.on_enabled)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.why_model_stays = self._why_model_stays
        if self.parameters.robot:
            description = read_description(self.parameters.robot)
            self.take_model(description)
            self._description.publish(String(data=description))
        else:
            self.find_model()

    def _least_counts(self) -> dict[str, int]:
        """What the controller must know before time begins."""
        p = self.parameters
        obstacles = {"obstacles": p.awaited_obstacles} if p.awaited_obstacles else {}
        return {"targets": p.awaited_targets, **obstacles} if p.awaited_targets >= 0 else {}

    def _why_model_stays(self) -> str:
        may_change = not self.ready or self.output is None or (self.gate.is_braked and is_at_rest(self.simulator.v))
        return "" if may_change else IN_USE

    def make_simulator(self) -> Any:
        """Return what does the physics of ``self.model``: q, v, steps, step(tau), load(tau) and reset() are needed."""
        raise NotImplementedError

    def before_step(self, t: Terms, tau: Array) -> Array:
        """Return the torque that is applied in a state, where the gate lets ``tau`` through; push the end effector."""
        if self.scenario.world.pushes:
            self.simulator.load(t.J.T @ self.scenario.world.wrench(self.stamp_ns / NANOSECONDS, t))
        return tau

    def effort(self) -> Array | None:
        """What the motors give, as it is published; None before the first step."""
        return None if self.output is None else self.output.tau

    def on_controller_lost(self, what: str) -> None:
        """Called when nobody answers a state in lock step: go on, braking."""
        self.get_logger().error(f"{what}: braking")
        self.gate.brake("controller lost")

    def on_model(self, first: bool) -> None:
        """Build the simulation and start."""
        p = self.parameters
        self.scenario = scenario_in(p.world)
        self.simulator = self.make_simulator()
        before = None if first else self.gate
        self.gate = EffortGate(self.model, p.gate)
        if before is not None:
            self.gate.succeed(before)
        self._writes = {n: joint_state_writer(self.model.joint_names, FIELDS[:n]) for n in (2, 3)}
        self.paused, self._published_ns, self._tick_ns = p.start_paused, -1, round(p.timestep * NANOSECONDS)
        if not first:
            return
        subscribe_to_joint_states(self, COMMAND_TOPICS[0], self._on_command, COMMANDS)
        self.control_path.subscribe(Float64MultiArray, COMMAND_TOPICS[1], self._on_array, COMMANDS)
        self.control_path.every(p.timestep / max(1.0, p.real_time_factor), self.on_pace)
        self._pacer.restart()

    def on_parameters(self) -> None:
        """Take other constraints; they act from the next command on."""
        if self.ready and "constraints" in self.changed:
            self.gate.change_constraints(self.parameters.gate.constraints)

    # -- commands --------------------------------------------------------------------------------

    @property
    def stamp_ns(self) -> int:
        """Simulated time [ns]."""
        return self.simulator.steps * self._tick_ns

    def _on_command(self, message: JointStateFields, info: dict[str, Any]) -> None:
        stamp_ns = nanoseconds(message.header.stamp)
        if self.parameters.lock_step and stamp_ns != self.stamp_ns:
            return
        age = (self.stamp_ns - stamp_ns) / NANOSECONDS
        repeated = stamp_ns <= self._accepted_ns
        if (reason := brake_reason(message)) and stamp_ns < self._accepted_ns:
            self.rejections.add("joint_commands", InputError(OUT_OF_ORDER))  # a brake that old has been ended since
        elif reason:
            self._on_braked_controller(reason, info)
        elif self._accept(self._lock, "joint_commands", message.name, message.effort, age, info, repeated):
            self._accepted_ns = stamp_ns
            self._latency.on_command(stamp_ns, info["received_timestamp"])
            if self.parameters.lock_step:
                self._step_when_due()

    def _on_braked_controller(self, reason: str, info: dict[str, Any]) -> None:
        """Brake with a controller that brakes: its torque is no command. Lock step goes on, holding the arm."""
        if self.paused or self.gate.is_braked:
            return
        is_heard = False
        try:
            self._lock.check(info)
            is_heard = True
            self._lock.take(info)
            self.gate.offer_brake(reason)
        except InputError as error:
            self.rejections.add("joint_commands", error)
        if self.gate.is_braked:
            self.log_brake()
        elif is_heard and self.parameters.lock_step:
            self._step_when_due()

    def _on_array(self, message: Float64MultiArray, info: dict[str, Any]) -> None:
        """A command without a stamp, from any effort controller; where there are stamped ones, they count."""
        topic, names = "effort_controller/commands", self.model.joint_names
        free = not self._lock.held and self._accept(self._array_lock, topic, names, message.data, 0.0, info, False)
        if free and self.parameters.lock_step:
            self._step_when_due()

    def _accept(
        self, lock: PublisherLock, topic: str, names: Any, effort: Any, age: float, info: dict[str, Any], repeated: bool
    ) -> bool:
        """Offer a command to the gate; one whose stamp has been accepted already is passed over."""
        if self.paused or (self.parameters.lock_step and self.gate.is_braked):
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
        self._awaits_command = False
        return True

    # -- time ------------------------------------------------------------------------------------

    def on_pace(self) -> None:
        """Publish, wait, or go on; called once a step of the steady clock."""
        if self.paused:
            self._pacer.restart()
            if self._published_ns >= 0:
                self._resend()
        elif self._awaited.missing:
            self._await_controller()
        elif self._published_ns != self.stamp_ns:
            self.publish_state()
        elif self.parameters.lock_step and not self.gate.is_braked and self._answered_ns != self.stamp_ns:
            self._resend()
            self._watch_for_loss()
        elif self._awaits_command and not self.gate.is_braked:
            self._pacer.restart()
            self._resend()
        else:
            self._catch_up()

    def _await_controller(self) -> None:
        """Stand still until the controller is ready; end where another node simulates this arm or drives it."""
        self._pacer.restart()
        self._awaited.say_what_is_missing()
        if self.count_publishers(self._states.topic_name) > 1:
            raise InputError(f"{self._states.topic_name} has another publisher: end that one")

    def _step_when_due(self) -> None:
        """Lock step: the state has its command. At a pace, the step is made when it is time for it."""
        if self.parameters.paced:
            self._answered_ns = self.stamp_ns
            self._catch_up()
        else:
            self._pacer.restart()
            self.advance()

    def _catch_up(self) -> None:
        """One step when the steady clock says so, so that commands are heard between two steps."""
        if self._pacer.take_step(self.parameters.timestep / self.parameters.real_time_factor):
            self.advance()

    def _resend(self) -> None:
        """Send a state again that nobody has answered for a while, or while paused."""
        if time.perf_counter() - self._sent_at >= self.parameters.resend_period:
            self._send_state()

    def _watch_for_loss(self) -> None:
        """Lock step: wait as long as somebody is there who may answer; when nobody is, go on, braking.

        How long a busy machine takes to answer does not matter, so two runs stay the same.
        """
        if time.perf_counter() - self._published_at <= self.parameters.loss_time:
            return
        if not any(self.count_publishers(topic) for topic in COMMAND_TOPICS):
            self.on_controller_lost(f"no command for the state at {self.stamp_ns / NANOSECONDS:.3f} s")

    def advance(self) -> None:
        """Make one step: torque through the gate, physics, the new state."""
        was_latched = self.gate.is_braked
        try:
            terms = self.model.evaluate(self.simulator.q, self.simulator.v)
            self.output = self.gate.tick(terms, self.parameters.timestep)
            self._gate_state.on_tick(self.output.tau, self.stamp_ns)
            self.simulator.step(self.before_step(terms, self.output.tau))
        except (InputError, SimulationDiverged) as error:
            self.stop(error)
            return
        if self.gate.is_braked and not was_latched:
            self.log_brake()
        self._rate.tick()
        self.publish_state()

    def log_brake(self) -> None:
        """Say why the gate brakes, and what helps."""
        helps = f"`arm_control enable`, or the service {self.get_name()}/enable, to go on"
        self.get_logger().error(f"braking: {self.gate.reason}; {helps}")

    def stop(self, error: Exception) -> None:
        """Stand still, and say once why; only a reset helps."""
        if str(error) != self.failure:
            self.get_logger().error(f"stopped: {error}")
        self.paused, self.failure = True, str(error)

    def publish_state(self) -> None:
        """Publish the state, which waits for its command from now on."""
        self._published_at, self._published_ns = time.perf_counter(), self.stamp_ns
        self._latency.on_state(self.stamp_ns)
        self._send_state()

    def _send_state(self) -> None:
        self._sent_at = time.perf_counter()
        values = [x for x in (self.simulator.q, self.simulator.v, self.effort()) if x is not None]
        self._states.publish(self._writes[len(values)](self.stamp_ns, *values))
        self._time.publish(self.stamp_ns)

    def _listen_to_anyone(self) -> None:
        self._lock.release()
        self._array_lock.release()
        self._accepted_ns = self._answered_ns = -1

    # -- services --------------------------------------------------------------------------------

    def on_enabled(self) -> None:
        """Listen to whoever commands next, and send the state again, so that it is answered."""
        self._listen_to_anyone()
        self._published_ns = -1

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self.ready and not (self.failure and not request.data)
        response.message = self.failure or ("paused" if request.data else "running")
        if response.success:
            self.paused, self._published_ns = request.data, -1 if not request.data else self._published_ns
            if not request.data:  # time begins, whatever the controller knows
                self._awaited.missing.clear()
                self._awaits_command = False
        return response

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        may_step = self.ready and self.paused and not self.failure
        if may_step:
            self.advance()
        response.success = may_step and not self.failure
        response.message = self.failure or (f"at {self.stamp_ns / NANOSECONDS:.3f} s" if may_step else "pause first")
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.success, response.message = self._reset(), "at the initial position, at time 0"
        except ArmControlError as error:
            response.message = str(error)
        return response

    def _reset(self) -> bool:
        if not self.ready:
            raise InputError("no robot yet")
        self.simulator.reset()
        self.start_again()
        self.publish_state()
        return True

    def start_again(self) -> None:
        """Forget what was before time zero."""
        self.gate = EffortGate(self.model, self.parameters.gate)
        self._listen_to_anyone()
        self.failure, self.output, self._published_ns = "", None, -1

    def health(self) -> Health:
        if not self.ready:
            return WARN, "", {}
        figures: dict[str, object] = {
            "rate [Hz]": self._rate.read(),
            "time [s]": self.stamp_ns / NANOSECONDS,
            **self._latency.figures(),
            "overruns": self._pacer.dropped,
            "success rate [%]": 100.0 * self.gate.success_rate,
            "braked": self.gate.is_braked,
            **self.gate.constraint_figures(),
        }
        level = ERROR if self.failure else WARN if self.gate.reason else OK
        waits = bool(self._awaited.missing) or self._awaits_command
        activity = "paused" if self.paused else "waiting for the controller" if waits else "running"
        return level, self.failure or self.gate.reason or activity, figures
