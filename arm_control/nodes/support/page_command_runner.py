"""What comes of wishes of the page that go further than the picture. Only a page that may control has this.

Here are all publishers of the node ``viewer``: where the sliders are, when nobody else drives the arm; a target while
it is dragged; obstacles that were added or moved. Such an obstacle is told again and again, as long as it is there:
so somebody who comes later hears of it, and one that rests has no speed. One that was added holds for ``LIFETIME`` on
the time of the states, so it does not outlive this node; in a pause, and in slow motion, that time does what the arm's
does. One of somebody else that was moved stays where it was put: it may be a real one.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.control.avoidance.proximity import Obstacle
from arm_control.core.time import NANOSECONDS
from arm_control.maths.poses import Pose
from arm_control.maths.shapes import Box, Shape, Sphere
from arm_control.messages.fields import pose_from_message
from arm_control.nodes.support.arm_node import EVENTS, STATE
from arm_control.nodes.support.conversions import ros

TARGETS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    lifespan=Duration(seconds=1.0),
)
"""Heard by those who want latched targets too; but who comes later must not follow an old one."""
LEAST = 0.05
"""Least time between two targets, and between two places of an obstacle [s]."""
AGAIN, LIFETIME = 0.5, 5.0
"""Time, of the clock or of the states, until obstacles are told again; for how long one holds that was added [s]."""
NAMESPACE = "viewer"
"""Of the obstacles that are added here."""
AWAY, APART = 0.3, 0.25
"""How far from the end effector, and at least from other obstacles, a new one is put [m]."""
NEW: dict[str, Shape] = {"ball": Sphere(0.08), "box": Box((0.15, 0.15, 0.15))}


class Wished:
    """Carries out wishes for the node ``viewer``.

    Parameters
    ----------
    node : ViewerNode
        Its robot, page and newest state.

    Attributes
    ----------
    drives : bool
        Whether this publishes ``joint_states``.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._targets = node.create_publisher(PoseStamped, "target_pose", TARGETS)
        self._obstacles = node.create_publisher(MarkerArray, "obstacles", EVENTS)
        self._joints: Any = None
        self._target: Pose | None = None
        self._own: dict[tuple[str, int], Marker] = {}
        self._moved: set[tuple[str, int]] = set()
        self._target_at = self._told_at = self._told_all_at = 0.0
        self._told_all_ns = 0
        self._number = 0

    @property
    def drives(self) -> bool:
        """Whether ``joint_states`` has a publisher here."""
        return self._joints is not None

    @property
    def tells(self) -> bool:
        """Whether there are obstacles that are told here."""
        return bool(self._own)

    def take(self, wish: Any) -> None:
        """Take a wish in; where somebody drags, only the newest place counts."""
        remote = self._node.remote
        match wish.kind:
            case "target":
                self._target = wish.value
            case "obstacle":
                self._move(wish.name, wish.value)
            case "add":
                self._add(wish.name)
            case "remove":
                self._remove()
            case "gain":
                remote.set_gain(wish.name, wish.value)
            case "speed":
                remote.set_factor(wish.value)
            case "pause":
                remote.pause(bool(wish.value))
            case "step" | "reset" | "enable":
                getattr(remote, wish.kind)()

    def publish(self) -> None:
        """Publish what is due now."""
        now = time.monotonic()
        if self._target is not None and now - self._target_at >= LEAST:
            self._targets.publish(ros.pose_stamped(self._target, self._node.model.base, 0))
            self._target, self._target_at = None, now
        seconds = abs(self._node.now_ns - self._told_all_ns) / NANOSECONDS
        if max(now - self._told_all_at, seconds) >= AGAIN:
            self._moved, self._told_all_at, self._told_all_ns = set(self._own), now, self._node.now_ns
        if self._moved and now - self._told_at >= LEAST:
            self._tell([self._own[key] for key in sorted(self._moved & set(self._own))])
            self._moved, self._told_at = set(), now
        if self._node.is_alone and not self._node.has_company():
            if self._joints is None:
                self._joints = self._node.create_publisher(JointState, "joint_states", STATE)
            self._node.publish_joints(self._joints)
        elif self._joints is not None:
            self._node.destroy_publisher(self._joints)
            self._joints = None

    # -- obstacles -------------------------------------------------------------------------------------

    def _add(self, what: str) -> None:
        """Put an obstacle beside the end effector: on the far side from the base, or around it where there is room."""
        p = self._node.model.pose(self._node.q).p
        others = [thing.X.p for thing in self._node.obstacles.things(self._node.now_ns).values()]
        others += [pose_from_message(marker).p for marker in self._own.values()]
        turns = np.arctan2(p[1], p[0]) + np.radians([0.0, 60.0, -60.0, 120.0, -120.0])
        places = [p + AWAY * np.array([np.cos(a), np.sin(a), h]) for h in (0.0, 1.0, 2.0) for a in turns]
        room = (x for x in places if all(np.linalg.norm(x - other) >= APART for other in others))
        marker = ros.marker(Obstacle(NEW[what], Pose(np.eye(3), next(room, places[0]))))
        self._number += 1
        self._keep((NAMESPACE, self._number), marker)

    def _move(self, key: tuple[str, int], X: Pose) -> None:
        """Move an obstacle, whoever told of it; from now on it is told here."""
        known = self._node.obstacles.markers.get(key)
        marker = self._own.get(key) or (copy.deepcopy(known[0]) if known is not None else None)
        if marker is not None:
            marker.pose = ros.pose_stamped(X, "", 0).pose
            self._keep(key, marker)

    def _keep(self, key: tuple[str, int], marker: Marker) -> None:
        marker.ns, marker.id = key
        marker.header.frame_id = self._node.model.base
        marker.lifetime = ros.duration(LIFETIME if key[0] == NAMESPACE else 0.0)
        self._own[key] = marker
        self._moved.add(key)

    def _remove(self) -> None:
        """Take the last one away that was added here."""
        added = [key for key in self._own if key[0] == NAMESPACE]
        if not added:
            self._node.page.panel.say("nothing was added here", True)
            return
        marker = self._own.pop(added[-1])
        marker.action = Marker.DELETE
        self._tell([marker])

    def _tell(self, markers: list[Marker]) -> None:
        for marker in markers:
            marker.header.stamp = ros.time(self._node.now_ns)
        if markers:
            self._obstacles.publish(MarkerArray(markers=markers))
