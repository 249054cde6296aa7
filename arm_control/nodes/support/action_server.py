"""The action ``FollowJointTrajectory`` of the nodes ``joint`` and ``planner``, where ``control_msgs`` is installed.

A server only translates: a goal goes to whoever follows it, and each state tells how it goes;
:mod:`arm_control.processes.trajectory_actions` says what its messages mean. All calls come from the thread of the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

from arm_control.control import ArmNodeParameters, Measurement, TickResult
from arm_control.controllers import JointController
from arm_control.gate import GateState
from arm_control.motion import JointGoal, JointReference
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.topics import ros
from arm_control.processes import (
    INVALID_GOAL,
    SUCCESSFUL,
    ActionResult,
    GoalRefused,
    MotionProcess,
    Phase,
    PlannerGoal,
    action_goal_of,
    fill_feedback,
    planner_goal_of,
    planner_result,
    trajectory_result,
)

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None
F = TypeVar("F")
G = TypeVar("G")


@dataclass(eq=False)
class Running(Generic[G]):
    """A goal on its way, its handle of ROS, and the result to come."""

    goal: G
    handle: Any
    result: Future


class ActionGoals(Generic[F, G]):
    """The server of the action of one node, and its goals on their way; without ``control_msgs`` there are none."""

    NAME: ClassVar[str]
    FEEDBACK_EVERY: ClassVar[int]
    """States between two messages of feedback."""

    def __init__(self, node: ArmNode[ArmNodeParameters]) -> None:
        self._node = node
        self.follower: F | None = None
        self._newest: Measurement | None = None
        self._states = 0
        self._running: list[Running[G]] = []
        if FollowJointTrajectory is None:
            node.get_logger().info(f"no action {self.NAME}: control_msgs is not installed; the topics are there")
            return
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            self.NAME,
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            goal_callback=self.judge,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def judge(self, message: Any) -> GoalResponse:
        """Reject what cannot be done, as joint_trajectory_controller does; the log and ``/diagnostics`` say why."""
        try:
            self._goal_of(message)
        except GoalRefused as error:
            self._node.rejections.add(self.NAME.removeprefix("~/"), error)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def goal_of(self, message: Any, now_ns: int) -> G:
        """Return the goal of a message; a GoalRefused when it cannot be followed."""
        raise NotImplementedError

    def start(self, follower: F, goal: G) -> None:
        """Follow a goal."""
        raise NotImplementedError

    def result(self, follower: F, goal: G, *, is_canceled: bool) -> ActionResult | None:
        """Return how a goal ends in the newest state; None while it goes on."""
        raise NotImplementedError

    def desired(self, follower: F, goal: G, state: Measurement) -> tuple[JointReference, float] | None:
        """Return the desired joint motion, and the time since the begin of the motion [s]; None while none is told."""
        raise NotImplementedError

    def tick(self, state: Measurement) -> None:
        """Tell the clients what has come of their goals in a state."""
        self._newest = state
        assert self.follower is not None
        for running in list(self._running):
            goal = running.goal
            result = self.result(self.follower, goal, is_canceled=running.handle.is_cancel_requested)
            if result is not None:
                self._end(running, result)
            elif self._states % self.FEEDBACK_EVERY == 0 and (told := self.desired(self.follower, goal, state)):
                names, feedback = self._node.model.joint_names, FollowJointTrajectory.Feedback()
                running.handle.publish_feedback(fill_feedback(ros, feedback, names, state, *told))
        self._states += 1

    def abort(self, reason: str) -> None:
        """End all goals."""
        for running in list(self._running):
            self._end(running, ActionResult(INVALID_GOAL, reason))

    def _end(self, running: Running[G], result: ActionResult) -> None:
        self._running.remove(running)
        running.result.set_result(result)

    def _goal_of(self, message: Any) -> G:
        if self._newest is None or self.follower is None:
            raise GoalRefused(INVALID_GOAL, "no joint state yet")
        return self.goal_of(message, self._newest.stamp_ns)

    async def _execute(self, handle: Any) -> Any:
        """Serve one goal; the executor comes back here when its result is known."""
        try:
            goal = self._goal_of(handle.request)
            assert self.follower is not None
            self.start(self.follower, goal)
            running = Running(goal, handle, Future(executor=self._node.executor))
            self._running.append(running)
            result = await running.result
        except GoalRefused as error:
            self._node.rejections.add(self.NAME.removeprefix("~/"), error)
            result = ActionResult(error.code, str(error))
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.code == SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        answer = FollowJointTrajectory.Result()
        answer.error_code, answer.error_string = result
        return answer


class TrajectoryAction(ActionGoals[JointController, JointGoal]):
    """The action of the node ``joint``: goals into the controller's queue, as from a topic."""

    NAME, FEEDBACK_EVERY = "~/follow_joint_trajectory", 20

    _tick: TickResult

    def on_tick(self, tick: TickResult) -> None:
        """Tell the clients what has come of their goals in a tick."""
        self._tick = tick
        self.tick(tick.measurement)

    def goal_of(self, message: Any, now_ns: int) -> JointGoal:
        """Return the goal of a message, unless the arm is braked."""
        if self._tick.gate.state is GateState.BRAKING:
            raise GoalRefused(INVALID_GOAL, f"the gate brakes: {self._tick.gate.reason}")
        return action_goal_of(message, self._node.model, now_ns)

    def start(self, follower: JointController, goal: JointGoal) -> None:
        """Add a goal."""
        follower.add(goal)

    def result(self, follower: JointController, goal: JointGoal, *, is_canceled: bool) -> ActionResult | None:
        """Return how a goal ends; a client cancels it."""
        if is_canceled:
            return ActionResult(SUCCESSFUL, "canceled: the joints come to rest and are held")
        return trajectory_result(goal, follower, self._tick)

    def desired(
        self, follower: JointController, goal: JointGoal, state: Measurement
    ) -> tuple[JointReference, float] | None:
        """Return the desired motion of the goal that is followed."""
        if follower.followed is not goal:
            return None
        return follower.follower.desired(state.stamp_ns), (state.stamp_ns - goal.stamp_ns) * 1e-9

    def _end(self, running: Running[JointGoal], result: ActionResult) -> None:
        assert self._newest is not None
        assert self.follower is not None
        if running.handle.is_cancel_requested or result.code != SUCCESSFUL:
            self.follower.cancel(running.goal, self._newest.stamp_ns)
        super()._end(running, result)


class PlannerAction(ActionGoals[MotionProcess, PlannerGoal]):
    """The action of the node ``planner``."""

    NAME, FEEDBACK_EVERY = "~/move", 5

    def goal_of(self, message: Any, now_ns: int) -> PlannerGoal:
        """Return the goal of a message."""
        return planner_goal_of(message, self._node.model, now_ns)

    def start(self, follower: MotionProcess, goal: PlannerGoal) -> None:
        """Let the planner plan for a goal."""
        follower.add(goal, is_single=True)

    def result(self, follower: MotionProcess, goal: PlannerGoal, *, is_canceled: bool) -> ActionResult | None:
        """Return how a goal ends; a client cancels it while it is planned for or executed."""
        if is_canceled and follower.goal is goal:
            follower.cancel()
        return planner_result(follower, goal)

    def desired(self, follower: MotionProcess, goal: PlannerGoal, state: Measurement) -> tuple[JointReference, float]:
        """Return the desired motion; before it the arm is where it should be."""
        if follower.plan is None or follower.status.phase is not Phase.MOVING:
            return JointReference.at_rest(state.q), 0.0
        t = max(follower.plan.time(state.stamp_ns), 0.0)
        return follower.plan.motion.sample(t), t
