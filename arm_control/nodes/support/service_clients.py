"""What the page's buttons and gain sliders do to other nodes: their services and parameters, asked without waiting."""

from __future__ import annotations

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

from arm_control.control.avoidance.avoidance_law import AvoidanceParameters
from arm_control.core.parameters import Parameters, Spec
from arm_control.nodes.ilqr import IlqrNodeParameters
from arm_control.nodes.joint import JointNodeParameters
from arm_control.nodes.osc import OscNodeParameters
from arm_control.nodes.support.controller_node import EffortParameters
from arm_control.nodes.support.latest_messages import NewestOnly

CONTROLLERS: dict[str, type[Parameters]] = {
    "osc": OscNodeParameters,
    "joint": JointNodeParameters,
    "ilqr": IlqrNodeParameters,
}
"""Nodes with gains, and what is known of them."""
SIMULATORS = ("simulator", "coppeliasim_bridge")
GATES = (*CONTROLLERS, *SIMULATORS, "gate")
"""Nodes that brake, and can be enabled again."""
ERROR = 2
EVENTS = "/parameter_events"
FACTOR = "real_time_factor"


class Remote:
    """Asks and follows the controller and the simulator that are there.

    Parameters
    ----------
    node : Node
        Who asks; only nodes in its namespace are looked at.
    say : callable
        Gets a sentence, and whether it is bad news.

    Attributes
    ----------
    controller, simulator : str
        Names of the nodes that are there; empty when there is none.
    gains : dict of str to float
        Gains of the controller, as they are now.
    factor : float or None
        Simulated time per wall time; None where nobody says.
    """

    def __init__(self, node: Node, say: Callable[[str, bool], None]) -> None:
        self._node, self._say = node, say
        self._clients: dict[str, Any] = {}
        self._events = NewestOnly(node)
        self._events.listen(ParameterEvent, EVENTS, qos_profile_parameter_events)
        self._there: set[str] = set()
        self._wanted: dict[tuple[str, str], float] = {}
        self._under_way: set[tuple[str, str]] = set()
        self.controller = self.simulator = ""
        self.gains: dict[str, float] = {}
        self.factor: float | None = None

    def spec(self, gain: str) -> Spec | None:
        """What is known of a gain."""
        kind = CONTROLLERS.get(self.controller)
        return kind.spec(gain) if kind is not None and gain in kind.types() else None

    # -- who is there --------------------------------------------------------------------------------

    def look(self) -> None:
        """See which nodes are there, now and then; ask new ones for what they have."""
        namespace = self._node.get_namespace()
        self._there = {name for name, where in self._node.get_node_names_and_namespaces() if where == namespace}
        controller = next((name for name in CONTROLLERS if name in self._there), "")
        simulator = next((name for name in SIMULATORS if name in self._there), "")
        if controller != self.controller:
            self.controller, self.gains = controller, {}
            self._under_way.clear()
        if simulator != self.simulator:
            self.simulator, self.factor = simulator, None
            self._under_way.clear()
        if self.controller and not self.gains:
            self._ask_for_gains(self.controller)
        if self.simulator and self.factor is None:
            request = GetParameters.Request(names=[FACTOR])
            self._ask(GetParameters, f"{self.simulator}/get_parameters", request, self._take_factor, quietly=True)

    def follow(self) -> None:
        """Take what others have changed since the last call; set what is wanted, of each the newest value only."""
        for key in [key for key in self._wanted if key not in self._under_way]:
            self._set(*key, self._wanted.pop(key))
        for _, event in self._events.look():
            name = event.node.rpartition("/")[2]
            if event.node != f"{self._node.get_namespace().rstrip('/')}/{name}":
                continue
            for changed in event.changed_parameters:
                if name == self.controller and changed.name in self.gains:
                    self.gains[changed.name] = changed.value.double_value
                elif name == self.simulator and changed.name == FACTOR:
                    self.factor = changed.value.double_value

    def _ask_for_gains(self, node: str) -> None:
        """Describe, then get: the gains are there when the last answer is."""

        def described(answer: Any) -> None:
            names = [d.name for d in answer.descriptors if d.type == ParameterType.PARAMETER_DOUBLE and not d.read_only]

            def got(answer: Any) -> None:
                if node == self.controller:
                    self.gains = {n: v.double_value for n, v in zip(names, answer.values, strict=True)}

            self._ask(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names), got, quietly=True)

        kind = CONTROLLERS[node]
        names = [name for name in kind.types() if kind.spec(name).live and name not in EffortParameters.types()]
        names.sort(key=AvoidanceParameters.types().__contains__)  # those of the controller itself come first
        request = DescribeParameters.Request(names=names)
        self._ask(DescribeParameters, f"{node}/describe_parameters", request, described, quietly=True)

    def _take_factor(self, answer: Any) -> None:
        values = [value.double_value for value in answer.values if value.type == ParameterType.PARAMETER_DOUBLE]
        self.factor = values[0] if values else None

    # -- what is wanted ------------------------------------------------------------------------------

    def pause(self, is_paused: bool) -> None:
        """Let the simulator stop, or go on."""
        self._of_simulator(SetBool, "pause", SetBool.Request(data=is_paused))

    def step(self) -> None:
        """Let the simulator do one step."""
        self._of_simulator(Trigger, "step", Trigger.Request())

    def reset(self) -> None:
        """Let the simulator start over."""
        self._of_simulator(Trigger, "reset", Trigger.Request())

    @property
    def gates(self) -> list[str]:
        """Nodes with a gate that are there."""
        return [name for name in GATES if name in self._there]

    def enable(self) -> None:
        """Enable every gate that is there."""
        if not self.gates:
            self._say("there is no gate to enable", True)
        for name in self.gates:
            self._ask(SetBool, f"{name}/enable", SetBool.Request(data=True), partial(self._tell, name))

    def set_factor(self, factor: float) -> None:
        """Set simulated time per wall time."""
        if self.simulator:
            self._wanted[self.simulator, FACTOR] = factor
        else:
            self._say("there is no simulator", True)

    def set_gain(self, name: str, value: float) -> None:
        """Set a gain; what comes of it is told."""
        if name in self.gains:
            self._wanted[self.controller, name] = value

    def is_changing(self, name: str) -> bool:
        """Whether a gain, or the factor, has not been set yet as it was wanted."""
        return any(name == changing for _, changing in (*self._wanted, *self._under_way))

    def _of_simulator(self, kind: Any, service: str, request: Any) -> None:
        if not self.simulator:
            self._say(f"{service}: there is no simulator", True)
            return
        self._ask(kind, f"{self.simulator}/{service}", request, partial(self._tell, service))

    def _tell(self, what: str, answer: Any) -> None:
        self._say(f"{what}: {answer.message}" if answer.message else what, not answer.success)

    def _set(self, node: str, name: str, value: float) -> None:
        wanted = ParameterMessage(name=name)
        wanted.value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))

        def told(answer: Any) -> None:
            self._under_way.discard((node, name))
            (result,) = answer.results
            if result.successful and node == self.controller and name in self.gains:
                self.gains[name] = value
            elif result.successful and node == self.simulator:
                self.factor = value
            refused = f"{name} = {value:.4g} refused: {result.reason}"
            self._say(refused if not result.successful else f"{name} = {value:.4g}", not result.successful)

        request = SetParameters.Request(parameters=[wanted])
        if self._ask(SetParameters, f"{node}/set_parameters", request, told):
            self._under_way.add((node, name))

    def _ask(
        self, kind: Any, service: str, request: Any, done: Callable[[Any], None], *, quietly: bool = False
    ) -> bool:
        """Call a service; ``done`` gets the answer when it comes. Returns whether the service is there."""
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, service)
        client = self._clients[service]
        if not client.service_is_ready():
            if not quietly:
                self._say(f"{service} is not there", True)
            return False
        client.call_async(request).add_done_callback(lambda future: done(future.result()))
        return True


def may_be_braked(status: DiagnosticStatus | None) -> bool:
    """Whether a gate stays braked, as far as it says: without a word of it, it may."""
    return status is None or not any(item.key == "braked" and item.value == "False" for item in status.values)


def told(name: str, status: DiagnosticStatus, control: bool) -> tuple[str, int, str]:
    """Words, level and rate to show of what a node says of itself.

    Parameters
    ----------
    name : str
        The node.
    status : DiagnosticStatus
        What it says.
    control : bool
        Whether the page has a button that enables.

    Returns
    -------
    words : str
        Of a gate that stays braked also what to do.
    level : int
        0: well, 1: a warning, 2: an error, or braked.
    rate : str
        At which it works; empty when it does not say.
    """
    values = {item.key: item.value for item in status.values}
    rate = f"{float(values['rate [Hz]']):.0f} Hz" if "rate [Hz]" in values else ""
    words, level = status.message, min(ord(status.level), ERROR)
    if level < ERROR and values.get("braked") == "True":
        return f"BRAKED: {words}: {'press enable' if control else f'call {name}/enable'}", ERROR, rate
    return words, level, rate
