"""What a node hears: joint states, goals, obstacles; what it refuses is counted.

Goals: each message counts once, from the stamp on that it acts from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from arm_control.control import ArmNodeParameters, Measurement
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Obstacle
from arm_control.messages import (
    JointStateFields,
    JointStateReader,
    ObstacleTracker,
    Refused,
    check_serialized_size,
    pose_goal_of,
    publisher_of,
)
from arm_control.motion import PoseFollower
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.message_bytes import joint_state_reader
from arm_control.nodes.support.polling import poll, polled_subscription
from arm_control.nodes.support.topics import EVENTS, LATCHED, LATCHED_EVENTS, STATE

Add = Callable[[str, Any], None]
"""Takes a topic and a message, and adds the goal; what it refuses is counted."""


def subscribe_to_joint_states(
    node: ArmNode[ArmNodeParameters],
    topic: str,
    callback: Callable[[JointStateFields, dict[str, Any]], None],
    qos: QoSProfile = STATE,
) -> None:
    """Subscribe to a topic of ``JointState``; bytes that are none are refused and counted."""
    read = joint_state_reader()

    def on_data(data: bytes, info: dict[str, Any]) -> None:
        try:
            message = read(data)
        except InputError as error:
            node.rejections.add(topic, error)
        else:
            callback(message, info)

    node.control_path.subscribe(JointState, topic, on_data, qos, raw=True)


class WatchedStates:
    """Joint states of a node that only watches the arm.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes, and counts what is refused; its robot is known.
    take : callable
        Called with each state that is measured.
    rate : float, optional
        Looks at the newest state per second [Hz]; 0: each state is taken at once. By default the node looks itself.

    Attributes
    ----------
    newest : Measurement or None
        The newest state of the robot; None before the first.
    """

    def __init__(
        self, node: ArmNode[ArmNodeParameters], take: Callable[[Measurement], None], rate: float | None = None
    ) -> None:
        self._node, self._take = node, take
        self._begin()
        node.at_model.append(self._begin)
        if rate == 0.0:
            node.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)
            return
        self._subscription = polled_subscription(node, JointState, "joint_states", STATE)
        if rate is not None:
            node.control_path.every(1.0 / rate, self.look)

    def _begin(self) -> None:
        self._reader = JointStateReader(self._node.model, max_age=0.0)
        self.newest: Measurement | None = None

    @property
    def now_ns(self) -> int:
        """Stamp of the newest state [ns]; 0 before the first."""
        return 0 if self.newest is None else self.newest.stamp_ns

    def look(self) -> None:
        """Take the newest state, where there is a new one."""
        for message, info in poll(self._subscription):
            self._on_state(message, info)

    def _on_state(self, message: JointState, info: dict[str, Any]) -> None:
        reading = self._reader.read(message, info)
        if isinstance(reading, Refused):
            self._node.rejections.add("joint_states", reading.error)
        elif isinstance(reading, Measurement):
            self.newest = reading
            self._take(reading)


class DuplicateFilter:
    """Notices messages that came already: two subscriptions receive a latched one."""

    def __init__(self) -> None:
        self._recent: deque[tuple[bytes, int]] = deque(maxlen=2000)

    def is_duplicate(self, info: dict[str, Any]) -> bool:
        """Return whether this very message came already; ``info`` is that of the middleware."""
        message = publisher_of(info), info["source_timestamp"]
        is_known = message in self._recent
        self._recent.append(message)
        return is_known


def subscribe_to_goals(
    node: ArmNode[ArmNodeParameters],
    topics: Mapping[str, Any],
    add: Add,
    on_message: Callable[[], None] = lambda: None,
) -> None:
    """Subscribe to goals, latched or not, of a node whose robot is known."""
    duplicates = DuplicateFilter()

    def take(topic: str, message: Any, info: dict[str, Any]) -> None:
        if not duplicates.is_duplicate(info):
            _take(node, topic, add, message, info)
            on_message()

    for qos in (EVENTS, LATCHED_EVENTS):
        for topic, message_type in topics.items():
            node.control_path.subscribe(message_type, topic, partial(take, topic), qos)


def subscribe_to_values(
    node: ArmNode[ArmNodeParameters], message_type: Any, topic: str, add: Add, qos: QoSProfile
) -> None:
    """Subscribe to velocities, or to numbers without a stamp, of a node whose robot is known."""
    node.control_path.subscribe(message_type, topic, partial(_take, node, topic, add), qos)


def _take(node: ArmNode[ArmNodeParameters], topic: str, add: Add, message: Any, _: dict[str, Any]) -> None:
    if hasattr(message, "header"):
        message.header.frame_id = node.link(message.header.frame_id)
    try:
        add(topic, message)
    except ArmControlError as error:
        node.rejections.add(topic, error)


def pose_goals_of(node: ArmNode[ArmNodeParameters], now_ns: Callable[[], int]) -> PoseFollower:
    """Subscribe to goals of the end effector for a node that shows them, whose robot is known; return what has them.

    A goal with stamp 0 acts from the newest state on, whose stamp ``now_ns`` returns [ns].
    """
    follower = PoseFollower(node.model)
    node.at_model.append(lambda: setattr(follower, "model", node.model))

    def add(topic: str, message: Any) -> None:
        follower.add(pose_goal_of(topic, message, node.model, now_ns()))

    subscribe_to_goals(node, {"target_pose": PoseStamped, "pose_trajectory": MultiDOFJointTrajectory}, add)
    return follower


def subscribe_to_markers(
    node: ArmNode[ArmNodeParameters], callback: Callable[[MarkerArray, dict[str, Any]], None]
) -> None:
    """Subscribe to ``obstacles``; a message that takes too long to read is refused before it is read."""

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
    """Obstacles for a node whose robot is known; a run waits for their count, ``controller_state/obstacles``.

    Attributes
    ----------
    newest_state : callable or None
        Returns the newest state, where :meth:`on_measurement` and :meth:`at` do not learn of all of them.
    """

    newest_state: Callable[[], Measurement | None] | None = None

    def __init__(self, node: ArmNode[ArmNodeParameters], *, is_counted: bool = False) -> None:
        self._node = node
        self._tracker = ObstacleTracker(node.model)
        node.at_model.append(lambda: self._tracker.set_model(node.model))
        self._count = node.create_publisher(Float64, "controller_state/obstacles", LATCHED) if is_counted else None
        self._published = -1
        subscribe_to_markers(node, self._on_obstacles)

    def on_measurement(self, measurement: Measurement) -> None:
        """Take the newest state: markers may be in the frame of a link, and time may have started over."""
        if measurement.is_restart:
            self._tracker.restart(measurement.stamp_ns)
        self._tracker.set_state(measurement.stamp_ns, measurement.q)

    def newest(self, measurement: Measurement) -> list[Obstacle]:
        """Return the obstacles in the state that :meth:`on_measurement` took last."""
        return self._tracker.obstacles(measurement.stamp_ns, measurement.q)

    def until_ns(self) -> float:
        """First stamp from which on other obstacles may be there than :meth:`newest` or :meth:`at` returned [ns]."""
        return self._tracker.until_ns

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
        if self.newest_state is not None and (newest := self.newest_state()) is not None:
            self._tracker.set_state(newest.stamp_ns, newest.q)
        for error in self._tracker.update(message):
            self._node.rejections.add("obstacles", error)
        if self._count is not None and self._published != self._tracker.n_obstacles:
            self._published = self._tracker.n_obstacles
            self._count.publish(Float64(data=float(self._published)))
