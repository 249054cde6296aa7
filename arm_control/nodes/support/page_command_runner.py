"""Carries out the page's commands that affect other nodes: targets, obstacles, gains. Only for a page with control.

All publishers of the node ``viewer`` are here: the joint states of the sliders, when no other node drives the arm; the
target while it is dragged; obstacles that were added or moved. Such an obstacle is published repeatedly while it
exists, so that late subscribers receive it and one at rest has no speed. An added obstacle has a lifetime of
``LIFETIME`` on the time of the states and therefore does not outlive this node; a pause and slow motion affect this
time as they affect the arm's. A moved obstacle of another node has no lifetime: it may be a real one.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.core import NANOSECONDS
from arm_control.maths import Array, Box, Obstacle, Pose, Shape, Sphere
from arm_control.messages import pose_from_message
from arm_control.model import RobotModel
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.qos import EVENTS, STATE, TARGETS
from arm_control.nodes.support.service_clients import ServiceClients
from arm_control.viewer import MarkerStore, PageCommand

MIN_PERIOD = 0.05
"""Least time between two targets, and between two poses of an obstacle [s]."""
REPEAT_PERIOD = 0.5
"""Period of the own obstacles, on the clock or on the time of the states, whichever is earlier [s]."""
LIFETIME = 5.0
"""Lifetime of an added obstacle, on the time of the states [s]."""
NAMESPACE = "viewer"
"""Namespace of the added obstacles."""
EFFECTOR_DISTANCE = 0.3
"""Distance of a new obstacle from the end effector [m]."""
OBSTACLE_DISTANCE = 0.25
"""Least distance of a new obstacle from the others [m]."""
NEW_SHAPES: dict[str, Shape] = {"ball": Sphere(0.08), "box": Box((0.15, 0.15, 0.15))}


class PageNode(Protocol):
    """What a command may need of the node ``viewer``: its robot, the newest state, its publishers."""

    model: RobotModel
    q: Array
    now_ns: int

    @property
    def is_alone(self) -> bool:
        """Whether no other node drives the arm, for a while."""

    def frame(self, link: str) -> str:
        """Return the name of a link's frame in messages."""

    def has_company(self) -> bool:
        """Return whether another node drives the arm now."""

    def publish_joints(self, publisher: Any) -> None:
        """Publish the joint positions of the sliders."""

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any) -> Any:
        """As a node of rclpy."""

    def destroy_publisher(self, publisher: Any) -> Any:
        """As a node of rclpy."""


