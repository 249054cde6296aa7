"""The native loop of a controller process: when it may answer, and what it has answered.

The process and the loop of :mod:`arm_control.processes.native_loop` answer states in turns
(:mod:`arm_control.processes.native_turns`).
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Binds, Callback, Kernel, callback_of, compile_procedure
from arm_control.control import TickResult
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.messages import JointStateLayout, JointStateWriter, effort_array_head
from arm_control.model import RobotModel
from arm_control.processes.controller_process import ControllerProcess
from arm_control.processes.mailbox import MailboxReader, MailboxWriter
from arm_control.processes.native_loop import (
    MODE,
    N_HEAD,
    REASONS,
    UNTIL_NS,
    Middleware,
    NativeLoop,
    Turn,
    end_turn,
    on_message,
)
from arm_control.processes.native_records import Integers, new_loop, unknown_source
from arm_control.processes.native_state import DATA, LENGTH, PUBLISHER, RECEIVED_NS, WRITTEN_NS
from arm_control.processes.native_step import CLOSING, OPEN, RESULT_COUNT, RESULT_STAMP_NS
from arm_control.processes.native_turns import NativeTurns

WORD = 8
"""Bytes of a number."""
LITTLE_ENDIAN = "<"


class SerializedMessage(NamedTuple):
    """A message to publish.

    Attributes
    ----------
    words : ndarray of int64, shape (8,)
        ``rcutils_uint8_array_t``: address, length, capacity, and an allocator that nobody uses.
    """

    data: npt.NDArray[np.uint8]
    words: Integers

    @classmethod
    def of(cls, content: bytes) -> SerializedMessage:
        """Return a message with these bytes."""
        data = np.frombuffer(bytearray(content), dtype=np.uint8)
        return cls(data, np.array([data.ctypes.data, len(data), len(data), *[0] * 5], dtype=np.int64))


class NativeController:
    """Lets the native loop answer the ordinary states of a controller process.

    The middleware calls :attr:`callback` for each message; everything else is called by one thread at a time. At first
    it is Python's turn, and again from each reason on until :meth:`end_turn`.

    Parameters
    ----------
    kernels : sequence of Kernel
        Law and gate of this controller (:func:`arm_control.control.compiled_step.step_kernels`).
    middleware : Middleware
        Where states come from and commands go; the messages to publish are made here.
    max_age : float
        Age above which a state is stale [s]; 0: never.

    Attributes
    ----------
    reasons : Counter of str
        How often a state was left to Python, by reason.
    callback : Callback
        What the middleware is to call.
    """

    def __init__(
        self,
        model: RobotModel,
        process: ControllerProcess,
        controller: OscController,
        kernels: Sequence[Kernel],
        middleware: Middleware,
        max_age: float,
    ) -> None:
        self.reasons: Counter[str] = Counter()
        self._process = process
        self._turns = NativeTurns(model, process.loop, controller, process.blind.moments, kernels)
        middleware, self._messages = _with_messages(middleware, model.joint_names)
        source = unknown_source(model.nv, max_age, middleware.clock)
        self._loop = new_loop(self._turns.step, middleware, source)
        self._answer = compile_loop()(self._loop)
        self._end_turn = compile_end_of_turn()(self._loop.turn)
        self.callback: Callback = callback_of(self._answer)
        self._orders, self._results = MailboxWriter(self._loop.orders), MailboxReader(self._loop.results)
        self._inputs = self._turns.inputs(self._orders.words[N_HEAD:].view(np.float64))
        self._known: tuple[JointStateLayout, bytes] | None = None
        self._last = process.last
        self._n_durations = self._n_reported = 0
        self.pause()

    # -- turns -------------------------------------------------------------------------------------

    def message(self) -> tuple[bytes, dict[str, Any]]:
        """Return the message that the loop has left to Python, and its info."""
        message, info = self._loop.middleware.message, self._loop.middleware.info
        times = {"source_timestamp": int(info[WRITTEN_NS]), "received_timestamp": int(info[RECEIVED_NS])}
        gid = info[PUBLISHER : PUBLISHER + 2].tobytes()
        return ctypes.string_at(int(message[DATA]), int(message[LENGTH])), {**times, "publisher_gid": {"data": gid}}

    def take_over(self, reason: int) -> None:
        """Let the process take over from the loop, which has a reason to leave a state to it."""
        self.reasons[REASONS[reason]] += 1
        if (answered := self._turns.take_over()) is not None:
            self._process.resume(*answered[1:])
        self._last = self._process.last

    def hand_over(self, data: bytes, info: dict[str, Any]) -> None:
        """Let the loop answer the next states, where the process has answered a message as an ordinary state.

        A message that was refused, or repeats a state, changes nothing: it may be of anybody.
        """
        self.pause()
        result = self._process.last
        if result is None or result is self._last or not self._turns.is_ordinary(result):
            return
        if self._learn_source(data, info["publisher_gid"]["data"]):
            self._turns.hand_over(result, self._process.reader, info["received_timestamp"])
            self._is_open = True
            self._order(result.measurement.stamp_ns)

    def refresh(self) -> None:
        """Send the loop what the process has changed: goals, gains, a disturbance, the gate."""
        if self._is_open:
            self._order(self.stamp_ns)

    def end_turn(self) -> None:
        """End the turn of Python; what has come meanwhile is answered now. Python's lock is not held."""
        self._end_turn()
        self._answer()

    def _order(self, stamp_ns: int) -> None:
        """Send an order that holds behind a state with this stamp [ns]."""
        words = self._orders.words
        before = words.copy()
        until_ns = self._turns.write_inputs(self._inputs, stamp_ns)
        if until_ns is None:
            self.pause()
            return
        words[MODE], words[UNTIL_NS] = OPEN, until_ns
        if (words != before).any():
            self._orders.post()

    def pause(self) -> None:
        """Let the loop leave all states to Python, until :meth:`hand_over`."""
        self._is_open = False
        self._orders.words[MODE] = CLOSING
        self._orders.post()

    # -- what the loop needs to know -----------------------------------------------------------------

    def _learn_source(self, data: bytes, gid: bytes) -> bool:
        """Expect messages like this one, of this publisher; return whether the loop can read them."""
        layout, places = JointStateLayout.of(data), self._process.reader.places
        if (layout, gid) == self._known:
            return True
        n = len(layout.name)
        has_numbers = all(part.stop - part.start == n for part in (layout.position, layout.velocity))
        if layout.order != LITTLE_ENDIAN or not has_numbers:
            return False
        first = layout.numbers.start
        self._loop = self._loop._replace(
            source=self._loop.source._replace(
                length=layout.length,
                n_words=-(-layout.length // WORD),
                mask=_words(layout.mask, layout.length),
                common=_words(layout.common, layout.length),
                q_at=first + WORD * (layout.position.start + places),
                v_at=first + WORD * (layout.velocity.start + places),
                owner=np.frombuffer(gid, dtype=np.int64)[:2].copy(),
            )
        )
        self._answer.replace(self._loop)  # calls of the middleware do nothing with it: it is Python's turn
        self._known = layout, gid
        return True

    # -- what the loop has done ------------------------------------------------------------------------

    @property
    def stamp_ns(self) -> int:
        """Stamp of the last state that the loop or the process has answered [ns]; 0 before the first one."""
        if self.n_answered > self._turns.n_taken_over:
            return int(self._results.words[RESULT_STAMP_NS])
        return 0 if self._process.last is None else self._process.last.measurement.stamp_ns

    def figures(self) -> dict[str, object]:
        """Counts of states, for ``/diagnostics``."""
        left = {f"left to Python: {reason}": count for reason, count in self.reasons.items()}
        return {"states answered without Python": self.n_answered, **left}

    @property
    def n_answered(self) -> int:
        """Number of states that the loop has answered."""
        self._results.read()
        return int(self._results.words[RESULT_COUNT])

    def newest(self, every: int = 0) -> TickResult | None:
        """Return what the loop has done with the last state that it has answered.

        Parameters
        ----------
        every : int
            Number of states since the last result that was returned; None is returned where there are fewer.
        """
        n = self.n_answered
        if n - self._n_reported < every:
            return None
        self._n_reported = n
        return self._turns.tick_result(self._results.words)

    def durations(self) -> list[float]:
        """Return the times from state to command that are new since the last call [s], the last 1024 at most."""
        n, ring = self.n_answered, self._loop.durations
        first = max(self._n_durations, n - len(ring)) + 1
        self._n_durations = n
        return [int(ring[k % len(ring)]) / NANOSECONDS for k in range(first, n + 1)]


@cache
def compile_loop() -> Binds[NativeLoop]:
    """Return what binds the loop to its record: compiled once, which takes a while."""
    return compile_procedure(on_message)


@cache
def compile_end_of_turn() -> Binds[Turn]:
    """Return what binds the end of a turn to its record."""
    return compile_procedure(end_turn)


def _with_messages(middleware: Middleware, names: Sequence[str]) -> tuple[Middleware, list[SerializedMessage]]:
    """The same with messages to publish; these must stay."""
    n = len(names)
    content, head = JointStateWriter(names).message(0, np.zeros(n)), effort_array_head(n)
    command, array = SerializedMessage.of(content), SerializedMessage.of(head + bytes(WORD * n))
    effort_at = JointStateLayout.of(content).numbers.start
    changed = middleware._replace(command=command.words, array=array.words, effort_at=effort_at, array_at=len(head))
    return changed, [command, array]


def _words(number: int, length: int) -> Integers:
    """Words of 64 bits that cover so many bytes; the last one ends with them."""
    data = number.to_bytes(length, "little")
    firsts = [min(first, length - WORD) for first in range(0, length, WORD)]
    return np.frombuffer(b"".join(data[first : first + WORD] for first in firsts), dtype=np.int64)
