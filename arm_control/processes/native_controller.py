"""The control loop as one procedure, called by the middleware: take a state, compute law and gate, publish the torque.

It answers ordinary states, and leaves all others to Python (:mod:`arm_control.processes.native_step`).

    on_message       called by the thread of the middleware that has received a message
    answer_states    until none waits, or there is a reason: take, answer
    answer           one state: orders of Python, state, law and gate, messages, memory

One at a time has the *turn*: a call of :func:`on_message`, or Python, from a reason on until :func:`end_turn`. Whoever
calls meanwhile is counted, and whoever has the turn looks again before it ends: no message waits for the next one.

Two mailboxes connect it with Python: *orders* go in (whether it may answer, until when, and all inputs of the kernel:
reference, gains, limits), *results* come out (the last state, and all inputs and outputs of the kernel).

A mailbox takes numbers from one thread to another, always all of one letter; nobody waits. One writes, another reads
whenever it likes. Before the words of a letter the writer makes the *sequence number* odd, behind them even again. A
reader copies the words and looks at the number before and after: where it was odd, or has changed, the copy may be half
old and half new, and counts as nothing. (A sequence lock; the order of loads and stores that it needs, on any
processor, is that of H.-J. Boehm, "Can seqlocks get along with programming language memory models?", 2012.) The words
are 64-bit integers. Floats are their bits: ``words.view(np.float64)``.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import (
    Callback,
    CFunction,
    Floats,
    Ints,
    Kernel,
    add_atomic,
    address_of,
    callback_of,
    compile_procedure,
    fence_acquire,
    fence_release,
    float_at,
    int32_at,
    int_at,
    load_acquire,
    load_relaxed,
    procedure,
    put_float,
    put_int,
    same_bits,
    store_relaxed,
    store_release,
)
from arm_control.control import Measurement, TickResult
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.messages import JointStateLayout, JointStateWriter, effort_array_head
from arm_control.model import RobotModel
from arm_control.processes.controller_process import ControllerProcess
from arm_control.processes.native_step import (
    ACCEPTED,
    ANSWERED,
    CLOSED,
    CLOSING,
    COUNT,
    EXPIRED,
    MISSING_STATES,
    MODE,
    MONOTONIC,
    NO_TORQUE,
    NOT_BELIEVABLE,
    NOT_BELIEVED,
    NOT_FINITE,
    NOT_SENT,
    OPEN,
    OTHER_LAYOUT,
    OTHER_PUBLISHER,
    OTHER_TIME,
    REAL_TIME,
    RESULT_COUNT,
    RESULT_STAMP_NS,
    SECOND,
    STALE,
    TAKEN,
    UNTIL_NS,
    WORD,
    AnsweredMemory,
    ControlStep,
    Integers,
    NativeTurns,
    NextState,
    SystemClock,
    check_state,
    clock_ns,
    compute_step,
    finish_step,
)

NOTHING = -1
"""Instead of a sequence number: no letter has been read."""


class Mailbox(NamedTuple):
    """A mailbox, for procedures."""

    sequence: Ints
    words: Ints
    n: int

    @classmethod
    def of_size(cls, n: int) -> Mailbox:
        """Return an empty mailbox for letters of n words."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64), n)


class Sheet(NamedTuple):
    """A letter outside of a mailbox."""

    mailbox: Mailbox
    words: Ints


@procedure
def post_letter(mailbox: Mailbox, words: Ints) -> None:
    """Put a letter into a mailbox; only one thread at a time may do that."""
    number = load_relaxed(mailbox.sequence, 0)
    store_relaxed(mailbox.sequence, 0, number + 1)
    fence_release()
    for i in range(mailbox.n):
        store_relaxed(mailbox.words, i, words[i])
    store_release(mailbox.sequence, 0, number + 2)


@procedure
def copy_letter(mailbox: Mailbox, words: Ints) -> int:
    """Copy the letter of a mailbox; return its sequence number, or NOTHING where it was being written."""
    number = load_acquire(mailbox.sequence, 0)
    if number % 2 == 1:
        return NOTHING
    for i in range(mailbox.n):
        words[i] = load_relaxed(mailbox.words, i)
    fence_acquire()
    if load_relaxed(mailbox.sequence, 0) != number:
        return NOTHING
    return number


@procedure
def post_sheet(sheet: Sheet) -> float:
    """:func:`post_letter`, called from Python."""
    post_letter(sheet.mailbox, sheet.words)
    return 0.0


@procedure
def copy_to_sheet(sheet: Sheet) -> float:
    """:func:`copy_letter`, called from Python."""
    return copy_letter(sheet.mailbox, sheet.words)


