"""The node ``dynamics``: Jacobian, mass matrix, task inertia, pose and twist; joint positions of poses.

No standard service takes a pose and returns joint positions, so a topic asks and two topics answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from arm_control.control import ArmNodeParameters, Measurement, OscParameters, task_inertia
from arm_control.core import parameter
from arm_control.exceptions import InputError
from arm_control.kinematics import ROWS, InverseKinematics
from arm_control.messages import JointStateReader, Refused, link_of, nanoseconds, pose_from_message
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.diagnostics import OK, WARN, Diagnostics, Rate
from arm_control.nodes.support.goals import GoalSubscription
from arm_control.nodes.support.polling import poll, polled_subscription
from arm_control.nodes.support.topics import EVENTS, STATE, ros

_OSC = OscParameters()


@dataclass(frozen=True)
class DynamicsParameters(ArmNodeParameters):
    """Parameters of the node ``dynamics``."""

    rate: float = parameter(50.0, "sets of messages per second; 0: one for each state", unit="Hz", lower=0.0)
    characteristic_length: float = parameter(
        _OSC.characteristic_length, OscParameters.spec("characteristic_length").text, unit="m", lower=1e-3, live=True
    )
    singular_value: float = parameter(
        _OSC.singular_value, OscParameters.spec("singular_value").text, unit="m", lower=1e-4, live=True
    )


class DynamicsNode(ArmNode[DynamicsParameters]):
    """Kinematics and dynamics of the arm in its measured state, on topics below ``dynamics/``."""

    NICE = 5  # the control loop comes first
    MATRICES = ("jacobian", "mass_matrix", "gravity", "bias", "task_inertia")

    def __init__(self) -> None:
        super().__init__("dynamics", DynamicsParameters)
        self._rate = Rate()
        self._matrices = {
            name: self.create_publisher(Float64MultiArray, f"dynamics/{name}", STATE) for name in self.MATRICES
        }
        self._pose = self.create_publisher(PoseStamped, "dynamics/pose", STATE)
        self._twist = self.create_publisher(TwistStamped, "dynamics/twist", STATE)
        self._joints = self.create_publisher(JointState, "dynamics/ik", EVENTS)
        self._failures = self.create_publisher(String, "dynamics/ik_failure", EVENTS)
        self._newest: Measurement | None = None
        self._diagnostics = Diagnostics(self)
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Read the states of this robot from now on; ``first``: it is the first one."""
        self._reader = JointStateReader(self.model, max_age=0.0)
        self._inverse_kinematics = InverseKinematics(self.model)
        self._newest = None
        if first:
            GoalSubscription(self, {"ik_target": PoseStamped}, self._answer, lambda: None)
        if first and self.parameters.rate:
            self._states = polled_subscription(self, JointState, "joint_states", STATE)
            self.control_path.every(1.0 / self.parameters.rate, self._on_timer)
        elif first:
            self.control_path.subscribe(JointState, "joint_states", self._on_state, STATE)

    def _on_timer(self) -> None:
        for message, info in poll(self._states):
            self._on_state(message, info)

    def _on_state(self, message: JointState, info: dict[str, Any]) -> None:
        reading = self._reader.read(message, info)
        if isinstance(reading, Refused):
            self.rejections.add("joint_states", reading.error)
        elif isinstance(reading, Measurement):
            self._newest = reading
            self._publish(reading)

    def _answer(self, _: str, message: PoseStamped) -> None:
        """Publish joint positions that put the end effector at a pose, near to the measured ones, or why not."""
        q = np.zeros(self.model.nq) if self._newest is None else self._newest.q
        X_WT = self.model.pose(q, link_of(message.header.frame_id, self.model)) @ pose_from_message(message)
        result = self._inverse_kinematics.solve(X_WT, None if self._newest is None else q)
        if result.converged:
            stamp_ns = nanoseconds(message.header.stamp)
            self._joints.publish(ros.joint_state(self.model.joint_names, stamp_ns, position=result.q))
        else:
            self._failures.publish(String(data=result.why))
            raise InputError(result.why)

    def _publish(self, state: Measurement) -> None:
        t = self.model.evaluate(state.q, state.v)
        p = self.parameters
        Lambda = task_inertia(t.J, t.M, p.characteristic_length, p.singular_value)
        joints = self.model.joint_names
        axes = {"jacobian": (ROWS, joints), "task_inertia": (ROWS, ROWS)}
        for name, values in zip(self.MATRICES, (t.J, t.M, t.g, t.h, Lambda), strict=True):
            names = axes.get(name, (joints, joints))[: values.ndim]
            self._matrices[name].publish(ros.multi_array(values, names, state.stamp_ns))
        self._pose.publish(ros.pose_stamped(t.X_WE, self.frame(self.model.base), state.stamp_ns))
        self._twist.publish(ros.twist_stamped(t.V_WE, self.frame(self.model.base), state.stamp_ns))
        self._rate.tick()

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Return level, message and figures for ``/diagnostics``."""
        figures: dict[str, object] = {"rate [Hz]": self._rate.read()}
        figures.update(self.rejections.figures())
        return (OK, "publishing", figures) if self.ready else (WARN, "no robot_description yet", figures)
