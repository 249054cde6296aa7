"""Goals from topics: each message once, from the stamp on that it acts from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from trajectory_msgs.msg import MultiDOFJointTrajectory

from arm_control.control import ArmNodeParameters
from arm_control.exceptions import ArmControlError
from arm_control.messages import WRENCH_GOAL, pose_goal_of, publisher_of, twist_jog_of, wrench_goal_of
from arm_control.motion import PoseFollower, WrenchGoal
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.topics import EVENTS, LATCHED_EVENTS, LATEST


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


class GoalSubscription:
    """Goals of a node from some topics, latched or not.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes, and counts what is refused; its robot is known.
    topics : mapping of str to type
        The topics, and the types of their messages.
    add : callable
        Called with topic and message; adds the goal.
    on_message : callable
        Called after each message.
    """

    def __init__(
        self,
        node: ArmNode[ArmNodeParameters],
        topics: Mapping[str, Any],
        add: Callable[[str, Any], None],
        on_message: Callable[[], None],
    ) -> None:
        self._node = node
        self._add = add
        self._on_message = on_message
        self._duplicates = DuplicateFilter()
        for qos in (EVENTS, LATCHED_EVENTS):
            for topic, message_type in topics.items():
                node.control_path.subscribe(message_type, topic, partial(self._take, topic), qos)

    def _take(self, topic: str, message: Any, info: dict[str, Any]) -> None:
        if self._duplicates.is_duplicate(info):
            return
        message.header.frame_id = self._node.link(message.header.frame_id)
        try:
            self._add(topic, message)
        except ArmControlError as error:
            self._node.rejections.add(topic, error)
        self._on_message()


def subscribe_to_jogs(
    node: ArmNode[ArmNodeParameters], message_type: Any, topic: str, add: Callable[[str, Any], None]
) -> None:
    """Subscribe to velocities, of which only the newest counts.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes, and counts what is refused; its robot is known.
    message_type : type
        Type of the messages.
    topic : str
        The topic.
    add : callable
        Called with topic and message; adds the velocity.
    """

    def take(message: Any, info: dict[str, Any]) -> None:
        message.header.frame_id = node.link(message.header.frame_id)
        _count_refused(node, topic, add, message, info)

    node.control_path.subscribe(message_type, topic, take, LATEST)


def subscribe_to_modulations(
    node: ArmNode[ArmNodeParameters], message_type: Any, topic: str, add: Callable[[str, Any], None]
) -> None:
    """Subscribe to values without a stamp; the arguments are those of :func:`subscribe_to_jogs`."""
    node.control_path.subscribe(message_type, topic, partial(_count_refused, node, topic, add), EVENTS)


def _count_refused(
    node: ArmNode[ArmNodeParameters], topic: str, add: Callable[[str, Any], None], message: Any, _: dict[str, Any]
) -> None:
    try:
        add(topic, message)
    except ArmControlError as error:
        node.rejections.add(topic, error)


class PoseGoals:
    """Goals of a node's end effector: ``target_pose``, ``pose_trajectory``, ``target_twist``, ``target_wrench``.

    Parameters
    ----------
    node : ArmNode
        The node that subscribes, and counts what is refused; its robot is known.
    now_ns : callable
        Returns the stamp of the node's newest state [ns].
    on_message : callable
        Called after each message.
    motions : bool
        Whether motions are goals, too.
    jogs : bool
        Whether velocities are goals, too.
    press : callable, optional
        Called with a wrench from ``target_wrench``; without one they are no goals.

    Attributes
    ----------
    follower : PoseFollower
        It has the goals.
    """

    def __init__(
        self,
        node: ArmNode[ArmNodeParameters],
        now_ns: Callable[[], int],
        on_message: Callable[[], None] = lambda: None,
        *,
        motions: bool = True,
        jogs: bool = False,
        press: Callable[[WrenchGoal], None] | None = None,
    ) -> None:
        self._press, self._n_wrenches = press, 0
        self._node = node
        self._now_ns = now_ns
        self.follower = PoseFollower(node.model)
        topics = {"target_pose": PoseStamped, **({"pose_trajectory": MultiDOFJointTrajectory} if motions else {})}
        topics |= {WRENCH_GOAL: WrenchStamped} if press is not None else {}
        GoalSubscription(node, topics, self._add, on_message)
        if jogs:
            subscribe_to_jogs(node, TwistStamped, "target_twist", self._add_jog)

    def __len__(self) -> int:
        """Number of goals known so far."""
        return len(self.follower.queue) + self._n_wrenches

    def on_model(self) -> None:
        """Take the node's robot anew."""
        self.follower.model = self._node.model

    def _add(self, topic: str, message: Any) -> None:
        """Add a goal; one with stamp 0 acts from the newest state on."""
        if self._press is not None and topic == WRENCH_GOAL:
            self._press(wrench_goal_of(message, self._node.model, self._now_ns()))
            self._n_wrenches += 1
        else:
            self.follower.add(pose_goal_of(topic, message, self._node.model, self._now_ns()))

    def _add_jog(self, _: str, message: TwistStamped) -> None:
        self.follower.add(twist_jog_of(message, self._node.model, self._now_ns()))
