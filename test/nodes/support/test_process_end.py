"""Signals end a process at rest, and interrupt what no arm depends on yet."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any
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


def test_a_signal_interrupts_the_package(end: ProcessEnd):
    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        run("arm_control.model", "send()", send=send)
    run("arm_control.model", "send()", send=send)  # interrupts nothing here
    assert len(end.signals) == 2


def test_a_signal_interrupts_also_where_c_code_raises_another_error(end: ProcessEnd):
    lines = "robot.extend(send() for _ in range(2))"
    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        run("arm_control.model", lines, robot=Element("robot"), send=send)
    with pytest.raises(TypeError, match="expected sequence"), ProcessEnd.interrupting():
        run("arm_control.model", lines, robot=Element("robot"), send=lambda: 1 // 0)
    assert len(end.signals) == 1


def test_a_signal_interrupts_nothing_that_others_do(end: ProcessEnd):
    done: list[str] = []

    class Freed:
        def __del__(self) -> None:
            run("arm_control.compiler", "send(); done.append('freed')", send=send, done=done)

    def compile_all() -> None:
        run("llvmlite.binding", "send(); done.append('llvm'); repr(done)", send=send, done=done)
        Freed()
        run("arm_control.compiler", "done.append('not reached')", done=done)

    with pytest.raises(KeyboardInterrupt), ProcessEnd.interrupting():
        compile_all()
    assert done == ["llvm", "freed"]
    with ProcessEnd.interrupting():
        run("llvmlite.binding", "send()", send=send)
    assert sys.getprofile() is None
    run("arm_control.compiler", "done.append('later')", done=done)
    assert done[2:] == ["later"]
    assert len(end.signals) == 3