class PageCommandRunner:
    """Carries out commands for the node ``viewer``.

    Parameters
    ----------
    node : PageNode
        The node ``viewer``.
    clients : ServiceClients
        The controller and the simulator.
    obstacles : MarkerStore
        Obstacles of all publishers.
    notify : callable
        Takes a message for the user, and whether it is an error.
    """

    def __init__(
        self, node: PageNode, clients: ServiceClients, obstacles: MarkerStore, notify: Callable[[str, bool], None]
    ) -> None:
        self._node = node
        self._clients = clients
        self._obstacles = obstacles
        self._notify = notify
        self._target_publisher = node.create_publisher(PoseStamped, "target_pose", TARGETS)
        self._obstacle_publisher = node.create_publisher(MarkerArray, "obstacles", EVENTS)
        self._joint_publisher: Any = None
        self._target: Pose | None = None
        self._own_obstacles: dict[tuple[str, int], Marker] = {}
        self._changed: set[tuple[str, int]] = set()
        self._target_time = 0.0
        self._obstacle_time = 0.0
        self._repeat_time = 0.0
        self._repeat_stamp_ns = 0
        self._n_added = 0

    @property
    def publishes_joint_states(self) -> bool:
        """Whether this is the publisher of ``joint_states``."""
        return self._joint_publisher is not None

    @property
    def has_obstacles(self) -> bool:
        """Whether obstacles are published here."""
        return bool(self._own_obstacles)

    def run(self, command: PageCommand) -> None:
        """Carry out a command, now or at the next :meth:`publish`; of a drag only the newest pose is published."""
        match command.type:
            case "target":
                self._target = command.value
            case "obstacle":
                self._move_obstacle(command.name, command.value)
            case "add":
                self._add_obstacle(command.name)
            case "remove":
                self._remove_obstacle()
            case "gain":
                self._clients.set_gain(command.name, command.value)
            case "speed":
                self._clients.set_factor(command.value)
            case "pause":
                self._clients.pause(bool(command.value))
            case "step":
                self._clients.step()
            case "reset":
                self._clients.reset()
            case "enable":
                self._clients.enable()

    def publish(self) -> None:
        """Publish what is due now."""
        now = time.monotonic()
        if self._target is not None and now - self._target_time >= MIN_PERIOD:
            base = self._node.frame(self._node.model.base)
            self._target_publisher.publish(ros.pose_stamped(self._target, base, 0))
            self._target = None
            self._target_time = now
        self._publish_due_obstacles(now)
        self._publish_joint_states()

    def _publish_due_obstacles(self, now: float) -> None:
        """Publish changed obstacles, and all of them each :data:`REPEAT_PERIOD`; ``now`` is a steady time [s]."""
        simulated_time = abs(self._node.now_ns - self._repeat_stamp_ns) / NANOSECONDS
        if max(now - self._repeat_time, simulated_time) >= REPEAT_PERIOD:
            self._changed = set(self._own_obstacles)
            self._repeat_time = now
            self._repeat_stamp_ns = self._node.now_ns
        if self._changed and now - self._obstacle_time >= MIN_PERIOD:
            keys = sorted(self._changed & set(self._own_obstacles))
            self._publish_markers([self._own_obstacles[key] for key in keys])
            self._changed = set()
            self._obstacle_time = now

    def _publish_joint_states(self) -> None:
        """Publish the joint states of the sliders while no other node drives the arm."""
        if self._node.is_alone and not self._node.has_company():
            if self._joint_publisher is None:
                self._joint_publisher = self._node.create_publisher(JointState, "joint_states", STATE)
            self._node.publish_joints(self._joint_publisher)
        elif self._joint_publisher is not None:
            self._node.destroy_publisher(self._joint_publisher)
            self._joint_publisher = None

    # -- obstacles -------------------------------------------------------------------------------------

    def _add_obstacle(self, shape: str) -> None:
        """Add an obstacle beside the end effector: on the far side from the base, or around it where there is room."""
        p_WE = self._node.model.pose(self._node.q).p
        others = [obstacle.X.p for obstacle in self._obstacles.obstacles(self._node.now_ns).values()]
        others += [pose_from_message(marker).p for marker in self._own_obstacles.values()]
        angles = np.arctan2(p_WE[1], p_WE[0]) + np.radians([0.0, 60.0, -60.0, 120.0, -120.0])
        places = [
            p_WE + EFFECTOR_DISTANCE * np.array([np.cos(angle), np.sin(angle), height])
            for height in (0.0, 1.0, 2.0)
            for angle in angles
        ]
        free = (p for p in places if all(np.linalg.norm(p - other) >= OBSTACLE_DISTANCE for other in others))
        marker = ros.marker(Obstacle(NEW_SHAPES[shape], Pose(np.eye(3), next(free, places[0]))))
        self._n_added += 1
        self._set_obstacle((NAMESPACE, self._n_added), marker)

    def _move_obstacle(self, key: tuple[str, int], X: Pose) -> None:
        """Move an obstacle of any publisher; from now on it is published here."""
        received = self._obstacles.markers.get(key)
        marker = self._own_obstacles.get(key) or (copy.deepcopy(received[0]) if received is not None else None)
        if marker is not None:
            marker.pose = ros.pose_stamped(X, "", 0).pose
            self._set_obstacle(key, marker)

    def _set_obstacle(self, key: tuple[str, int], marker: Marker) -> None:
        marker.ns, marker.id = key
        marker.header.frame_id = self._node.frame(self._node.model.base)
        marker.lifetime = ros.duration(LIFETIME if key[0] == NAMESPACE else 0.0)
        self._own_obstacles[key] = marker
        self._changed.add(key)

    def _remove_obstacle(self) -> None:
        """Delete the obstacle that was added last."""
        added = [key for key in self._own_obstacles if key[0] == NAMESPACE]
        if not added:
            self._notify("no obstacle was added here", True)
            return
        marker = self._own_obstacles.pop(added[-1])
        marker.action = Marker.DELETE
        self._publish_markers([marker])

    def _publish_markers(self, markers: list[Marker]) -> None:
        for marker in markers:
            marker.header.stamp = ros.time(self._node.now_ns)
        if markers:
            self._obstacle_publisher.publish(MarkerArray(markers=markers))
