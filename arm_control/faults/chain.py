"""A controller, a gate and an arm that exchange messages in simulated time, with something wrong between them.

Two arrangements. ``simulator``: the simulated arm has a gate of its own, which ticks with its every step.
``hardware``: the controller's commands pass the process of the node ``gate``, behind which a driver holds the last
torque that it got; when its state is not measured the arm moves on all the same. The controller and the gate are those
of the nodes (:mod:`arm_control.messages.controller_process`, :mod:`arm_control.messages.gate_process`); the clock is
simulated.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from arm_control.control.loop import ControlLoop
from arm_control.control.loop_parameters import control_loop
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.faults.chain_setup import STEP, Delivery, Interference, Moment, Record, Setup
from arm_control.gate.effort_gate import EffortGate
from arm_control.messages.bags.message_definitions import plain
from arm_control.messages.controller_process import ControllerProcess
from arm_control.messages.fields import brake_reason, nanoseconds
from arm_control.messages.gate_process import Answers, GateProcess
from arm_control.messages.publisher_lock import PublisherLock
from arm_control.model import RobotModel


class Chain:
    """The processes of one run, and the messages on their way.

    Parameters
    ----------
    setup : Setup
        What is run.

    Attributes
    ----------
    t : float
        Simulated time [s].
    gate : EffortGate
        The gate before the motors.
    controller : ControllerProcess
        The controller.
    is_controller_running : bool
        Whether the controller's process runs.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.t = 0.0
        self.model = setup.model
        self.said: dict[str, int] = {}
        self.loop = self._loop(setup.model)
        self._controlled_joints = setup.model.joint_names
        self.controller = self._controller_process(setup.model)
        self.is_controller_running = True
        self.process = self._gate_process(setup.model)
        self._plant_gate = EffortGate(setup.model, setup.parameters.gate)
        self._plant_lock = PublisherLock(clock=lambda: self.t)
        self._accepted_ns = -1
        self._held = setup.model.gravity(setup.q)
        self._commanded_joints = setup.model.joint_names
        self._queue: list[tuple[float, int, Callable[[Any, dict[str, Any]], None], Delivery]] = []
        self._numbers = itertools.count()
        self._n_states = self._n_commands = 0
        self._next_state = self._next_look = 0.0
        self._rows: list[Moment] = []
        self._reason = self._error = ""
        self.simulator = setup.plant.simulator(setup.model, setup.q, min(STEP, setup.period))

    @property
    def gate(self) -> EffortGate:
        """The gate before the motors."""
        return self.process.gate if self.setup.is_hardware else self._plant_gate

    # -- what events do ---------------------------------------------------------------------------

    def publish_model(self, model: RobotModel) -> None:
        """Publish another ``robot_description``: each process takes it or not, as the nodes do.

        Parameters
        ----------
        model : RobotModel
            The arm that it describes.
        """
        if self.process.may_take_model:
            before, self.process = self.process, self._gate_process(model)
            self.process.gate.succeed(before.gate)
            self._commanded_joints = model.joint_names
        else:
            self.refuse("robot_description", InputError("another robot is taken only while braked and at rest"))
        if self.controller.may_take_model:
            gate, self.loop = self.loop.gate, self._loop(model)
            self.loop.gate.succeed(gate)
            self.controller = self._controller_process(model)
            self._controlled_joints = model.joint_names

    def enable(self) -> None:
        """Enable every gate."""
        for gate in (self.loop.gate, self.process.gate, self._plant_gate):
            gate.enable()
        self.process.release()
        self.controller.release()

    def measured_state(self) -> Any:
        """Return the message with the present state."""
        q, v = self.simulator.q, self.simulator.v
        stamp_ns = round(self.t * NANOSECONDS)
        return plain.joint_state(self.model.joint_names, stamp_ns, position=q, velocity=v)

    def send_state(self, delivery: Delivery) -> None:
        """Send a state to all that listen.

        Parameters
        ----------
        delivery : Delivery
            The message.
        """
        self._post(self._on_state_at_controller, delivery)
        if self.setup.is_hardware:
            self._post(self._on_state_at_gate, delivery)

    def send_command(self, delivery: Delivery) -> None:
        """Send a command to the gate.

        Parameters
        ----------
        delivery : Delivery
            The message.
        """
        self._post(self._on_command_at_gate if self.setup.is_hardware else self._on_command_at_plant, delivery)

    def refuse(self, what: str, error: Exception) -> None:
        """Count a refused message.

        Parameters
        ----------
        what : str
            Its topic.
        error : Exception
            Why.
        """
        cause = f"{what}: {str(error).split(':')[0]}"
        self.said[cause] = self.said.get(cause, 0) + 1

    # -- a run ------------------------------------------------------------------------------------

    def run(self) -> Record:
        """Run to the end, or to the end of a process."""
        self.advance(self.setup.duration)
        return self.record()

    def advance(self, end: float) -> None:
        """Run on, up to this time, or to the end of a process.

        Parameters
        ----------
        end : float
            Simulated time [s].
        """
        setup, simulator = self.setup, self.simulator
        latest = self._rows[-1].t if self._rows else -np.inf
        events = sorted(
            (event for event in setup.events if setup.onset + event[0] > latest), key=lambda event: event[0]
        )
        for k in range(len(self._rows), round(end / simulator.timestep)):
            self.t = k * simulator.timestep
            try:
                while events and self.t >= setup.onset + events[0][0]:
                    events.pop(0)[1](self)
                if self.t >= self._next_state - 1e-9:
                    self._next_state = self.t + (setup.period if self.t >= setup.onset else STEP)
                    self._interfere(setup.states, "_n_states", self.measured_state(), self.send_state)
                self._deliver()
                if setup.is_hardware and self.t >= self._next_look - 1e-9:
                    self._next_look = self.t + self.process.looking_period
                    self._drive(self.process.look())
            except ArmControlError as raised:  # would have ended a node
                self._error = self._error or f"{type(raised).__name__}: {raised}"
            if not setup.is_hardware:
                terms = setup.model.evaluate(simulator.q, simulator.v)
                self._held = self._plant_gate.tick(terms, simulator.timestep).tau
            if self.gate.is_braked and not self._reason:
                self._reason = self.gate.reason
            before = Moment(self.t, simulator.q.copy(), simulator.v.copy(), self._held.copy(), self.gate.is_braked)
            try:
                simulator.step(self._held)
            except ArmControlError as raised:
                self._error = self._error or str(raised)
                return
            self._rows.append(before)

    def record(self) -> Record:
        """Return what was recorded so far."""
        t, q, v, tau, braked = (np.array(column) for column in zip(*self._rows, strict=True))
        return Record(t, q, v, tau, braked, self._reason, self.said, self._error)

    def _loop(self, model: RobotModel) -> ControlLoop:
        loop = control_loop(model, self.setup.parameters, waits_for_commands=False)
        loop.controller.add(self.setup.goal)
        return loop

    def _gate_process(self, model: RobotModel) -> GateProcess:
        clocks: Any = {"clock": lambda: self.t, "clock_ns": self._now_ns}
        return GateProcess(model, self.setup.parameters.gate, self.refuse, **clocks)

    def _controller_process(self, model: RobotModel) -> ControllerProcess:
        max_age = self.setup.parameters.gate.max_age
        return ControllerProcess(model, self.loop, max_age, clock_ns=self._now_ns)

    def _now_ns(self) -> int:
        return round(self.t * NANOSECONDS)

    def _post(self, to: Callable[[Any, dict[str, Any]], None], delivery: Delivery) -> None:
        heapq.heappush(self._queue, (self.t + delivery.delay, next(self._numbers), to, delivery))

    def _deliver(self) -> None:
        """Hand over all messages that are due, and those that they cause."""
        while self._queue and self._queue[0][0] <= self.t + 1e-9:
            _, _, to, delivery = heapq.heappop(self._queue)
            info = {
                "source_timestamp": self._now_ns() - round(delivery.delay * NANOSECONDS),
                "received_timestamp": self._now_ns(),
                "publisher_gid": delivery.publisher,
            }
            to(delivery.message, info)

    def _interfere(
        self, interference: Interference | None, counter: str, message: Any, send: Callable[[Delivery], None]
    ) -> None:
        if interference is None or self.t < self.setup.onset - 1e-9:
            send(Delivery(message))
            return
        number = getattr(self, counter)
        setattr(self, counter, number + 1)
        for delivery in interference(number, message):
            send(delivery)

    def _on_state_at_controller(self, message: Any, info: dict[str, Any]) -> None:
        if not self.is_controller_running:
            return
        answer = self.controller.on_state(message, info)
        if answer.refused is not None:
            self.refuse("controller's joint_states", answer.refused)
        if answer.command is not None:
            stamp_ns, tau, frame_id = answer.command
            command = plain.joint_state(self._controlled_joints, stamp_ns, effort=tau.copy())
            command.header.frame_id = frame_id
            self._interfere(self.setup.commands, "_n_commands", command, self.send_command)

    def _on_state_at_gate(self, message: Any, info: dict[str, Any]) -> None:
        self._drive(self.process.on_state(message, info))

    def _on_command_at_gate(self, message: Any, info: dict[str, Any]) -> None:
        self._drive(self.process.on_effort(message, info))

    def _drive(self, answers: Answers) -> None:
        """Do as a driver: take torque by the names of the joints."""
        for output, _, _ in answers:
            with suppress(InputError):
                self._held = self.model.in_joint_order(self._commanded_joints, output.tau)

    def _on_command_at_plant(self, message: Any, info: dict[str, Any]) -> None:
        """Do as the simulator's node in real time."""
        stamp_ns = nanoseconds(message.header.stamp)
        age = self.t - stamp_ns / NANOSECONDS
        try:
            self._plant_lock.check(info)
            if reason := brake_reason(message):
                self._plant_gate.offer_brake(reason)
            elif stamp_ns > self._accepted_ns:
                self._plant_gate.offer(message.name, message.effort, age)
                self._plant_lock.take(info)
                self._accepted_ns = stamp_ns
        except InputError as error:
            self.refuse("joint_commands", error)
