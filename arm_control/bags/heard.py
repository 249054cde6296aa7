"""What messages ask of a controller, as its node would take them."""

from __future__ import annotations

from typing import Any

from arm_control.controllers.proximity import Obstacle
from arm_control.exceptions import ArmControlError, InputError
from arm_control.laws import JointOrder
from arm_control.markers import ObstacleBook
from arm_control.messages import (
    acting_stamp,
    link_of,
    pose_from_message,
    pose_points_from_message,
    waypoints_from_message,
)
from arm_control.model import RobotModel
from arm_control.pose_following import PoseMotion
from arm_control.reference import Target
from arm_control.spatial import Array, Pose

ORDERS = ("target_pose", "pose_trajectory", "joint_trajectory", "target_joint")
"""Topics that ask something of a controller."""


def order_of(topic: str, message: Any, model: RobotModel, now_ns: int) -> Target | PoseMotion | JointOrder:
    """Return what a message on one of :data:`ORDERS` asks for, heard at the state with stamp ``now_ns`` [ns].

    Raises
    ------
    ArmControlError
        When a node would refuse it.
    """
    stamp_ns = acting_stamp(message.header.stamp, now_ns)
    if topic == "target_joint":
        return JointOrder(stamp_ns, model.in_joint_order(message.name, message.position))
    if topic == "joint_trajectory":
        return JointOrder(stamp_ns, waypoints_from_message(model, message))
    frame = link_of(message.header.frame_id, model)
    if topic == "target_pose":
        return Target(stamp_ns, frame, pose_from_message(message))
    return PoseMotion(stamp_ns, frame, pose_points_from_message(message, model.tip))


class HeardObstacles:
    """Obstacles from messages, with the arm where it was in the newest state.

    Parameters
    ----------
    model : RobotModel
        The arm.
    """

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._state: tuple[int, Array] | None = None
        self._book = ObstacleBook(self._pose_of)

    def at(self, stamp_ns: int, q: Array) -> list[Obstacle]:
        """What is there in a state: its stamp [ns] and positions (nv,) [rad or m]."""
        self._state = stamp_ns, q
        return self._book.obstacles(stamp_ns)

    def take(self, message: Any) -> list[ArmControlError]:
        """Take an array of markers; return what is wrong with those that are left out."""
        return self._book.take(message, self._state[0] if self._state is not None else 0)

    def restart(self, stamp_ns: int) -> None:
        """Time has started over, with this stamp [ns]."""
        self._book.restart(stamp_ns)

    def _pose_of(self, frame: str) -> Pose:
        """Pose of a link in the newest state; an empty name is the base."""
        frame = link_of(frame, self._model)
        if self._state is None:
            if frame == self._model.base:
                return self._model.pose([0.0] * self._model.nq, frame)
            raise InputError(f"no state yet, so link '{frame}' is nowhere")
        return self._model.pose(self._state[1], frame)
