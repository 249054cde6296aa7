"""The loop of ``arm_control serve`` as one procedure: wait for datagrams, compute law and gate, send the torque.

It answers the newest state of the owner if that is an ordinary one, and leaves all others to Python
(:mod:`arm_control.processes.native_step`).

    serve_states     until there is a reason: take, answer
    take_newest      wait; take all datagrams that wait, the last one is the newest state
    answer           one state: its head, its numbers, law and gate, torque, memory

Python and the loop never run at the same time: Python calls it, and has the datagrams when it returns. Their bytes are
those of :mod:`arm_control.processes.datagrams`; the numbers of flags and clocks are those of Linux.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from arm_control.compiler import (
    CFunction,
    Ints,
    Kernel,
    address_of,
    compile_procedure,
    float_at,
    procedure,
    put_float,
)
from arm_control.controllers import OscController
from arm_control.core import LARGEST_STAMP
from arm_control.gate import has_long_gap
from arm_control.model import RobotModel
from arm_control.processes.datagrams import ANSWER, HEAD, STATE, DatagramProcess, Sender
from arm_control.processes.native_step import (
    ACCEPTED,
    ANSWERED,
    CLOSED,
    CLOSING,
    COUNT,
    HEARD_NS,
    MISSING_STATES,
    MODE,
    MONOTONIC,
    NOT_SENT,
    OPEN,
    OTHER_TIME,
    PERIOD,
    SECOND,
    TAKEN,
    UNTIL_NS,
    WORD,
    AnsweredMemory,
    ControlStep,
    NativeTurns,
    SystemClock,
    check_state,
    clock_ns,
    compute_step,
    finish_step,
)

ADDRESS = struct.Struct("=H2s4s8x")
"""``sockaddr_in``: family, port and address, these two as on the network."""
POLLED = struct.Struct("=ihh")
"""``struct pollfd``: file descriptor, events, and what has come of them."""
POLLIN = 1
"""The event that there is something to read."""
OTHER_DATAGRAM, NO_DATAGRAM, ENOUGH, WOKEN = 21, 22, 23, 24
"""More reasons: the last datagram is not a state of the owner, there is none; with these two nothing is left to Python:
the answers asked for have been given, or somebody has woken the loop, or nothing has come for long."""

LAST_COUNT, LOOK_NS, N_ORDERS = 2, 3, 4
"""More words of an order: number of states answered, and time of the steady clock [ns], at which the loop ends."""
MARK, NUMBER, STAMP, HEAD_SIZE = 0, 1, 2, 24
"""Words of a state and of an answer before the numbers, and their bytes; in an answer the third one is 0, it does not
brake."""
LARGEST, ADDRESS_SIZE = 65_536, 16
"""Bytes that there is room for: more than a datagram has, and those of an address."""
MOST_WAITING = 1000
"""Waiting datagrams that are looked at before an answer: more than the buffer of a socket holds."""
WAKER, DONT_WAIT = 1, 0x40
"""Word of what is polled, behind the socket; a flag."""
LONGEST_WAIT = 1000
"""Time without a datagram after which Python looks whether the owner is still heard [ms]."""


class Datagram(NamedTuple):
    """A datagram that was received.

    Attributes
    ----------
    sender : ndarray of int64, shape (2,)
        Address of its sender, ``sockaddr_in``: family, port and address in the first word.
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
    if reason == ACCEPTED:
        reason = compute_step(step, loop.orders[UNTIL_NS], heard_ns)
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
    kernel = loop.step.kernel
    data = address_of(loop.answer)
    loop.answer[NUMBER] = number
    for i in range(loop.step.memory.n):
        g = kernel.g[i] if loop.is_weightless == 1 else 0.0
        put_float(data + HEAD_SIZE + 8 * i, kernel.tau_1[i] - g)
    network = loop.network
    return network.send(network.socket, data, loop.answer_size, 0, address_of(loop.owner), ADDRESS_SIZE) >= 0


def network_of(datagrams: socket.socket, waker: int) -> Network:
    """Return the network of a socket.

    Parameters
    ----------
    datagrams : socket
        The socket; it must stay open as long as the network is used.
    waker : int
        File descriptor that wakes the loop when it can be read, and does not block; -1: none.
    """
    library = ctypes.CDLL(None)
    polled = b"".join(POLLED.pack(end, POLLIN, 0) for end in (datagrams.fileno(), waker))
    words = np.frombuffer(polled, dtype=np.int64).copy()
    return Network(
        CFunction.of(library.poll, 3),
        CFunction.of(library.recvfrom, 6),
        CFunction.of(library.sendto, 6),
        SystemClock(CFunction.of(library.clock_gettime, 2), np.zeros(2, dtype=np.int64)),
        datagrams.fileno(),
        waker,
        words,
        int(words[-1]),
        new_datagram(),
        new_datagram(),
        np.zeros(1, dtype=np.int64),
    )


