"""What the page asks of other nodes: services and parameters of controller and simulator, targets, obstacles.

No request waits for its response. All publishers of the node ``viewer`` are here: the joint states of the sliders, when
no other node drives the arm; the target while it is dragged; obstacles that were added or moved. Such an obstacle is
published repeatedly while it exists, so that late subscribers receive it and one at rest has no speed. An added
obstacle has a lifetime of ``LIFETIME`` on the time of the states and therefore does not outlive this node; a pause and
slow motion affect this time as they affect the arm's. A moved obstacle of another node has no lifetime: it may be a
real one.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.constraints import with_box_at
from arm_control.control import AvoidanceParameters, ControllerNodeParameters
from arm_control.controllers import CONTROLLERS
from arm_control.core import NANOSECONDS, Spec
from arm_control.gate import GATES_BEHIND
from arm_control.maths import Array, Box, Obstacle, Pose, Shape, Sphere
from arm_control.messages import pose_from_message
from arm_control.nodes.support.polling import LatestMessages
from arm_control.nodes.support.topics import EVENTS, REPEAT_TIME, STATE, TARGETS, ros
from arm_control.viewer import MarkerStore, PageCommand

SIMULATORS = ("simulator", "coppeliasim_bridge")
GATES = (*reversed(GATES_BEHIND), *CONTROLLERS)
"""Nodes with a gate, which brake and can be enabled again; in the order in which they are enabled, controllers last."""
ERROR = 2
"""Level of an error in a line of the status."""
PARAMETER_EVENTS = "/parameter_events"
FACTOR = "real_time_factor"
"""The simulator's parameter: simulated time per wall time."""
CONSTRAINTS = "constraints"
"""Parameter of nodes with a gate: a file, or its text."""


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
    factor : float or None
        Simulated time per wall time; None while unknown.
    constraints : dict of str
        The parameter ``constraints`` of each running node with a gate, where it is known.
    """

    def __init__(self, node: Node, notify: Callable[[str, bool], None]) -> None:
        self._node = node
        self._notify = notify
        self._clients: dict[str, Any] = {}
        self._events = LatestMessages(node)
        self._events.subscribe(ParameterEvent, PARAMETER_EVENTS, qos_profile_parameter_events)
        self._running: set[str] = set()
        self._requested: dict[tuple[str, str], float | str] = {}
        self._pending: dict[tuple[str, str], tuple[float | str, float]] = {}  # value, and when it was requested
        self.controller = ""
        self.simulator = ""
        self.gains: dict[str, float] = {}
        self.factor: float | None = None
        self.constraints: dict[str, str] = {}

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
        self.constraints = {name: file for name, file in self.constraints.items() if name in self._running}
        for name in self.gates:
            request, on_values = GetParameters.Request(names=[CONSTRAINTS]), partial(self._on_constraints, name)
            self._call(GetParameters, f"{name}/get_parameters", request, on_values, silent=True)

    @property
    def gates(self) -> list[str]:
        """Names of the running nodes with a gate."""
        return [name for name in GATES if name in self._running]

    def _request_gains(self, node: str) -> None:
        """Request the values of a controller's gains."""
        parameters, common = CONTROLLERS[node].node_parameters, ControllerNodeParameters.types()
        own = {name: type_ for name, type_ in parameters.types().items() if name not in common}
        names = [name for name, type_ in own.items() if type_ is float and parameters.spec(name).live]
        names.sort(key=AvoidanceParameters.types().__contains__)  # the controller's own gains come first

        def on_values(response: Any) -> None:
            if node == self.controller:
                self.gains = {n: v.double_value for n, v in zip(names, response.values, strict=False)}

        request = GetParameters.Request(names=names)
        self._call(GetParameters, f"{node}/get_parameters", request, on_values, silent=True)

    def _on_factor(self, response: Any) -> None:
        values = [value.double_value for value in response.values if value.type == ParameterType.PARAMETER_DOUBLE]
        self.factor = values[0] if values else None

    def _on_constraints(self, name: str, response: Any) -> None:
        self.constraints[name] = "".join(value.string_value for value in response.values)

    # -- gains, speed and constraints ----------------------------------------------------------------

    def set_gain(self, name: str, value: float) -> None:
        """Set a gain of the controller at the next :meth:`update`; the user is notified of the result."""
        if name in self.gains:
            self._requested[self.controller, name] = value

    def set_factor(self, factor: float) -> None:
        """Set simulated time per wall time at the next :meth:`update`."""
        if self.simulator:
            self._requested[self.simulator, FACTOR] = factor
        else:
            self._notify("no simulator is running", True)

    def move_box(self, node: str, box: str, p: Array) -> None:
        """Move a box among the constraints of a node, and of those with the same ones, at the next :meth:`update`.

        Parameters
        ----------
        p : ndarray, shape (3,)
            Its new middle in the base frame [m].
        """
        files = {name: str(self._newest(name, file)) for name, file in self.constraints.items()}
        if files.get(node):
            moved = with_box_at(files[node], box, p.round(4).tolist())
            self._requested |= {(name, CONSTRAINTS): moved for name, file in files.items() if file == files[node]}

    def _newest(self, node: str, known: str) -> float | str:
        """Return the constraints that a node has been asked for, or else has."""
        key = node, CONSTRAINTS
        pending, _ = self._pending.get(key, (known, 0.0))
        return self._requested.get(key, pending)

    def is_changing(self, name: str) -> bool:
        """Return whether a parameter of this name has a request without a response."""
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

    def _set(self, node: str, name: str, value: float | str) -> None:
        parameter = ParameterMessage(name=name)
        if isinstance(value, str):
            parameter.value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
        else:
            parameter.value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))

        def on_result(response: Any) -> None:
            is_awaited = self._pending.get((node, name), (None, 0.0))[0] == value
            if is_awaited:  # else it answers a request before, or one that was repeated
                del self._pending[node, name]
            (result,) = response.results
            what = name if isinstance(value, str) else f"{name} = {value:.4g}"
            if not result.successful:
                if is_awaited:
                    self._notify(f"{what} refused: {result.reason}", True)
            elif isinstance(value, str):
                self.constraints[node] = value
            else:
                if node == self.controller and name in self.gains:
                    self.gains[name] = value
                elif node == self.simulator:
                    self.factor = value
                self._notify(what, False)

        request = SetParameters.Request(parameters=[parameter])
        if self._call(SetParameters, f"{node}/set_parameters", request, on_result):
            self._pending[node, name] = value, time.monotonic()

    # -- services ----------------------------------------------------------------------------------

    def enable(self) -> None:
        """Enable every running gate."""
        if not self.gates:
            self._notify("no gate is running: nothing to enable", True)
        for name in self.gates:
            self._call(SetBool, f"{name}/enable", SetBool.Request(data=True), partial(self._report, name))

    def call_simulator(self, service_type: Any, service: str, request: Any) -> None:
        """Call a service of the simulator; the user is notified of the response."""
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
    return figures_in(status).get("braked") != "False"


