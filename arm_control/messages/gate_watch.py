"""What gates do with commands, read from the messages in which nodes say so: for a person, or a program, that watches.

The node ``gate`` publishes a ``DiagnosticStatus`` on ``~/state``, at once when it changes; controllers and simulators
have a gate, too, and say once a second on ``/diagnostics`` whether it brakes. A gate that says nothing for
:data:`SILENCE` counts as silent: it does not work, or nobody asks it to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from arm_control.control.effort_gate import GateState

SILENCE = 3.0
"""Time without a message after which a gate counts as silent [s]."""
SILENT = "silent"
SUCCESS_RATE = "success rate [%]"
"""Key of the success rate in a status."""


class GateReport(NamedTuple):
    """What one gate does.

    Attributes
    ----------
    name : str
        Its node.
    state : str
        A value of :class:`GateState`, or ``silent``.
    reason : str
        Why it does not pass commands.
    success_rate : str
        Share of accepted commands [%]; empty where it is not told.
    """

    name: str
    state: str
    reason: str = ""
    success_rate: str = ""

    @property
    def is_passing(self) -> bool:
        """Whether commands pass."""
        return self.state == GateState.PASSING.value

    def __str__(self) -> str:
        rate = f"success rate {self.success_rate} %" if self.success_rate else ""
        return "  ".join(filter(None, [f"{self.name:<16}", f"{self.state:<7}", self.reason, rate])).rstrip()


class GateWatch:
    """Keeps the newest report of each gate.

    Parameters
    ----------
    clock : callable
        Returns the time of a steady clock [s].

    Attributes
    ----------
    reports : dict of str to GateReport
        By the name of the node.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.reports: dict[str, GateReport] = {}
        self._clock = clock
        self._heard_at: dict[str, float] = {}
        self._with_state = set[str]()

    def on_state(self, status: Any) -> GateReport | None:
        """Take the state of a node ``gate``, a ``DiagnosticStatus``; return what has changed."""
        self._with_state.add(status.name)
        state, _, reason = status.message.partition(": ")
        return self._keep(GateReport(status.name, state, reason, _values(status).get(SUCCESS_RATE, "")))

    def on_diagnostics(self, status: Any) -> GateReport | None:
        """Take a status of ``/diagnostics``; return what has changed at its gate, if it is of a node with a gate."""
        values = _values(status)
        if status.name in self._with_state or "braked" not in values:
            return None
        is_passing = status.level in (b"\x00", 0)
        state = GateState.PASSING if is_passing else GateState.WAITING
        state = GateState.BRAKED if values["braked"] == "True" else state
        return self._keep(
            GateReport(status.name, state.value, "" if is_passing else status.message, values.get(SUCCESS_RATE, ""))
        )

    def look(self) -> list[GateReport]:
        """Return gates that have just become silent."""
        now, reports = self._clock(), list(self.reports.values())
        late = [report for report in reports if now - self._heard_at[report.name] > SILENCE and report.state != SILENT]
        for report in late:
            self.reports[report.name] = GateReport(report.name, SILENT, f"no message for {SILENCE:g} s")
        return [self.reports[report.name] for report in late]

    def _keep(self, report: GateReport) -> GateReport | None:
        """Keep a report; return it when state or reason have changed: the success rate changes all the time."""
        before = self.reports.get(report.name)
        self.reports[report.name] = report
        self._heard_at[report.name] = self._clock()
        return None if before is not None and before[:3] == report[:3] else report


def _values(status: Any) -> dict[str, str]:
    return {item.key: item.value for item in status.values}
