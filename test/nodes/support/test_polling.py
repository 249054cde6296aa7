"""When steps are due, on a clock of the test's own."""

from __future__ import annotations

import pytest

import arm_control.nodes.support.polling
from arm_control.nodes.support.polling import StepPacer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(arm_control.nodes.support.polling.time, "perf_counter", lambda: now[0])
    return now


def taken(pacer: StepPacer, timestep: float = 0.25) -> int:
    """Steps that may be made now."""
    count = 0
    while pacer.take_step(timestep):
        count += 1
    return count


def test_a_step_is_due_once_a_timestep(clock: list[float]):
    pacer = StepPacer()
    assert [taken(pacer) for clock[0] in (100.0, 100.125, 100.25, 100.375, 100.75, 100.75)] == [0, 0, 1, 0, 2, 0]
    assert pacer.dropped == 0


def test_what_is_too_far_behind_is_dropped_and_slows_time(clock: list[float]):
    pacer = StepPacer()
    clock[0] += 2.5  # ten steps
    assert taken(pacer) == StepPacer.BACKLOG
    assert pacer.dropped == 10 - StepPacer.BACKLOG
    clock[0] += 0.25
    assert taken(pacer) == 1


def test_after_a_restart_nothing_is_due(clock: list[float]):
    pacer = StepPacer()
    clock[0] += 1.0
    pacer.restart()
    assert taken(pacer) == 0
