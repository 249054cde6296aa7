"""Enable every gate that runs, from a command line: the services ``~/enable`` of nodes that have a gate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import SetBool

from arm_control.exceptions import InputError

GATE = ["rate_limit", "max_missed", "brake_damping"]
"""Parameters by which a node with a gate is known: others have an ``enable`` too, for other things."""

ROUNDS, WAIT = 10, 10.0
"""Looks at what is there, until two see the same; time for an answer [s]: a busy machine is slow in both."""


def enable_gates(namespace: str = "", seconds: float = 4.0) -> list[tuple[str, bool, str]]:
    """Call ``~/enable`` of every gate below a namespace.

    Parameters
    ----------
    namespace : str
        Only gates in it; empty for all.
    seconds : float
        Wall time to look for them [s]; longer while more of them appear.

    Returns
    -------
    list of (str, bool, str)
        Node, whether it is enabled, and what it says.

    Raises
    ------
    InputError
        When no gate was found.
    """
    context = Context()
    rclpy.init(context=context)
    node = Node("arm_control_enable", context=context, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        found = _gates(node, executor, namespace, seconds)
        if not found:
            raise InputError(f"no gate is running{' below ' + namespace if namespace else ''}: nothing to enable")
        return [(gate, *_enable(node, executor, gate, WAIT)) for gate in found]
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def _gates(node: Node, executor: SingleThreadedExecutor, namespace: str, seconds: float) -> list[str]:
    """Names of the nodes with a gate, in order; discovery is given its time."""
    inside = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    names: set[str] | None = None
    for _ in range(ROUNDS):
        before = names
        _spin(executor, lambda: False, seconds / 2.0)
        services = [(*service.rpartition("/"), kinds) for service, kinds in node.get_service_names_and_types()]
        names = {owner for owner, _, last, kinds in services if last == "enable" and "std_srvs/srv/SetBool" in kinds}
        if names == before:
            break
    inside_names = sorted(name for name in names or () if f"{name}/".startswith(inside))
    return [name for name in inside_names if _is_gate(node, executor, name, WAIT)]


def _is_gate(node: Node, executor: SingleThreadedExecutor, name: str, seconds: float) -> bool:
    request = GetParameters.Request(names=GATE)
    answer = _call(node, executor, GetParameters, f"{name}/get_parameters", request, seconds)
    types = [] if answer is None else [value.type for value in answer.values]
    return len(types) == len(GATE) and ParameterType.PARAMETER_NOT_SET not in types


def _enable(node: Node, executor: SingleThreadedExecutor, gate: str, seconds: float) -> tuple[bool, str]:
    answer = _call(node, executor, SetBool, f"{gate}/enable", SetBool.Request(data=True), seconds)
    return (False, "no answer") if answer is None else (bool(answer.success), str(answer.message))


def _call(node: Node, executor: SingleThreadedExecutor, kind: Any, service: str, request: Any, seconds: float) -> Any:
    """Answer of a service, or None when there is none in time."""
    client = node.create_client(kind, service)
    try:
        if not _spin(executor, client.service_is_ready, seconds):
            return None
        future = client.call_async(request)
        return future.result() if _spin(executor, future.done, seconds) else None
    finally:
        node.destroy_client(client)


def _spin(executor: SingleThreadedExecutor, done: Callable[[], bool], seconds: float) -> bool:
    """Serve the node until something is done, or the time is over; return whether it is."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.02)
    return done()
