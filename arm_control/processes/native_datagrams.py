"""The native loop of ``arm_control serve``: when it may answer, and what Python does with what it leaves.

The loop of :mod:`arm_control.processes.datagram_loop` waits for all datagrams, and answers states in turns with a
:class:`~arm_control.processes.datagrams.DatagramProcess` (:mod:`arm_control.processes.native_turns`).
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
from functools import cache

import numpy as np

from arm_control.compiler import Binds, CFunction, Kernel, compile_procedure
from arm_control.control import TickResult
from arm_control.controllers import OscController
from arm_control.model import RobotModel
from arm_control.processes.datagram_loop import (
    ADDRESS_SIZE,
    ENOUGH,
    HEAD_SIZE,
    LARGEST,
    LAST_COUNT,
    LOOK_NS,
    MARK,
    MODE,
    N_ORDERS,
    UNTIL_NS,
    WOKEN,
    Datagram,
    DatagramLoop,
    Network,
    datagram_at,
    serve_states,
)
from arm_control.processes.datagram_socket import Sender
from arm_control.processes.datagrams import ANSWER, HEAD, STATE, DatagramProcess
from arm_control.processes.native_state import COUNT, SystemClock
from arm_control.processes.native_step import CLOSING, OPEN
from arm_control.processes.native_turns import NativeTurns

WORD = 8
"""Bytes of a number."""
ADDRESS = struct.Struct("=H2s4s8x")
"""``sockaddr_in``: family, port and address, these two as on the network."""
POLLED = struct.Struct("=ihh")
"""``struct pollfd``: file descriptor, events, and what has come of them."""
POLLIN = 1
"""The event that there is something to read."""


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

    Parameters
    ----------
    kernels : sequence of Kernel
        Law and gate of this controller (:func:`arm_control.processes.native_turns.step_kernels_of`).

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
        self._turns = NativeTurns(model, process.loop, controller, process.moments, kernels)
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
        self._serve = compile_datagram_loop()(self._loop)
        self._inputs = self._turns.inputs(self._loop.step.regular.inputs)
        self._left: TickResult | None = None

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
        if (answered := self._turns.take_over()) is not None:
            self._process.resume(answered)
        if reason == WOKEN:
            with suppress(OSError):  # there may be nothing to read, or no waker
                os.read(self._network.waker, LARGEST)
        if reason in (ENOUGH, WOKEN):
            return False
        self._left = self._process.last
        n_taken = int(self._network.n_taken[0])
        for i in range(max(0, n_taken - 2), n_taken):
            self._process.take(*_content(datagram_at(self._network, i)))
        return True

    def _hand_over(self) -> bool:
        """Let the loop take over; return whether it may answer.

        It may behind a state that Python, or the loop itself, has answered as an ordinary one; not yet behind something
        that was refused.
        """
        process, step, last = self._process, self._loop.step, self._process.last
        if last is None or last is self._left or process.owner is None or not self._turns.is_ordinary(last):
            return False
        until_ns = self._turns.write_inputs(self._inputs, last.measurement.stamp_ns)
        if until_ns is None:
            return False
        step.general.inputs[:] = step.regular.inputs
        self._turns.hand_over(last, process.reader, process.heard_ns)
        self._loop.orders[UNTIL_NS] = until_ns
        self._loop.owner[:] = np.frombuffer(address_of_sender(process.owner), dtype=np.int64)
        return True


@cache
def compile_datagram_loop() -> Binds[DatagramLoop]:
    """Return what binds the loop to its record: compiled once, which takes a while."""
    return compile_procedure(serve_states)


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
