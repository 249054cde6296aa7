"""What stands between the states of an arm and its motors: controllers and gates, in simulated time.

Each arrangement is made of the processes that people run, with a simulated clock; a driver holds the last torque that
it got. What they have in common is :class:`Arrangement`.

================  ====================================================================================
``controller``    a controller, whose own gate is the only one
``gate``          a controller, and the node ``gate`` behind it
``simulator``     a controller, and the gate of a simulated arm, which knows all states
``native``        as ``controller``; ordinary states are answered without Python
``serve``         ``arm_control serve --loop python``: a state is a datagram
``serve-native``  ``arm_control serve``
``exported``      an exported controller, called once in a period, with NaN where no state has come
================  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from arm_control.control import ControlLoop
from arm_control.controllers import control_loop
from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.faults.chain_setup import CONSTRAINTS, GOAL, OBSTACLES, OWN, Setup, joint_state
from arm_control.gate import EffortGate, GateReport, GatesBehind
from arm_control.maths import Array
from arm_control.messages import ObstacleTracker, PublisherLock, brake_reason, goal_of, nanoseconds
from arm_control.model import RobotModel
from arm_control.processes import (
    CHUNK,
    ENABLE,
    HEAD,
    NUMBER,
    OUT_OF_ORDER,
    STATE,
    Answers,
    Command,
    ControllerProcess,
    DatagramProcess,
    GateProcess,
    Sender,
)

OWNER, RIVAL = ("127.0.0.1", 4001), ("127.0.0.1", 4002)
"""Senders of datagrams: the driver, and another one."""
REPORT_PERIOD = 0.1
"""Time after which a gate says again what it does [s]."""


class Surroundings(NamedTuple):
    """What an arrangement may use.

    Attributes
    ----------
    clock : callable
        Returns the simulated time [s].
    send_command : callable
        Sends a command to :meth:`Arrangement.on_command`, through what happens to it on its way.
    refuse : callable
        Counts a refused message: its topic, and why.
    """

    clock: Callable[[], float]
    send_command: Callable[[Any], None]
    refuse: Callable[[str, Exception], None]

    def now_ns(self) -> int:
        """Return the simulated time [ns]."""
        return round(self.clock() * NANOSECONDS)


class Arrangement:
    """From the states of an arm to the torque of its motors, ``tau`` (nv,) [N m or N]."""

    words = ""
    """What it is called where it refuses something."""

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        self.setup, self.surroundings = setup, surroundings
        self.tau: Array = setup.model.gravity(setup.q)

    @property
    def last_gate(self) -> EffortGate:
        """The last gate before the motors."""
        raise NotImplementedError

    @property
    def is_braked(self) -> bool:
        """Whether that gate brakes."""
        return self.last_gate.is_braked

    @property
    def reason(self) -> str:
        """Why that gate does not pass commands."""
        return self.last_gate.reason

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        """Take a state that has arrived."""
        raise NotImplementedError

    def on_command(self, message: Any, info: dict[str, Any]) -> None:
        """Take a command that has arrived; only where another process sends it."""

    def on_input(self, topic: str, message: Any, info: dict[str, Any]) -> None:
        """Take what somebody sends the controller."""
        raise ArmControlError(f"{self.words} takes no {topic}")

    def change_constraints(self, file: str) -> None:
        """Let the constraints of a file take the place of those before."""
        raise ArmControlError(f"{self.words} changes no constraints")

    @property
    def left(self) -> float:
        """What is left of the constraint that holds least [m]; infinite where there is none, or nobody can say."""
        return np.inf

    def look(self) -> None:
        """Do what depends on the clock alone, once in each step, behind the messages of that step."""

    def drive(self, q: Array, v: Array, dt: float) -> None:
        """Do what the simulated arm itself does in a step of this length [s], in its true state."""

    def enable(self) -> None:
        """Enable every gate."""
        raise NotImplementedError

    def brake(self, reason: str) -> None:
        """Brake by hand, at the last gate before the motors."""
        self.last_gate.brake(reason)

    def end_controller(self) -> None:
        """End the controller's process."""
        raise ArmControlError(f"nothing watches {self.words}")

    def part(self) -> None:
        """Share nothing with the process from which this one was forked."""

    def publish_model(self, model: RobotModel) -> None:
        """Publish another ``robot_description``: each process takes it or not, as the nodes do."""
        raise ArmControlError(f"{self.words} takes no other model")


