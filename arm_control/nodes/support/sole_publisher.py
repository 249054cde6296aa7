"""Other publishers on the topics of a driver."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from rclpy.publisher import Publisher

UNKNOWN = "_NODE_NAME_UNKNOWN_"
"""Name of a node of which the middleware knows a publisher already, and nothing else."""
LOOKING_PERIOD = 0.25
"""Time between two looks for other publishers [s]."""


class SolePublisher:
    """Finds publishers on topics on which one node alone must publish.

    Parameters
    ----------
    node : Node
        The node.
    publishers : sequence of Publisher
        Its publishers, one for each topic.
    """

    def __init__(self, node: Node, publishers: Sequence[Publisher]) -> None:
        self._node = node
        self._topics = [publisher.topic_name for publisher in publishers]

    def rivals(self) -> str:
        """Return which topic other nodes publish, too, and who; empty where there is none."""
        for topic in self._topics:
            if self._node.count_publishers(topic) > 1:
                return f"{topic} has other publishers than this gate: {self._names(topic)}"
        return ""

    def _names(self, topic: str) -> str:
        """The nodes that publish a topic, but for this one; a second one of its name counts."""
        own = self._node.get_fully_qualified_name()
        names = full_names(self._node, topic)
        if own in names:
            names.remove(own)
        return ", ".join(names) or "one that is not known yet"


def full_names(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, as far as they are known by now, sorted.

    Parameters
    ----------
    node : Node
        The node that looks.
    topic : str
        The topic.
    """
    publishers = node.get_publishers_info_by_topic(topic)
    known = [one for one in publishers if one.node_name != UNKNOWN]
    return sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in known)
