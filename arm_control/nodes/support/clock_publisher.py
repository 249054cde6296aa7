"""Simulated time on ``/clock``, of which there is one for all namespaces of a domain."""

from __future__ import annotations

import time

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from arm_control.nodes.support.topics import STATE, full_names, ros

TOPIC = "/clock"
LOOKING_PERIOD = 1.0
"""Wall time between two looks for other publishers [s]."""


class ClockPublisher:
    """Publishes ``/clock``, unless a node whose full name comes first in the alphabet does.

    So two simulators in a domain have one clock, and the other one goes on with it when its owner ends.

    Parameters
    ----------
    node : Node
        The node.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(Clock, TOPIC, STATE)
        self._name = node.get_fully_qualified_name()
        self._looked_at = -LOOKING_PERIOD
        self._is_owner = True

    def publish(self, stamp_ns: int) -> None:
        """Publish a time [ns], if this node owns the clock."""
        now = time.monotonic()
        if now - self._looked_at >= LOOKING_PERIOD:
            self._looked_at = now
            self._look()
        if self._is_owner:
            self._publisher.publish(Clock(clock=ros.time(stamp_ns)))

    def _look(self) -> None:
        """Find the owner of the clock."""
        owner = self._name
        if self._node.count_publishers(TOPIC) > 1:
            owner = min([self._name, *full_names(self._node, TOPIC)])
        if self._is_owner and owner != self._name:
            self._node.get_logger().info(f"{TOPIC} is left to {owner}")
        self._is_owner = owner == self._name
