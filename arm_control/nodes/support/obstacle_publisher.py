"""The obstacles of a scenario as markers on ``obstacles``, by :mod:`arm_control.simulation.obstacle_schedule`.

An obstacle that somebody else tells of, under its name here, is theirs from then on: they have moved it.
"""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.messages.fields import nanoseconds
from arm_control.nodes.support.arm_node import EVENTS, STATE, ArmNode
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.publisher_lock import publisher_of
from arm_control.simulation import obstacle_schedule as scenery
from arm_control.simulation.world import World

BEFORE = 0.1
"""Until the first state comes, what is around at time 0 is told at this period of the steady clock [s]."""
GID = 16
"""Bytes of a publisher's name in the middleware; some versions add zeros."""


class Scenery:
    """Publishes a world's obstacles for a node that knows its robot.

    Parameters
    ----------
    node : ArmNode
        Its robot's base is the frame of the markers.
    world : World
        The obstacles.
    lead : float
        How far ahead of the newest state is told [s].
    """

    def __init__(self, node: ArmNode, world: World, lead: float) -> None:
        self._node, self._scenery = node, scenery.Scenery(world, lead)
        self._theirs: set[int] = set()
        self._markers = node.create_publisher(MarkerArray, "obstacles", EVENTS)
        node.control_path.subscribe(MarkerArray, "obstacles", self._on_obstacles, EVENTS)
        node.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
        self._before = node.create_timer(BEFORE, lambda: self._tell(0), clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_state(self, message: JointState, _: dict[str, Any]) -> None:
        self._before.cancel()
        self._tell(nanoseconds(message.header.stamp))

    def _tell(self, stamp_ns: int) -> None:
        """Tell what is due in a state with this stamp [ns]."""
        for time_ns, told in self._scenery.due(stamp_ns):
            ours = [entry for entry in told if entry.number not in self._theirs]
            self._markers.publish(ros.markers(ours, self._node.model.base, time_ns))

    def _on_obstacles(self, message: MarkerArray, info: dict[str, Any]) -> None:
        """Leave to others what they have moved."""
        publisher = publisher_of(info)[:GID]
        if publisher and publisher not in self._own_gids():
            named = [m for m in message.markers if m.ns == scenery.NAMESPACE and m.action != Marker.DELETEALL]
            self._hand_over([marker for marker in named if marker.id not in self._theirs])

    def _hand_over(self, moved: list[Marker]) -> None:
        """Repeat their first word as our last one, acting at once, so that nothing we foresaw still comes."""
        self._theirs |= {marker.id for marker in moved}
        for marker in moved:
            marker.header.stamp = ros.time(0)
        if moved:
            self._markers.publish(MarkerArray(markers=moved))

    def _own_gids(self) -> set[bytes]:
        """How the middleware names this node's publisher."""
        own = self._node.get_name(), self._node.get_namespace()
        found = self._node.get_publishers_info_by_topic(self._markers.topic_name)
        return {bytes(one.endpoint_gid)[:GID] for one in found if (one.node_name, one.node_namespace) == own}
