"""A middleware of C functions made of Python, for the native loop: states in, commands out, without ROS."""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from arm_control.compiler.compiled_procedure import Callback
from arm_control.compiler.machine_operations import CFunction
from arm_control.control.native.mailbox import Mailbox
from arm_control.control.native.native_loop import REASON_SIZE, TAKE_FAILED, Middleware
from arm_control.control.native.native_state import DATA, LENGTH, PUBLISHER, RECEIVED_NS, WRITTEN_NS, SystemClock

ERROR = 1
"""Result of a function that fails."""
COMMANDS, ARRAYS = 1, 2
"""Addresses of the publishers."""


class MeddledWords(list[int]):
    """Words of a mailbox, during whose copy another letter is written."""

    def __init__(self, mailbox: Mailbox) -> None:
        super().__init__([0] * mailbox.n)
        self._mailbox, self._is_over = mailbox, False

    def __setitem__(self, i: Any, value: Any) -> None:
        super().__setitem__(i, value)
        if not self._is_over:
            self._mailbox.sequence[0] += 2
        self._is_over = True


class FakeMiddleware:
    """Messages that wait, and messages that were published.

    Attributes
    ----------
    waiting : deque of (bytes, dict)
        States with their info.
    commands, arrays : list of bytes
        What was published.
    on_empty : callable
        Called where a message is to be taken and none waits.
    now_ns : int
        Time of the clock [ns].
    fails : set of str
        Functions that fail.
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
        functions = self._function(self._take, 4), self._function(self._publish, 3), write
        empty = np.zeros(8, dtype=np.int64)
        numbers = 0, COMMANDS, ARRAYS if has_array else 0, self._pipe
        clock = SystemClock(self._function(self._read_clock, 2), np.zeros(2, dtype=np.int64))
        return Middleware(*functions, clock, *numbers, self._message, self._info, empty, empty, 0, 0)

    @staticmethod
    def call(callback: Callback) -> None:
        """Call as the middleware does where a message has come."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(callback.function)(callback.argument, 1)

    def reason(self) -> int:
        """Return the reason that was written to the pipe; 0 where there is none."""
        try:
            return int.from_bytes(os.read(self._reasons, REASON_SIZE), sys.byteorder)
        except BlockingIOError:
            return 0

    def _function(self, function: Callable[..., int], n: int) -> CFunction:
        pointer = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * n)(function)
        self._kept.append(pointer)
        return CFunction(ctypes.cast(pointer, ctypes.c_void_p).value or 0, n)

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

    def _read_clock(self, _: int, time: int) -> int:
        words = (ctypes.c_int64 * 2).from_address(time)
        words[0], words[1] = divmod(self.now_ns, 1_000_000_000)
        return 0
