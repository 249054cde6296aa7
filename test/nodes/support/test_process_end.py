"""Signals end a process at rest, and interrupt what no arm depends on yet."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import pytest

from arm_control.nodes.support.process_end import ProcessEnd


@pytest.fixture
def end() -> Iterator[ProcessEnd]:
    before = signal.getsignal(signal.SIGUSR1)
    end = ProcessEnd()
    end.listen(signal.SIGUSR1)
    yield end
    signal.signal(signal.SIGUSR1, before)


def send() -> Element:
    os.kill(os.getpid(), signal.SIGUSR1)
    return Element("link")


def test_the_end_waits_for_rest_and_a_second_signal_does_not(end: ProcessEnd):
    assert not end.is_reached(lambda: True)
    send()
    assert end.signals == [signal.SIGUSR1]
    assert end.is_reached(lambda: True)
    assert not end.is_reached(lambda: False)
    send()
    assert end.is_reached(lambda: False)


def test_a_signal_without_rest_ends_after_a_while(end: ProcessEnd, monkeypatch: pytest.MonkeyPatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    send()
    assert not end.is_reached(lambda: False)
    now += 0.99 * end.LONGEST
    assert not end.is_reached(lambda: False)
    now += 0.02 * end.LONGEST
    assert end.is_reached(lambda: False)


def test_a_signal_interrupts_also_where_c_code_raises_another_error(end: ProcessEnd):
    robot = Element("robot")
    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        send()
    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        robot.extend(send() for _ in range(2))
    with pytest.raises(TypeError, match="expected sequence"), ProcessEnd.interrupting():
        robot.extend(1 // 0 for _ in range(2))
    send()  # interrupts nothing here
    assert len(end.signals) == 3