def figures_in(status: DiagnosticStatus | None) -> dict[str, str]:
    """Return the figures of a node's newest diagnostics; none without any."""
    return {} if status is None else {item.key: item.value for item in status.values}


def status_line(name: str, status: DiagnosticStatus, control: bool) -> tuple[str, int, str]:
    """Return the line that the page shows for a node.

    Parameters
    ----------
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
    values = figures_in(status)
    rate = f"{float(values['rate [Hz]']):.0f} Hz" if "rate [Hz]" in values else ""
    level = min(ord(status.level), ERROR)
    if level < ERROR and values.get("braked") == "True":
        remedy = "press enable" if control else f"call {name}/enable"
        return f"BRAKED: {status.message}: {remedy}", ERROR, rate
    return status.message, level, rate


MIN_PERIOD = 0.05
"""Least time between two targets, and between two poses of an obstacle [s]."""
REPEAT_PERIOD = 0.5
"""Period of the own obstacles, on the clock or on the time of the states, whichever is earlier [s]."""
LIFETIME = 5.0
"""Lifetime of an added obstacle, on the time of the states [s]."""
NAMESPACE = "viewer"
"""Namespace of the added obstacles."""
EFFECTOR_DISTANCE = 0.3
"""Distance of a new obstacle from the end effector [m]."""
OBSTACLE_DISTANCE = 0.25
"""Least distance of a new obstacle from the others [m]."""
NEW_SHAPES: dict[str, Shape] = {"ball": Sphere(0.08), "box": Box((0.15, 0.15, 0.15))}


class PageCommandRunner:
    """Carries out commands for the node ``viewer``."""

    def __init__(
        self, node: Any, clients: ServiceClients, obstacles: MarkerStore, notify: Callable[[str, bool], None]
    ) -> None:
        self._node = node
        self._clients = clients
        self._obstacles = obstacles
        self._notify = notify
        self._target_publisher = node.create_publisher(PoseStamped, "target_pose", TARGETS)
        self._obstacle_publisher = node.create_publisher(MarkerArray, "obstacles", EVENTS)
        self._joint_publisher: Any = None
        self._target: Pose | None = None
        self._own_obstacles: dict[tuple[str, int], Marker] = {}
        self._changed: set[tuple[str, int]] = set()
        self._target_time = 0.0
        self._obstacle_time = 0.0
        self._repeat_time = 0.0
        self._repeat_stamp_ns = 0
        self._n_added = 0

    @property
    def publishes_joint_states(self) -> bool:
        """Whether this is the publisher of ``joint_states``."""
        return self._joint_publisher is not None

    @property
    def has_obstacles(self) -> bool:
        """Whether obstacles are published here."""
        return bool(self._own_obstacles)

    def run(self, command: PageCommand) -> None:
        """Carry out a command, now or at the next :meth:`publish`; of a drag only the newest pose is published."""
        match command.type:
            case "target":
                self._target = command.value
            case "obstacle":
                self._move_obstacle(command.name, command.value)
            case "constraint":
                node, (_, box, _) = command.name
                self._clients.move_box(node, box, command.value.p)
            case "add":
                self._add_obstacle(command.name)
            case "remove":
                self._remove_obstacle()
            case "gain":
                self._clients.set_gain(command.name, command.value)
            case "speed":
                self._clients.set_factor(command.value)
            case "pause":
                self._clients.call_simulator(SetBool, "pause", SetBool.Request(data=bool(command.value)))
            case "step" | "reset":
                self._clients.call_simulator(Trigger, command.type, Trigger.Request())
            case "enable":
                self._clients.enable()

    def publish(self) -> None:
        """Publish what is due now."""
        now = time.monotonic()
        if self._target is not None and now - self._target_time >= MIN_PERIOD:
            base = self._node.frame(self._node.model.base)
            self._target_publisher.publish(ros.pose_stamped(self._target, base, 0))
            self._target = None
            self._target_time = now
        self._publish_due_obstacles(now)
        self._publish_joint_states()

    def _publish_due_obstacles(self, now: float) -> None:
        """Publish changed obstacles, and all of them each :data:`REPEAT_PERIOD`; ``now`` is a steady time [s]."""
        simulated_time = abs(self._node.now_ns - self._repeat_stamp_ns) / NANOSECONDS
        if max(now - self._repeat_time, simulated_time) >= REPEAT_PERIOD:
            self._changed = set(self._own_obstacles)
            self._repeat_time = now
            self._repeat_stamp_ns = self._node.now_ns
        if self._changed and now - self._obstacle_time >= MIN_PERIOD:
            keys = sorted(self._changed & set(self._own_obstacles))
            self._publish_markers([self._own_obstacles[key] for key in keys])
            self._changed = set()
            self._obstacle_time = now

    def _publish_joint_states(self) -> None:
        """Publish the joint states of the sliders while no other node drives the arm."""
        if self._node.is_alone and not self._node.has_company():
            if self._joint_publisher is None:
                self._joint_publisher = self._node.create_publisher(JointState, "joint_states", STATE)
            self._node.publish_joints(self._joint_publisher)
        elif self._joint_publisher is not None:
            self._node.destroy_publisher(self._joint_publisher)
            self._joint_publisher = None

    # -- obstacles -------------------------------------------------------------------------------------

    def _add_obstacle(self, shape: str) -> None:
        """Add an obstacle beside the end effector: on the far side from the base, or around it where there is room."""
        p_WE = self._node.model.pose(self._node.q).p
        others = [obstacle.X.p for obstacle in self._obstacles.obstacles(self._node.now_ns).values()]
        others += [pose_from_message(marker).p for marker in self._own_obstacles.values()]
        angles = np.arctan2(p_WE[1], p_WE[0]) + np.radians([0.0, 60.0, -60.0, 120.0, -120.0])
        places = [
            p_WE + EFFECTOR_DISTANCE * np.array([np.cos(angle), np.sin(angle), height])
            for height in (0.0, 1.0, 2.0)
            for angle in angles
        ]
        free = (p for p in places if all(np.linalg.norm(p - other) >= OBSTACLE_DISTANCE for other in others))
        marker = ros.marker(Obstacle(NEW_SHAPES[shape], Pose(np.eye(3), next(free, places[0]))))
        self._n_added += 1
        self._set_obstacle((NAMESPACE, self._n_added), marker)

    def _move_obstacle(self, key: tuple[str, int], X: Pose) -> None:
        """Move an obstacle of any publisher; from now on it is published here."""
        received = self._obstacles.markers.get(key)
        marker = self._own_obstacles.get(key) or (copy.deepcopy(received[0]) if received is not None else None)
        if marker is not None:
            marker.pose = ros.pose_stamped(X, "", 0).pose
            self._set_obstacle(key, marker)

    def _set_obstacle(self, key: tuple[str, int], marker: Marker) -> None:
        marker.ns, marker.id = key
        marker.header.frame_id = self._node.frame(self._node.model.base)
        marker.lifetime = ros.duration(LIFETIME if key[0] == NAMESPACE else 0.0)
        self._own_obstacles[key] = marker
        self._changed.add(key)

    def _remove_obstacle(self) -> None:
        """Delete the obstacle that was added last."""
        added = [key for key in self._own_obstacles if key[0] == NAMESPACE]
        if not added:
            self._notify("no obstacle was added here", True)
            return
        marker = self._own_obstacles.pop(added[-1])
        marker.action = Marker.DELETE
        self._publish_markers([marker])

    def _publish_markers(self, markers: list[Marker]) -> None:
        for marker in markers:
            marker.header.stamp = ros.time(self._node.now_ns)
        if markers:
            self._obstacle_publisher.publish(MarkerArray(markers=markers))
