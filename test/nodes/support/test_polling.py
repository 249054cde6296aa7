"""Who published a polled message; when steps are due, on a clock of the test's own."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

import arm_control.nodes.support.polling
from arm_control.messages import ONLY_PUBLISHER, UNKNOWN_PUBLISHER
from arm_control.nodes import poll
from arm_control.nodes.support.plant_node import StepPacer
from arm_control.nodes.support.polling import polled_subscription


class Handle(contextlib.nullcontext):
    """A subscription's handle with one message."""

    def __init__(self, info: dict[str, Any]) -> None:
        super().__init__()
        self.waiting = [("a message", info)]

    def take_message(self, message_type: type, raw: bool) -> tuple[str, dict[str, Any]] | None:
        return self.waiting.pop() if self.waiting else None


class AnyNode:
    """A node whose subscriptions count their publishers, or leave that to the node, as in Humble."""

    def __init__(self, n_publishers: int, *, is_humble: bool) -> None:
        self.n_publishers, self.is_humble = n_publishers, is_humble

    def create_subscription(self, kind: type, topic: str, _: object, __: object, **___: object) -> SimpleNamespace:
        counts = {} if self.is_humble else {"get_publisher_count": lambda: self.n_publishers}
        return SimpleNamespace(handle=Handle({}), msg_type=kind, raw=False, topic_name=topic, **counts)

    def count_publishers(self, topic: str) -> int:
        return self.n_publishers if topic == "joint_states" else -1


@pytest.mark.parametrize("is_humble", [False, True])
@pytest.mark.parametrize(("n_publishers", "publisher"), [(0, "unknown"), (1, "only"), (2, "unknown")])
def test_without_a_gid_the_only_publisher_of_a_topic_is_known(n_publishers: int, publisher: str, is_humble: bool):
    node = AnyNode(n_publishers, is_humble=is_humble)
    subscription = polled_subscription(node, str, "joint_states", 1)
    ((message, info),) = poll(subscription)
    assert message == "a message"
    assert info["publisher_gid"] is {"unknown": UNKNOWN_PUBLISHER, "only": ONLY_PUBLISHER}[publisher]


def test_a_gid_of_the_middleware_stays():
    given = {"data": [7] * 16}
    subscription = SimpleNamespace(handle=Handle({"publisher_gid": given}), msg_type=str, raw=False)
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
