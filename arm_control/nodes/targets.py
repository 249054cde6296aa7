"""The node ``targets``: publishes the targets of a file, each with the stamp from which it acts.

Poses go to ``target_pose``, one after the other, until another node sends one: that one stays; wrenches beside them go
to ``target_wrench``. A motion of the end effector goes to ``pose_trajectory``, and a joint trajectory to
``joint_trajectory``, once; as chunks of a scripted policy, to ``joint_chunk``. Obstacles of a scenario go to
``obstacles``, as :mod:`arm_control.simulation.obstacle_schedule` says: when another publisher sends a marker with the
namespace and number of one of them, it has moved that obstacle, which from then on is left to it.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from arm_control.control import ArmNodeParameters
from arm_control.core import NANOSECONDS, parameter
from arm_control.exceptions import ParameterError
from arm_control.follow import chunks_along
from arm_control.messages import ONLY_PUBLISHER, nanoseconds, publisher_of
from arm_control.motion import Chunk, Motion, TargetList, Waypoints, load_trajectory
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.subscriptions import subscribe_to_markers
from arm_control.nodes.support.topics import EVENTS, LATCHED_EVENTS, STATE, ros
from arm_control.simulation import LEAD, NAMESPACE, ObstacleSchedule, World, planned_motion_of, scenario_in

START_PERIOD = 0.1
"""Period, on the steady clock, of the obstacles at time 0 before the first state comes [s]."""
GID_BYTES = 16
"""Bytes of a publisher's identifier in the middleware; some versions append zeros."""


@dataclass(frozen=True)
class TargetsParameters(ArmNodeParameters):
    """Parameters of the node ``targets``."""

    file: str = parameter("", "list of targets: a name below config/targets, or the path of a YAML file")
    trajectory: str = parameter(
        "", "joint trajectory instead of a list: a name below config/trajectories, or the path of a YAML file"
    )
    policy: str = parameter(
        "", "joint trajectory that a scripted policy means instead, late and irregular: as that of trajectory"
    )
    motion: str = parameter(
        "", "motion of the end effector instead: a name below config/motions, or the path of a YAML file"
    )
    world: str = parameter("", "scenario whose obstacles are published: a name or the path of its file; empty: none")
    lead: float = parameter(LEAD, "time by which obstacles are ahead of the states", unit="s", lower=0.0, upper=5.0)
    count: int = parameter(0, "number of targets to publish, with repetitions of the list; 0: without end", lower=0)


