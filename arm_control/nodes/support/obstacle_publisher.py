"""The obstacles of a scenario as markers on ``obstacles``, by :mod:`arm_control.simulation.obstacle_schedule`.

When another publisher sends a marker with the namespace and number of an obstacle, it has moved that obstacle: from
then on the obstacle is left to it.
"""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.control import ArmNodeParameters
from arm_control.messages import nanoseconds, publisher_of
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.obstacle_subscription import subscribe_to_markers
from arm_control.nodes.support.qos import EVENTS, STATE
from arm_control.simulation import NAMESPACE, ObstacleSchedule, World

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
