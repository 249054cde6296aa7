"""What the command line asks running nodes: services, live parameters, topics; where an arm is, and to go somewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from arm_control.control import ON_THE_WAY, Approach
from arm_control.controllers import CONTROLLERS
from arm_control.core import NANOSECONDS, SavedParameter
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.messages import link_of, nanoseconds
from arm_control.model import ArmParameters, RobotModel
from arm_control.nodes.support.arm_node import ROS_OWN
from arm_control.nodes.support.node_process import check_environment
from arm_control.nodes.support.topics import LATCHED, LATEST, REPEAT_TIME, STATE, TARGETS, full_names, ros

SETTLED = 3.5
"""Discovery ends when every node has services, one of them is wanted, and nothing new appears for so long [s].

Fast DDS repeats its announcements every 3 s: a node whose first ones were lost is found then. So much on a machine with
an idle core; one whose processes wait for each other needs more."""
SEARCH_TIME = 4.0
"""Time without a change after which a node or a gate is not running [s]."""
DISCOVERY_TIME = 20.0
"""Longest discovery, while nodes appear [s]."""
ANSWER_TIME = 10.0
"""Longest time for an answer [s]; a busy machine is slow."""
PARAMETER_SERVICE = ("get_parameters", "rcl_interfaces/srv/GetParameters")
"""Name and type of a service of every node with parameters."""

HEARING_TIME = 6.0
"""Longest time until description and state are heard [s]."""
FIGURES = ("braking", "nearest_distance")


def prefix_of(namespace: str) -> str:
    """Return the beginning of all full names in a namespace; a slash for the root."""
    return f"/{inner}/" if (inner := namespace.strip("/")) else "/"


class CommandLineNode:
    """A short-lived node with a context of its own; use it in a ``with`` statement.

    Attributes
    ----------
    node : Node
        The node, which :meth:`spin_until` serves.
    """

    def __init__(self, name: str) -> None:
        check_environment()
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self.node = Node(name, context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> CommandLineNode:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def find_nodes(
        self, service: str, service_type: str, namespace: str, seconds: float, awaited: str | None = None
    ) -> list[str]:
        """Return the full names of the nodes that offer a service, sorted.

        Parameters
        ----------
        service, service_type : str
            Such as ``enable`` and ``std_srvs/srv/SetBool``.
        namespace : str
            Only nodes in it; empty for all.
        seconds : float
            Wall time without a change after which there is none, or no more [s].
        awaited : str
            Full name of a node with which discovery ends at once; None for none.
        """
        prefix = prefix_of(namespace)
        graph, owners = self._graph(), self.owners(service, service_type)
        settled = SETTLED * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # a busy machine is slow to answer
        end = time.monotonic() + DISCOVERY_TIME
        while awaited not in owners and time.monotonic() < end:
            quiet_time = min(settled, seconds) if owners and _is_complete(*graph) else seconds
            if not self.spin_until(partial(self._differs_from, graph), quiet_time):
                break
            graph, owners = self._graph(), self.owners(service, service_type)
        return sorted(name for name in owners if f"{name}/".startswith(prefix))

    def _graph(self) -> tuple[list[str], list[str]]:
        """Full names of the nodes and services, as far as they are known by now."""
        nodes = [f"{namespace.rstrip('/')}/{name}" for name, namespace in self.node.get_node_names_and_namespaces()]
        return sorted(nodes), sorted(name for name, _ in self.node.get_service_names_and_types())

    def _differs_from(self, graph: tuple[list[str], list[str]]) -> bool:
        return self._graph() != graph

    def owners(self, service: str, service_type: str) -> set[str]:
        """Full names of the nodes that offer a service, as far as they are known by now."""
        services = [(*name.rpartition("/"), types) for name, types in self.node.get_service_names_and_types()]
        return {owner for owner, _, last, types in services if last == service and service_type in types}

    def find_publishers(self, topics: Sequence[str], seconds: float) -> dict[str, list[str]]:
        """Return the full names of the nodes that publish topics, by topic; without topics that nobody publishes."""
        self.spin_until(lambda: any(map(self.node.count_publishers, topics)), seconds)
        published = [topic for topic in topics if self.node.count_publishers(topic)]
        self.spin_until(lambda: all(full_names(self.node, topic) for topic in published), seconds)
        return {topic: full_names(self.node, topic) for topic in published}

    def call(self, service_type: Any, service: str, request: Any, seconds: float = ANSWER_TIME) -> Any:
        """Call a service and wait for the response.

        Parameters
        ----------
        request : message
            The request; it may be carried out more than once.
        seconds : float
            Longest time for the service to appear, and for the response [s].

        Returns
        -------
        message or None
            The response; None when there is none in time.
        """
        if service not in self._clients:
            self._clients[service] = self.node.create_client(service_type, service)
        client = self._clients[service]
        if not self.spin_until(client.service_is_ready, seconds):
            return None
        futures: list[Any] = []
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            futures.append(client.call_async(request))
            if self.spin_until(lambda: any(future.done() for future in futures), min(left, REPEAT_TIME)):
                return next(future.result() for future in futures if future.done())
        return None

    def spin_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Serve the node until a condition holds; return whether it does."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)
        return condition()


def _is_complete(nodes: Sequence[str], services: Sequence[str]) -> bool:
    """Whether each node has a service: a node whose services are still to come is known by its name only."""
    return all(any(service.startswith(f"{node}/") for service in services) for node in nodes)


def published_already(topics: Sequence[str]) -> str:
    """Return which of some topics has a publisher, and which node that is; empty where none has."""
    with CommandLineNode("arm_control_start") as looking:
        found = looking.find_publishers(topics, 1.0)
    owners = {topic: ", ".join(names) or "a node" for topic, names in found.items()}
    return next((f"{topic} is published already by {owner}" for topic, owner in owners.items()), "")


# -- a running arm ---------------------------------------------------------------------------------------


class ArmClient:
    """A running arm, heard by a node of the command line.

    Attributes
    ----------
    model : RobotModel
        The arm, as its controller has it.
    controller : str
        Full name of the controller's node; empty without one.
    q : ndarray, shape (nq,)
        Joint positions of the newest state [rad or m].

    Raises
    ------
    InputError
        When no arm is heard.
    """

    def __init__(self, client: CommandLineNode, namespace: str = "") -> None:
        self._client = client
        self._prefix = prefix_of(namespace)
        self._newest: dict[str, Any] = {}
        topics = [(String, "robot_description", LATCHED), (JointState, "joint_states", LATEST)]
        for kind, topic, qos in [*topics, *((Float64, f"controller_state/{name}", STATE) for name in FIGURES)]:
            client.node.create_subscription(kind, self._prefix + topic, partial(self._newest.__setitem__, topic), qos)
        if not client.spin_until(lambda: {"joint_states", "robot_description"} <= self._newest.keys(), HEARING_TIME):
            missing = "robot_description" if "joint_states" in self._newest else "joint_states"
            raise InputError(
                f"no {self._prefix}{missing} within {HEARING_TIME:.0f} s: is an arm running, with the same"
                " ROS_DOMAIN_ID and --namespace?"
            )
        self.controller = self._find_controller()
        values = self._parameters()
        self._frame_prefix = str(values.pop("frame_prefix", ""))
        self.model: RobotModel = ArmParameters.from_mapping(values).model(self._newest["robot_description"].data)
        self._read_state()

    def go_to(self, X_WT: Pose, seconds: float) -> Approach:
        """Send a target, and wait until the arm is there, or has stopped.

        Parameters
        ----------
        X_WT : Pose
            The target, in the base.
        seconds : float
            Longest time of the states [s].

        Raises
        ------
        InputError
            When no node follows targets, or states end.
        """
        topic = f"{self._prefix}target_pose"
        publisher = self._client.node.create_publisher(PoseStamped, topic, TARGETS)
        if not self._client.spin_until(lambda: publisher.get_subscription_count() > 0, HEARING_TIME):
            raise InputError(f"no node listens to {topic}: is a controller running?")
        publisher.publish(ros.pose_stamped(X_WT, self._frame_prefix + self.model.base, 0))
        approach, begin_ns, heard_at = Approach(self.model, X_WT), self.stamp_ns, time.monotonic()
        while approach.state == ON_THE_WAY and self.stamp_ns - begin_ns < seconds * NANOSECONDS:
            before_ns = self.stamp_ns
            self._client.spin_until(partial(self._is_newer, before_ns), 1.0)
            self._read_state()
            heard_at = heard_at if self.stamp_ns == before_ns else time.monotonic()
            if time.monotonic() - heard_at > HEARING_TIME:
                raise InputError(f"no state for {HEARING_TIME:.0f} s: the arm is paused, or its driver has ended")
            approach.update(self.stamp_ns, self.q)
        return approach

    def pose_in(self, frame: str, X: Pose) -> Pose:
        """Return in the base a pose that is in the frame of a link; empty for the base."""
        return self.model.pose(self.q, link_of(frame, self.model)) @ X

    def _find_controller(self) -> str:
        """Full name of the node that controls the arm; empty without one."""
        names = {f"{self._prefix}{name}" for name in CONTROLLERS}
        self._client.spin_until(lambda: bool(names & self._client.owners(*PARAMETER_SERVICE)), 2.0)
        found = names & self._client.owners(*PARAMETER_SERVICE)
        return next((name for name in sorted(found, reverse=True)), "")

    def _parameters(self) -> dict[str, Any]:
        """The controller's parameters about the arm."""
        if not self.controller:
            return {}
        names = [*ArmParameters.types(), "frame_prefix"]
        response = _request(self._client, GetParameters, self.controller, "get", GetParameters.Request(names=names))
        values = dict(zip(names, map(parameter_value_to_python, response.values), strict=True))
        return {name: value for name, value in values.items() if value is not None}

    def figure(self, name: str, default: float) -> float:
        """Return the newest value of ``controller_state/<name>``; a default before the first."""
        topic = f"controller_state/{name}"
        return float(self._newest[topic].data) if topic in self._newest else default

    def _is_newer(self, stamp_ns: int) -> bool:
        return self._newest_ns() != stamp_ns

    def _newest_ns(self) -> int:
        return nanoseconds(self._newest["joint_states"].header.stamp)

    def _read_state(self) -> None:
        state = self._newest["joint_states"]
        self.q: Array = np.array(self.model.in_joint_order(state.name, state.position))
        self.stamp_ns = self._newest_ns()


