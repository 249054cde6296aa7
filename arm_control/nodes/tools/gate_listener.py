"""Listens to every gate that runs, for ``arm_control watch``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from arm_control.gate import GateReport
from arm_control.nodes.support.qos import LATCHED
from arm_control.nodes.tools.command_line_node import CommandLineNode, StopRequest
from arm_control.processes import GateWatch

STATE_TYPE = "diagnostic_msgs/msg/DiagnosticStatus"
"""Type of the topics ``~/state`` of nodes with a gate."""
LOOKING_PERIOD = 0.2
"""Time between two looks for new gates and silent ones [s]."""
OTHERS = 1.5
"""Time after the first report in which all gates report: they do so once a second [s]."""


def watch_gates(show: Callable[[GateReport], object], namespace: str = "") -> None:
    """Show every change of every gate until SIGINT or SIGTERM.

    Parameters
    ----------
    show : callable
        Called for each change.
    namespace : str
        Only gates in it; empty for all.
    """
    stop = StopRequest()
    with _listening(show, namespace) as (watch, look):
        while not stop.requested:
            look(lambda: stop.requested, LOOKING_PERIOD)
            for report in watch.look():
                show(report)


def current_gates(namespace: str = "", seconds: float = 10.0) -> list[GateReport]:
    """Return what every gate does now, in the order of their names.

    Parameters
    ----------
    namespace : str
        Only gates in it; empty for all.
    seconds : float
        Longest wait for the first report [s].
    """
    with _listening(lambda _: None, namespace) as (watch, look):
        end = time.monotonic() + seconds
        while not watch.reports and time.monotonic() < end:
            look(lambda: bool(watch.reports), LOOKING_PERIOD)
        end = time.monotonic() + (OTHERS if watch.reports else 0.0)
        while time.monotonic() < end:
            look(lambda: False, LOOKING_PERIOD)
        return [watch.reports[name] for name in sorted(watch.reports)]


Look = Callable[[Callable[[], bool], float], object]
"""Looks for new gates, then takes messages until a condition holds or for so long [s]."""


@contextmanager
def _listening(show: Callable[[GateReport], object], namespace: str) -> Iterator[tuple[GateWatch, Look]]:
    with CommandLineNode("arm_control_watch") as client:
        yield listen(client, show, namespace)


def listen(
    client: CommandLineNode, show: Callable[[GateReport], object], namespace: str = ""
) -> tuple[GateWatch, Look]:
    """Listen to ``/diagnostics`` and, as they appear, to the states of nodes with a gate.

    Parameters
    ----------
    client : CommandLineNode
        The node that listens.
    show : callable
        Called for each change.
    namespace : str
        Only gates in it; empty for all.
    """
    watch, subscribed = GateWatch(), set[str]()
    prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"

    def take(status: Any, read: Callable[[Any], GateReport | None]) -> None:
        report = read(status) if status.name.startswith(prefix) else None
        if report is not None:
            show(report)

    def take_all(message: DiagnosticArray) -> None:
        for status in message.status:
            take(status, watch.on_diagnostics)

    client.subscribe(DiagnosticArray, "/diagnostics", take_all, 10)

    def look(condition: Callable[[], bool], seconds: float) -> None:
        for topic in client.topics(STATE_TYPE) - subscribed:
            if topic.endswith("/state"):
                subscribed.add(topic)
                client.subscribe(DiagnosticStatus, topic, lambda status: take(status, watch.on_state), LATCHED)
        client.spin_until(condition, seconds)

    return watch, look
