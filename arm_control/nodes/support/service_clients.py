"""Requests of the page to other nodes: their services and parameters, without waiting for a response."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events
from std_srvs.srv import SetBool, Trigger

from arm_control.control import AvoidanceParameters, ControllerNodeParameters
from arm_control.controllers import CONTROLLERS
from arm_control.core import Spec
from arm_control.gate import GATES_BEHIND
from arm_control.nodes.support.polling import LatestMessages
from arm_control.nodes.support.qos import REPEAT_TIME

SIMULATORS = ("simulator", "coppeliasim_bridge")
GATES = (*reversed(GATES_BEHIND), *CONTROLLERS)
"""Nodes with a gate, which brake and can be enabled again; in the order in which they are enabled, controllers last."""
ERROR = 2
"""Level of an error in a line of the status."""
EVENTS = "/parameter_events"
FACTOR = "real_time_factor"
"""The simulator's parameter: simulated time per wall time."""


class ServiceClients:
    """Clients of the controller and the simulator in a node's namespace.

    Parameters
    ----------
    node : Node
        The node that sends the requests; only nodes in its namespace get them.
    notify : callable
        Takes a message for the user, and whether it is an error.

    Attributes
    ----------
    controller, simulator : str
        Names of the running nodes; empty when there is none.
    gains : dict of str to float
        The controller's gains at present.
    factor : float or None
        Simulated time per wall time; None while unknown.
    """

    def __init__(self, node: Node, notify: Callable[[str, bool], None]) -> None:
        self._node = node
        self._notify = notify
        self._clients: dict[str, Any] = {}
        self._events = LatestMessages(node)
        self._events.subscribe(ParameterEvent, EVENTS, qos_profile_parameter_events)
        self._running: set[str] = set()
        self._requested: dict[tuple[str, str], float] = {}
        self._pending: dict[tuple[str, str], tuple[float, float]] = {}  # value, and when it was requested
        self.controller = ""
        self.simulator = ""
        self.gains: dict[str, float] = {}
        self.factor: float | None = None

    def spec(self, gain: str) -> Spec | None:
        """Return unit, bounds and text of a gain; None for an unknown one."""
        if self.controller not in CONTROLLERS:
            return None
        parameters = CONTROLLERS[self.controller].node_parameters
        return parameters.spec(gain) if gain in parameters.types() else None

    # -- discovery ---------------------------------------------------------------------------------

    def discover(self) -> None:
        """Update which nodes are running, and request the gains and the speed of new ones."""
        namespace = self._node.get_namespace()
        self._running = {name for name, place in self._node.get_node_names_and_namespaces() if place == namespace}
        controller = next((name for name in CONTROLLERS if name in self._running), "")
        simulator = next((name for name in SIMULATORS if name in self._running), "")
        if controller != self.controller:
            self.controller, self.gains = controller, {}
            self._pending.clear()
        if simulator != self.simulator:
            self.simulator, self.factor = simulator, None
            self._pending.clear()
        if self.controller and not self.gains:
            self._request_gains(self.controller)
        if self.simulator and self.factor is None:
            request = GetParameters.Request(names=[FACTOR])
            self._call(GetParameters, f"{self.simulator}/get_parameters", request, self._on_factor, silent=True)

    @property
    def gates(self) -> list[str]:
        """Names of the running nodes with a gate."""
        return [name for name in GATES if name in self._running]

    def _request_gains(self, node: str) -> None:
        """Request descriptions, then values; ``gains`` is set with the second response."""

        def on_descriptions(response: Any) -> None:
            doubles = [entry for entry in response.descriptors if entry.type == ParameterType.PARAMETER_DOUBLE]
            names = [entry.name for entry in doubles if not entry.read_only]

            def on_values(response: Any) -> None:
                if node == self.controller:
                    self.gains = {n: v.double_value for n, v in zip(names, response.values, strict=True)}

            request = GetParameters.Request(names=names)
            self._call(GetParameters, f"{node}/get_parameters", request, on_values, silent=True)

        parameters = CONTROLLERS[node].node_parameters
        names = [
            name
            for name in parameters.types()
            if parameters.spec(name).live and name not in ControllerNodeParameters.types()
        ]
        names.sort(key=AvoidanceParameters.types().__contains__)  # the controller's own gains come first
        request = DescribeParameters.Request(names=names)
        self._call(DescribeParameters, f"{node}/describe_parameters", request, on_descriptions, silent=True)

    def _on_factor(self, response: Any) -> None:
        values = [value.double_value for value in response.values if value.type == ParameterType.PARAMETER_DOUBLE]
        self.factor = values[0] if values else None

    # -- gains and speed ---------------------------------------------------------------------------

    def set_gain(self, name: str, value: float) -> None:
        """Set a gain of the controller at the next :meth:`update`; the user is notified of the result.

        Parameters
        ----------
        name : str
            Name of the parameter; an unknown one is ignored.
        value : float
            The value.
        """
        if name in self.gains:
            self._requested[self.controller, name] = value

    def set_factor(self, factor: float) -> None:
        """Set simulated time per wall time at the next :meth:`update`."""
        if self.simulator:
            self._requested[self.simulator, FACTOR] = factor
        else:
            self._notify("no simulator is running", True)

    def is_changing(self, name: str) -> bool:
        """Return whether a gain, or ``real_time_factor``, has a request without a response."""
        return any(name == changing for _, changing in (*self._requested, *self._pending))

    def update(self) -> None:
        """Send the newest request of each parameter; take in changes that other nodes have made."""
        for key, (value, since) in list(self._pending.items()):
            if time.monotonic() > since + REPEAT_TIME:
                del self._pending[key]
                self._requested.setdefault(key, value)
        for key in [key for key in self._requested if key not in self._pending]:
            self._set(*key, self._requested.pop(key))
        for _, event in self._events.poll():
            name = event.node.rpartition("/")[2]
            if event.node != f"{self._node.get_namespace().rstrip('/')}/{name}":
                continue
            for changed in event.changed_parameters:
                if name == self.controller and changed.name in self.gains:
                    self.gains[changed.name] = changed.value.double_value
                elif name == self.simulator and changed.name == FACTOR:
                    self.factor = changed.value.double_value

    def _set(self, node: str, name: str, value: float) -> None:
        parameter = ParameterMessage(name=name)
        parameter.value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))

        def on_result(response: Any) -> None:
            self._pending.pop((node, name), None)
            (result,) = response.results
            if result.successful and node == self.controller and name in self.gains:
                self.gains[name] = value
            elif result.successful and node == self.simulator:
                self.factor = value
            refusal = f"{name} = {value:.4g} refused: {result.reason}"
            self._notify(refusal if not result.successful else f"{name} = {value:.4g}", not result.successful)

        request = SetParameters.Request(parameters=[parameter])
        if self._call(SetParameters, f"{node}/set_parameters", request, on_result):
            self._pending[node, name] = value, time.monotonic()

    # -- services ----------------------------------------------------------------------------------

    def pause(self, is_paused: bool) -> None:
        """Pause the simulator, or let it continue."""
        self._call_simulator(SetBool, "pause", SetBool.Request(data=is_paused))

    def step(self) -> None:
        """Let the simulator make one step."""
        self._call_simulator(Trigger, "step", Trigger.Request())

    def reset(self) -> None:
        """Let the simulator start again."""
        self._call_simulator(Trigger, "reset", Trigger.Request())

    def enable(self) -> None:
        """Enable every running gate."""
        if not self.gates:
            self._notify("no gate is running: nothing to enable", True)
        for name in self.gates:
            self._call(SetBool, f"{name}/enable", SetBool.Request(data=True), partial(self._report, name))

    def _call_simulator(self, service_type: Any, service: str, request: Any) -> None:
        if not self.simulator:
            self._notify(f"{service}: no simulator is running", True)
            return
        self._call(service_type, f"{self.simulator}/{service}", request, partial(self._report, service))

    def _report(self, title: str, response: Any) -> None:
        self._notify(f"{title}: {response.message}" if response.message else title, not response.success)

    def _call(
        self,
        service_type: Any,
        service: str,
        request: Any,
        on_response: Callable[[Any], None],
        *,
        silent: bool = False,
    ) -> bool:
        """Call a service; return whether it exists. ``silent``: the user is not notified when it does not."""
        if service not in self._clients:
            self._clients[service] = self._node.create_client(service_type, service)
        client = self._clients[service]
        if not client.service_is_ready():
            if not silent:
                self._notify(f"the service {service} is not available", True)
            return False
        client.call_async(request).add_done_callback(lambda future: on_response(future.result()))
        return True


# -- what nodes say of themselves ----------------------------------------------------------------------


def may_be_braked(status: DiagnosticStatus | None) -> bool:
    """Return whether a gate may be braked, by its newest diagnostics; True without any."""
    return status is None or not any(item.key == "braked" and item.value == "False" for item in status.values)


def status_line(name: str, status: DiagnosticStatus, control: bool) -> tuple[str, int, str]:
    """Return the line that the page shows for a node.

    Parameters
    ----------
    name : str
        Name of the node.
    status : DiagnosticStatus
        Its newest diagnostics.
    control : bool
        Whether the page has a button that enables.

    Returns
    -------
    text : str
        The message; for a braked gate with the remedy.
    level : int
        0: OK, 1: a warning, 2: an error, or braked.
    rate : str
        Rate of the node; empty when it publishes none.
    """
    values = {item.key: item.value for item in status.values}
    rate = f"{float(values['rate [Hz]']):.0f} Hz" if "rate [Hz]" in values else ""
    level = min(ord(status.level), ERROR)
    if level < ERROR and values.get("braked") == "True":
        remedy = "press enable" if control else f"call {name}/enable"
        return f"BRAKED: {status.message}: {remedy}", ERROR, rate
    return status.message, level, rate