class MailboxEnd:
    """An end of a mailbox at which Python writes, or reads: one thread at a time."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.words = np.zeros_like(mailbox.words)
        sheet = Sheet(mailbox, self.words)
        self._post, self._copy = compile_procedure(post_sheet)(sheet), compile_procedure(copy_to_sheet)(sheet)

    def post(self) -> None:
        """Send the letter in :attr:`words`."""
        self._post()

    def read(self) -> int:
        """Read the letter into :attr:`words`; return its sequence number."""
        while (number := int(self._copy())) == NOTHING:
            pass  # the writer needs less than a microsecond
        return number


# -- the loop


DATA, LENGTH = 0, 1
"""Words of a serialized message, ``rcutils_uint8_array_t``: address of its bytes, and their number."""
WRITTEN_NS, RECEIVED_NS, PUBLISHER = 0, 1, 5
"""Words of ``rmw_message_info_t``: two times [ns], and the first of the two with the publisher's identity."""
STAMP = 4
"""Bytes before the stamp of a ``JointState``, two numbers of 32 bits: seconds, nanoseconds."""
LITTLE_ENDIAN = "<"
N_DURATIONS = 1024
"""Durations that are kept."""
NOT_TAKEN = 16
"""One more reason; with this one there is no state."""
NO_STATE = -1
"""No reason: the loop ends because no message waits."""

REASONS = {
    OTHER_LAYOUT: "a message of another layout",
    OTHER_PUBLISHER: "a state of another publisher",
    STALE: "a stale state",
    OTHER_TIME: "a stamp that is not later than the last",
    MISSING_STATES: "missing states",
    NOT_FINITE: "a state that is not finite",
    NOT_BELIEVED: "a state that is not believed",
    CLOSED: "Python answers",
    EXPIRED: "a goal, a disturbance or an obstacle begins or ends",
    NO_TORQUE: "the law gives no torque",
    NOT_BELIEVABLE: "a torque that the gate refuses",
    NOT_SENT: "the middleware did not send",
    NOT_TAKEN: "the middleware failed",
}
"""Reasons in words."""

N_HEAD = 2
"""Words of an order before the kernel's inputs."""
REASON_SIZE = 8
"""Bytes of a reason in the pipe."""
TAKE_FAILED = 401
"""Result of ``rcl_take`` where no message waits."""


class Middleware(NamedTuple):
    """What takes states and publishes commands: functions of librcl, and what they are called with.

    Attributes
    ----------
    take, publish : CFunction
        ``rcl_take_serialized_message`` and ``rcl_publish_serialized_message``.
    write : CFunction
        ``write`` of the C library.
    subscription, publisher, array_publisher : int
        Addresses; the last one is 0 where no array is published.
    pipe : int
        File descriptor to which reasons are written: Python waits for them at the other end.
    message : ndarray of int64, shape (8,)
        The message that was taken, ``rcutils_uint8_array_t``.
    info : ndarray of int64
        What the middleware says of it, ``rmw_message_info_t``.
    effort_at, array_at : int
        Offset of the first torque in each.
    """

    take: CFunction
    publish: CFunction
    write: CFunction
    clock: SystemClock
    subscription: int
    publisher: int
    array_publisher: int
    pipe: int
    message: Ints
    info: Ints
    command: Ints
    array: Ints
    effort_at: int
    array_at: int


class StateSource(NamedTuple):
    """What the next state must look like.

    Attributes
    ----------
    length, n_words : int
        Bytes of the message, and 64-bit words that cover them; the last word ends with the message.
    mask, common : ndarray of int64, shape (n_words,)
        Ones in the bits that all messages of this layout share; these bits.
    q_at, v_at : ndarray of int64, shape (nv,)
        Offset of each joint's position and velocity in the message.
    max_age : float
        Age above which a state is stale [s]; infinite: never.
    """

    length: int
    n_words: int
    mask: Ints
    common: Ints
    q_at: Ints
    v_at: Ints
    owner: Ints
    max_age: float
    clock: SystemClock


class NativeLoop(NamedTuple):
    """All that the loop works on.

    Attributes
    ----------
    source : StateSource
        What the next state must look like.
    step : ControlStep
        From a state to its torque; its result is the last letter to Python.
    draft : ndarray of int64
        A copy of an order, which may be incomplete.
    order_inputs : ndarray, shape (n_inputs,)
        The kernel's inputs in the order.
    durations : ndarray of int64, shape (n_durations,)
        Time from taking a state to its command, of the last states [ns].
    """

    middleware: Middleware
    source: StateSource
    step: ControlStep
    orders: Mailbox
    order: Ints
    draft: Ints
    order_inputs: Floats
    order_number: Ints
    results: Mailbox
    durations: Ints
    n_durations: int
    calls: Ints
    reason: Ints


