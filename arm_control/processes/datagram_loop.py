"""The loop of ``arm_control serve`` as one procedure: wait for datagrams, compute law and gate, send the torque.

It needs nothing of Python and does not hold its lock. It answers the *ordinary* state: the newest one of the owner,
believed, in time, while the gate passes commands and the reference stands still. Whatever else comes, it gives a
*reason*, before anything has changed; the last datagrams are still there, and Python looks at them.

    serve_states     until there is a reason: take, answer
    take_newest      wait; take all datagrams that wait, the last one is the newest state
    answer           one state: its head, its numbers, law and gate, torque, memory

Python and the loop never run at the same time: Python calls it, and has the datagrams when it returns. Their bytes are
those of :mod:`arm_control.processes.datagrams`; the numbers of flags and clocks are those of Linux.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import CFunction, Ints, address_of, float_at, procedure, put_float
from arm_control.core import LARGEST_STAMP
from arm_control.gate import has_long_gap
from arm_control.processes.native_state import (
    ACCEPTED,
    COUNT,
    HEARD_NS,
    MISSING_STATES,
    MONOTONIC,
    OTHER_TIME,
    PERIOD,
    SECOND,
    AnsweredMemory,
    SystemClock,
    check_state,
    clock_ns,
)
from arm_control.processes.native_step import (
    ANSWERED,
    CLOSED,
    EXPIRED,
    NOT_SENT,
    OPEN,
    TAKEN,
    ControlStep,
    compute_step,
    finish_step,
    kernel_of_state,
)

OTHER_DATAGRAM, NO_DATAGRAM, ENOUGH, WOKEN = 21, 22, 23, 24
"""More reasons: the last datagram is not a state of the owner, there is none; with these two nothing is left to Python:
the answers asked for have been given, or somebody has woken the loop, or nothing has come for long."""

MODE, UNTIL_NS, LAST_COUNT, LOOK_NS, N_ORDERS = 0, 1, 2, 3, 4
"""Words of an order: whether the loop may answer; first stamp that Python answers [ns]; number of states answered, and
time of the steady clock [ns], at which the loop ends."""
MARK, NUMBER, STAMP, HEAD_SIZE = 0, 1, 2, 24
"""Words of a state and of an answer before the numbers, and their bytes; in an answer the third one is 0, it does not
brake."""
LARGEST, ADDRESS_SIZE = 65_536, 16
"""Bytes that there is room for: more than a datagram has, and those of an address."""
MOST_WAITING = 1000
"""Waiting datagrams that are looked at before an answer: more than the buffer of a socket holds."""
SOCKET, WAKER, DONT_WAIT = 0, 1, 0x40
"""Words of what is polled; a flag."""
LONGEST_WAIT = 1000
"""Time without a datagram after which Python looks whether the owner is still heard [ms]."""


class Datagram(NamedTuple):
    """A datagram that was received.

    Attributes
    ----------
    sender : ndarray of int64, shape (2,)
        Address of its sender, ``sockaddr_in``: family, port and address in the first word.
    sender_size : ndarray of int64, shape (1,)
        Bytes of that.
    """

    words: Ints
    size: Ints
    sender: Ints
    sender_size: Ints


class Network(NamedTuple):
    """Where datagrams come from and go to.

    Attributes
    ----------
    poll, receive, send : CFunction
        ``poll``, ``recvfrom`` and ``sendto`` of the C library.
    socket, waker : int
        File descriptors: of the socket, and of what wakes the loop when it can be read (-1: nothing).
    polled : ndarray of int64, shape (2,)
        ``struct pollfd`` of each.
    asleep : int
        The second one where nobody has woken the loop.
    n_taken : ndarray of int64, shape (1,)
        Datagrams since the last wait; the last two of them are there.
    """

    poll: CFunction
    receive: CFunction
    send: CFunction
    clock: SystemClock
    socket: int
    waker: int
    polled: Ints
    asleep: int
    even: Datagram
    odd: Datagram
    n_taken: Ints


class DatagramLoop(NamedTuple):
    """All that the loop works on.

    Attributes
    ----------
    network : Network
        Where states come from and torque goes.
    orders : ndarray of int64, shape (N_ORDERS,)
        What Python wants.
    owner : ndarray of int64, shape (2,)
        Address of the owner, as that of a sender.
    state_head, state_size : int
        First word of a state, and its bytes.
    answer : ndarray of int64
        The answer: its first word stays.
    is_weightless : int
        1: the driver adds gravity torque itself.
    """

    network: Network
    step: ControlStep
    orders: Ints
    owner: Ints
    state_head: int
    state_size: int
    answer: Ints
    answer_size: int
    is_weightless: int


@procedure
def serve_states(loop: DatagramLoop) -> float:
    """Answer states until there is a reason to end; return that."""
    result = ANSWERED
    while result == ANSWERED:
        result = take_newest(loop)
        if result == TAKEN:
            result = answer(loop)
    return result


@procedure
def take_newest(loop: DatagramLoop) -> int:
    """Wait for datagrams, and take all of them; return TAKEN where they are states of the owner, else a reason."""
    memory = loop.step.memory
    network = loop.network
    network.n_taken[0] = 0
    if memory.whole[COUNT] >= loop.orders[LAST_COUNT] or memory.whole[HEARD_NS] >= loop.orders[LOOK_NS]:
        return ENOUGH
    if network.poll(address_of(network.polled), 2, LONGEST_WAIT) < 1 or network.polled[WAKER] != network.asleep:
        return WOKEN
    if loop.orders[MODE] != OPEN:
        return CLOSED
    for i in range(MOST_WAITING):
        datagram = datagram_at(network, i)
        if not receive(network, datagram):
            break
        network.n_taken[0] = i + 1
        if not is_state(loop, datagram) or (i > 0 and is_older(network, datagram, i)):
            return OTHER_DATAGRAM
    return TAKEN if network.n_taken[0] > 0 else NO_DATAGRAM


@procedure
def datagram_at(network: Network, i: int) -> Datagram:
    """Return the memory of one of the datagrams since the last wait."""
    return network.even if i % 2 == 0 else network.odd


@procedure
def receive(network: Network, datagram: Datagram) -> bool:
    """Receive a datagram; return whether one was waiting. The one before in this memory stays where none was."""
    data = address_of(datagram.words)
    sender = address_of(datagram.sender)
    datagram.sender_size[0] = ADDRESS_SIZE
    size = network.receive(network.socket, data, LARGEST, DONT_WAIT, sender, address_of(datagram.sender_size))
    if size >= 0:
        datagram.size[0] = size
    return size >= 0


@procedure
def is_state(loop: DatagramLoop, datagram: Datagram) -> bool:
    """Whether a datagram is from the owner, and has size and head of a state."""
    is_from_owner = datagram.sender[0] == loop.owner[0]
    return is_from_owner and datagram.size[0] == loop.state_size and datagram.words[MARK] == loop.state_head


@procedure
def is_older(network: Network, datagram: Datagram, i: int) -> bool:
    """Whether a state is older than the one that was received before it: the network has changed their order."""
    return datagram.words[STAMP] < datagram_at(network, i - 1).words[STAMP]


@procedure
def answer(loop: DatagramLoop) -> int:
    """Answer the newest state, or return the reason why Python must; then nothing has changed."""
    step = loop.step
    state = datagram_at(loop.network, loop.network.n_taken[0] - 1)
    heard_ns = clock_ns(loop.network.clock, MONOTONIC)
    reason = read_numbers(step, state)
    if reason == ACCEPTED and is_silent(step.memory, heard_ns):
        reason = MISSING_STATES
    if reason == ACCEPTED and state.words[STAMP] >= loop.orders[UNTIL_NS]:
        reason = EXPIRED
    if reason == ACCEPTED:
        reason = compute_step(step)
    if reason == ACCEPTED and not send_torque(loop, state.words[NUMBER]):
        reason = NOT_SENT
    if reason != ACCEPTED:
        return reason
    finish_step(step, heard_ns)
    return ANSWERED


@procedure
def is_silent(memory: AnsweredMemory, heard_ns: int) -> bool:
    """Whether nothing has come for too long by the clock, whatever the stamps say."""
    return has_long_gap(memory.times[PERIOD], (heard_ns - memory.whole[HEARD_NS]) / SECOND, memory.max_missed)


@procedure
def read_numbers(step: ControlStep, datagram: Datagram) -> int:
    """Read and check a state; return ACCEPTED, or the reason why Python must look at it."""
    data = address_of(datagram.words) + HEAD_SIZE
    n = step.memory.n
    for i in range(n):
        step.following.state.q[i] = float_at(data + 8 * i)
        step.following.state.v[i] = float_at(data + 8 * (n + i))
    if datagram.words[STAMP] >= LARGEST_STAMP:
        return OTHER_TIME
    return check_state(step.memory, step.following, datagram.words[STAMP])


@procedure
def send_torque(loop: DatagramLoop, number: int) -> bool:
    """Send the torque that has passed the gate, with the number of the state; return whether that was possible."""
    kernel = kernel_of_state(loop.step)
    data = address_of(loop.answer)
    loop.answer[NUMBER] = number
    for i in range(loop.step.memory.n):
        g = kernel.g[i] if loop.is_weightless == 1 else 0.0
        put_float(data + HEAD_SIZE + 8 * i, kernel.tau_1[i] - g)
    network = loop.network
    return network.send(network.socket, data, loop.answer_size, 0, address_of(loop.owner), ADDRESS_SIZE) >= 0
