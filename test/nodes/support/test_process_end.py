"""Signals end a process at rest, and interrupt what no arm depends on yet."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from arm_control.nodes.support.node_process import ProcessEnd


@pytest.fixture
def end() -> Iterator[ProcessEnd]:
    before = signal.getsignal(signal.SIGUSR1)
    end = ProcessEnd(signal.SIGUSR1)
    yield end
    signal.signal(signal.SIGUSR1, before)


def send() -> Element:
    os.kill(os.getpid(), signal.SIGUSR1)
    return Element("link")


def run(module: str, lines: str, **names: Any) -> None:
    """Run lines as code of a module."""
    exec(lines, {"__name__": module, **names})


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


def test_a_signal_interrupts_only_what_asks_for_it(end: ProcessEnd):
    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        send()
    send()
    assert len(end.signals) == 2


def test_a_signal_interrupts_also_where_c_code_raises_another_error(end: ProcessEnd):
    robot = Element("robot")
    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        robot.extend(send() for _ in range(2))
    with pytest.raises(TypeError, match="expected sequence"), ProcessEnd.interrupting():
        robot.extend(1 // 0 for _ in range(2))
    assert len(end.signals) == 1


def test_a_signal_waits_for_the_bindings_of_llvm(end: ProcessEnd):
    done: list[str] = []

    def compile_all() -> None:
        run("llvmlite.binding", "send(); done.append('compiled')", send=send, done=done)
        done.append("not reached")

    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        compile_all()
    assert done == ["compiled"]
    assert sys.getprofile() is None
    assert len(end.signals) == 1


def test_a_signal_waits_for_an_object_that_is_freed(end: ProcessEnd):
    done: list[str] = []

    class Freed:
        def __del__(self) -> None:
            send()
            done.append("freed")

    def free() -> None:
        Freed()
        done.append("not reached")

    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        free()
    assert done == ["freed"]
    assert len(end.signals) == 1


def test_a_signal_at_the_end_of_what_it_may_interrupt_changes_nothing_later(end: ProcessEnd):
    with ProcessEnd.interrupting():
        run("llvmlite.binding", "with context: send()", context=ProcessEnd.interrupting(), send=send)
    assert sys.getprofile() is None
    assert len(end.signals) == 1
