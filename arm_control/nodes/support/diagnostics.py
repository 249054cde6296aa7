"""Health of a node: one ``DiagnosticStatus`` a second, and the figures in it (durations, rates, latency)."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from arm_control.core import NANOSECONDS

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
Health = tuple[bytes, str, dict[str, object]]
"""Level, sentence and figures for ``/diagnostics``."""


def status_of(name: str, level: bytes, message: str, figures: Mapping[str, object]) -> DiagnosticStatus:
    """Return a status, of a node by its full name, as a message."""
    texts = {key: f"{x:.4g}" if isinstance(x, float) else str(x) for key, x in figures.items()}
    values = [KeyValue(key=key, value=text) for key, text in texts.items()]
    return DiagnosticStatus(level=level, name=name, message=message, values=values)


class Rate:
    """Counts an event, and its rate between two readings on a steady clock."""

    def __init__(self) -> None:
        self.count, self._read_count, self._read_at = 0, 0, time.monotonic()

    def tick(self) -> None:
        """Count one event."""
        self.count += 1

    def read(self) -> float:
        """Return the events per second since the last call [Hz]."""
        now, n = time.monotonic(), self.count - self._read_count
        rate = n / max(now - self._read_at, 1e-9)
        self._read_count, self._read_at = self.count, now
        return rate


class Durations(Rate):
    """Histogram of durations in bins of 0.1 ms up to 100 ms: constant memory and time in a long run.

    Attributes
    ----------
    longest : float
        The longest of them [s].
    """

    BIN = 1e-4
    """Width of a bin [s]."""

    def __init__(self) -> None:
        super().__init__()
        self._bins = [0] * 1001
        self.longest = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration [s]."""
        self._bins[min(max(int(seconds / self.BIN), 0), 1000)] += 1
        self.count += 1
        self.longest = max(self.longest, seconds)

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

    def figures(self, what: str) -> dict[str, object]:
        """Return median and 99th percentile for ``/diagnostics``."""
        return {f"{what} p50 [ms]": 1e3 * self.quantile(0.5), f"{what} p99 [ms]": 1e3 * self.quantile(0.99)}


class AnswerLatency:
    """Times from a state of a simulator to the command that answers it."""

    MAX_PENDING = 100
    """States whose commands are still awaited; older ones count as not answered."""

    def __init__(self) -> None:
        self._latency = Durations()
        self._pending: dict[int, int] = {}
        self._published = 0

    def on_state(self, stamp_ns: int) -> None:
        """Count a state with this stamp [ns] that is published now."""
        self._published += 1
        self._pending[stamp_ns] = time.time_ns()
        if len(self._pending) > self.MAX_PENDING:
            del self._pending[next(iter(self._pending))]

    def on_command(self, stamp_ns: int, received_ns: int) -> None:
        """Count a command, with the stamp of its state [ns] and the time of its reception on the system clock [ns]."""
        published_ns = self._pending.pop(stamp_ns, None)
        if published_ns is not None:
            self._latency.add((received_ns - published_ns) / NANOSECONDS)

    def figures(self) -> dict[str, object]:
        """Return the figures for ``/diagnostics``."""
        share = self._latency.count / max(self._published, 1)
        return {
            "states": self._published,
            "states answered": self._latency.count,
            "answered within 2 ms [%]": 100.0 * self._latency.share_within(2e-3) * share,
            **self._latency.figures("answer"),
        }
