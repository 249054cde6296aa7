"""The control loop as one procedure, called by the middleware: take a state, compute law and gate, publish the torque.

It needs nothing of Python and does not hold its lock. It answers the *ordinary* state: the next one of the same
publisher, believed, in time, while the gate passes commands and the reference stands still. Whatever else comes, it
gives a *reason*, before anything has changed; the state is still there, and Python answers it.

    on_message       called by the thread of the middleware that has received a message
    answer_states    until none waits, or there is a reason: take, answer
    answer           one state: orders of Python, state, law and gate, messages, memory

One at a time has the *turn*: a call of :func:`on_message`, or Python, from a reason on until :func:`end_turn`. Whoever
calls meanwhile is counted, and whoever has the turn looks again before it ends: no message waits for the next one.

Two mailboxes (:mod:`arm_control.processes.mailbox`) connect it with Python: *orders* go in (whether it may
answer, until when, and all inputs of the kernel: reference, gains, limits), *results* come out (the last state, and
all inputs and outputs of the kernel).
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import (
    CFunction,
    Floats,
    Ints,
    add_atomic,
    address_of,
    int_at,
    load_acquire,
    procedure,
    put_float,
    put_int,
    store_relaxed,
    store_release,
)
from arm_control.processes.mailbox import NOTHING, Mailbox, copy_letter, post_letter
from arm_control.processes.native_state import (
    ACCEPTED,
    COUNT,
    DATA,
    MONOTONIC,
    RECEIVED_NS,
    STAMP,
    StateSource,
    SystemClock,
    clock_ns,
    read_state,
)
from arm_control.processes.native_step import (
    ANSWERED,
    CLOSED,
    EXPIRED,
    NO_TORQUE,
    NOT_BELIEVABLE,
    NOT_SENT,
    OPEN,
    TAKEN,
    ControlStep,
    compute_step,
    finish_step,
    kernel_of_state,
)

NOT_TAKEN = 16
"""One more reason; with this one there is no state."""
NO_STATE = -1
"""No reason: the loop ends because no message waits."""

REASONS = {
    1: "a message of another layout",
    2: "a state of another publisher",
    3: "a stale state",
    4: "a stamp that is not later than the last",
    5: "missing states",
    6: "a state that is not finite",
    7: "a state that is not believed",
    CLOSED: "Python answers",
    EXPIRED: "a goal or a disturbance begins or ends",
    NO_TORQUE: "the law gives no torque",
    NOT_BELIEVABLE: "a torque that the gate refuses",
    NOT_SENT: "the middleware did not send",
    NOT_TAKEN: "the middleware failed",
}
"""Reasons in words."""

MODE, UNTIL_NS, N_HEAD = 0, 1, 2
"""Words of an order: whether the loop may answer; first stamp that Python answers [ns]; then the kernel's inputs."""
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


class Turn(NamedTuple):
    """Whose turn it is to work on the states.

    Attributes
    ----------
    calls : ndarray of int64, shape (1,)
        Number of calls in this turn; 0: nobody has it.
    """

    calls: Ints


class NativeLoop(NamedTuple):
    """All that the loop works on.

    Attributes
    ----------
    source : StateSource
        What the next state must look like.
    step : ControlStep
        From a state to its torque; its result is the last letter to Python.
    orders, results : Mailbox
        From Python, and to Python.
    draft : ndarray of int64
        A copy of an order, which may be incomplete.
    order_inputs : ndarray, shape (n_inputs,)
        The kernel's inputs in the order.
    order_number : ndarray of int64, shape (1,)
        Sequence number of the order.
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
    turn: Turn
    reason: Ints


@procedure
def on_message(loop: NativeLoop) -> float:
    """A message has come: answer what waits, unless another one has the turn; with a reason it becomes Python's."""
    if add_atomic(loop.turn.calls, 0, 1) == 0:
        reason = answer_states(loop)
        if reason != NO_STATE:
            loop.reason[0] = reason
            loop.middleware.write(loop.middleware.pipe, address_of(loop.reason), REASON_SIZE)
    return 0.0


@procedure
def end_turn(turn: Turn) -> float:
    """End the turn of Python; what has come meanwhile waits for the next call of :func:`on_message`."""
    store_release(turn.calls, 0, 0)
    return 0.0


@procedure
def answer_states(loop: NativeLoop) -> int:
    """Answer states until none waits, which ends the turn, or there is a reason, which does not; return that."""
    while True:
        n_calls = load_acquire(loop.turn.calls, 0)
        reason = take_state(loop.middleware)
        if reason == TAKEN:
            reason = answer(loop)
        if reason == ANSWERED:
            continue
        if reason != NO_STATE or add_atomic(loop.turn.calls, 0, -n_calls) == n_calls:
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
    if reason == ACCEPTED and step.following.stamp_ns[0] >= loop.order[UNTIL_NS]:
        reason = EXPIRED
    if reason == ACCEPTED:
        reason = compute_step(step)
    if reason == ACCEPTED and not publish_torque(loop.middleware, kernel_of_state(step).tau_1, step.memory.n):
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
    for i in range(loop.step.regular.n_inputs):
        loop.step.regular.inputs[i] = loop.order_inputs[i]
        loop.step.general.inputs[i] = loop.order_inputs[i]


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
