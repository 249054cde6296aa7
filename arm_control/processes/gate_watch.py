"""What gates do with commands, read from the messages in which nodes say so.

The node ``gate`` and the simulators publish a ``DiagnosticStatus`` on ``~/state``: at once when state or reason change,
and ten times a second. Its message is ``<state>`` or ``<state>: <reason>``, and it has these values:

====================  ==================================================================
``success rate [%]``  share of accepted commands among the last 100
``stamp [ns]``        stamp of the newest state
``since [ns]``        stamp of the state in which the gate began to do what it does
``joints``            names of the joints, with commas between them
``torque``            torque that it applies, in their order [N m or N]; empty before the first
====================  ==================================================================

Controllers have a gate, too, and say once a second on ``/diagnostics`` whether it brakes. A gate that says nothing for
:data:`SILENCE` counts as silent: it does not work, or nobody asks it to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arm_control.exceptions import InputError
from arm_control.gate import GateReport, GateState
from arm_control.maths import Array

SILENCE = 3.0
"""Time without a message after which a gate counts as silent [s]."""
SILENT = "silent"
SUCCESS_RATE = "success rate [%]"
"""Key of the success rate in a status."""
STAMP, SINCE, JOINTS, TORQUE = "stamp [ns]", "since [ns]", "joints", "torque"
"""Keys of the other values."""
STATES = tuple(state.value for state in GateState)
"""States of a gate."""


def gate_values(
    success_rate: float, stamp_ns: int, since_ns: int, tau: Array | None, joints: Sequence[str]
) -> dict[str, str]:
    """Return the values of a status that :func:`read_gate_report` reads."""
    return {
        SUCCESS_RATE: f"{100.0 * success_rate:.4g}",
        STAMP: str(stamp_ns),
        SINCE: str(since_ns),
        JOINTS: ",".join(joints),
        TORQUE: "" if tau is None else ",".join(map(repr, tau.tolist())),
    }


def read_gate_report(status: Any) -> GateReport:
    """Return what a ``DiagnosticStatus`` on ``~/state`` says; it may lack any of the values.

    An InputError when it has no state of a gate, or a value that cannot be.
    """
    word, _, reason = status.message.partition(": ")
    if word not in STATES:
        raise InputError(f"state {word!r} of a gate, allowed {', '.join(STATES)}")
    values = _values(status)
    joints = tuple(filter(None, values.get(JOINTS, "").split(",")))
    numbers = list(filter(None, values.get(TORQUE, "").split(",")))
    try:
        tau = np.array(list(map(float, numbers))) if numbers else None
        since_ns = int(values.get(SINCE, "0"))
    except ValueError as error:
        raise InputError(f"state of a gate: {error}") from None
    if tau is not None and (len(tau) != len(joints) or not np.isfinite(tau).all()):
        raise InputError(f"state of a gate: torque {values[TORQUE]} of {len(joints)} joints")
    return GateReport(status.name, word, reason, since_ns, tau, joints, values.get(SUCCESS_RATE, ""))


class GateWatch:
    """Keeps the newest report of each gate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.reports: dict[str, GateReport] = {}
        self._clock = clock
        self._heard_at: dict[str, float] = {}
        self._with_state = set[str]()

    def on_state(self, status: Any) -> GateReport | None:
        """Take what a gate says on ``~/state``; return what has changed. Other nodes have such topics, too."""
        try:
            report = read_gate_report(status)
        except InputError:
            return None
        self._with_state.add(status.name)
        return self._keep(report)

    def on_diagnostics(self, status: Any) -> GateReport | None:
        """Take a status of ``/diagnostics``; return what has changed at its gate, if it is of a node with a gate."""
        values = _values(status)
        if status.name in self._with_state or "braked" not in values:
            return None
        is_passing = status.level in (b"\x00", 0)
        passing = GateState.PASSING if is_passing else GateState.HOLDING
        state = GateState.BRAKING if values["braked"] == "True" else passing
        reason = "" if is_passing else status.message
        return self._keep(GateReport(status.name, state.value, reason, success_rate=values.get(SUCCESS_RATE, "")))

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