class ControllerAlone(Arrangement):
    """A controller, whose own gate is the only one."""

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self.loop = control_loop_of(setup, setup.model)
        self.process = self._new_process(setup.model)
        self._names, self._obstacles = setup.model.joint_names, ObstacleTracker(setup.model)
        self._is_running = True

    def _new_process(self, model: RobotModel) -> ControllerProcess:
        max_age = self.setup.parameters.gate.max_age
        return ControllerProcess(model, self.loop, max_age, clock_ns=self.surroundings.now_ns)

    @property
    def last_gate(self) -> EffortGate:
        return self.loop.gate

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        if not self._is_running:
            return
        answer = self.process.on_state(message, info, lambda m: self._obstacles.obstacles(m.stamp_ns, m.q))
        if answer.refused is not None:
            self.surroundings.refuse("controller's joint_states", answer.refused)
        if answer.result is not None and answer.result.law.refused is not None:
            self.surroundings.refuse(GOAL.rstrip(": "), answer.result.law.refused)
        if answer.command is not None:
            self._send(answer.command)

    def on_input(self, topic: str, message: Any, info: dict[str, Any]) -> None:
        if topic == OBSTACLES:
            for error in self._obstacles.update(message):
                self.surroundings.refuse(topic, error)
            return
        try:
            self.loop.controller.add(goal_of(topic, message, self.setup.model, self.surroundings.now_ns()))
        except ArmControlError as error:
            self.surroundings.refuse(topic, error)

    def change_constraints(self, file: str) -> None:
        try:
            self.loop.gate.change_constraints(file)
        except ArmControlError as error:
            why = str(error).removeprefix(f"{file}: ").replace("': ", "' ")
            self.surroundings.refuse(CONSTRAINTS, InputError(why))

    @property
    def left(self) -> float:
        rows = self.loop.gate.constraints
        worst = None if rows is None else rows.worst
        return np.inf if worst is None else worst.h

    def _send(self, command: Command) -> None:
        """Send a command; without another gate it goes to the driver."""
        self._take_torque(self._names, command.tau)

    def _take_torque(self, names: tuple[str, ...], tau: Array) -> None:
        """Do as a driver: take torque by the names of the joints."""
        with suppress(InputError):
            self.tau = self.setup.model.in_joint_order(names, tau)

    def enable(self) -> None:
        self.loop.gate.enable()
        self.process.release()

    def end_controller(self) -> None:
        self._is_running = False

    def publish_model(self, model: RobotModel) -> None:
        if not self.process.may_take(model):
            self.surroundings.refuse("robot_description", InputError("another robot, while this one needs its gate"))
            return
        before, self.loop = self.loop, control_loop_of(self.setup, model)
        self.loop.gate.succeed(before.gate)
        self.loop.gates_behind = before.gates_behind
        self.process = self._new_process(model)
        self._names = model.joint_names


class BeforeGate(ControllerAlone):
    """A controller with another gate behind it, to which it listens."""

    name = ""
    """Node of that gate."""

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self._behind = self.loop.gates_behind = GatesBehind([self.name], surroundings.clock)
        self._reported: tuple[str, str] = "", ""
        self._reported_at = self._since = -1.0

    def _send(self, command: Command) -> None:
        self.surroundings.send_command(
            joint_state(self._names, command.stamp_ns, effort=command.tau.copy(), frame_id=command.frame_id)
        )

    def look(self) -> None:
        """Say what the gate does: at once when that changes, and again and again."""
        now, gate = self.surroundings.clock(), self.last_gate
        said = gate.state.value, gate.reason
        if said == self._reported and now - self._reported_at < REPORT_PERIOD:
            return
        if said != self._reported:
            self._since = now
        self._reported, self._reported_at = said, now
        since_ns = round(self._since * NANOSECONDS)
        self._behind.hear(GateReport(self.name, *said, since_ns, self.tau.copy(), self.setup.model.joint_names))