# -- live parameters -----------------------------------------------------------------------------------


def set_parameter(name: str, value: Any, node: str, namespace: str) -> str:
    """Set a live parameter of a running node; return why it refuses, empty where it does not."""
    with CommandLineNode("arm_control_tune") as client:
        full_name = _find_node(client, node, namespace)
        parameter = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        (result,) = _request(client, SetParameters, full_name, "set", request).results
        return "" if result.successful else str(result.reason) or "no reason given"


def _find_node(client: CommandLineNode, node: str, namespace: str) -> str:
    """Return the full name of a running node."""
    full_name = "/" + "/".join(filter(None, [*namespace.split("/"), *node.split("/")]))
    nodes = client.find_nodes(*PARAMETER_SERVICE, "", SEARCH_TIME, full_name)
    if full_name not in nodes:
        raise InputError(f"no node {full_name} is running; there are: {', '.join(nodes) or 'none'}")
    return full_name


def live_parameters(node: str, namespace: str) -> list[SavedParameter]:
    """Return the parameters of a running node that may change while it runs."""
    with CommandLineNode("arm_control_tune") as client:
        full_name = _find_node(client, node, namespace)
        names = _request(client, ListParameters, full_name, "list", ListParameters.Request()).result.names
        names = sorted(name for name in names if not name.startswith(ROS_OWN))
        described = _request(client, DescribeParameters, full_name, "describe", DescribeParameters.Request(names=names))
        return _saved(client, full_name, [entry for entry in described.descriptors if not entry.read_only])


def _saved(client: CommandLineNode, node: str, descriptors: Sequence[ParameterDescriptor]) -> list[SavedParameter]:
    """Return the parameters, without empty lists: a parameter file has no type for them."""
    names = [descriptor.name for descriptor in descriptors]
    values = _request(client, GetParameters, node, "get", GetParameters.Request(names=names)).values
    plain = [_plain(parameter_value_to_python(value)) for value in values]
    return [
        SavedParameter(descriptor.name, value, descriptor.description)
        for descriptor, value in zip(descriptors, plain, strict=True)
        if value != []
    ]


def _request(client: CommandLineNode, service_type: Any, node: str, verb: str, request: Any) -> Any:
    """Call the service ``<verb>_parameters`` of a node."""
    response = client.call(service_type, f"{node}/{verb}_parameters", request)
    if response is None:
        raise InputError(f"{node} does not answer: is it still running?")
    return response


def _plain(value: Any) -> Any:
    """Convert arrays to lists."""
    return value if isinstance(value, (str, bool, int, float)) else list(value)