@procedure
def on_message(loop: NativeLoop) -> float:
    """A message has come: answer what waits, unless another one has the turn; with a reason it becomes Python's."""
    if add_atomic(loop.calls, 0, 1) == 0:
        reason = answer_states(loop)
        if reason != NO_STATE:
            loop.reason[0] = reason
            loop.middleware.write(loop.middleware.pipe, address_of(loop.reason), REASON_SIZE)
    return 0.0


@procedure
def end_turn(loop: NativeLoop) -> float:
    """End the turn of Python; what has come meanwhile waits for the next call of :func:`on_message`."""
    store_release(loop.calls, 0, 0)
    return 0.0


@procedure
def answer_states(loop: NativeLoop) -> int:
    """Answer states until none waits, which ends the turn, or there is a reason, which does not; return that."""
    while True:
        n_calls = load_acquire(loop.calls, 0)
        reason = take_state(loop.middleware)
        if reason == TAKEN:
            reason = answer(loop)
        if reason == ANSWERED:
            continue
        if reason != NO_STATE or add_atomic(loop.calls, 0, -n_calls) == n_calls:
            return reason


@procedure
def answer(loop: NativeLoop) -> int:
    """Answer the state that was taken, or return the reason why Python must; then nothing has changed."""
    begin_ns = clock_ns(loop.middleware.clock, MONOTONIC)
    read_orders(loop)
    if loop.order[MODE] != OPEN:
        return CLOSED
    step = loop.step
    reason = read_state(loop.source, loop.middleware.message, loop.middleware.info, step.memory, step.following)
    if reason == ACCEPTED:
        reason = compute_step(step, loop.order[UNTIL_NS], loop.middleware.info[RECEIVED_NS])
    if reason == ACCEPTED and not publish_torque(loop.middleware, step.kernel.tau_1, step.memory.n):
        reason = NOT_SENT
    if reason != ACCEPTED:
        return reason
    finish_step(step, loop.middleware.info[RECEIVED_NS])
    report(loop, begin_ns)
    return ANSWERED


@procedure
def take_state(m: Middleware) -> int:
    """Take a message; return TAKEN, NO_STATE or NOT_TAKEN."""
    result = m.take(m.subscription, address_of(m.message), address_of(m.info), 0)
    if result == 0:
        return TAKEN
    return NO_STATE if result == TAKE_FAILED else NOT_TAKEN


@procedure
def read_state(source: StateSource, message: Ints, info: Ints, memory: AnsweredMemory, following: NextState) -> int:
    """Read and check a ``JointState``; return ACCEPTED, or the reason why Python must look at it."""
    data = message[DATA]
    if message[LENGTH] != source.length or not has_layout(source, data):
        return OTHER_LAYOUT
    if info[PUBLISHER] != source.owner[0] or info[PUBLISHER + 1] != source.owner[1]:
        return OTHER_PUBLISHER
    if (clock_ns(source.clock, REAL_TIME) - info[WRITTEN_NS]) / SECOND > source.max_age:
        return STALE
    nanoseconds = int32_at(data + STAMP + 4)
    if nanoseconds < 0 or nanoseconds >= SECOND:
        return OTHER_TIME
    for i in range(memory.n):
        following.state.q[i] = float_at(data + source.q_at[i])
        following.state.v[i] = float_at(data + source.v_at[i])
    return check_state(memory, following, int32_at(data + STAMP) * SECOND + nanoseconds)


@procedure
def has_layout(source: StateSource, data: int) -> bool:
    """Whether all bytes but stamp, numbers and padding are those of the last message."""
    for i in range(source.n_words):
        at = min(8 * i, source.length - 8)
        if same_bits(int_at(data + at), source.mask[i]) != source.common[i]:
            return False
    return True


@procedure
def read_orders(loop: NativeLoop) -> None:
    """Take the newest order; one that is just being written counts from the next state on."""
    if load_acquire(loop.orders.sequence, 0) == loop.order_number[0]:
        return
    number = copy_letter(loop.orders, loop.draft)
    if number == NOTHING:
        return
    loop.order_number[0] = number
    for i in range(loop.orders.n):
        loop.order[i] = loop.draft[i]
    for i in range(loop.step.kernel.n_inputs):
        loop.step.kernel.inputs[i] = loop.order_inputs[i]


