"""The node ``planner``: goals, joint states and obstacles in, motions free of contact out, for the node ``joint``.

It stands between goals (``target_pose``, ``target_joint``, an action) and a controller of joints, which follows its
``joint_trajectory``. Plans are made in a process of their own (:mod:`arm_control.optimal.receding`), so that no state
waits for one. What becomes of a goal is decided in :mod:`arm_control.processes.motion_process`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseArray, PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from arm_control.control import ArmNodeParameters, Measurement
from arm_control.core import NANOSECONDS, group, parameter
from arm_control.messages import goal_of, plan_markers, scene_markers
from arm_control.motion import GoalQueue, JointGoal, Target
from arm_control.nodes.support.action_server import PlannerAction
from arm_control.nodes.support.arm_node import IN_USE, ArmNode
from arm_control.nodes.support.diagnostics import ERROR, OK, WARN, Durations, Health, status_of
from arm_control.nodes.support.subscriptions import ObstacleSubscription, WatchedStates, subscribe_to_goals
from arm_control.nodes.support.topics import LATCHED, STATE, TARGETS, ros
from arm_control.optimal import PlannerProcess
from arm_control.planning import MotionPlan, MotionPlannerParameters, PlannerAnswer, PlannerRequest, prepared_planner
from arm_control.processes import ExecutionParameters, MotionProcess, MotionStatus, Phase, PlannerGoal

TOPICS = {"target_pose": PoseStamped, "target_joint": JointState}
POSES = 11
"""Poses of a plan that are published."""


@dataclass(frozen=True)
class PlannerNodeParameters(ArmNodeParameters):
    """Parameters of the node ``planner``."""

    planning: MotionPlannerParameters = group(MotionPlannerParameters)
    execution: ExecutionParameters = group(ExecutionParameters)
    rate: float = parameter(100.0, "looks at states and obstacles per second", unit="Hz", lower=1.0, upper=1000.0)


class PlannerNode(ArmNode[PlannerNodeParameters]):
    """Plans motions and has them executed; the planner is in ``arm_control.planning.motion_planner``."""

    NICE = 5  # the control loop comes first
    _obstacles: ObstacleSubscription
    _states: WatchedStates

    def __init__(self) -> None:
        super().__init__("planner", PlannerNodeParameters)
        self._process: MotionProcess | None = None
        self._planners = self.at_end.enter_context(ExitStack())
        self._goals: GoalQueue[PlannerGoal] = GoalQueue()
        self._shown = MotionStatus(Phase.IDLE)
        self._times = Durations()
        self._commands = self.create_publisher(JointTrajectory, "joint_trajectory", TARGETS)
        self._plans = self.create_publisher(JointTrajectory, "~/plan", LATCHED)
        self._scenes = self.create_publisher(MarkerArray, "~/scene", LATCHED)
        self._outcomes = self.create_publisher(DiagnosticStatus, "~/outcome", LATCHED)
        self._progress = self.create_publisher(Float64, "~/progress", STATE)
        self._path = self.create_publisher(PoseArray, "planned_path", STATE)
        self._markers = self.create_publisher(MarkerArray, "plan_markers", STATE)
        self._action = PlannerAction(self)
        self.create_service(Trigger, "~/cancel", partial(self._answer, MotionProcess.cancel))
        self.create_service(Trigger, "~/execute", partial(self._answer, MotionProcess.execute))
        self.why_model_stays = self._why_model_stays
        self.find_model()

    def on_model(self, first: bool) -> None:
        """Start a planner for this robot, wait until it has compiled, and take goals."""
        p = self.parameters
        self._action.abort("another robot is taken")
        self._process = self._action.follower = None
        self._planners.close()
        planner: PlannerProcess[PlannerRequest, PlannerAnswer]
        planner = PlannerProcess(self.model, partial(prepared_planner, p.planning))
        self._planners.callback(planner.close)
        self.get_logger().info(f"the planner is process {planner.pid}")
        self._process = self._action.follower = MotionProcess(self.model, p.execution, planner, self._goals)
        if first:
            self._obstacles = ObstacleSubscription(self, is_counted=True)
            self._states = WatchedStates(self, self._on_state, p.rate)
            subscribe_to_goals(self, TOPICS, self._add_goal)

    def on_parameters(self) -> None:
        if self._process is not None:
            self._process.parameters = self.parameters.execution

    def health(self) -> Health:
        if self._process is None:
            return WARN, "no planner", {}
        status = self._process.status
        figures: dict[str, object] = {
            "progress": status.progress,
            "plans": self._times.count,
            **self._times.figures("plan"),
        }
        return WARN if status.phase.has_failed else OK, str(status), figures

    # -- a look --------------------------------------------------------------------------------------

    def _why_model_stays(self) -> str:
        """Why another robot is not taken: the arm moves along a plan."""
        moves = self._process is not None and self._process.status.phase in (Phase.MOVING, Phase.STOPPING)
        return IN_USE if moves else ""

    def _on_state(self, state: Measurement) -> None:
        if (process := self._process) is None:
            return
        step = process.on_state(state, self._obstacles.at(state))
        if step.command is not None:
            points, begin_ns = step.command
            self._commands.publish(ros.joint_trajectory(self.model.joint_names, points, begin_ns))
        if step.plan is not None:
            self._times.add(process.seconds)
            self._publish_plan(step.plan)
        self._publish_status(process)
        self._action.tick(state)

    def _add_goal(self, topic: str, message: Any) -> None:
        goal = goal_of(topic, message, self.model, self._states.now_ns)
        if self._process is not None and isinstance(goal, JointGoal | Target):
            self._process.add(goal)

    def _answer(
        self, call: Callable[[MotionProcess], bool], _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        """Answer a service with what a function of the process says."""
        response.success = self._process is not None and call(self._process)
        response.message = "no robot yet" if self._process is None else str(self._process.status)
        return response

    # -- what goes out -------------------------------------------------------------------------------

    def _publish_plan(self, plan: MotionPlan) -> None:
        base = self.frame(self.model.base)
        self._plans.publish(ros.joint_trajectory(self.model.joint_names, plan.points, plan.begin_ns))
        self._scenes.publish(MarkerArray(markers=scene_markers(ros, plan, base)))
        self._markers.publish(MarkerArray(markers=plan_markers(ros, self.model, plan, base)))
        times = [plan.duration * k / (POSES - 1) for k in range(POSES)]
        poses = [self.model.pose(plan.motion.sample(t).q_des) for t in times]
        self._path.publish(ros.pose_array(poses, base, plan.begin_ns))

    def _publish_status(self, process: MotionProcess) -> None:
        status, goal = process.status, process.goal
        if status.phase is Phase.MOVING:
            self._progress.publish(Float64(data=status.progress))
        if status[:2] == self._shown[:2]:
            return
        self._shown = status
        values = {"state": status.phase.value, "reason": status.reason}
        if goal is not None:
            values["goal_stamp"] = f"{goal.stamp_ns / NANOSECONDS:.9f}"
        level = ERROR if status.phase.has_failed else OK
        self._outcomes.publish(status_of(f"{self.get_name()}: goal", level, str(status), values))
        if status.phase.has_failed:
            self.get_logger().error(f"goal given up, {status}")
        elif status.phase.is_over:
            self.get_logger().info(f"goal {status}")
