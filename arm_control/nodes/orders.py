"""What an arm is asked to do, as nodes hear of it: from when it acts, whether it came already, in whose frame it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped
from trajectory_msgs.msg import MultiDOFJointTrajectory

from arm_control.exceptions import ArmControlError
from arm_control.nodes.base import EVENTS, LATCHED_EVENTS, ArmNode
from arm_control.nodes.states import publisher_of
from arm_control.orders import pose_order_of
from arm_control.pose_following import PoseFollower


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


class PoseOrders:
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
        self._node, self._now_ns, self._taken, self._heard = node, now_ns, taken, Heard()
        self.follower = PoseFollower(node.model)
        for qos in (EVENTS, LATCHED_EVENTS):
            node.control_path.subscribe(PoseStamped, "target_pose", self._on_target, qos)
            if motions:
                node.control_path.subscribe(MultiDOFJointTrajectory, "pose_trajectory", self._on_trajectory, qos)

    def __len__(self) -> int:
        """Targets and motions known so far."""
        return len(self.follower.queue)

    def on_model(self) -> None:
        """The node's robot is another one now."""
        self.follower.model = self._node.model

    def _on_target(self, message: PoseStamped, info: dict[str, Any]) -> None:
        self._take("target_pose", message, info)

    def _on_trajectory(self, message: MultiDOFJointTrajectory, info: dict[str, Any]) -> None:
        self._take("pose_trajectory", message, info)

    def _take(self, topic: str, message: Any, info: dict[str, Any]) -> None:
        """Take a message in, once: the time of one with stamp 0 counts from when it was heard."""
        if self._heard.before(info):
            return
        try:
            self.follower.queue.add(pose_order_of(topic, message, self._node.model, self._now_ns()))
        except ArmControlError as error:
            self._node.rejections.add(topic, error)
        self._taken()
