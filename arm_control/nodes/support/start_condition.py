"""The start of simulated time, once the controller knows its goals and its obstacles."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rclpy.node import Node
from std_msgs.msg import Float64

from arm_control.nodes.support.topics import LATCHED

NOTICE_PERIOD = 10.0
"""Time between two notices of what is awaited [s]."""


class AwaitedCounts:
    """Counts that the controller publishes as ``controller_state/*``, and the least that each must reach.

    A count of 0 is awaited, too: with its first one a controller says that it has its model and its law.

    Parameters
    ----------
    node : Node
        The subscriber.
    least : mapping of str to int
        Awaited number by name, such as ``targets`` and ``obstacles``.

    Attributes
    ----------
    missing : dict of str to int
        Those that are not reached yet.
    """

    def __init__(self, node: Node, least: Mapping[str, int]) -> None:
        self._node = node
        self._noticed_at = time.monotonic()
        self.missing = dict(least)
        for name in least:
            self._await(name)

    def _await(self, name: str) -> None:
        def on_count(message: Float64) -> None:
            if name in self.missing and message.data >= self.missing[name]:
                del self.missing[name]

        self._node.create_subscription(Float64, f"controller_state/{name}", on_count, LATCHED)

    def say_what_is_missing(self) -> None:
        """Log what is awaited, if it is time to."""
        now = time.monotonic()
        if self.missing and now - self._noticed_at >= NOTICE_PERIOD:
            self._noticed_at = now
            awaited = ", ".join(f"{name} (at least {least})" for name, least in self.missing.items())
            self._node.get_logger().warning(f"waiting for a controller that knows its {awaited}")
