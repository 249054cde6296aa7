"""The controller of joints: trajectories, targets, poses and velocities, followed by a law of joint space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.control import (
    JOINT_TERMS,
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    JointParameters,
    JointSpaceController,
    LawOutput,
    LoopParameters,
    Measurement,
)
from arm_control.core import NANOSECONDS, Parameters, group
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import (
    FollowingParameters,
    Goal,
    GoalQueue,
    JointFollower,
    JointGoal,
    JointJog,
    JointsOfPose,
    Target,
    Waypoints,
)


@dataclass(frozen=True)
class JointControlParameters(Parameters):
    """Joint space control: its law, and how it follows trajectories."""

    law: JointParameters = group(JointParameters)
    following: FollowingParameters = group(FollowingParameters)


@dataclass(frozen=True)
class JointLoopParameters(LoopParameters):
    """Joint space control behind a gate."""

    control: JointControlParameters = group(JointControlParameters)


@dataclass(frozen=True)
class JointNodeParameters(JointLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``joint``."""


class JointController(Controller):
    """Joint space control along trajectories (:mod:`arm_control.control.joint_space`).

    A pose of the end effector is reached at the joint positions that inverse kinematics finds when it is due, near to
    the desired ones.

    Attributes
    ----------
    goal : JointGoal or None
        Newest goal that was due.
    followed : JointGoal or None
        The goal that it follows, or has followed to its end; None when a brake or a velocity has ended it.
    """

    has_schedule = True

    def __init__(
        self,
        model: RobotModel,
        parameters: JointControlParameters,
        goals: GoalQueue[JointGoal | Target] | None = None,
    ) -> None:
        self._model = model
        self._goals: GoalQueue[JointGoal | Target] = GoalQueue() if goals is None else goals
        self._due: JointGoal | Target | None = None
        self.goal: JointGoal | None = None
        self.followed: JointGoal | None = None
        self._jogs: GoalQueue[JointJog] = GoalQueue(capacity=1000)
        self._joints_of_pose = JointsOfPose(model)
        self._has_run = False
        self.follower = JointFollower(model, parameters.following, np.zeros(model.nq))
        self.configure(parameters)

    def configure(self, parameters: JointControlParameters) -> None:
        """Take other parameters; they act from the next tick on."""
        self._following = parameters.following
        self._law = JointSpaceController(self._model, parameters.law)
        self.scales_with_inertia = self._law.scales_with_inertia
        self.follower.parameters = parameters.following

    def add(self, goal: Goal) -> None:
        if isinstance(goal, JointJog):
            self._jogs.add(goal)
        elif isinstance(goal, JointGoal | Target):
            self._goals.add(goal)
        else:
            raise InputError("joint space control follows joints and single poses, not motions of the hand or wrenches")

    def prepare_poses(self) -> None:
        """Compile what a pose needs, which takes longer than a tick."""
        self._joints_of_pose.prepare()

    def restart(self, q: Array) -> None:
        if self._has_run:  # velocities and goals of actions of before mean nothing any more
            self._jogs = GoalQueue(capacity=1000)
            self._goals.discard(lambda goal: isinstance(goal, JointGoal) and goal.is_single)
        self._has_run = True
        self.begin(q)

    def begin(self, q: Array) -> None:
        self.goal = self._due = None
        self._goals.restart()
        self._jogs.restart()
        self._hold(q)
        self._is_holding = False

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._goals.end(stamp_ns)
        self._jogs.end(stamp_ns)
        self.goal = self._due = None
        self._hold(q)
        self._is_holding = True

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        refused = self._start_due_goal(measurement)
        self._follow_due_jog(measurement.stamp_ns)
        reference = self.follower.tick(measurement.stamp_ns, measurement.q)
        return self._law.answer(self._model.evaluate(measurement.q, measurement.v), reference, refused=refused)

    def cancel(self, goal: JointGoal, now_ns: int) -> None:
        """Stop the joints along a ramp if they follow a goal, and hold them there; else forget the goal."""
        if self.followed is goal:
            self._follow_jog(JointJog(now_ns, now_ns, np.zeros(self._model.nv)), now_ns)
        elif goal.stamp_ns > now_ns:
            self._goals.discard(lambda other: other is goal)

    def _hold(self, q: Array) -> None:
        self.followed = None
        self.follower = JointFollower(self._model, self._following, q)

    def _start_due_goal(self, measurement: Measurement) -> ArmControlError | None:
        """Start the goal that has become due; return why it cannot be followed."""
        stamp_ns = measurement.stamp_ns
        due = self._goals.active(stamp_ns)
        if due is None or due is self._due:
            return None
        self._due = due
        try:
            goal = self.goal = due if isinstance(due, JointGoal) else self._joint_goal(due, measurement)
            if isinstance(goal.destination, Waypoints):
                self.follower.follow(goal.destination, stamp_ns, goal.tolerances)
            else:
                self.follower.go_to(goal.destination, stamp_ns)
        except ArmControlError as error:
            return error
        self.followed, self._is_holding = goal, False
        return None

    def _joint_goal(self, target: Target, measurement: Measurement) -> JointGoal:
        """The goal of the joints that a pose stands for."""
        near = self.follower.desired(measurement.stamp_ns).q_des
        q_goal = self._joints_of_pose.solve(target, measurement.q, near)
        return JointGoal(target.stamp_ns, q_goal, target.is_immediate)

    def _follow_due_jog(self, stamp_ns: int) -> None:
        """Follow the velocity that has become due, if it is newer than the goal."""
        self._jogs.end_stream(stamp_ns, int(self._following.velocity_timeout * NANOSECONDS))
        jog = self._jogs.active(stamp_ns)
        if jog is not None and (self.goal is None or jog.stamp_ns > self.goal.stamp_ns):
            self._follow_jog(jog, stamp_ns)

    def _follow_jog(self, jog: JointJog, stamp_ns: int) -> None:
        self.follower.jog(jog, stamp_ns)
        self.followed, self._is_holding = None, False


ROW = ControllerRow(
    name="joint",
    parameters=JointLoopParameters,
    node_parameters=JointNodeParameters,
    make=lambda model, parameters: JointController(model, parameters.control),
    torque_terms=JOINT_TERMS,
    figures=("joint_error",),
    goals=("joint_trajectory", "target_joint", "target_pose", "target_velocity"),
    at_rate=lambda rate: {"period": 1.0 / rate},
)