class NativeDatagrams:
    """Lets the native loop answer the ordinary states of a driver; only one thread at a time may use it.

    Attributes
    ----------
    reasons : Counter of int
        How often the loop has ended, by reason.
    """

    def __init__(
        self,
        model: RobotModel,
        process: DatagramProcess,
        controller: OscController,
        kernels: Sequence[Kernel],
        network: Network,
    ) -> None:
        self.reasons: Counter[int] = Counter()
        self._process, self._network = process, network
        self._turns = NativeTurns(model, process, controller, process.moments, kernels)
        state, answer = (np.frombuffer(HEAD.pack(mark, model.nv, 0, 0), np.int64) for mark in (STATE, ANSWER))
        words = np.concatenate([answer, np.zeros(model.nv, dtype=np.int64)])
        self._loop = DatagramLoop(
            network,
            self._turns.step,
            np.zeros(N_ORDERS, dtype=np.int64),
            np.zeros(ADDRESS_SIZE // WORD, dtype=np.int64),
            int(state[MARK]),
            HEAD_SIZE + 2 * WORD * model.nv,
            words,
            words.nbytes,
            int(process.driver_adds_gravity),
        )
        self._serve = compile_procedure(serve_states)(self._loop)
        self._inputs = self._turns.inputs(self._loop.step.kernel.inputs)

    @property
    def n_answered(self) -> int:
        """Number of states that have been answered without Python."""
        return int(self._loop.step.memory.whole[COUNT])

    def wait(self, n_most: int, look_ns: int) -> bool:
        """Answer ordinary states until something else comes; return whether that, or more, waits for the process.

        Parameters
        ----------
        n_most : int
            States that are answered at most.
        look_ns : int
            Time of the steady clock from which on no further state is answered [ns].
        """
        orders = self._loop.orders
        orders[MODE] = OPEN if self._hand_over() else CLOSING
        orders[LAST_COUNT], orders[LOOK_NS] = self.n_answered + n_most, look_ns
        reason = int(self._serve())
        self.reasons[reason] += 1
        self._turns.take_over()
        if reason == WOKEN:
            with suppress(OSError):  # there may be nothing to read, or no waker
                os.read(self._network.waker, LARGEST)
        if reason in (ENOUGH, WOKEN):
            return False
        self._turns.leave()
        n_taken = int(self._network.n_taken[0])
        for i in range(max(0, n_taken - 2), n_taken):
            self._process.take(*_content(datagram_at(self._network, i)))
        return True

    def _hand_over(self) -> bool:
        """Let the loop take over; return whether it may answer."""
        process, last = self._process, self._turns.ordinary()
        if last is None or process.owner is None:
            return False
        until_ns = self._turns.write_inputs(self._inputs, last.measurement.stamp_ns)
        if until_ns is None:
            return False
        self._turns.hand_over(last, process.heard_ns)
        self._loop.orders[UNTIL_NS] = until_ns
        self._loop.owner[:] = np.frombuffer(address_of_sender(process.owner), dtype=np.int64)
        return True


def why_not_native(kernels: Sequence[Kernel]) -> str:
    """Return why the native loop cannot run on this machine; empty where it can."""
    if sys.platform != "linux" or sys.byteorder != "little":
        return "the loop without Python needs Linux and a little-endian processor"
    return "" if all(kernel.address for kernel in kernels) else "no machine code can be made"


def new_datagram() -> Datagram:
    """Return memory for a datagram."""
    sizes = LARGEST // WORD, 1, ADDRESS_SIZE // WORD, 1
    return Datagram(*(np.zeros(size, dtype=np.int64) for size in sizes))


def _content(datagram: Datagram) -> tuple[bytes, Sender]:
    """Bytes and sender of a datagram."""
    _, port, address = ADDRESS.unpack(datagram.sender.tobytes())
    sender = socket.inet_ntoa(address), int.from_bytes(port, "big")
    return datagram.words.view(np.uint8)[: int(datagram.size[0])].tobytes(), sender


def address_of_sender(sender: Sender) -> bytes:
    """The same of a sender, for the C library."""
    return ADDRESS.pack(socket.AF_INET, sender[1].to_bytes(2, "big"), socket.inet_aton(sender[0]))
