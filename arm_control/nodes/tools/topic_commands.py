"""Topics of running nodes, listed and printed, where the program ``ros2`` is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arm_control.core import yaml_document
from arm_control.exceptions import InputError
from arm_control.nodes.support.node_process import ProcessEnd
from arm_control.nodes.support.topics import message_class
from arm_control.nodes.tools.command_line_node import PARAMETER_SERVICE, CommandLineNode, prefix_of

HEARING_TIME = 6.0
"""Longest time until a topic is found, and until its first message where one is asked for [s]."""


def list_topics(namespace: str = "") -> list[tuple[str, str, int, int]]:
    """Return full name, type, number of publishers and of subscriptions of each topic, sorted by name."""
    prefix = prefix_of(namespace)
    with CommandLineNode("arm_control_topics") as client:
        client.find_nodes(*PARAMETER_SERVICE, "", HEARING_TIME)  # discovery
        seen = client.topic_types()
        return [(name, kind, *client.ends_of(name)) for name, kind in sorted(seen.items()) if name.startswith(prefix)]


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
        if not client.spin_until(lambda: any(client.ends_of(name)) or bool(stop.signals), HEARING_TIME):
            known = ", ".join(sorted(client.topic_types())) or "none"
            raise InputError(f"nobody publishes or hears {name}; topics: {known}")
        client.subscribe(message_class(client.topic_types().get(name, "")), name, take, client.qos_of(name))
        client.spin_until(lambda: bool(stop.signals or (once and n_shown)), HEARING_TIME if once else np.inf)
    return n_shown > 0


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
