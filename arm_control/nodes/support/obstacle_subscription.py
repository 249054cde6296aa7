"""What is around an arm, as the nodes hear of it on ``obstacles``, and how the arm avoids it."""

from __future__ import annotations

from typing import Any

from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from arm_control.control.avoidance.avoidance_law import Avoidance, AvoidanceOutput
from arm_control.control.avoidance.proximity import Obstacle
from arm_control.messages.obstacle_tracker import HeardObstacles
from arm_control.model import Terms
from arm_control.nodes.support.arm_node import EVENTS, LATCHED, ArmNode
from arm_control.nodes.support.publisher_lock import State


class ObstacleListener:
    """Obstacles for a node that knows its robot; it listens from now on.

    Parameters
    ----------
    node : ArmNode
        Who listens, and counts what is refused.
    """

    def __init__(self, node: ArmNode) -> None:
        self._node, self._heard = node, HeardObstacles(node.model)
        node.control_path.subscribe(MarkerArray, "obstacles", self.on_obstacles, EVENTS)

    def on_model(self) -> None:
        """The node's robot is another one now."""
        self._heard.on_model(self._node.model)

    def on_state(self, state: State) -> None:
        """The newest state: markers may be in the frame of a link."""
        self._heard.on_state(state.stamp_ns, state.q)

    def restart(self, state: State) -> None:
        """Time has started over, with this state."""
        self._heard.restart(state.stamp_ns)

    def at(self, state: State) -> list[Obstacle]:
        """What is there in a state, the newest one."""
        return self._heard.at(state.stamp_ns, state.q)

    def on_obstacles(self, message: MarkerArray, _: dict[str, Any]) -> None:
        """Take what is told."""
        for error in self._heard.take(message):
            self._node.rejections.add("obstacles", error)


class Surroundings(ObstacleListener):
    """Obstacles for a node, and avoidance with the node's parameters.

    Parameters
    ----------
    node : ArmNode
        Its parameters are :class:`AvoidanceParameters` too.
    """

    def __init__(self, node: ArmNode) -> None:
        super().__init__(node)
        self._count = node.create_publisher(Float64, "controller_state/obstacles", LATCHED)
        self._told = -1
        self.on_model()

    def on_model(self) -> None:
        """Make the law for the node's robot, which may be another one now."""
        super().on_model()
        self._avoidance = Avoidance(self._node.model, self._node.parameters)
        for note in self._avoidance.proximity.notes:
            self._node.get_logger().warning(note)

    def on_parameters(self) -> None:
        """Take the node's parameters as they are now."""
        self._avoidance.parameters = self._node.parameters

    def avoid(self, state: State, terms: Terms) -> AvoidanceOutput:
        """Avoidance of what is there in a state."""
        return self._avoidance.tick(terms, self.at(state))

    def on_obstacles(self, message: MarkerArray, info: dict[str, Any]) -> None:
        """Take what is told, and tell how many are known: a run waits for that before it starts."""
        super().on_obstacles(message, info)
        if self._told != self._heard.known:
            self._told = self._heard.known
            self._count.publish(Float64(data=float(self._told)))
