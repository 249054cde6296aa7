"""How soon the states of a simulator are answered."""

from __future__ import annotations

import time

from arm_control.core.time import NANOSECONDS
from arm_control.nodes.support.diagnostics import Durations


class Answers:
    """Times from a state to the command that answers it.

    Attributes
    ----------
    published : int
        States so far.
    """

    OPEN = 100
    """States whose answers are still waited for."""

    def __init__(self) -> None:
        self._latency = Durations()
        self._open: dict[int, int] = {}
        self.published = 0

    @property
    def answered(self) -> int:
        """States that were answered so far."""
        return self._latency.count

    def wait_for(self, stamp_ns: int) -> None:
        """Count a state that is published now."""
        self.published += 1
        self._open[stamp_ns] = time.time_ns()
        if len(self._open) > self.OPEN:
            del self._open[next(iter(self._open))]

    def count(self, stamp_ns: int, received_ns: int) -> None:
        """Count a command for the state with this stamp, which the middleware received at ``received_ns``."""
        published_ns = self._open.pop(stamp_ns, None)
        if published_ns is not None:
            self._latency.add((received_ns - published_ns) / NANOSECONDS)

    def figures(self) -> dict[str, object]:
        """What of it belongs into ``/diagnostics``."""
        share = self.answered / max(self.published, 1)
        return {
            "states": self.published,
            "states answered": self.answered,
            "answered within 2 ms [%]": 100.0 * self._latency.share_within(2e-3) * share,
            "answer p50 [ms]": 1e3 * self._latency.quantile(0.5),
            "answer p99 [ms]": 1e3 * self._latency.quantile(0.99),
        }
