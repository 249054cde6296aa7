"""Health of a node: one ``DiagnosticStatus`` a second, and the figures in it (durations, rates, latency)."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from arm_control.core import NANOSECONDS

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Diagnostics:
    """Publishes a node's figures on ``/diagnostics`` once a second of wall time.

    Parameters
    ----------
    node : Node
        The node; its method ``health()`` returns level, message and figures.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._timer = node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        level, message, figures = self._node.health()
        self.publish(level, message, figures)

    def publish(self, level: bytes, message: str, figures: Mapping[str, object]) -> None:
        """Publish one status now.

        Parameters
        ----------
        level : bytes
            :data:`OK`, :data:`WARN` or :data:`ERROR`.
        message : str
            Summary.
        figures : mapping
            Values by key.
        """
        values = [KeyValue(key=key, value=_text(value)) for key, value in figures.items()]
        name = self._node.get_fully_qualified_name()
        status = DiagnosticStatus(level=level, name=name, message=message, values=values)
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Durations:
    """Histogram of durations in bins of 0.1 ms up to 100 ms: constant memory and time in a long run.

    Attributes
    ----------
    count : int
        Number of durations.
    longest : float
        The longest of them [s].
    """

    BIN = 1e-4
    """Width of a bin [s]."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all durations."""
        self._bins = [0] * 1001
        self.count = 0
        self.longest = 0.0
        self._read_count = 0
        self._read_at = time.monotonic()

    def add(self, seconds: float) -> None:
        """Count one duration [s]."""
        self._bins[min(max(int(seconds / self.BIN), 0), 1000)] += 1
        self.count += 1
        self.longest = max(self.longest, seconds)

    def rate(self) -> float:
        """Return the durations per second of wall time since the last call [Hz]."""
        now = time.monotonic()
        rate = (self.count - self._read_count) / max(now - self._read_at, 1e-9)
        self._read_count = self.count
        self._read_at = now
        return rate

    def share_within(self, seconds: float) -> float:
        """Return the share of the durations of at most so many seconds; 1 when there are none."""
        return sum(self._bins[: round(seconds / self.BIN)]) / self.count if self.count else 1.0

    def quantile(self, share: float) -> float:
        """Return the quantile of the durations for a share from 0 to 1, to one bin [s]."""
        total = 0
        for i, count in enumerate(self._bins):
            total += count
            if self.count and total >= share * self.count:
                return (i + 1) * self.BIN
        return 0.0


class Rate:
    """Rate of an event between two readings, on a steady clock."""

    def __init__(self) -> None:
        self._count, self._since = 0, time.monotonic()

    def tick(self) -> None:
        """Count one event."""
        self._count += 1

    def read(self) -> float:
        """Return the events per second since the last call [Hz]."""
        now = time.monotonic()
        rate = self._count / max(now - self._since, 1e-9)
        self._count, self._since = 0, now
        return rate


class AnswerLatency:
    """Times from a state of a simulator to the command that answers it.

    Attributes
    ----------
    published : int
        Number of states.
    """

    MAX_PENDING = 100
    """States whose commands are still awaited; older ones count as not answered."""

    def __init__(self) -> None:
        self._latency = Durations()
        self._pending: dict[int, int] = {}
        self.published = 0

    @property
    def answered(self) -> int:
        """Number of states that were answered."""
        return self._latency.count

    def on_state(self, stamp_ns: int) -> None:
        """Count a state with this stamp [ns] that is published now."""
        self.published += 1
        self._pending[stamp_ns] = time.time_ns()
        if len(self._pending) > self.MAX_PENDING:
            del self._pending[next(iter(self._pending))]

    def on_command(self, stamp_ns: int, received_ns: int) -> None:
        """Count a command.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state that it answers [ns].
        received_ns : int
            Time of its reception by the middleware, on the system clock [ns].
        """
        published_ns = self._pending.pop(stamp_ns, None)
        if published_ns is not None:
            self._latency.add((received_ns - published_ns) / NANOSECONDS)

    def figures(self) -> dict[str, object]:
        """Return the figures for ``/diagnostics``."""
        share = self.answered / max(self.published, 1)
        return {
            "states": self.published,
            "states answered": self.answered,
            "answered within 2 ms [%]": 100.0 * self._latency.share_within(2e-3) * share,
            "answer p50 [ms]": 1e3 * self._latency.quantile(0.5),
            "answer p99 [ms]": 1e3 * self._latency.quantile(0.99),
        }
