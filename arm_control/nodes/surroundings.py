"""What is around an arm, as the nodes hear of it on ``obstacles``, and how the arm avoids it."""

from __future__ import annotations

from typing import Any

from visualization_msgs.msg import MarkerArray

from arm_control.controllers import Avoidance, AvoidanceOutput
from arm_control.controllers.proximity import Obstacle
from arm_control.exceptions import InputError
from arm_control.messages import link_of
from arm_control.model import Terms
from arm_control.nodes.base import EVENTS, ArmNode
from arm_control.nodes.markers import ObstacleBook
from arm_control.nodes.states import State
from arm_control.spatial import Pose


class HeardObstacles:
    """Obstacles for a node that knows its robot; it listens from now on.

    Parameters
    ----------
    node : ArmNode
        Who listens, and counts what is refused.

    Attributes
    ----------
    state : State or None
        The newest state: markers may be in the frame of a link.
    """

    def __init__(self, node: ArmNode) -> None:
        self._node = node
        self.state: State | None = None
        self._book = ObstacleBook(self._pose_of)
        node.control_path.subscribe(MarkerArray, "obstacles", self._on_obstacles, EVENTS)

    def on_model(self) -> None:
        """The node's robot is another one now."""
        self.state = None

    def restart(self, state: State) -> None:
        """Time has started over, with this state."""
        self._book.restart(state.stamp_ns)

    def at(self, state: State) -> list[Obstacle]:
        """What is there in a state, the newest one."""
        self.state = state
        return self._book.obstacles(state.stamp_ns)

    def _on_obstacles(self, message: MarkerArray, _: dict[str, Any]) -> None:
        for error in self._book.take(message, self.state.stamp_ns if self.state is not None else 0):
            self._node.rejections.add("obstacles", error)

    def _pose_of(self, frame: str) -> Pose:
        """Pose of a link in the newest state; an empty name is the base."""
        model = self._node.model
        frame = link_of(frame, model)
        if self.state is None:
            if frame == model.base:
                return model.pose([0.0] * model.nq, frame)
            raise InputError(f"no state yet, so link '{frame}' is nowhere: send the marker again")
        return model.pose(self.state.q, frame)


class Surroundings(HeardObstacles):
    """Obstacles for a node, and avoidance with the node's parameters.

    Parameters
    ----------
    node : ArmNode
        Its parameters are :class:`AvoidanceParameters` too.
    """

    def __init__(self, node: ArmNode) -> None:
        super().__init__(node)
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
