"""A controller, its gates and an arm that exchange messages in simulated time, with something wrong between them.

What stands between states and motors is an :mod:`arrangement <arm_control.faults.arrangements>`. The driver holds the
last torque that it got; where the state of the arm is not measured, the arm moves on all the same.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError
from arm_control.faults.arrangements import (
    Arrangement,
    BehindGate,
    BehindSimulator,
    ControllerAlone,
    Serve,
    Surroundings,
    info_of,
)
from arm_control.faults.chain_setup import COMMANDS, STATES, STEP, Delivery, Record, Setup, joint_state
from arm_control.faults.exported_arrangement import Exported
from arm_control.faults.native_arrangement import NativeAlone, NativeServe
from arm_control.maths import Array
from arm_control.simulation import make_simulator, true_arm

ARRANGEMENTS: Mapping[str, type[Arrangement]] = {
    "controller": ControllerAlone,
    "gate": BehindGate,
    "simulator": BehindSimulator,
    "native": NativeAlone,
    "serve": Serve,
    "serve-native": NativeServe,
    "exported": Exported,
}
"""From the name of an arrangement to what it is."""


class Chain:
    """The processes of one run, and the messages on their way, at the simulated time ``t`` [s]."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.t = 0.0
        self.said: dict[str, int] = {}
        self.simulator = make_simulator(setup.model, setup.q, setup.plant, timestep=min(STEP, setup.period))
        self._true_arm = true_arm(self.simulator)
        surroundings = Surroundings(lambda: self.t, self._send_command, self.refuse)
        self.arrangement = ARRANGEMENTS[setup.arrangement](setup, surroundings)
        self._queue: list[tuple[float, int, Callable[[Any, dict[str, Any]], None], Delivery]] = []
        self._numbers = itertools.count()
        self._sent: Counter[str] = Counter()
        self._next_state, self._next_inputs = 0.0, dict.fromkeys(setup.inputs, 0.0)
        self._rows: list[tuple[float, Array, Array, Array, bool, float]] = []
        self._reason = self._error = ""

    # -- what events do ---------------------------------------------------------------------------

    def enable(self) -> None:
        """Enable every gate."""
        self.arrangement.enable()

    def measured_state(self) -> Any:
        """Return the message with the present state."""
        stamp_ns = round(self.t * NANOSECONDS)
        q, v = self.simulator.q, self.simulator.v
        return joint_state(self.setup.model.joint_names, stamp_ns, position=q, velocity=v)

    def send_state(self, delivery: Delivery) -> None:
        """Send a state to all that listen."""
        self._post(self.arrangement.on_state, delivery)

    def refuse(self, what: str, error: Exception) -> None:
        """Count a refused message."""
        cause = f"{what}: {str(error).split(':')[0]}"
        self.said[cause] = self.said.get(cause, 0) + 1

    # -- a run ------------------------------------------------------------------------------------

    def advance(self, end: float) -> None:
        """Run on, up to a simulated time [s], or to the end of a process."""
        setup, simulator, arrangement, arm = self.setup, self.simulator, self.arrangement, self._true_arm
        latest = self._rows[-1][0] if self._rows else -np.inf
        events = sorted(
            (event for event in setup.events if setup.onset + event[0] > latest), key=lambda event: event[0]
        )
        for k in range(len(self._rows), round(end / simulator.timestep)):
            self.t = k * simulator.timestep
            try:
                while events and self.t >= setup.onset + events[0][0] - 1e-9:
                    events.pop(0)[1](self)
                self._send_inputs()
                if self.t >= self._next_state - 1e-9:
                    self._next_state = self.t + (setup.period if self.t >= setup.onset - 1e-9 else STEP)
                    self._interfere(STATES, self.measured_state(), self.send_state)
                self._deliver()
                arrangement.look()
                self._deliver()
            except ArmControlError as raised:  # would have ended a node
                self._error = self._error or f"{type(raised).__name__}: {raised}"
            arrangement.drive(arm.q, arm.v, simulator.timestep)
            is_braked = arrangement.is_braked
            if is_braked and not self._reason:
                self._reason = arrangement.reason
            tau = arrangement.tau
            before = self.t, arm.q.copy(), arm.v.copy(), tau.copy(), is_braked, arrangement.left
            try:
                simulator.step(tau)
            except ArmControlError as raised:
                self._error = self._error or str(raised)
                return
            self._rows.append(before)

    @property
    def true_q(self) -> Array:
        """True joint positions, shape (nq,) [rad or m]."""
        return self._true_arm.q

    @property
    def has_ended(self) -> bool:
        """Whether a process, or the simulation, has ended with an error."""
        return bool(self._error)

    def record(self) -> Record:
        """Return what was recorded so far."""
        t, q, v, tau, braked, left = (np.array(column) for column in zip(*self._rows, strict=True))
        return Record(t, q, v, tau, braked, left, self._reason, self.said, self._error)

    def _post(self, to: Callable[[Any, dict[str, Any]], None], delivery: Delivery) -> None:
        heapq.heappush(self._queue, (self.t + delivery.delay, next(self._numbers), to, delivery))

    def _deliver(self) -> None:
        """Hand over all messages that are due, and those that they cause."""
        while self._queue and self._queue[0][0] <= self.t + 1e-9:
            _, _, to, delivery = heapq.heappop(self._queue)
            now_ns = round(self.t * NANOSECONDS)
            to(delivery.message, info_of(delivery.publisher, now_ns - round(delivery.delay * NANOSECONDS), now_ns))

    def _send_command(self, message: Any) -> None:
        """Send a command to the gate behind the controller."""
        self._interfere(COMMANDS, message, self.send_command)

    def _send_inputs(self) -> None:
        """Send the controller what is due, which is heard before the state of that time."""
        for topic, (period, message) in self.setup.inputs.items():
            if self.t >= self._next_inputs[topic] - 1e-9:
                self._next_inputs[topic] = self.t + period
                send = partial(self._post, partial(self.arrangement.on_input, topic))
                self._interfere(topic, message(round(self.t * NANOSECONDS)), send)

    def send_command(self, delivery: Delivery) -> None:
        """Send a command to the gate, past what happens to those of the controller."""
        self._post(self.arrangement.on_command, delivery)

    def _interfere(self, topic: str, message: Any, send: Callable[[Delivery], None]) -> None:
        interference = self.setup.interferences.get(topic)
        if interference is None or self.t < self.setup.onset - 1e-9:
            send(Delivery(message))
            return
        self._sent[topic] += 1
        for delivery in interference(self._sent[topic] - 1, message):
            send(delivery)