class BehindGate(BeforeGate):
    """A controller, and the node ``gate`` behind it."""

    name = "gate"

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self._gate = self._new_gate(setup.model)
        self._gate_names = setup.model.joint_names
        self._next_look = 0.0

    def _new_gate(self, model: RobotModel) -> GateProcess:
        clocks: Any = {"clock": self.surroundings.clock, "clock_ns": self.surroundings.now_ns}
        return GateProcess(model, self.setup.parameters.gate, self.surroundings.refuse, **clocks)

    @property
    def last_gate(self) -> EffortGate:
        return self._gate.gate

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        super().on_state(message, info)
        self._drive(self._gate.on_state(message, info))

    def on_command(self, message: Any, info: dict[str, Any]) -> None:
        self._drive(self._gate.on_effort(message, info))

    def look(self) -> None:
        now = self.surroundings.clock()
        if now >= self._next_look - 1e-9:
            self._next_look = now + self._gate.looking_period
            self._drive(self._gate.look())
        super().look()

    def _drive(self, answers: Answers) -> None:
        for answer in answers:
            self._take_torque(self._gate_names, answer.output.tau)

    def enable(self) -> None:
        self._gate.gate.enable()
        self._gate.release()
        super().enable()

    def publish_model(self, model: RobotModel) -> None:
        if self._gate.may_take(model):
            before, self._gate = self._gate, self._new_gate(model)
            self._gate.gate.succeed(before.gate)
            self._gate_names = model.joint_names
        else:
            self.surroundings.refuse("robot_description", InputError("another robot, while this one needs its gate"))
        super().publish_model(model)


class BehindSimulator(BeforeGate):
    """A controller, and the gate of a simulated arm, as its node is in real time."""

    name = "simulator"

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self._gate = EffortGate(setup.model, setup.parameters.gate)
        self._lock = PublisherLock(clock=surroundings.clock)
        self._accepted_ns = -1

    @property
    def last_gate(self) -> EffortGate:
        return self._gate

    def on_command(self, message: Any, info: dict[str, Any]) -> None:
        stamp_ns = nanoseconds(message.header.stamp)
        age = self.surroundings.clock() - stamp_ns / NANOSECONDS
        try:
            self._lock.check(info)
            if stamp_ns < self._accepted_ns:
                raise InputError(OUT_OF_ORDER)
            if reason := brake_reason(message):
                self._lock.take(info)
                self._gate.offer_brake(reason)
            elif stamp_ns > self._accepted_ns:
                self._gate.offer(message.name, message.effort, age)
                self._lock.take(info)
                self._accepted_ns = stamp_ns
        except InputError as error:
            self.surroundings.refuse("joint_commands", error)

    def drive(self, q: Array, v: Array, dt: float) -> None:
        self.tau = self._gate.tick(self.setup.model.evaluate(q, v), dt).tau

    def enable(self) -> None:
        self._gate.enable()
        self._lock.release()
        super().enable()


class Serve(Arrangement):
    """``arm_control serve --loop python``: no gate is behind it, and its arm is that of the command line."""

    words = "a controller of datagrams"

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self.loop = control_loop_of(setup, setup.model)
        self.process = DatagramProcess(setup.model, self.loop, surroundings.refuse, surroundings.now_ns)
        self._number = 0

    @property
    def last_gate(self) -> EffortGate:
        return self.loop.gate

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        self._number += 1
        head = HEAD.pack(STATE, self.setup.model.nv, self._number, nanoseconds(message.header.stamp))
        numbers = np.concatenate([message.position, message.velocity]).astype(NUMBER).tobytes()
        self._on_datagram(head + numbers, OWNER if info["publisher_gid"] == OWN else RIVAL)

    def on_input(self, topic: str, message: Any, info: dict[str, Any]) -> None:
        if topic != "joint_chunk":
            super().on_input(topic, message, info)
        points = message.points
        times = [nanoseconds(point.time_from_start) / NANOSECONDS for point in points]
        head = HEAD.pack(CHUNK, len(points), 0, nanoseconds(message.header.stamp))
        numbers = np.concatenate([times, *(point.positions for point in points)]).astype(NUMBER).tobytes()
        self._on_datagram(head + numbers, OWNER)

    def _on_datagram(self, data: bytes, sender: Sender) -> None:
        self.process.take(data, sender)
        self._take_answer(self.process.answer())

    def _take_answer(self, data: bytes | None) -> None:
        """Do as a driver: the torque of an answer counts until the next one."""
        if data is not None:
            self.tau = np.frombuffer(data, NUMBER, offset=HEAD.size).astype(float)

    def enable(self) -> None:
        self._on_datagram(ENABLE, OWNER)


def control_loop_of(setup: Setup, model: RobotModel) -> ControlLoop:
    """Return the control loop of an arrangement, on its way to the goal where it is told of it."""
    loop = control_loop(model, setup.parameters, waits_for_commands=False)
    if setup.is_told:
        loop.controller.add(setup.goal)
    return loop


def info_of(publisher: dict[str, bytes], written_ns: int, received_ns: int) -> dict[str, Any]:
    """Return what the middleware says of a message."""
    return {"source_timestamp": written_ns, "received_timestamp": received_ns, "publisher_gid": publisher}
