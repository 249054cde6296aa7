"""What gates do with commands, and that they pass them again: ``arm_control watch`` and ``enable``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from std_srvs.srv import SetBool

from arm_control.exceptions import InputError
from arm_control.gate import GATES_BEHIND, GateReport
from arm_control.nodes.support.node_process import ProcessEnd
from arm_control.nodes.support.topics import LATCHED
from arm_control.nodes.tools.command_line_node import PARAMETER_SERVICE, SEARCH_TIME, CommandLineNode, prefix_of
from arm_control.processes import GateWatch

STATE_TYPE = "diagnostic_msgs/msg/DiagnosticStatus"
"""Type of the topics ``~/state`` of nodes with a gate."""
LOOKING_PERIOD = 0.2
"""Time between two looks for new gates and silent ones [s]."""
GATE_PARAMETERS = ["rate_limit", "max_missed", "brake_damping"]
"""Parameters that only nodes with a gate have; other nodes may have a service ``enable``, too."""
SILENT = "no answer"
OUTLOOK = "each of them will hold the measured posture; goals from before are void: send a new one"
"""What enabling means."""
REPORT_TIME = 10.0
"""Longest time until the first report [s]."""
OTHERS = 1.5
"""Time after the first report in which all gates report: they do so once a second [s]."""
Look = Callable[[Callable[[], bool], float], object]
"""Looks for new gates, then takes messages until a condition holds or for so long [s]."""


def watch_gates(show: Callable[[GateReport], object], namespace: str = "") -> None:
    """Show every change of every gate until SIGINT or SIGTERM."""
    stop = ProcessEnd()
    with CommandLineNode("arm_control_watch") as client:
        watch, look = listen(client, show, namespace)
        while not stop.signals:
            look(lambda: bool(stop.signals), LOOKING_PERIOD)
            for report in watch.look():
                show(report)


def current_gates(namespace: str = "") -> list[GateReport]:
    """Return what every gate does now, in the order of their names."""
    with CommandLineNode("arm_control_watch") as client:
        watch, look = listen(client, lambda _: None, namespace)
        _look_until(lambda: bool(watch.reports), look, REPORT_TIME)
        _look_until(lambda: False, look, OTHERS if watch.reports else 0.0)
        return [watch.reports[name] for name in sorted(watch.reports)]


def _look_until(condition: Callable[[], bool], look: Look, seconds: float) -> None:
    """Look until a condition holds, or for so long [s]."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        look(condition, LOOKING_PERIOD)


def listen(
    client: CommandLineNode, show: Callable[[GateReport], object], namespace: str = ""
) -> tuple[GateWatch, Look]:
    """Listen to ``/diagnostics`` and, as they appear, to the states of nodes with a gate."""
    watch, subscribed = GateWatch(), set[str]()
    prefix = prefix_of(namespace)

    def take(status: Any, read: Callable[[Any], GateReport | None]) -> None:
        report = read(status) if status.name.startswith(prefix) else None
        if report is not None:
            show(report)

    def take_all(message: DiagnosticArray) -> None:
        for status in message.status:
            take(status, watch.on_diagnostics)

    client.node.create_subscription(DiagnosticArray, "/diagnostics", take_all, 10)

    def look(condition: Callable[[], bool], seconds: float) -> None:
        for topic, types in client.node.get_topic_names_and_types():
            if STATE_TYPE in types and topic.endswith("/state") and topic not in subscribed:
                subscribed.add(topic)
                take_state = partial(take, read=watch.on_state)
                client.node.create_subscription(DiagnosticStatus, topic, take_state, LATCHED)
        client.spin_until(condition, seconds)

    return watch, look


def enable_gates(namespace: str, show: Callable[[str], object]) -> list[tuple[str, bool, str]]:
    """Call the service ``~/enable`` of every gate in a namespace; show what they do before and behind that.

    The gate nearest the motors comes first, controllers come last. So no torque is on the way when a gate begins to
    take commands: a controller that brakes sends none, and one that is held has no goal from before.

    Returns
    -------
    list of (str, bool, str)
        Of each gate: its node, whether it is enabled, and its message.

    Raises
    ------
    InputError
        When no gate is running.
    """
    with CommandLineNode("arm_control_enable") as client:
        watch, look = listen(client, lambda _: None, namespace)
        names = client.find_nodes("enable", "std_srvs/srv/SetBool", namespace, SEARCH_TIME)
        are_gates = {name: _is_gate(client, name, SEARCH_TIME / 2.0) for name in names}
        gates = in_order([name for name, is_gate in are_gates.items() if is_gate is not False])
        if not gates:
            raise InputError(f"no gate is running{' in ' + namespace if namespace else ''}: nothing to enable")
        _show_reports(gates, watch, look, show)
        show(OUTLOOK)
        results = []
        for gate in gates:
            is_enabled, message = _enable(client, gate) if are_gates[gate] else (False, SILENT)
            show(f"{gate}: {'' if is_enabled else 'not enabled: '}{message}")
            results.append((gate, is_enabled, message))
        _show_reports(gates, watch, look, show)
        return results


def in_order(gates: Sequence[str]) -> list[str]:
    """Return gates in the order in which they are enabled: from the motors to the controllers."""
    order = [*reversed(GATES_BEHIND)]
    bases = {gate: gate.rpartition("/")[2] for gate in gates}
    return sorted(gates, key=lambda gate: order.index(bases[gate]) if bases[gate] in order else len(order))


def _show_reports(gates: Sequence[str], watch: GateWatch, look: Look, show: Callable[[str], object]) -> None:
    """Show what gates do from now on."""
    watch.reports.clear()
    _look_until(lambda: watch.reports.keys() >= set(gates), look, OTHERS)
    for gate in gates:
        show(str(watch.reports[gate]) if gate in watch.reports else f"{gate:<16}  no report")


def _is_gate(client: CommandLineNode, name: str, seconds: float) -> bool | None:
    """Whether a node has the parameters of a gate; None where it does not answer.

    Its parameter services may take so many ``seconds`` to be discovered.
    """
    if not client.spin_until(lambda: name in client.owners(*PARAMETER_SERVICE), seconds):
        return False
    response = client.call(GetParameters, f"{name}/get_parameters", GetParameters.Request(names=GATE_PARAMETERS))
    if response is None:
        return None
    types = [value.type for value in response.values]
    return len(types) == len(GATE_PARAMETERS) and ParameterType.PARAMETER_NOT_SET not in types


def _enable(client: CommandLineNode, gate: str) -> tuple[bool, str]:
    response = client.call(SetBool, f"{gate}/enable", SetBool.Request(data=True))
    return (False, SILENT) if response is None else (bool(response.success), str(response.message))
