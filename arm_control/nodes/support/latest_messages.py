"""Topics of which only the newest message counts: nobody is called, who wants to know looks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from arm_control.nodes.support.polling import poll, subscribed_apart

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Nobody waits for us, and nothing is sent to us again."""


class NewestOnly:
    """Subscriptions that are looked at now and then.

    Parameters
    ----------
    node : Node
        Who listens.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._subscriptions: dict[str, Any] = {}

    def listen(self, kind: Any, topic: str, qos: Any = NEWEST) -> None:
        """Listen to a topic, if that is not so already."""
        if topic not in self._subscriptions:
            self._subscriptions[topic] = subscribed_apart(self._node, kind, topic, qos)

    def stop(self, but: Collection[str] = ()) -> None:
        """Listen to these topics at most from now on: publishers of others need not send to us."""
        for topic in set(self._subscriptions) - set(but):
            self._node.destroy_subscription(self._subscriptions.pop(topic))

    def look(self) -> Iterator[tuple[str, Any]]:
        """Yield what has come since the last look, by topic."""
        for topic, subscription in list(self._subscriptions.items()):
            for message, _ in poll(subscription):
                yield topic, message
