"""The node ``ilqr``: joint states and target poses in, planned and followed joint torque out, through the gate.

Plans are made in a process of their own (:mod:`arm_control.optimal.receding`). In real time no state waits for one; in
lock step each state that asks for a plan waits for it. When that process dies, the gate brakes.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseArray
from visualization_msgs.msg import MarkerArray

from arm_control.control import TickResult
from arm_control.controllers import CONTROLLERS, IlqrController, IlqrNodeParameters
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.motion import PoseFollower
from arm_control.nodes.support.controller_node import ControllerNode, Telemetry
from arm_control.nodes.support.diagnostics import Durations
from arm_control.nodes.support.topics import STATE, ros
from arm_control.optimal import PlannerProcess, ReachPlan, reach_planner

POSES = 11
"""Poses of a plan that are published."""
PLAN_PERIOD_NS = NANOSECONDS // 5
"""Least time between two plans that are published [ns]."""


class IlqrNode(ControllerNode[IlqrNodeParameters]):
    """Plans and follows reaches; the laws are in ``arm_control.optimal``."""

    def __init__(self) -> None:
        self._goals: PoseFollower | None = None
        self._last_answer = 0
        self._published: ReachPlan | None = None
        self._published_ns = 0
        self._planning = Durations()
        self._failed = 0
        super().__init__(CONTROLLERS["ilqr"])

    def prepare(self) -> None:
        """Publish plans."""
        self._planners = self.at_end.enter_context(ExitStack())
        self._path = self.create_publisher(PoseArray, "planned_path", STATE)
        self._markers = self.create_publisher(MarkerArray, "plan_markers", STATE)
        self.pipeline.after, self.pipeline.telemetry = self._count_plan, self._plan_messages

    def n_goals(self) -> int:
        return 0 if self._goals is None else len(self._goals.queue)

    def make(self) -> IlqrController:
        """Start a planner for this robot, wait until it has compiled, and return planned reaches."""
        p = self.parameters
        self._goals = self._goals or PoseFollower(self.model)
        self._goals.model = self.model
        self._planners.close()
        planner = PlannerProcess(self.model, partial(reach_planner, p.control))
        self._planners.callback(planner.close)
        self._last_answer = 0
        self.get_logger().info(f"the planner is process {planner.pid}")
        self._controller = IlqrController(self.model, p.control, planner, waits=p.lock_step, follower=self._goals)
        return self._controller

    def own_health(self) -> tuple[str, dict[str, object]]:
        failure = self._controller.plans.failure
        counts = {"plans": self._planning.count - self._failed, "plans failed": self._failed}
        return f"no plan: {failure}" if failure else "", {**counts, **self._planning.figures("plan")}

    def _count_plan(self, result: TickResult) -> None:
        """Count the planner's answer, if a new one has come."""
        if result.measurement.is_restart:
            self._published_ns = 0
        answer = self._controller.plans.last_answer
        if answer is None or answer.number == self._last_answer:
            return
        self._last_answer = answer.number
        self._planning.add(answer.seconds)
        if answer.failure:
            self._failed += 1
            self.rejections.add("plan", InputError(answer.failure))

    def _plan_messages(self, result: TickResult) -> Telemetry:
        """Return a new plan as messages, at most five a second."""
        plan, stamp_ns = self._controller.plans.plan, result.measurement.stamp_ns
        is_early = bool(self._published_ns) and stamp_ns - self._published_ns < PLAN_PERIOD_NS
        if plan is None or plan is self._published or is_early:
            return []
        self._published, self._published_ns = plan, stamp_ns
        knots = np.linspace(0, len(plan.us), min(POSES, len(plan.us) + 1)).round().astype(int)
        poses = [self.model.pose(plan.xs[k, : self.model.nv]) for k in knots]
        line = ros.line_marker(np.array([X.p for X in poses]), self.frame(self.model.base), plan.stamp_ns)
        path = ros.pose_array(poses, self.frame(self.model.base), plan.stamp_ns)
        return [(self._path, path), (self._markers, MarkerArray(markers=[line]))]
