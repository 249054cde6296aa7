"""Topics of running nodes, listed and printed, where the program ``ros2`` is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from arm_control.core import yaml_document
from arm_control.exceptions import InputError
from arm_control.nodes.support.node_process import ProcessEnd
from arm_control.nodes.support.topics import LATCHED, LATEST, message_class
from arm_control.nodes.tools.command_line_node import PARAMETER_SERVICE, CommandLineNode, prefix_of

HEARING_TIME = 6.0
"""Longest time until a topic is found, and until its first message where one is asked for [s]."""


def list_topics(namespace: str = "") -> list[tuple[str, str, int, int]]:
    """Return full name, type, number of publishers and of subscriptions of each topic, sorted by name."""
    prefix = prefix_of(namespace)
    with CommandLineNode("arm_control_topics") as client:
        client.find_nodes(*PARAMETER_SERVICE, "", HEARING_TIME)  # discovery
        seen = [(name, kind) for name, kind in sorted(_types(client.node).items()) if name.startswith(prefix)]
        return [(name, kind, *_ends(client.node, name)) for name, kind in seen]


def echo_topic(topic: str, namespace: str, show: Callable[[str], object], once: bool = False) -> bool:
    """Show the messages of a topic as YAML, latched ones too, until SIGINT or SIGTERM; return whether there was one.

    Parameters
    ----------
    topic : str
        Relative to the namespace, or with a slash in front.

    Raises
    ------
    InputError
        When nobody publishes or hears the topic.
    """
    name = topic if topic.startswith("/") else prefix_of(namespace) + topic
    stop, n_shown = ProcessEnd(), 0

    def take(message: Any) -> None:
        nonlocal n_shown
        if not (once and n_shown):
            show(f"{yaml_document(as_mapping(message))}---")
        n_shown += 1

    with CommandLineNode("arm_control_topics") as client:
        if not client.spin_until(lambda: any(_ends(client.node, name)) or bool(stop.signals), HEARING_TIME):
            known = ", ".join(sorted(_types(client.node))) or "none"
            raise InputError(f"nobody publishes or hears {name}; topics: {known}")
        kind = message_class(_types(client.node).get(name, ""))
        client.node.create_subscription(kind, name, take, _qos(client.node, name))
        client.spin_until(lambda: bool(stop.signals or (once and n_shown)), HEARING_TIME if once else np.inf)
    return n_shown > 0


def _types(node: Node) -> dict[str, str]:
    """Types of all topics, as far as they are known by now, by full name."""
    return {name: types[0] for name, types in node.get_topic_names_and_types()}


def _ends(node: Node, topic: str) -> tuple[int, int]:
    """Number of publishers and of subscriptions of a topic, as far as they are known by now."""
    return node.count_publishers(topic), node.count_subscribers(topic)


def _qos(node: Node, topic: str) -> QoSProfile:
    """QoS with which all publishers of a topic are heard, and latched messages where all of them latch."""
    publishers = node.get_publishers_info_by_topic(topic)
    latching = [one.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in publishers]
    return LATCHED if latching and all(latching) else LATEST


def as_mapping(message: Any) -> Any:
    """Return a message as mappings, lists and plain values."""
    if hasattr(message, "get_fields_and_field_types"):
        return {name: as_mapping(getattr(message, name)) for name in message.get_fields_and_field_types()}
    if isinstance(message, (str, bool, int, float)):
        return message
    if isinstance(message, bytes):
        return int.from_bytes(message, "little")
    if isinstance(message, np.ndarray):
        return message.tolist()
    return [as_mapping(value) for value in message]