@procedure
def publish_torque(m: Middleware, tau_1: Floats, n: int) -> bool:
    """Publish the torque that has passed the gate, with the stamp of the state; return whether that was possible."""
    command = m.command[DATA]
    put_int(command + STAMP, int_at(m.message[DATA] + STAMP))
    for i in range(n):
        put_float(command + m.effort_at + 8 * i, tau_1[i])
    if m.publish(m.publisher, address_of(m.command), 0) != 0:
        return False
    if m.array_publisher == 0:
        return True
    for i in range(n):
        put_float(m.array[DATA] + m.array_at + 8 * i, tau_1[i])
    return m.publish(m.array_publisher, address_of(m.array), 0) == 0


@procedure
def report(loop: NativeLoop, begin_ns: int) -> None:
    """Tell Python what was done, and how long it took."""
    duration_ns = clock_ns(loop.middleware.clock, MONOTONIC) - begin_ns
    store_relaxed(loop.durations, loop.step.memory.whole[COUNT] % loop.n_durations, duration_ns)
    post_letter(loop.results, loop.step.result)


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
        Law and gate of this controller (:func:`~arm_control.processes.native_step.step_kernels_of`).
    middleware : Middleware
        Where states come from and commands go; the messages to publish are made here.
    max_age : float
        Age above which a state is stale [s]; 0: never.
    obstacles_until_ns : callable
        Returns the first stamp at which other obstacles may be there than in the last state that the process has
        answered [ns]; by default there are none.

    Attributes
    ----------
    reasons : Counter of str
        How often a state was left to Python, by reason.
    """

    def __init__(
        self,
        model: RobotModel,
        process: ControllerProcess,
        controller: OscController,
        kernels: Sequence[Kernel],
        middleware: Middleware,
        max_age: float,
        obstacles_until_ns: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self.reasons: Counter[str] = Counter()
        self._process, self._obstacles_until_ns = process, obstacles_until_ns
        self._turns = NativeTurns(model, process, controller, process.blind.moments, kernels)
        middleware, self._messages = _with_messages(middleware, model.joint_names)
        self._loop = _new_loop(self._turns.step, middleware, max_age)
        self._answer = compile_procedure(on_message)(self._loop)
        self._end_turn = compile_procedure(end_turn)(self._loop)
        self.callback: Callback = callback_of(self._answer)
        self._orders, self._results = MailboxEnd(self._loop.orders), MailboxEnd(self._loop.results)
        self._inputs = self._turns.inputs(self._orders.words[N_HEAD:].view(np.float64))
        self._known: tuple[JointStateLayout, bytes] | None = None
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
        self._turns.take_over()
        self._turns.leave()

    def hand_over(self, data: bytes, info: dict[str, Any]) -> None:
        """Let the loop answer the next states, where the process has answered a message as an ordinary state."""
        self.pause()
        last = self._turns.ordinary()
        if last is not None and self._learn_source(data, info["publisher_gid"]["data"]):
            self._turns.hand_over(last, info["received_timestamp"])
            self._is_open = True
            self._order(last.measurement.stamp_ns)

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
        words[MODE], words[UNTIL_NS] = OPEN, int(max(0, min(until_ns, self._obstacles_until_ns())))
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

    @property
    def newest_state(self) -> Measurement | None:
        """The last state that the loop or the process has answered; None before one."""
        last = self._process.last
        if self.n_answered > self._turns.n_taken_over:
            last = self._turns.tick_result(self._results.words)
        return None if last is None else last.measurement

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
        """Return what was done with the last state that the loop has answered; None if fewer than ``every`` are new."""
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


def compile_loop() -> None:
    """Compile the loop, which takes a while, before one is made."""
    compile_procedure(on_message), compile_procedure(end_turn)


def _new_loop(step: ControlStep, middleware: Middleware, max_age: float) -> NativeLoop:
    """A loop that no message fits yet; it is Python's turn."""
    none, places, owner = (np.zeros(size, dtype=np.int64) for size in (1, step.memory.n, 2))
    source = StateSource(-1, 0, none, none, places, places, owner, max_age or np.inf, middleware.clock)
    orders = Mailbox.of_size(N_HEAD + step.kernel.n_inputs)
    order = np.zeros_like(orders.words)
    return NativeLoop(
        middleware,
        source,
        step,
        orders,
        order,
        np.zeros_like(order),
        order[N_HEAD:].view(np.float64),
        np.array([NOTHING]),
        Mailbox.of_size(len(step.result)),
        np.zeros(N_DURATIONS, dtype=np.int64),
        N_DURATIONS,
        np.ones(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


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
