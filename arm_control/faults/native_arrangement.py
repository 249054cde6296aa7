"""Controllers whose ordinary states are answered without Python, on a middleware and a network that are simulated."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from arm_control.compiler import CFunction
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.faults.arrangements import Arrangement, ControllerAlone, Serve, Surroundings
from arm_control.faults.chain_setup import Setup
from arm_control.messages import FIELDS, HEAD, NATIVE, STAMP, JointStateBytes, encoded_text
from arm_control.model import RobotModel
from arm_control.processes import (
    ADDRESS_SIZE,
    DATA,
    LENGTH,
    PUBLISHER,
    REASON_SIZE,
    RECEIVED_NS,
    TAKE_FAILED,
    WRITTEN_NS,
    Middleware,
    NativeController,
    NativeDatagrams,
    Network,
    Sender,
    SystemClock,
    address_of_sender,
    new_datagram,
    step_kernels_of,
)

COMMANDS, ARRAYS = 1, 2
"""Addresses of the publishers."""
ERROR = 1
"""Result of a function that fails."""
NOTHING = -1
"""Result of a function of the network that has nothing, or fails."""
MANY = 2**62
"""States, or nanoseconds, that no run has."""


def _c_function(function: Callable[..., int], n: int, kept: list[Any]) -> CFunction:
    """A Python function of n words as a C function; it lives as long as the list."""
    kept.append(ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * n)(function))
    return CFunction(ctypes.cast(kept[-1], ctypes.c_void_p).value or 0, n)


def _clock(now_ns: Callable[[], int], kept: list[Any]) -> SystemClock:
    """A clock that shows simulated time."""

    def read(_: int, time: int) -> int:
        words = (ctypes.c_int64 * 2).from_address(time)
        words[0], words[1] = divmod(now_ns(), NANOSECONDS)
        return 0

    return SystemClock(_c_function(read, 2, kept), np.zeros(2, dtype=np.int64))


def message_bytes(message: Any) -> bytes:
    """Return a ``JointState`` as bytes, whatever its fields are."""
    stamp = message.header.stamp
    data = bytearray(STAMP.pack(stamp.sec, stamp.nanosec))
    data += encoded_text(message.header.frame_id)
    data += bytes(-len(data) % 4) + struct.pack(f"{NATIVE}I", len(message.name))
    for name in message.name:
        data += bytes(-len(data) % 4) + encoded_text(name)
    for field in FIELDS:
        values = np.asarray(getattr(message, field), dtype=float)
        data += bytes(-len(data) % 4) + struct.pack(f"{NATIVE}I", len(values))
        data += (bytes(-len(data) % 8) if len(values) else b"") + values.tobytes()
    return HEAD + bytes(data)


class SimulatedMiddleware:
    """Messages that wait, and messages that were published, for a native loop: C functions made of Python.

    Attributes
    ----------
    on_empty : callable
        Called where a message is to be taken and none waits.
    fails : set of str
        Functions that fail: ``take``, ``publish``.
    """

    def __init__(self) -> None:
        self.waiting: deque[tuple[bytes, dict[str, Any]]] = deque()
        self.commands: list[bytes] = []
        self.arrays: list[bytes] = []
        self.on_empty: Callable[[], object] = lambda: None
        self.now_ns = 0
        self.fails: set[str] = set()
        self._buffer = np.zeros(4096, dtype=np.uint8)
        self._message = np.zeros(8, dtype=np.int64)
        self._info = np.zeros(16, dtype=np.int64)
        self._kept: list[Any] = []
        self._reasons, self._pipe = os.pipe()
        os.set_blocking(self._reasons, False)
        for end in (self._reasons, self._pipe):
            weakref.finalize(self, os.close, end)

    def record(self, *, has_array: bool = True) -> Middleware:
        """Return the middleware for the loop."""
        write = CFunction(ctypes.cast(ctypes.CDLL(None).write, ctypes.c_void_p).value or 0, 3)
        functions = _c_function(self._take, 4, self._kept), _c_function(self._publish, 3, self._kept), write
        empty = np.zeros(8, dtype=np.int64)
        numbers = 0, COMMANDS, ARRAYS if has_array else 0, self._pipe
        clock = _clock(lambda: self.now_ns, self._kept)
        return Middleware(*functions, clock, *numbers, self._message, self._info, empty, empty, 0, 0)

    def part(self) -> None:
        """Have a pipe of its own, under the numbers of before: this process was forked."""
        for end, own in zip(os.pipe(), (self._reasons, self._pipe), strict=True):
            os.dup2(end, own)
            os.close(end)
        os.set_blocking(self._reasons, False)

    def reason(self) -> int:
        """Return the reason that was written to the pipe; 0 where there is none."""
        try:
            return int.from_bytes(os.read(self._reasons, REASON_SIZE), sys.byteorder)
        except BlockingIOError:
            return 0

    def _take(self, *_: int) -> int:
        if "take" in self.fails:
            return ERROR
        if not self.waiting:
            self.on_empty()
            return TAKE_FAILED
        data, info = self.waiting.popleft()
        self._buffer[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._message[[DATA, LENGTH]] = self._buffer.ctypes.data, len(data)
        self._info[[WRITTEN_NS, RECEIVED_NS]] = info["source_timestamp"], info["received_timestamp"]
        self._info[PUBLISHER : PUBLISHER + 2] = np.frombuffer(info["publisher_gid"]["data"], dtype=np.int64)
        return 0

    def _publish(self, publisher: int, message: int, _: int) -> int:
        if "publish" in self.fails:
            return ERROR
        words = (ctypes.c_int64 * 8).from_address(message)
        data = ctypes.string_at(words[DATA], words[LENGTH])
        (self.commands if publisher == COMMANDS else self.arrays).append(data)
        return 0


class NativeAlone(ControllerAlone):
    """A controller whose ordinary states are answered without Python."""

    words = "a native loop"

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        self._middleware = SimulatedMiddleware()
        self._reader, self._reader_of_commands = JointStateBytes(), JointStateBytes()
        self._native = self._new_native(setup.model)

    def _new_native(self, model: RobotModel) -> NativeController:
        controller = self.loop.controller
        if not isinstance(controller, OscController):
            raise ArmControlError("only operational space control is answered without Python")
        kernels = step_kernels_of(model, self.loop, controller)
        max_age = self.setup.parameters.gate.max_age
        record = self._middleware.record(has_array=False)
        native = NativeController(model, self.process, controller, kernels, record, max_age)
        native.end_turn()
        return native

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        middleware, native = self._middleware, self._native
        middleware.now_ns = self.surroundings.now_ns()
        middleware.waiting.append((message_bytes(message), info))
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(native.callback.function)
        function(native.callback.argument, 1)
        self._take_commands()
        while reason := middleware.reason():
            native.take_over(reason)
            data, data_info = native.message()
            try:
                super().on_state(self._reader.read(data), data_info)
            except InputError as error:
                self.surroundings.refuse("joint_states", error)
            native.hand_over(data, data_info)
            native.end_turn()
            self._take_commands()

    def _take_commands(self) -> None:
        """The driver takes what the loop has published."""
        for data in self._middleware.commands:
            self.tau = np.array(self._reader_of_commands.read(data).effort)
        self._middleware.commands.clear()

    def part(self) -> None:
        self._middleware.part()

    def enable(self) -> None:
        self._native.pause()
        super().enable()
        self._native.refresh()

    def brake(self, reason: str) -> None:
        self._native.pause()
        super().brake(reason)

    publish_model = Arrangement.publish_model  # it is for one arm: its node is started anew for another one


class SimulatedNetwork:
    """Datagrams that wait, and datagrams that were sent, for a native loop: C functions made of Python.

    Parameters
    ----------
    now_ns : callable
        Returns the time of the clock [ns].
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self.waiting: deque[tuple[bytes, Sender]] = deque()
        self.sent: list[bytes] = []
        self._now_ns = now_ns
        self._kept: list[Any] = []

    def record(self) -> Network:
        """Return the network for the loop."""
        kept = self._kept
        poll, receive, send = (
            _c_function(f, n, kept) for f, n in ((self._poll, 3), (self._receive, 6), (self._send, 6))
        )
        clock = _clock(self._now_ns, kept)
        polled = np.zeros(2, dtype=np.int64)
        n_taken = np.zeros(1, dtype=np.int64)
        return Network(poll, receive, send, clock, 0, -1, polled, 0, new_datagram(), new_datagram(), n_taken)

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
