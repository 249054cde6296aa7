"""The obstacles of a scenario as markers on ``obstacles``, on the time of the joint states.

Every ``PERIOD`` of that time each obstacle that is there is told again, with its pose of then and the state's stamp:
so somebody who comes later hears of it too, and velocities are differences over a known time. In lock step, in slow
motion and while paused the obstacles do what the arm's time does. One that is to vanish says so by its lifetime, and
is deleted when it has.
"""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.nodes.base import EVENTS, STATE, ArmNode
from arm_control.nodes.conversions import NANOSECONDS, duration_message, nanoseconds, time_message
from arm_control.nodes.markers import marker_of
from arm_control.world import World

PERIOD_NS = 20_000_000
NAMESPACE = "scenario"


class Scenery:
    """Publishes a world's obstacles for a node that knows its robot.

    Parameters
    ----------
    node : ArmNode
        Its robot's base is the frame of the markers.
    world : World
        The obstacles.
    """

    def __init__(self, node: ArmNode, world: World) -> None:
        self._node, self._world = node, world
        self._last_ns = -PERIOD_NS
        self._shown: set[int] = set()
        self._markers = node.create_publisher(MarkerArray, "obstacles", EVENTS)
        node.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)

    def _on_state(self, message: JointState, _: dict[str, Any]) -> None:
        stamp_ns = nanoseconds(message.header.stamp)
        if not self._last_ns < stamp_ns < self._last_ns + PERIOD_NS:  # a state that comes again is answered again
            self._last_ns = stamp_ns
            self._markers.publish(self.markers(stamp_ns))

    def markers(self, stamp_ns: int) -> MarkerArray:
        """Return what is to be told at a time [ns]."""
        t = stamp_ns / NANOSECONDS
        there = {i: mover for i, mover in enumerate(self._world.movers) if mover.span.holds(t)}
        markers = [self._headed(Marker(action=Marker.DELETE), i, stamp_ns) for i in sorted(self._shown - set(there))]
        for i, mover in there.items():
            marker = self._headed(marker_of(mover.at(t)), i, stamp_ns)
            if mover.span.end < float("inf"):
                marker.lifetime = duration_message(mover.span.end - t)
            markers.append(marker)
        self._shown = set(there)
        return MarkerArray(markers=markers)

    def _headed(self, marker: Marker, number: int, stamp_ns: int) -> Marker:
        marker.header.stamp, marker.header.frame_id = time_message(stamp_ns), self._node.model.base
        marker.ns, marker.id = NAMESPACE, number
        return marker
