"""What the command line asks running nodes: call services, read live parameters, listen to topics."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from arm_control.core import SavedParameter
from arm_control.exceptions import InputError
from arm_control.nodes.support.arm_node import ROS_OWN
from arm_control.nodes.support.node_process import check_environment
from arm_control.nodes.support.topics import REPEAT_TIME, full_names

SETTLED = 3.5
"""Discovery ends when every node has services, one of them is wanted, and nothing new appears for so long [s].

Fast DDS repeats its announcements every 3 s: a node whose first ones were lost is found then. So much on a machine with
an idle core; one whose processes wait for each other needs more."""
DISCOVERY_TIME = 20.0
"""Longest discovery, while nodes appear [s]."""
ANSWER_TIME = 10.0
"""Longest time for an answer [s]; a busy machine is slow."""
PARAMETER_SERVICE = ("get_parameters", "rcl_interfaces/srv/GetParameters")
"""Name and type of a service of every node with parameters."""


class CommandLineNode:
    """A short-lived node with a context of its own; use it in a ``with`` statement.

    Parameters
    ----------
    name : str
        Name of the node.
    """

    def __init__(self, name: str) -> None:
        check_environment()
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self._node = Node(name, context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> CommandLineNode:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
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
        prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
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
        nodes = [f"{namespace.rstrip('/')}/{name}" for name, namespace in self._node.get_node_names_and_namespaces()]
        return sorted(nodes), sorted(name for name, _ in self._node.get_service_names_and_types())

    def _differs_from(self, graph: tuple[list[str], list[str]]) -> bool:
        return self._graph() != graph

    def owners(self, service: str, service_type: str) -> set[str]:
        """Full names of the nodes that offer a service, as far as they are known by now."""
        services = [(*name.rpartition("/"), types) for name, types in self._node.get_service_names_and_types()]
        return {owner for owner, _, last, types in services if last == service and service_type in types}

    def topics(self, message_type: str) -> set[str]:
        """Full names of the topics of a type, such as ``std_msgs/msg/Bool``, as far as they are known by now."""
        return {name for name, types in self._node.get_topic_names_and_types() if message_type in types}

    def subscribe(self, message_type: Any, topic: str, take: Callable[[Any], None], qos: QoSProfile | int) -> None:
        """Subscribe to a topic.

        Parameters
        ----------
        message_type : type
            Generated class of the message.
        topic : str
            Its name.
        take : callable
            Called for each message, in :meth:`spin_until`.
        qos : QoSProfile or int
            Quality of service, or the depth of the queue.
        """
        self._node.create_subscription(message_type, topic, take, qos)

    def publisher(self, message_type: Any, topic: str, qos: QoSProfile) -> Publisher:
        """Return a publisher.

        Parameters
        ----------
        message_type : type
            Generated class of the message.
        topic : str
            Its name.
        qos : QoSProfile
            Quality of service.
        """
        return self._node.create_publisher(message_type, topic, qos)

    def find_publishers(self, topics: Sequence[str], seconds: float) -> dict[str, list[str]]:
        """Return the full names of the nodes that publish topics, by topic; without topics that nobody publishes.

        Parameters
        ----------
        topics : sequence of str
            Full names of the topics.
        seconds : float
            Wall time for discovery, which ends with the first one [s].
        """
        self.spin_until(lambda: any(map(self._node.count_publishers, topics)), seconds)
        published = [topic for topic in topics if self._node.count_publishers(topic)]
        self.spin_until(lambda: all(full_names(self._node, topic) for topic in published), seconds)
        return {topic: full_names(self._node, topic) for topic in published}

    def call(self, service_type: Any, service: str, request: Any, seconds: float = ANSWER_TIME) -> Any:
        """Call a service and wait for the response.

        Parameters
        ----------
        service_type : type
            Generated class of the service.
        service : str
            Its name.
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
            self._clients[service] = self._node.create_client(service_type, service)
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
        """Serve the node until a condition holds; return whether it does.

        Parameters
        ----------
        condition : callable
            Returns whether the wait is over.
        seconds : float
            Longest wait [s].
        """
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)
        return condition()


def _is_complete(nodes: Sequence[str], services: Sequence[str]) -> bool:
    """Whether each node has a service: a node whose services are still to come is known by its name only."""
    return all(any(service.startswith(f"{node}/") for service in services) for node in nodes)


def published_already(topics: Sequence[str], seconds: float = 1.0) -> str:
    """Return which of some topics has a publisher, and which node that is; empty where none has.

    Parameters
    ----------
    topics : sequence of str
        Full names of the topics.
    seconds : float
        Wall time for discovery [s].
    """
    with CommandLineNode("arm_control_start") as looking:
        found = looking.find_publishers(topics, seconds)
    owners = {topic: ", ".join(names) or "a node" for topic, names in found.items()}
    return next((f"{topic} is published already by {owner}" for topic, owner in owners.items()), "")


# -- live parameters -----------------------------------------------------------------------------------


def live_parameters(node: str = "osc", namespace: str = "", seconds: float = 4.0) -> list[SavedParameter]:
    """Return the parameters of a running node that may change while it runs.

    Parameters
    ----------
    node : str
        Name of the node.
    namespace : str
        Its namespace; empty for the root.
    seconds : float
        Wall time for discovery [s].

    Raises
    ------
    InputError
        When there is no such node, or it does not answer.
    """
    path = "/".join(filter(None, [*namespace.split("/"), *node.split("/")]))
    with CommandLineNode("arm_control_tune") as client:
        full_name = f"/{path}"
        nodes = client.find_nodes(*PARAMETER_SERVICE, "", seconds, full_name)
        if full_name not in nodes:
            raise InputError(f"no node {full_name} is running; there are: {', '.join(nodes) or 'none'}")
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
