"""Turns of the native loop of a topic: whoever has the turn, each state is answered once, in its order."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from native_rig import MeddledWords
from random_messages import MS, START_NS, NativeWay, Step, Way
from test_native_loops import HOME, NOTHING

from arm_control import RobotModel
from arm_control.gate import GateParameters
from arm_control.messages import JointStateBytes, nanoseconds
from arm_control.processes.native_controller import read_orders


def states(n: int) -> list[Step]:
    """States of an arm in motion, 1 ms apart."""
    t = 1e-3 * (np.arange(n)[:, None] + 1) * np.ones(6)
    qs, vs = HOME + 0.3 * np.sin(t), 0.3 * np.cos(t)
    return [Step(NOTHING, START_NS + (k + 1) * MS, (k + 1) * MS, qs[k], vs[k], 0, 0) for k in range(n)]


@pytest.fixture
def native(ur5: RobotModel) -> NativeWay:
    return NativeWay(ur5, GateParameters(max_age=0.02))


def show(way: Way, *shown: Step) -> list[bytes]:
    """Show states; return the answers."""
    return [answer for one in shown for answer in way.take(one).answers]


def stamps(answers: list[bytes]) -> list[int]:
    return [nanoseconds(JointStateBytes().read(answer).header.stamp) // MS for answer in answers]


def test_states_that_come_in_python_s_turn_are_answered_behind_it(native: NativeWay):
    *before, left, one, another = states(13)
    show(native, *before)
    n = native.n_native
    native.native.pause()
    native.answers.clear()
    for late in (left, one, another):
        native.come(late)
    assert not native.answers
    native.take_turns()
    assert stamps(native.answers) == [11, 12, 13]
    assert native.n_native == n + 2


def test_a_state_that_comes_when_the_last_one_is_answered_does_not_wait(native: NativeWay):
    *before, one, another = states(12)
    show(native, *before)
    late = [another]

    def come() -> None:
        """Behind the last look, and before the end of the turn."""
        while late:
            native.come(late.pop())

    native.middleware.on_empty = come
    native.answers.clear()
    native.come(one)
    assert stamps(native.answers) == [11, 12]
    assert native.n_native == 10  # Python has answered the first two


@pytest.mark.parametrize("n", [3000, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_every_state_is_answered_once_whoever_has_the_turn(ur5: RobotModel, native: NativeWay, n: int):
    """A thread receives, Python asks for turns at times of its own; the threads change as often as they can."""
    python, rng, sequence = Way(ur5, GateParameters(max_age=0.02)), np.random.default_rng(0), states(n)

    def receive() -> None:
        for one in sequence:
            while len(native.middleware.waiting) > 5:
                time.sleep(0)  # older states would be stale
            native.come(one)

    receiver = threading.Thread(target=receive)
    receiver.start()
    while receiver.is_alive():
        native.take_turns()
        if rng.random() < 0.05:
            native.native.pause()
        time.sleep(0)
    receiver.join()
    native.take_turns()
    assert native.answers == show(python, *sequence)
    assert stamps(native.answers) == [*range(1, n + 1)]
    assert 0 < native.n_native < n
    assert native.native.reasons["Python answers"] > 1


def test_an_order_that_is_being_written_changes_nothing(native: NativeWay):
    show(native, *states(10))
    loop = native.native._loop
    order, inputs = loop.order.copy(), loop.step.kernel.inputs.copy()
    loop.orders.words[:] += 1
    loop.orders.sequence[0] += 2
    words: Any = MeddledWords(loop.orders)
    read_orders(loop._replace(draft=words))
    np.testing.assert_array_equal(loop.order, order)
    np.testing.assert_array_equal(loop.step.kernel.inputs, inputs)
    read_orders(loop)
    np.testing.assert_array_equal(loop.order, order + 1)
    assert not np.array_equal(loop.step.kernel.inputs, inputs)


def test_the_result_is_that_of_the_controller(ur5: RobotModel, native: NativeWay):
    python, sequence = Way(ur5, GateParameters(max_age=0.02)), states(40)
    assert show(native, *sequence) == show(python, *sequence)
    expected, result = python.process.last, native.native.newest()
    assert native.native.newest(every=1) is None
    assert native.native.stamp_ns == expected.measurement.stamp_ns == 40 * MS
    assert result.measurement.dt == expected.measurement.dt
    assert result.gate.state is expected.gate.state
    assert result.law.figures() == expected.law.figures()
    assert result.torque_terms.keys() == expected.torque_terms.keys()
    for name, tau in expected.torque_terms.items():
        np.testing.assert_array_equal(result.torque_terms[name], tau)
    np.testing.assert_array_equal(result.law.terms.J, expected.law.terms.J)
    np.testing.assert_array_equal(result.law.terms.X_WE.p, expected.law.terms.X_WE.p)
    assert len(native.native.durations()) == native.n_native
    assert native.native.durations() == []
