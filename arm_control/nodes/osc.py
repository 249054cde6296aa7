"""The node ``osc``: joint states, target poses and pose trajectories in, joint torque out, through the gate.

It may keep clear of ``obstacles``, and is told on ``disturbance`` of torque that something known exerts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from arm_control.control.avoidance.avoidance_law import AvoidanceOutput
from arm_control.control.osc.compiled_osc import CompiledOsc
from arm_control.control.osc.osc_controller import TERMS, OscOutput
from arm_control.control.osc.tuning import OscTuning, said, tuned, with_avoidance
from arm_control.core.parameters import parameter
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.nodes.support.arm_node import STATE, run
from arm_control.nodes.support.controller_node import Command, EffortNode, EffortParameters
from arm_control.nodes.support.goal_subscription import PoseGoals
from arm_control.nodes.support.obstacle_subscription import Surroundings
from arm_control.nodes.support.publisher_lock import State


@dataclass(frozen=True)
class OscNodeParameters(OscTuning, EffortParameters):
    """Parameters of the node ``osc``."""

    disturbance_timeout: float = parameter(
        0.1, "a disturbance that is older, by the states' stamps, has ended", unit="s", lower=0.0, live=True
    )


class OscNode(EffortNode):
    """Operational space control as a node; the law is in ``arm_control.control.osc.osc_law``."""

    parameters: OscNodeParameters
    FIGURES = ("position_error", "orientation_error", "condition_number", "nearest_distance", "task_share")

    def __init__(self) -> None:
        self._controller: CompiledOsc | None = None
        self._surroundings: Surroundings | None = None
        self._disturbance: tuple[int, Array] | None = None
        super().__init__("osc", OscNodeParameters, (*TERMS, "avoidance"), self.FIGURES)

    def n_targets(self) -> int:
        """Targets and motions known so far."""
        return len(self._orders) if self.ready else 0

    def completed(self, given: dict[str, Any], model: RobotModel | None) -> OscNodeParameters:
        """All parameters: gains that nobody gave are what the arm suggests."""
        return tuned(OscNodeParameters, given, model)

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Compile the law for this robot; the controller itself is made with the first state."""
        if proposed := said(self.parameters, self.given):
            self.get_logger().info(f"proposed for this arm: {proposed}")
        self._controller = None
        self._new_controller(np.zeros(self.model.nv))
        if first:
            self._orders = PoseGoals(self, lambda: self.now_ns, self.publish_target_count)
            self.control_path.subscribe(JointState, "disturbance", self._on_disturbance, STATE)
        self._orders.on_model()
        if self._surroundings is not None:
            self._surroundings.on_model()
        elif self.parameters.avoid_obstacles:
            self._surroundings = Surroundings(self)
        super().on_model(first)

    def on_parameters(self) -> None:
        """New gains act from the next state on; the gate smooths the step."""
        if self._controller is not None:
            self._controller = self._new_controller(np.array(self._controller.parameters.posture))
        if self._surroundings is not None:
            self._surroundings.on_parameters()

    def _on_disturbance(self, message: JointState, _: dict[str, Any]) -> None:
        try:
            tau_dist = self.model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            self.rejections.add("disturbance", error)
        else:
            self._disturbance = self.now_ns, tau_dist

    # -- one tick --------------------------------------------------------------------------------

    def restart(self, state: State) -> None:
        """Hold where the arm is until something is due."""
        self._orders.follower.restart(state.q)
        self._disturbance = None
        if self._surroundings is not None:
            self._surroundings.restart(state)

    def law(self, state: State) -> Command:
        """Torque towards where the end effector should be now."""
        if self._controller is None:
            self._controller = self._new_controller(state.q)
        reference = self._orders.follower.reference(state.stamp_ns, state.q)
        output = self._controller.tick(state.q, state.v, reference, self._tau_dist(state.stamp_ns))
        if self._surroundings is None:
            return Command(output.state, output.tau, output.terms, lambda: _figures(output))
        avoidance = self._surroundings.avoid(state, output.state)
        tau, terms = with_avoidance(output.tau, output.terms, avoidance)
        return Command(output.state, tau, terms, lambda: _figures(output, avoidance))

    def _tau_dist(self, stamp_ns: int) -> Array | None:
        """The known disturbance that holds in a state, or None."""
        if self._disturbance is None:
            return None
        came_ns, tau_dist = self._disturbance
        return tau_dist if stamp_ns - came_ns <= self.parameters.disturbance_timeout * NANOSECONDS else None

    def _new_controller(self, posture: Array) -> CompiledOsc:
        chosen = self.parameters.posture or tuple(posture.tolist())
        return CompiledOsc(self.model, self.parameters.replace(posture=chosen))


def _figures(output: OscOutput, avoidance: AvoidanceOutput | None = None) -> dict[str, float]:
    sigma = output.singular_values
    near = {"nearest_distance": avoidance.distance, "task_share": avoidance.task_share} if avoidance else {}
    return {
        **near,
        "position_error": float(np.linalg.norm(output.error[:3])),
        "orientation_error": float(np.linalg.norm(output.error[3:])),
        "condition_number": float(sigma[0] / max(sigma[-1], 1e-12)),
    }


def main() -> None:
    """Entry point of ``ros2 run arm_control osc``."""
    run(OscNode)


if __name__ == "__main__":
    main()
