"""The node ``osc``: joint states and target poses in, joint torque out, through the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped

from arm_control.controllers import CompiledOsc, OscOutput, OscParameters
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.nodes.base import EVENTS, LATCHED_EVENTS, run
from arm_control.nodes.conversions import pose_from_message
from arm_control.nodes.effort import Command, EffortNode, EffortParameters
from arm_control.nodes.states import State
from arm_control.reference import Reference, Target, TargetQueue
from arm_control.spatial import Array, Pose


@dataclass(frozen=True)
class OscNodeParameters(OscParameters, EffortParameters):
    """Parameters of the node ``osc``."""


class OscNode(EffortNode):
    """Operational space control as a node; the law is in ``arm_control.controllers.osc``."""

    parameters: OscNodeParameters
    FIGURES = ("position_error", "orientation_error", "condition_number")

    def __init__(self) -> None:
        self._targets = TargetQueue()
        self._target: Target | None = None
        self._controller: CompiledOsc | None = None
        super().__init__("osc", OscNodeParameters, ("task", "posture", "bias"), self.FIGURES)

    def n_targets(self) -> int:
        """Targets known so far."""
        return len(self._targets)

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Compile the law for this robot; the controller itself is made with the first state."""
        self._controller = None
        self._new_controller(np.zeros(self.model.nv))
        if first:
            for qos in (EVENTS, LATCHED_EVENTS):
                self.control_path.subscribe(PoseStamped, "target_pose", self._on_target, qos)
        super().on_model(first)

    def on_parameters(self) -> None:
        """New gains act from the next state on; the gate smooths the step."""
        if self._controller is not None:
            self._controller = self._new_controller(np.array(self._controller.parameters.posture))

    def _on_target(self, message: PoseStamped, _: dict[str, Any]) -> None:
        try:
            self._targets.add(self._checked_target(message))
        except (InputError, FrameNotFound) as error:
            self.rejections.add("target_pose", error)
        self.publish_target_count()

    def _checked_target(self, message: PoseStamped) -> Target:
        stamp_ns = self.acting_stamp(message.header.stamp)
        frame = message.header.frame_id or self.model.base
        if frame not in self.model.frames:
            raise FrameNotFound(frame, self.model.frames)
        return Target(stamp_ns, frame, pose_from_message(message))

    # -- one tick --------------------------------------------------------------------------------

    def restart(self, state: State) -> None:
        """Hold where the arm is until a target is due."""
        self._start, self._target = self.model.pose(state.q), None

    def law(self, state: State) -> Command:
        """Torque towards the target of this moment."""
        if self._controller is None:
            self._controller = self._new_controller(state.q)
        output = self._controller.tick(state.q, state.v, Reference(self._target_pose(state)))
        return Command(output.state, output.tau, output.terms, lambda: _figures(output))

    def _target_pose(self, state: State) -> Pose:
        """Pose of the active target in the world, fixed at the moment it becomes active."""
        target = self._targets.active(state.stamp_ns)
        if target is None:
            return self._start
        if target is not self._target:
            self._target, self._X_WT = target, self.model.pose(state.q, target.frame) @ target.X_FT
        return self._X_WT

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
