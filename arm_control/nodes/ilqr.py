"""The node ``ilqr``: joint states and target poses in, planned and followed joint torque out, through the gate.

Plans are made in a process of their own (:mod:`arm_control.planning.worker`). In real time no state waits for one; in
lock step each state that asks for a plan waits for it. When that process dies, the gate brakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseArray
from rclpy.publisher import Publisher
from visualization_msgs.msg import MarkerArray

from arm_control.control.effort_gate import GateOutput
from arm_control.control.osc.task import pose_error
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Pose
from arm_control.model import Terms
from arm_control.nodes.support.arm_node import STATE, run
from arm_control.nodes.support.controller_node import Command, EffortNode, EffortParameters
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.diagnostics import WARN, Durations
from arm_control.nodes.support.goal_subscription import PoseGoals
from arm_control.nodes.support.publisher_lock import State
from arm_control.planning.reach import Plan
from arm_control.planning.receding import PlanFollower, RecedingParameters
from arm_control.planning.worker import PlannerProcess

SHOWN = 11
"""Poses of a plan that are published."""
SHOW_NS = NANOSECONDS // 5
"""Least time between two plans that are published [ns]."""
DIED = "the planner has died"


@dataclass(frozen=True)
class IlqrNodeParameters(RecedingParameters, EffortParameters):
    """Parameters of the node ``ilqr``."""


class IlqrNode(EffortNode):
    """Plans and follows reaches; the laws are in ``arm_control.planning``."""

    parameters: IlqrNodeParameters
    FIGURES = ("plan_cost", "plan_iterations", "plan_ms", "tube_error", "position_error", "orientation_error")

    def __init__(self) -> None:
        self._planner: PlannerProcess | None = None
        self._plans: PlanFollower | None = None
        self._seen, self._shown_ns = 0, 0
        self._shown: Plan | None = None
        self._planning, self._failed = Durations(), 0
        super().__init__("ilqr", IlqrNodeParameters, ("feedforward", "feedback"), self.FIGURES)
        self._path = self.create_publisher(PoseArray, "planned_path", STATE)
        self._markers = self.create_publisher(MarkerArray, "plan_markers", STATE)

    def n_targets(self) -> int:
        """Targets known so far."""
        return len(self._orders) if self.ready else 0

    # -- what comes in ---------------------------------------------------------------------------

    def on_model(self, first: bool) -> None:
        """Start a planner for this robot, and wait until it has compiled."""
        self.end_planner()
        self._planner = PlannerProcess(self.model, self.parameters)
        self.get_logger().info(f"the planner is process {self._planner.pid}")
        self._plans = PlanFollower(self.model, self.parameters, self._planner, self.parameters.lock_step)
        self._seen = 0
        if first:
            self._orders = PoseGoals(self, lambda: self.now_ns, self.publish_target_count, motions=False)
        self._orders.on_model()
        super().on_model(first)

    def on_parameters(self) -> None:
        """Tube and rate act from the next state on."""
        if self._plans is not None:
            self._plans.parameters = self.parameters

    def end_planner(self) -> None:
        """End the planner's process, if there is one."""
        if self._planner is not None:
            self._planner.close()

    def destroy_node(self) -> None:
        """End the planner, too."""
        self.end_planner()
        super().destroy_node()

    # -- one tick --------------------------------------------------------------------------------

    def restart(self, state: State) -> None:
        """Hold where the arm is until a target is due."""
        assert self._plans is not None
        self._orders.follower.restart(state.q)
        self._plans.let_go(state.q)
        self._shown_ns = 0

    def law(self, state: State) -> Command:
        """Torque along the plan; a braked arm is let go, and planned for anew when it is enabled."""
        assert self._plans is not None
        assert self._planner is not None
        t = self.model.evaluate(state.q, state.v)
        X_WT = self._orders.follower.reference(state.stamp_ns, state.q).X_WT
        if self.gate.latched:
            self._plans.let_go(state.q)
        target = None if self.gate.latched else self._orders.follower.active
        torque = self._plans.tick(state.stamp_ns, t, target, X_WT)
        if not self._planner.alive:
            self.gate.brake(DIED)
        self._note()
        parts = {"feedforward": torque.feedforward, "feedback": torque.feedback}
        return Command(t, torque.tau, parts, lambda: self._figures_of(state.stamp_ns, t, X_WT))

    def _note(self) -> None:
        """Count the answer, if a new one has come."""
        assert self._plans is not None
        answer = self._plans.newest
        if answer is None or answer.number == self._seen:
            return
        self._seen = answer.number
        self._planning.add(answer.seconds)
        if answer.trouble:
            self._failed += 1
            self.rejections.add("plan", InputError(answer.trouble))

    # -- what goes out beside the torque ---------------------------------------------------------

    def _figures_of(self, stamp_ns: int, t: Terms, X_WT: Pose) -> dict[str, float]:
        assert self._plans is not None
        error = pose_error(t.X_WE, X_WT)
        figures = {
            "tube_error": self._plans.tube_error(stamp_ns, t),
            "position_error": float(np.linalg.norm(error[:3])),
            "orientation_error": float(np.linalg.norm(error[3:])),
        }
        plan, newest = self._plans.plan, self._plans.newest
        if plan is not None:
            figures |= {"plan_cost": plan.cost, "plan_iterations": float(plan.iterations)}
        return figures if newest is None else {**figures, "plan_ms": 1e3 * newest.seconds}

    def _new_telemetry(self, stamp_ns: int, command: Command, gate: GateOutput) -> list[tuple[Publisher, Any]]:
        """With it a new plan, now and then: it goes out behind the commands of the next ticks, too."""
        assert self._plans is not None
        plan, told = self._plans.plan, super()._new_telemetry(stamp_ns, command, gate)
        if plan is None or plan is self._shown or (self._shown_ns and stamp_ns - self._shown_ns < SHOW_NS):
            return told
        self._shown, self._shown_ns = plan, stamp_ns
        return [*told, *self._pictured(plan)]

    def _pictured(self, plan: Plan) -> list[tuple[Publisher, Any]]:
        knots = np.linspace(0, len(plan.us), min(SHOWN, len(plan.us) + 1)).round().astype(int)
        poses = [self.model.pose(plan.xs[k, : self.model.nv]) for k in knots]
        line = ros.line_marker(np.array([X.p for X in poses]), self.model.base, plan.stamp_ns)
        path = ros.pose_array(poses, self.model.base, plan.stamp_ns)
        return [(self._path, path), (self._markers, MarkerArray(markers=[line]))]

    def health(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, sentence and figures for ``/diagnostics``."""
        level, sentence, figures = super().health()
        figures |= {
            "plans": self._planning.count - self._failed,
            "plans failed": self._failed,
            "plan p50 [ms]": 1e3 * self._planning.quantile(0.5),
            "plan p99 [ms]": 1e3 * self._planning.quantile(0.99),
        }
        if self._plans is not None and self._plans.trouble and level != WARN:
            level, sentence = WARN, f"no plan: {self._plans.trouble}"
        return level, sentence, figures


def main() -> None:
    """Entry point of ``ros2 run arm_control ilqr``."""
    run(IlqrNode)


if __name__ == "__main__":
    main()
