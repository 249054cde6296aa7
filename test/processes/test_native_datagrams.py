"""When the native loop of datagrams ends, what wakes it, and what it does meanwhile."""

from __future__ import annotations

import os

import pytest
from random_messages import MS, SOCKETS, NativeDatagramWay, Step
from test_native_loops import run, states

from arm_control import RobotModel
from arm_control.faults import MANY
from arm_control.gate import GateParameters
from arm_control.processes import SILENCE
from arm_control.processes.native_datagrams import ENOUGH, MOST_WAITING, NO_DATAGRAM, OTHER_DATAGRAM, WOKEN
from arm_control.processes.native_step import CLOSED

N_PYTHON = 2
"""States that Python answers at the beginning: until then the time between two is unknown."""


@pytest.fixture
def native(ur5: RobotModel) -> NativeDatagramWay:
    """A loop that is open, after ten states."""
    way = NativeDatagramWay(ur5, GateParameters())
    run(way, states(10))
    assert way.n_native == 10 - N_PYTHON
    way.answers.clear()
    return way


def come(way: NativeDatagramWay, *shown: Step) -> None:
    """Let states come while the loop waits, a millisecond after each other."""

    def go_on() -> None:
        way.now_ns += MS

    way.network.on_poll = go_on
    way.network.coming = [[(way.datagram(one), SOCKETS[one.sender])] for one in shown]


def progress(way: NativeDatagramWay) -> tuple[int, int]:
    """Number of answered states, and of those that still come."""
    return way.datagrams.answered, len(way.network.coming)


def test_as_many_states_are_answered_as_were_asked_for_or_until_another_look(native: NativeDatagramWay):
    come(native, *states(20, 10))
    assert not native.native.wait(7, MANY)
    assert progress(native) == (17, 13)
    assert not native.native.wait(MANY, native.now_ns + 5 * MS)
    assert progress(native) == (22, 8)
    assert native.native.reasons[ENOUGH] == 2
    assert not native.native.wait(MANY, MANY)
    assert native.datagrams.answered == 30
    assert native.native.reasons[CLOSED] == N_PYTHON, "a look changes nothing"
    assert 0 < native.network.longest_wait_ms <= 1e3 * SILENCE, "Python looks whether the owner is silent"


def test_what_wakes_the_loop_comes_before_states_and_wakes_it_once(native: NativeDatagramWay):
    waker, wakes = os.pipe()
    os.set_blocking(waker, False)
    native.native._network = native.native._network._replace(waker=waker)
    polled = native.native._network.polled
    polled[-1] = 1
    os.write(wakes, b"!")
    come(native, *states(3, 10))
    n = native.native.reasons[WOKEN]
    assert not native.native.wait(MANY, MANY)
    assert (native.native.reasons[WOKEN], native.datagrams.answered) == (n + 1, 10)
    with pytest.raises(BlockingIOError):
        os.read(waker, 1)
    polled[-1] = 0
    assert not native.native.wait(MANY, MANY)
    assert native.datagrams.answered > 11
    for end in (waker, wakes):
        os.close(end)


def test_where_there_is_no_datagram_python_looks_and_nothing_changes(native: NativeDatagramWay):
    come(native, *states(1, 10))
    native.network.on_receive = native.network.waiting.clear  # somebody else takes it
    assert native.native.wait(MANY, MANY)
    assert native.native.reasons[NO_DATAGRAM] == 1
    assert progress(native) == (10, 0)


def test_states_that_never_end_are_answered_meanwhile(native: NativeDatagramWay):
    (one,) = states(1, 10)
    datagram, n_received = (native.datagram(one), SOCKETS[0]), 0

    def flood() -> None:
        nonlocal n_received
        n_received += 1
        native.network.waiting.append(datagram)

    come(native, one)
    native.network.on_receive = flood
    assert not native.native.wait(1, MANY)
    assert n_received == MOST_WAITING
    assert native.datagrams.answered == 11


@pytest.mark.parametrize("sender", [("127.0.0.2", SOCKETS[0][1]), (SOCKETS[0][0], SOCKETS[0][1] ^ 256)])
def test_an_address_is_that_of_the_sender_to_the_last_bit(native: NativeDatagramWay, sender: tuple[str, int]):
    native.network.waiting.append((native.datagram(states(1, 10)[0]), sender))
    assert native.native.wait(MANY, MANY)
    assert native.native.reasons[OTHER_DATAGRAM] > 0
    assert native.datagrams.answered == 10