class ObstaclePublisher:
    """Publishes a world's obstacles for a node that knows its robot.

    Parameters
    ----------
    node : ArmNode
        The node; the base of its robot is the frame of the markers.
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
        self._start_timer = node.steady_timer(START_PERIOD, lambda: self._publish(0))

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
        """Return the middleware's identifiers of this node's publishers on the topic; an only publisher is its own."""
        own = self._node.get_name(), self._node.get_namespace()
        publishers = self._node.get_publishers_info_by_topic(self._markers.topic_name)
        gids = {bytes(p.endpoint_gid)[:GID_BYTES] for p in publishers if (p.node_name, p.node_namespace) == own}
        return gids | {ONLY_PUBLISHER["data"][:GID_BYTES]}


class PolicyPublisher:
    """Publishes the chunks of a scripted policy, each when it comes; they begin with the first state of a run."""

    def __init__(self, node: ArmNode[ArmNodeParameters], name: str) -> None:
        self._joints, self._points = load_trajectory(name)
        self._publisher = node.create_publisher(JointTrajectory, "joint_chunk", STATE)
        self._chunks: deque[tuple[int, Chunk]] = deque()
        self._now_ns: int | None = None
        node.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)

    def _on_state(self, message: JointState, _: dict[str, Any]) -> None:
        before, self._now_ns = self._now_ns, nanoseconds(message.header.stamp)
        if before is None or self._now_ns < before:
            positions = dict(zip(message.name, message.position, strict=False))
            q = np.array([positions[joint] for joint in self._joints])
            self._begin_ns, self._chunks = self._now_ns, deque(chunks_along(self._points, q))
        while self._chunks and self._chunks[0][0] <= self._now_ns - self._begin_ns:
            chunk = self._chunks.popleft()[1]
            points = Waypoints(np.asarray(chunk.times), np.asarray(chunk.positions))
            self._publisher.publish(ros.joint_trajectory(self._joints, points, self._begin_ns + chunk.stamp_ns))


class TargetsNode(ArmNode[TargetsParameters]):
    """Publishes targets ahead of their time, latched, so that a controller has them in time."""

    AHEAD = 5
    """Targets that are published ahead of their time."""
    CROSSING_TIME = 0.2
    """Time within which a target of another node may have crossed one of this node on the way [s]."""

    def __init__(self) -> None:
        super().__init__("targets", TargetsParameters)
        p = self.parameters
        if sum(map(bool, (p.file, p.trajectory, p.policy, p.motion))) > 1:
            raise ParameterError("file, trajectory, policy and motion: only one of them is allowed")
        if p.trajectory:
            self._publish_trajectory(*load_trajectory(p.trajectory))
        elif p.motion:
            motion = Motion.load(p.motion)
            message = ros.pose_trajectory(p.arm.tip, motion.points, motion.frame, 0)
            self.create_publisher(MultiDOFJointTrajectory, "pose_trajectory", LATCHED_EVENTS).publish(message)
        elif p.policy:
            self._policy = PolicyPublisher(self, p.policy)
        elif p.file or not p.world:
            self._publish_list()
        if p.world:
            self.find_model()

    def on_model(self, first: bool) -> None:
        """Publish the planned motion and the obstacles of the robot's world, once the first robot is known."""
        if first:
            scenario = scenario_in(self.parameters.world)
            if (planned := planned_motion_of(scenario, self.model)) is not None:
                self._publish_trajectory(self.model.joint_names, planned.points)
            self._obstacles = ObstaclePublisher(self, scenario.world, self.parameters.lead)

    def _publish_trajectory(self, joints: Sequence[str], points: Waypoints) -> None:
        publisher = self.create_publisher(JointTrajectory, "joint_trajectory", LATCHED_EVENTS)
        publisher.publish(ros.joint_trajectory(joints, points, 0))

    def _publish_list(self) -> None:
        self._list = TargetList.load(self.parameters.file)
        self._publisher = self.create_publisher(PoseStamped, "target_pose", LATCHED_EVENTS)
        self._numbers = itertools.count()
        self._own: deque[PoseStamped] = deque(maxlen=1000)
        has_wrenches = any(map(any, self._list.wrenches))
        self._wrench = self.create_publisher(WrenchStamped, "target_wrench", LATCHED_EVENTS) if has_wrenches else None
        if self.parameters.count:
            self._publish(self.parameters.count)
            return
        self.create_subscription(PoseStamped, "target_pose", self._on_target, EVENTS)
        self._publish(self.AHEAD)
        self._timer = self.steady_timer(self._list.period, lambda: self._publish(1))

    def _publish(self, count: int) -> None:
        """Publish the next targets."""
        for number in itertools.islice(self._numbers, count):
            target = self._list.targets[number % len(self._list.targets)]
            stamp_ns = round(number * self._list.period * NANOSECONDS)
            self._send(ros.pose_stamped(target, self._list.frame, stamp_ns))
            if self._wrench is not None:
                for goal in self._list.wrench_goals(1, number):
                    self._wrench.publish(ros.wrench_stamped(goal.wrench, goal.frame, goal.stamp_ns))

    def _send(self, message: PoseStamped) -> None:
        self._own.append(message)
        self._sent_at = time.monotonic()
        self._publisher.publish(message)

    def _on_target(self, message: PoseStamped) -> None:
        """End the list when another node sends a target; send that one again where it may have come too early."""
        if message in self._own or self._timer.is_canceled():
            return
        self._timer.cancel()
        self.get_logger().info("another node sends targets: the list ends here")
        if time.monotonic() - self._sent_at < self.CROSSING_TIME:
            self._send(message)
