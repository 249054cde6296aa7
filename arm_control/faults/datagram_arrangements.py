"""``arm_control serve``, on a network that is simulated."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from arm_control.compiler import CFunction
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError
from arm_control.faults.arrangements import Arrangement, Surroundings, control_loop_of
from arm_control.faults.chain_setup import OWN, Setup
from arm_control.messages import nanoseconds
from arm_control.model import RobotModel
from arm_control.processes import (
    ADDRESS_SIZE,
    ENABLE,
    HEAD,
    NUMBER,
    STATE,
    DatagramProcess,
    NativeDatagrams,
    Network,
    Sender,
    SystemClock,
    address_of_sender,
    new_datagram,
    step_kernels_of,
)

OWNER, RIVAL = ("127.0.0.1", 4001), ("127.0.0.1", 4002)
"""Senders: the driver, and another one."""
NOTHING = -1
"""Result of a function of the network that has nothing, or fails."""
MANY = 2**62
"""States, or nanoseconds, that no run has."""


class Serve(Arrangement):
    """``arm_control serve --loop python``."""

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self.loop = control_loop_of(setup, setup.model)
        self.process = DatagramProcess(setup.model, self.loop, surroundings.refuse, surroundings.now_ns)
        self._number = 0

    @property
    def is_braked(self) -> bool:
        return self.loop.gate.is_braked

    @property
    def reason(self) -> str:
        return self.loop.gate.reason

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        self._number += 1
        head = HEAD.pack(STATE, self.setup.model.nv, self._number, nanoseconds(message.header.stamp))
        numbers = np.concatenate([message.position, message.velocity]).astype(NUMBER).tobytes()
        self._on_datagram(head + numbers, OWNER if info["publisher_gid"] == OWN else RIVAL)

    def _on_datagram(self, data: bytes, sender: Sender) -> None:
        self.process.take(data, sender)
        self._take_answer(self.process.answer())

    def _take_answer(self, data: bytes | None) -> None:
        """Do as a driver: the torque of an answer counts until the next one."""
        if data is not None:
            self.tau = np.frombuffer(data, NUMBER, offset=HEAD.size).astype(float)

    def enable(self) -> None:
        self._on_datagram(ENABLE, OWNER)

    def brake(self, reason: str) -> None:
        self.loop.gate.brake(reason)

    def end_controller(self) -> None:
        """Behind a driver of datagrams no gate is left."""
        raise ArmControlError("nothing watches a controller of datagrams")

    def publish_model(self, model: RobotModel) -> None:
        """Its arm is that of the command line."""
        raise ArmControlError("a controller of datagrams takes no other model")


class SimulatedNetwork:
    """Datagrams that wait, and datagrams that were sent, for a native loop: C functions made of Python.

    Parameters
    ----------
    now_ns : callable
        Returns the time of the clock [ns].

    Attributes
    ----------
    waiting : deque of (bytes, tuple)
        Datagrams with their senders.
    sent : list of bytes
        What was sent.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self.waiting: deque[tuple[bytes, Sender]] = deque()
        self.sent: list[bytes] = []
        self._now_ns = now_ns
        self._kept: list[Any] = []

    def record(self) -> Network:
        """Return the network for the loop."""
        functions = self._function(self._poll, 3), self._function(self._receive, 6), self._function(self._send, 6)
        clock = SystemClock(self._function(self._read_clock, 2), np.zeros(2, dtype=np.int64))
        polled = np.zeros(2, dtype=np.int64)
        return Network(*functions, clock, 0, -1, polled, 0, new_datagram(), new_datagram(), np.zeros(1, dtype=np.int64))

    def _function(self, function: Callable[..., int], n: int) -> CFunction:
        pointer = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * n)(function)
        self._kept.append(pointer)
        return CFunction(ctypes.cast(pointer, ctypes.c_void_p).value or 0, n)

    def _poll(self, *_: int) -> int:
        return min(len(self.waiting), 1)

    def _receive(self, _: int, data: int, *rest: int) -> int:
        if not self.waiting:
            return NOTHING
        content, sender = self.waiting.popleft()
        ctypes.memmove(data, content, len(content))
        ctypes.memmove(rest[2], address_of_sender(sender), ADDRESS_SIZE)
        return len(content)

    def _send(self, _: int, data: int, size: int, *rest: int) -> int:
        self.sent.append(ctypes.string_at(data, size))
        return size

    def _read_clock(self, _: int, time: int) -> int:
        words = (ctypes.c_int64 * 2).from_address(time)
        words[0], words[1] = divmod(self._now_ns(), NANOSECONDS)
        return 0


class NativeServe(Serve):
    """``arm_control serve``: ordinary states are answered without Python."""

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        controller = self.loop.controller
        if not isinstance(controller, OscController):
            raise ArmControlError("only operational space control is answered without Python")
        kernels = step_kernels_of(setup.model, self.loop, controller)
        self._network = SimulatedNetwork(surroundings.now_ns)
        self._native = NativeDatagrams(setup.model, self.process, controller, kernels, self._network.record())

    def _on_datagram(self, data: bytes, sender: Sender) -> None:
        network = self._network
        network.waiting.append((data, sender))
        if self._native.wait(MANY, MANY):
            while network.waiting:
                self.process.take(*network.waiting.popleft())
            self._take_answer(self.process.answer())
        for answer in network.sent:
            self._take_answer(answer)
        network.sent.clear()
