"""What an arm is asked to do, as nodes hear of it: from when it acts, whether it came already, in whose frame it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
from trajectory_msgs.msg import MultiDOFJointTrajectory

from arm_control.exceptions import ArmControlError
from arm_control.messages.goal_messages import pose_goal_of
from arm_control.motion.pose_follower import PoseFollower
from arm_control.nodes.support.arm_node import EVENTS, LATCHED_EVENTS, ArmNode
from arm_control.nodes.support.publisher_lock import publisher_of


class Heard:
    """Which messages came already: a latched one is heard by two subscriptions."""

    def __init__(self) -> None:
        self._written: deque[tuple[bytes, int]] = deque(maxlen=2000)

    def before(self, info: dict[str, Any]) -> bool:
        """Whether this very message came already."""
        written = publisher_of(info), info["source_timestamp"]
        is_known = written in self._written
        self._written.append(written)
        return is_known


class GoalSubscription:
    """What is asked of a node on some topics, each message taken once: a latched one is heard by two subscriptions.

    Parameters
    ----------
    node : ArmNode
        Who listens, and counts what is refused; its robot is known.
    kinds : mapping of str to type
        The topics, and what comes there.
    add : callable
        Gets topic and message, and keeps what they ask for.
    taken : callable
        Called after each message.
    """

    def __init__(
        self, node: ArmNode, kinds: Mapping[str, Any], add: Callable[[str, Any], None], taken: Callable[[], None]
    ) -> None:
        self._node, self._add, self._taken, self._heard = node, add, taken, Heard()
        for qos in (EVENTS, LATCHED_EVENTS):
            for topic, kind in kinds.items():
                node.control_path.subscribe(kind, topic, partial(self._take, topic), qos)

    def _take(self, topic: str, message: Any, info: dict[str, Any]) -> None:
        if self._heard.before(info):
            return
        try:
            self._add(topic, message)
        except ArmControlError as error:
            self._node.rejections.add(topic, error)
        self._taken()


class PoseGoals:
    """Targets of a node's end effector from ``target_pose``, and motions from ``pose_trajectory``.

    Parameters
    ----------
    node : ArmNode
        Who listens, and counts what is refused; its robot is known.
    now_ns : callable
        Stamp of the node's newest state [ns].
    taken : callable
        Called after each message.
    motions : bool
        Whether motions are listened to.

    Attributes
    ----------
    follower : PoseFollower
        What became of them.
    """

    def __init__(
        self,
        node: ArmNode,
        now_ns: Callable[[], int],
        taken: Callable[[], None] = lambda: None,
        *,
        motions: bool = True,
    ) -> None:
        self._node, self._now_ns = node, now_ns
        self.follower = PoseFollower(node.model)
        kinds = {"target_pose": PoseStamped, **({"pose_trajectory": MultiDOFJointTrajectory} if motions else {})}
        GoalSubscription(node, kinds, self._add, taken)

    def __len__(self) -> int:
        """Targets and motions known so far."""
        return len(self.follower.queue)

    def on_model(self) -> None:
        """The node's robot is another one now."""
        self.follower.model = self._node.model

    def _add(self, topic: str, message: Any) -> None:
        """The time of a message with stamp 0 counts from when it was heard."""
        self.follower.queue.add(pose_goal_of(topic, message, self._node.model, self._now_ns()))
