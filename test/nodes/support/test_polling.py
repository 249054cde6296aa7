"""Who published a polled message; when steps are due, on a clock of the test's own."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

import arm_control.nodes.support.polling
from arm_control.messages.publisher_lock import ONLY_PUBLISHER, UNKNOWN_PUBLISHER
from arm_control.nodes.support.polling import StepPacer, poll


class Handle(contextlib.nullcontext):
    """A subscription's handle with one message, of a topic with some publishers."""

    def __init__(self, info: dict[str, Any], n_publishers: int) -> None:
        super().__init__()
        self.waiting, self.n_publishers = [("a message", info)], n_publishers

    def take_message(self, message_type: type, raw: bool) -> tuple[str, dict[str, Any]] | None:
        return self.waiting.pop() if self.waiting else None

    def get_publisher_count(self) -> int:
        return self.n_publishers


@pytest.mark.parametrize(("n_publishers", "publisher"), [(0, "unknown"), (1, "only"), (2, "unknown")])
def test_without_a_gid_the_only_publisher_of_a_topic_is_known(n_publishers: int, publisher: str):
    subscription = SimpleNamespace(handle=Handle({}, n_publishers), msg_type=str, raw=False)
    ((message, info),) = poll(subscription)
    assert message == "a message"
    assert info["publisher_gid"] is {"unknown": UNKNOWN_PUBLISHER, "only": ONLY_PUBLISHER}[publisher]


def test_a_gid_of_the_middleware_stays():
    given = {"data": [7] * 16}
    subscription = SimpleNamespace(handle=Handle({"publisher_gid": given}, 3), msg_type=str, raw=False)
    assert [info["publisher_gid"] for _, info in poll(subscription)] == [given]


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
