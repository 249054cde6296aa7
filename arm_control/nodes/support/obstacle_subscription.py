"""Obstacles from the topic ``obstacles``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from arm_control.control import ArmNodeParameters, Avoidance, Measurement
from arm_control.exceptions import InputError
from arm_control.maths import Obstacle
from arm_control.messages import ObstacleTracker, check_serialized_size
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.qos import EVENTS, LATCHED


def subscribe_to_markers(
    node: ArmNode[ArmNodeParameters], callback: Callable[[MarkerArray, dict[str, Any]], None]
) -> None:
    """Subscribe to ``obstacles``; a message that takes too long to read is refused before it is read.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes, and counts what is refused.
    callback : callable
        Takes the message and its info.
    """

    def on_data(data: bytes, info: dict[str, Any]) -> None:
        try:
            check_serialized_size(data)
            message = deserialize_message(data, MarkerArray)
        except InputError as error:
            node.rejections.add("obstacles", error)
        except RuntimeError as error:  # of the middleware
            node.rejections.add("obstacles", InputError(f"not a MarkerArray: {error}"))
        else:
            callback(message, info)

    node.control_path.subscribe(MarkerArray, "obstacles", on_data, EVENTS, raw=True)


class ObstacleSubscription:
    """Obstacles for a node whose robot is known.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes, and counts what is refused.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters]) -> None:
        self._node = node
        self._tracker = ObstacleTracker(node.model)
        subscribe_to_markers(node, self.on_obstacles)

    def on_model(self) -> None:
        """Take the node's robot anew."""
        self._tracker.set_model(self._node.model)

    def on_measurement(self, measurement: Measurement) -> None:
        """Take the newest state: markers may be in the frame of a link, and time may have started over."""
        if measurement.is_restart:
            self._tracker.restart(measurement.stamp_ns)
        self._tracker.set_state(measurement.stamp_ns, measurement.q)

    def newest(self, measurement: Measurement) -> list[Obstacle]:
        """Return the obstacles in the state that :meth:`on_measurement` took last."""
        return self._tracker.obstacles(measurement.stamp_ns, measurement.q)

    @property
    def names(self) -> list[str]:
        """Namespace and number of the marker of each obstacle that :meth:`newest` or :meth:`at` returned last."""
        return self._tracker.names

    def at(self, measurement: Measurement) -> list[Obstacle]:
        """Take the newest state, and return the obstacles in it."""
        if measurement.is_restart:
            self._tracker.restart(measurement.stamp_ns)
        return self.newest(measurement)

    def on_obstacles(self, message: MarkerArray, _: dict[str, Any]) -> None:
        """Take markers."""
        if self._node.parameters.frame_prefix:
            for marker in message.markers:
                marker.header.frame_id = self._node.link(marker.header.frame_id)
        for error in self._tracker.update(message):
            self._node.rejections.add("obstacles", error)


class CountedObstacles(ObstacleSubscription):
    """The same, and their number on ``controller_state/obstacles``: a run waits for that before it starts."""

    def __init__(self, node: ArmNode[ArmNodeParameters]) -> None:
        super().__init__(node)
        self._count = node.create_publisher(Float64, "controller_state/obstacles", LATCHED)
        self._published = -1

    def on_obstacles(self, message: MarkerArray, info: dict[str, Any]) -> None:
        """Take markers, and publish the number of obstacles when it has changed."""
        super().on_obstacles(message, info)
        if self._published != self._tracker.n_obstacles:
            self._published = self._tracker.n_obstacles
            self._count.publish(Float64(data=float(self._published)))


def warn_about_capsules(node: ArmNode[ArmNodeParameters], avoidance: Avoidance) -> None:
    """Log what the capsules of a node's robot lack."""
    for note in avoidance.proximity.notes:
        node.get_logger().warning(note)
