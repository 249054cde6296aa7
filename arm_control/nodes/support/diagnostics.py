"""What a node knows of its own health, as one ``DiagnosticStatus`` a second."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Diagnostics:
    """Publishes a node's figures on ``/diagnostics`` once a second of wall time.

    Parameters
    ----------
    node : Node
        The node; it must have a method ``health()`` that returns level, sentence and figures.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._timer = node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        level, message, figures = self._node.health()
        self.publish(level, message, figures)

    def publish(self, level: bytes, message: str, figures: Mapping[str, object]) -> None:
        """Publish one status now."""
        values = [KeyValue(key=key, value=_text(value)) for key, value in figures.items()]
        name = self._node.get_fully_qualified_name()
        status = DiagnosticStatus(level=level, name=name, message=message, values=values)
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Durations:
    """Counts durations in bins of 0.1 ms up to 100 ms, so that a long run costs no memory and no time."""

    BIN = 1e-4

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._bins = [0] * 1001
        self.count, self.longest = 0, 0.0

    def add(self, seconds: float) -> None:
        """Count one duration [s]."""
        self._bins[min(max(int(seconds / self.BIN), 0), 1000)] += 1
        self.count += 1
        self.longest = max(self.longest, seconds)

    def share_within(self, seconds: float) -> float:
        """Share of the durations that were at most this long; 1 when there were none."""
        return sum(self._bins[: round(seconds / self.BIN)]) / self.count if self.count else 1.0

    def quantile(self, share: float) -> float:
        """Duration [s] that this share stays below, to one bin."""
        total = 0
        for i, count in enumerate(self._bins):
            total += count
            if self.count and total >= share * self.count:
                return (i + 1) * self.BIN
        return 0.0


class Rate:
    """How often something happened since it was last asked, on a steady clock."""

    def __init__(self) -> None:
        self._count, self._since = 0, time.monotonic()

    def tick(self) -> None:
        """Count one occurrence."""
        self._count += 1

    def read(self) -> float:
        """Occurrences per second since the last call [Hz]."""
        now = time.monotonic()
        rate = self._count / max(now - self._since, 1e-9)
        self._count, self._since = 0, now
        return rate
