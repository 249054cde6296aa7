"""The action of the node ``planner``; :mod:`arm_control.processes.trajectory_actions` says what its messages mean."""

from __future__ import annotations

from typing import Any

from arm_control.control import ArmNodeParameters, Measurement
from arm_control.motion import JointReference
from arm_control.nodes.support.action_goals import ActionGoals
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.processes import (
    INVALID_GOAL,
    GoalRefused,
    MotionProcess,
    Phase,
    PlannerGoal,
    planner_goal_of,
    planner_result,
)

NAME = "~/move"
FEEDBACK_EVERY = 5
"""States between two messages of feedback."""


class PlannerAction:
    """Serves the action for one node; without ``control_msgs`` it does nothing.

    Parameters
    ----------
    node : ArmNode
        The node.

    Attributes
    ----------
    process : MotionProcess or None
        What plans; None while the robot is unknown.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters]) -> None:
        self._node = node
        self.process: MotionProcess | None = None
        self._state: Measurement | None = None
        self._states = 0
        self._goals = ActionGoals(node, NAME, self._start)

    def tick(self, state: Measurement) -> None:
        """Tell the clients what has come of their goals in a state."""
        process, self._state = self.process, state
        assert process is not None
        for running in list(self._goals.running):
            if running.handle.is_cancel_requested and process.goal is running.goal:
                process.cancel()
            if (result := planner_result(process, running.goal)) is not None:
                self._goals.end(running, result)
            elif self._states % FEEDBACK_EVERY == 0:
                self._goals.publish_feedback(running, state, *_desired(process, state))
        self._states += 1

    def abort(self, reason: str) -> None:
        """End all goals."""
        self._goals.abort(reason)

    def _start(self, message: Any) -> PlannerGoal:
        if self._state is None or self.process is None:
            raise GoalRefused(INVALID_GOAL, "no joint state yet")
        goal = planner_goal_of(message, self._node.model, self._state.stamp_ns)
        self.process.add(goal, is_single=True)
        return goal


def _desired(process: MotionProcess, state: Measurement) -> tuple[JointReference, float]:
    """Desired joint motion, and time since the begin of the motion [s]; before it the arm is where it should be."""
    if process.plan is None or process.status.phase is not Phase.MOVING:
        return JointReference.at_rest(state.q), 0.0
    t = max(process.plan.time(state.stamp_ns), 0.0)
    return process.plan.motion.sample(t), t
