"""Any topic of joints or poses as a teleoperator of LeRobot, for the robot of ``lerobot_arm.py``.

    import lerobot_arm, lerobot_topic             # registers the types "arm_control" and "arm_control_topic"

A leader arm, a tracker or a joystick publishes ``sensor_msgs/JointState`` or ``geometry_msgs/PoseStamped``; each action
is the newest one: joints by their names, a pose of the end effector by inverse kinematics from the action before.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from lerobot.teleoperators import Teleoperator, TeleoperatorConfig
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import ArmControlError
from arm_control.kinematics import InverseKinematics
from arm_control.messages import goal_of
from arm_control.motion import Target

KINDS = {"joints": "target_joint", "poses": "target_pose"}
"""Topic of a controller on which a message of this kind would be a goal."""


@TeleoperatorConfig.register_subclass("arm_control_topic")
@dataclass(kw_only=True)
class TopicTeleoperatorConfig(TeleoperatorConfig):
    """A topic, what is on it, ``joints`` or ``poses``, and the posture until its first message."""

    robot: str = "ur5"
    topic: str = "leader/joint_states"
    kind: str = "joints"
    start: list[float] = field(default_factory=lambda: [0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


class TopicTeleoperator(Teleoperator):
    """Gives the joints of the newest message.

    Attributes
    ----------
    refused : str
        Why the newest message is no action; empty where it is one.
    """

    config_class, name = TopicTeleoperatorConfig, "arm_control_topic"

    def __init__(self, config: TopicTeleoperatorConfig) -> None:
        super().__init__(config)
        self.config, self.model = config, RobotModel.from_urdf(urdf_path(config.robot))
        self._topic = KINDS[config.kind]
        self._inverse_kinematics = InverseKinematics(self.model, n_starts=1)
        self.q, self.refused = np.array(config.start), ""
        self._keys = [f"{name}.pos" for name in self.model.joint_names]
        self._thread: threading.Thread | None = None

    @property
    def action_features(self) -> dict[str, type]:
        """Position of each joint [rad or m]."""
        return dict.fromkeys(self._keys, float)

    feedback_features: dict[str, type] = {}  # noqa: RUF012
    is_calibrated = True

    @property
    def is_connected(self) -> bool:
        """Whether the topic is listened to."""
        return self._thread is not None and self._thread.is_alive()

    def connect(self, calibrate: bool = True) -> None:
        """Listen to the topic, in a thread."""
        self._context = rclpy.Context()
        self._context.init()
        node = rclpy.create_node("lerobot_topic", context=self._context)
        kind = {"joints": JointState, "poses": PoseStamped}[self.config.kind]
        node.create_subscription(kind, self.config.topic, self.take, 1)
        executor, self._ends = SingleThreadedExecutor(context=self._context), threading.Event()
        executor.add_node(node)

        def spin() -> None:
            while not self._ends.is_set():
                executor.spin_once(timeout_sec=0.1)
            node.destroy_node()

        self._thread = threading.Thread(target=spin, daemon=True)
        self._thread.start()

    def take(self, message: Any) -> None:
        """Let a message be the next action, if it is one for this arm."""
        try:
            self.q, self.refused = self._joints(message), ""
        except ArmControlError as error:
            self.refused = str(error)

    def _joints(self, message: Any) -> np.ndarray:
        goal = goal_of(self._topic, message, self.model, 0)
        if not isinstance(goal, Target):
            return np.array(goal.destination)
        result = self._inverse_kinematics.solve(self.model.pose(self.q, goal.frame) @ goal.X_FT, self.q)
        if not result.converged:
            raise ArmControlError(f"the pose is not reached: {result.why}")
        return result.q

    def get_action(self) -> dict[str, float]:
        """Return the joints of the newest message."""
        return dict(zip(self._keys, self.q.tolist(), strict=True))

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """A topic feels nothing."""

    def disconnect(self) -> None:
        """Listen no more."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()
            self._context.shutdown()
        self._thread = None

    def calibrate(self) -> None:
        """Joints of a URDF need no calibration."""

    def configure(self) -> None:
        """The parameters are those of the configuration."""
