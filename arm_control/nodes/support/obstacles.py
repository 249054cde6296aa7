"""Obstacles on the topic ``obstacles``: those that a node hears, and those of a scenario.

A scenario's obstacles are published by :mod:`arm_control.simulation.obstacle_schedule`. When another publisher sends a
marker with the namespace and number of one of them, it has moved that obstacle: from then on it is left to that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.control import ArmNodeParameters, Avoidance, Measurement
from arm_control.exceptions import InputError
from arm_control.maths import Obstacle
from arm_control.messages import ObstacleTracker, check_serialized_size, nanoseconds, publisher_of
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.topics import EVENTS, LATCHED, STATE, ros
from arm_control.simulation import NAMESPACE, ObstacleSchedule, World


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
    is_counted : bool
        Whether their number goes to ``controller_state/obstacles``: a run waits for that before it starts.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters], *, is_counted: bool = False) -> None:
        self._node = node
        self._tracker = ObstacleTracker(node.model)
        self._count = node.create_publisher(Float64, "controller_state/obstacles", LATCHED) if is_counted else None
        self._published = -1
        subscribe_to_markers(node, self._on_obstacles)

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

    def _on_obstacles(self, message: MarkerArray, _: dict[str, Any]) -> None:
        if self._node.parameters.frame_prefix:
            for marker in message.markers:
                marker.header.frame_id = self._node.link(marker.header.frame_id)
        for error in self._tracker.update(message):
            self._node.rejections.add("obstacles", error)
        if self._count is not None and self._published != self._tracker.n_obstacles:
            self._published = self._tracker.n_obstacles
            self._count.publish(Float64(data=float(self._published)))


def warn_about_capsules(node: ArmNode[ArmNodeParameters], avoidance: Avoidance) -> None:
    """Log what the capsules of a node's robot lack."""
    for note in avoidance.proximity.notes:
        node.get_logger().warning(note)


START_PERIOD = 0.1
"""Period, on the steady clock, of the obstacles at time 0 before the first state comes [s]."""
GID_BYTES = 16
"""Bytes of a publisher's identifier in the middleware; some versions append zeros."""


class ObstaclePublisher:
    """Publishes a world's obstacles for a node that knows its robot.

    Parameters
    ----------
    node : ArmNode
        The node; the base of its robot is the frame of the markers.
    world : World
        The obstacles.
    lead : float
        Time by which updates are ahead of the newest state [s].
    """

    def __init__(self, node: ArmNode[ArmNodeParameters], world: World, lead: float) -> None:
        self._node = node
        self._schedule = ObstacleSchedule(world, lead)
        self._handed_over: set[int] = set()
        self._markers = node.create_publisher(MarkerArray, "obstacles", EVENTS)
        subscribe_to_markers(node, self._on_obstacles)
        node.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._start_timer = node.create_timer(START_PERIOD, lambda: self._publish(0), clock=steady)

    def _on_state(self, message: JointState, _: dict[str, Any]) -> None:
        self._start_timer.cancel()
        self._publish(nanoseconds(message.header.stamp))

    def _publish(self, stamp_ns: int) -> None:
        """Publish the updates for a state with this stamp [ns]."""
        for time_ns, updates in self._schedule.updates(stamp_ns):
            own = [update for update in updates if update.number not in self._handed_over]
            self._markers.publish(ros.markers(own, self._node.frame(self._node.model.base), time_ns))

    def _on_obstacles(self, message: MarkerArray, info: dict[str, Any]) -> None:
        """Hand over the obstacles that another publisher has moved."""
        publisher = publisher_of(info)[:GID_BYTES]
        if publisher and publisher not in self._own_identifiers():
            named = [m for m in message.markers if m.ns == NAMESPACE and m.action != Marker.DELETEALL]
            self._hand_over([marker for marker in named if marker.id not in self._handed_over])

    def _hand_over(self, moved: list[Marker]) -> None:
        """Publish the other publisher's markers again with stamp 0.

        They act at once and cancel the poses that this node has sent ahead of time.
        """
        self._handed_over |= {marker.id for marker in moved}
        for marker in moved:
            marker.header.stamp = ros.time(0)
        if moved:
            self._markers.publish(MarkerArray(markers=moved))

    def _own_identifiers(self) -> set[bytes]:
        """Return the middleware's identifiers of this node's publishers on the topic."""
        own = self._node.get_name(), self._node.get_namespace()
        publishers = self._node.get_publishers_info_by_topic(self._markers.topic_name)
        return {bytes(p.endpoint_gid)[:GID_BYTES] for p in publishers if (p.node_name, p.node_namespace) == own}
