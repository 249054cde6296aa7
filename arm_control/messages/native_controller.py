"""The native loop of a controller process: when it may answer, and what it has answered.

The process and the loop of :mod:`arm_control.control.native.native_loop` answer states in turns. Before its turn the
loop takes over what the process knows of the states before; behind its turn the process takes that over from the loop.
So the commands for a sequence of states are the same, to the last bit, whoever answers which.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler.compiled_procedure import (
    Binds,
    Callback,
    callback_of,
    compile_procedure,
    replace_record,
)
from arm_control.compiler.kernels import Kernel, split
from arm_control.control.compiled_step import step_kernels
from arm_control.control.controllers import LawOutput, OscController
from arm_control.control.effort_gate import GateOutput, GateState
from arm_control.control.loop import ControlLoop, TickResult
from arm_control.control.native.mailbox import MailboxReader, MailboxWriter
from arm_control.control.native.native_loop import (
    CLOSING,
    MODE,
    N_HEAD,
    OPEN,
    REASONS,
    RESULT_COUNT,
    RESULT_STAMP_NS,
    UNTIL_NS,
    Middleware,
    NativeLoop,
    Turn,
    end_turn,
    on_message,
)
from arm_control.control.native.native_records import (
    Integers,
    Kernels,
    new_loop,
    read_result,
    unknown_source,
)
from arm_control.control.native.native_state import (
    COUNT,
    DATA,
    GATE_PERIOD,
    HEARD_NS,
    LENGTH,
    PERIOD,
    PUBLISHER,
    RECEIVED_NS,
    SKIPPED,
    STAMP_NS,
    UNCHANGED,
    WRITTEN_NS,
)
from arm_control.control.osc.osc_controller import OscOutput
from arm_control.control.state_bounds import BoundsMemory
from arm_control.core.time import NANOSECONDS
from arm_control.messages.controller_process import ControllerProcess
from arm_control.messages.joint_state_bytes import JointStateLayout, JointStateWriter, effort_array_head
from arm_control.model import RobotModel

WORD = 8
"""Bytes of a number."""
LITTLE_ENDIAN = "<"


class SerializedMessage(NamedTuple):
    """A message to publish.

    Attributes
    ----------
    data : ndarray of uint8
        Its bytes.
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
    model : RobotModel
        The arm.
    process : ControllerProcess
        Answers all other states.
    controller : OscController
        Its controller.
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
        assert process.reader.bounds is not None
        self._bounds, self._process, self._controller = process.reader.bounds, process, controller
        self._kernels = Kernels.of(kernels)
        gate = process.loop.gate
        middleware, self._messages = _with_messages(middleware, model.joint_names)
        source = unknown_source(model.nv, max_age, process.loop.gaps.max_missed, middleware.clock)
        self._loop = new_loop(self._bounds, self._kernels, middleware, source)
        self._answer = compile_loop()(self._loop)
        self._end_turn = compile_end_of_turn()(self._loop.turn)
        self.callback: Callback = callback_of(self._answer)
        self._orders, self._results = MailboxWriter(self._loop.orders), MailboxReader(self._loop.results)
        sizes = {name: (len(values),) for name, values in self._kernels.regular.inputs.items()}
        self._inputs = split(self._orders.words[N_HEAD:].view(np.float64), sizes)
        self._inputs["tool"][:] = model.tool
        self._inputs["limits"][:] = gate.limits.numbers
        self._inputs["is_on"][:] = gate.parameters.joint_limits
        self._known: tuple[JointStateLayout, bytes] | None = None
        self._last = process.last
        self._n_taken_over = self._n_durations = self._n_reported = 0
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
        n = int(self._loop.memory.whole[COUNT]) - self._n_taken_over
        if n > 0:
            self._n_taken_over += n
            self._resume(self._tick_result(self._loop.result), n)
        self._last = self._process.last

    def _resume(self, result: TickResult, n: int) -> None:
        """Let the process know of the last n states."""
        memory, loop = self._loop.memory, self._process.loop
        loop.gate.take(result.gate, float(memory.times[GATE_PERIOD]), n)
        loop.gaps.period = float(memory.times[PERIOD])
        loop.gaps.skipped += int(memory.whole[SKIPPED])
        memory.whole[SKIPPED] = 0
        q, v, e = memory.q_0.tolist(), memory.v_0.tolist(), memory.e_0.tolist()
        bounds = BoundsMemory(q, v, e, float(memory.times[UNCHANGED]))
        self._process.resume(result, bounds, int(memory.whole[HEARD_NS]))

    def hand_over(self, data: bytes, info: dict[str, Any]) -> None:
        """Let the loop answer the next states, where the process has answered a message as an ordinary state.

        A message that was refused, or repeats a state, changes nothing: it may be of anybody.

        Parameters
        ----------
        data : bytes
            The message.
        info : dict
            What the middleware says of it.
        """
        self.pause()
        result = self._process.last
        if result is None or result is self._last or not self._is_passing(result):
            return
        if self._learn_source(data, info["publisher_gid"]["data"]):
            self._load_memory(result, info["received_timestamp"])
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
        loop, steady = self._process.loop, self._controller.steady_reference(stamp_ns)
        if steady is None or loop.gate.state is not GateState.PASSING:
            self.pause()
            return
        reference, until_ns = steady
        tau_dist = None if loop.disturbance.is_over else loop.disturbance.at(stamp_ns)
        words, inputs, X_WT = self._orders.words, self._inputs, reference.X_WT
        before = words.copy()
        inputs["reference"][:] = np.concatenate([X_WT.R.ravel(), X_WT.p, reference.V_des, reference.A_des])
        inputs["tau_dist"][:] = 0.0 if tau_dist is None else tau_dist
        inputs["numbers"][:] = self._controller.page.numbers
        words[MODE] = OPEN
        words[UNTIL_NS] = until_ns if tau_dist is None else min(until_ns, loop.disturbance.until_ns)
        if (words != before).any():
            self._orders.post()

    def pause(self) -> None:
        """Let the loop leave all states to Python, until :meth:`hand_over`."""
        self._is_open = False
        self._orders.words[MODE] = CLOSING
        self._orders.post()

    # -- what the loop needs to know -----------------------------------------------------------------

    def _is_passing(self, result: TickResult) -> bool:
        """Whether the gate passes commands, and the time between states is known."""
        loop = self._process.loop
        is_fine = result.gate.is_passing and result.refused is None and result.law.refused is None
        return is_fine and loop.gate.period > 0.0 and loop.gaps.period > 0.0 and result.measurement.dt > 0.0

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
        replace_record(self._answer, self._loop)  # calls of the middleware do nothing with it: it is Python's turn
        self._known = layout, gid
        return True

    def _load_memory(self, last: TickResult, received_ns: int) -> None:
        """Let the loop take over what the process knows of the states before."""
        memory, loop, bounds = self._loop.memory, self._process.loop, self._bounds.memory
        memory.whole[STAMP_NS], memory.whole[HEARD_NS] = last.measurement.stamp_ns, received_ns
        memory.times[[UNCHANGED, PERIOD, GATE_PERIOD]] = bounds.unchanged, loop.gaps.period, loop.gate.period
        memory.q_0[:], memory.v_0[:], memory.e_0[:] = bounds.q, bounds.v, bounds.e
        self._loop.tau_0[:] = last.gate.tau

    # -- what the loop has done ------------------------------------------------------------------------

    @property
    def stamp_ns(self) -> int:
        """Stamp of the last state that the loop or the process has answered [ns]; 0 before the first one."""
        if self.n_answered > self._n_taken_over:
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
        return self._tick_result(self._results.words)

    def durations(self) -> list[float]:
        """Return the times from state to command that are new since the last call [s], the last 1024 at most."""
        n, ring = self.n_answered, self._loop.durations
        first = max(self._n_durations, n - len(ring)) + 1
        self._n_durations = n
        return [int(ring[k % len(ring)]) / NANOSECONDS for k in range(first, n + 1)]

    def _tick_result(self, words: Integers) -> TickResult:
        step = read_result(words, self._kernels)
        limited, saturated, rate_limited = (step.cut > 0.0).tolist()
        rate = self._process.loop.gate.success_rate
        gate = GateOutput(step.tau_1, GateState.PASSING, "", saturated, rate_limited, limited, rate)
        output = OscOutput(
            step.tau, step.parts, step.error, step.terms, self._controller.page.parameters.characteristic_length
        )
        figures = partial(self._controller.figures_of, output)
        law = LawOutput(step.terms, step.tau, lambda: output.terms, step.X_WT, figures)
        return TickResult(step.measurement, law, None, step.tau, gate, None)


@cache
def compile_loop() -> Binds[NativeLoop]:
    """Return what binds the loop to its record: compiled once, which takes a while."""
    return compile_procedure(on_message)


@cache
def compile_end_of_turn() -> Binds[Turn]:
    """Return what binds the end of a turn to its record."""
    return compile_procedure(end_turn)


def step_kernels_of(model: RobotModel, loop: ControlLoop, controller: OscController) -> list[Kernel]:
    """Return law and gate of a control loop as kernels.

    Parameters
    ----------
    model : RobotModel
        The arm.
    loop : ControlLoop
        The loop, for the limits of its gate.
    controller : OscController
        Its controller.
    """
    return step_kernels(model, controller.page, loop.gate.limits)


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
