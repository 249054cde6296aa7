"""The node ``osc``: joint states, target poses and pose trajectories in, joint torque out, through the gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from std_msgs.msg import Header
from trajectory_msgs.msg import MultiDOFJointTrajectory

from arm_control.controllers import CompiledOsc, OscOutput, OscParameters
from arm_control.controllers.osc import TERMS
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.nodes.base import EVENTS, LATCHED_EVENTS, run
from arm_control.nodes.conversions import pose_from_message, pose_points_from_message
from arm_control.nodes.effort import Command, EffortNode, EffortParameters
from arm_control.nodes.states import State
from arm_control.pose_following import PoseFollower, PoseMotion
from arm_control.reference import Target
from arm_control.spatial import Array


@dataclass(frozen=True)
class OscNodeParameters(OscParameters, EffortParameters):
    """Parameters of the node ``osc``."""


class OscNode(EffortNode):
    """Operational space control as a node; the law is in ``arm_control.controllers.osc``."""

    parameters: OscNodeParameters
    FIGURES = ("position_error", "orientation_error", "condition_number")

    def __init__(self) -> None:
        self._follower: PoseFollower | None = None
        self._controller: CompiledOsc | None = None
        super().__init__("osc", OscNodeParameters, TERMS, self.FIGURES)

    def n_targets(self) -> int:
        """Targets and motions known so far."""
        return len(self._follower.queue) if self._follower is not None else 0

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Compile the law for this robot; the controller itself is made with the first state."""
        self._controller = None
        self._new_controller(np.zeros(self.model.nv))
        self._follower = self._follower or PoseFollower(self.model)
        self._follower.model = self.model
        if first:
            for qos in (EVENTS, LATCHED_EVENTS):
                self.control_path.subscribe(PoseStamped, "target_pose", self._on_target, qos)
                self.control_path.subscribe(MultiDOFJointTrajectory, "pose_trajectory", self._on_trajectory, qos)
        super().on_model(first)

    def on_parameters(self) -> None:
        """New gains act from the next state on; the gate smooths the step."""
        if self._controller is not None:
            self._controller = self._new_controller(np.array(self._controller.parameters.posture))

    def _on_target(self, message: PoseStamped, _: dict[str, Any]) -> None:
        self._take("target_pose", lambda: Target(*self._acting(message.header), pose_from_message(message)))

    def _on_trajectory(self, message: MultiDOFJointTrajectory, info: dict[str, Any]) -> None:
        """Take a trajectory in, once: its time counts from when it was heard."""
        if not self.heard_before(info):
            tip = self.model.tip
            self._take(
                "pose_trajectory",
                lambda: PoseMotion(*self._acting(message.header), pose_points_from_message(message, tip)),
            )

    def _take(self, topic: str, what: Callable[[], Target | PoseMotion]) -> None:
        assert self._follower is not None
        try:
            self._follower.queue.add(what())
        except (InputError, FrameNotFound) as error:
            self.rejections.add(topic, error)
        self.publish_target_count()

    def _acting(self, header: Header) -> tuple[int, str]:
        """When a message acts from [ns], and the link whose frame it is in."""
        frame = header.frame_id or self.model.base
        if frame not in self.model.frames:
            raise FrameNotFound(frame, self.model.frames)
        return self.acting_stamp(header.stamp), frame

    # -- one tick --------------------------------------------------------------------------------

    def restart(self, state: State) -> None:
        """Hold where the arm is until something is due."""
        assert self._follower is not None
        self._follower.restart(state.q)

    def law(self, state: State) -> Command:
        """Torque towards where the end effector should be now."""
        assert self._follower is not None
        if self._controller is None:
            self._controller = self._new_controller(state.q)
        output = self._controller.tick(state.q, state.v, self._follower.reference(state.stamp_ns, state.q))
        return Command(output.state, output.tau, output.terms, lambda: _figures(output))

    def _new_controller(self, posture: Array) -> CompiledOsc:
        chosen = self.parameters.posture or tuple(posture.tolist())
        return CompiledOsc(self.model, self.parameters.replace(posture=chosen))


def _figures(output: OscOutput) -> dict[str, float]:
    sigma = output.singular_values
    return {
        "position_error": float(np.linalg.norm(output.error[:3])),
        "orientation_error": float(np.linalg.norm(output.error[3:])),
        "condition_number": float(sigma[0] / max(sigma[-1], 1e-12)),
    }


def main() -> None:
    """Entry point of ``ros2 run arm_control osc``."""
    run(OscNode)


if __name__ == "__main__":
    main()
