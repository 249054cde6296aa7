"""The node ``dynamics``: Jacobian, mass matrix, task inertia, pose and twist; joint positions of poses.

No standard service takes a pose and returns joint positions, so a topic asks and two topics answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from arm_control.control import ArmNodeParameters, Measurement, OscParameters, task_inertia
from arm_control.core import parameter
from arm_control.exceptions import InputError
from arm_control.kinematics import TWIST_ROWS, InverseKinematics
from arm_control.messages import link_of, nanoseconds, pose_from_message
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.diagnostics import OK, Health, Rate
from arm_control.nodes.support.subscriptions import WatchedStates, subscribe_to_goals
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
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Read the states of this robot from now on; ``first``: it is the first one."""
        self._inverse_kinematics = InverseKinematics(self.model)
        if first:
            subscribe_to_goals(self, {"ik_target": PoseStamped}, self._answer)
            self._states = WatchedStates(self, self._publish, self.parameters.rate)

    def _answer(self, _: str, message: PoseStamped) -> None:
        """Publish joint positions that put the end effector at a pose, near to the measured ones, or why not."""
        state = self._states.newest
        q = np.zeros(self.model.nq) if state is None else state.q
        X_WT = self.model.pose(q, link_of(message.header.frame_id, self.model)) @ pose_from_message(message)
        result = self._inverse_kinematics.solve(X_WT, None if state is None else q)
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
        axes = {"jacobian": (TWIST_ROWS, joints), "task_inertia": (TWIST_ROWS, TWIST_ROWS)}
        for name, values in zip(self.MATRICES, (t.J, t.M, t.g, t.h, Lambda), strict=True):
            names = axes.get(name, (joints, joints))[: values.ndim]
            self._matrices[name].publish(ros.multi_array(values, names, state.stamp_ns))
        self._pose.publish(ros.pose_stamped(t.X_WE, self.frame(self.model.base), state.stamp_ns))
        self._twist.publish(ros.twist_stamped(t.V_WE, self.frame(self.model.base), state.stamp_ns))
        self._rate.tick()

    def health(self) -> Health:
        return OK, "publishing", {"rate [Hz]": self._rate.read()}
