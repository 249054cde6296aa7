"""When steps are due, on a clock of the test's own."""

from __future__ import annotations

import pytest

import arm_control.nodes.support.pace
from arm_control.nodes.support.pace import Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(arm_control.nodes.support.pace.time, "perf_counter", lambda: now[0])
    return now


def taken(pace: Pace, timestep: float = 0.25) -> int:
    """Steps that may be made now."""
    count = 0
    while pace.take(timestep):
        count += 1
    return count


def test_a_step_is_due_once_a_timestep(clock: list[float]):
    pace = Pace()
    assert [taken(pace) for clock[0] in (100.0, 100.125, 100.25, 100.375, 100.75, 100.75)] == [0, 0, 1, 0, 2, 0]
    assert pace.dropped == 0


def test_what_is_too_far_behind_is_dropped_and_slows_time(clock: list[float]):
    pace = Pace()
    clock[0] += 2.5  # ten steps
    assert taken(pace) == Pace.BACKLOG
    assert pace.dropped == 10 - Pace.BACKLOG
    clock[0] += 0.25
    assert taken(pace) == 1


def test_after_a_restart_nothing_is_due(clock: list[float]):
    pace = Pace()
    clock[0] += 1.0
    pace.restart()
    assert taken(pace) == 0
