"""Joints and end effector of an arm as the spaces in which movement primitives run."""

from __future__ import annotations

import numpy as np

from arm_control.exceptions import InputError, ParameterError
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion.goals import JointGoal, Target
from arm_control.motion.joint_trajectory import check_limits, whole_turns
from arm_control.motion.joints_of_pose import JointsOfPose
from arm_control.motion.primitive_follower import Cycle
from arm_control.motion.primitives.primitive import Primitive
from arm_control.motion.primitives.primitive_run import PrimitiveRun
from arm_control.motion.references import JointReference, Reference

LOOKS = 120
"""Moments of a motion at which limits are checked."""
AHEAD = 1.5
"""How far ahead a motion is checked, in durations."""
STEEPEST = 1.875
"""Largest speed of a change within a period, over its mean speed."""


class JointSpace:
    """The joints of an arm; a motion that would exceed a limit of position or speed is refused.

    Parameters
    ----------
    model : RobotModel
        The arm.
    """

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._continuous = np.isinf(model.q_max)
        self.joints_of_pose = JointsOfPose(model)

    def place(self, q: Array) -> Array:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return q

    def at_rest(self, q: Array) -> JointReference:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return JointReference.at_rest(q)

    def start(self, reference: JointReference) -> tuple[Array, Array]:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return reference.q_des, reference.v_des

    def goal(self, goal: JointGoal | Target, q: Array, now: JointReference) -> Array:
        """See :class:`~arm_control.motion.primitive_follower.Space`; of a pose, joint positions near to the present."""
        if isinstance(goal, Target):
            return self.joints_of_pose.solve(goal, q, now.q_des)
        return self._nearest(np.asarray(goal.destination), now)

    def learned_goal(self, primitive: Primitive, now: JointReference) -> Array:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return self._nearest(primitive.goal, now)

    def error(self, reference: JointReference, q: Array) -> float:
        """See :class:`~arm_control.motion.primitive_follower.Space`; the largest of all joints."""
        return float(np.abs(reference.q_des - q).max())

    def check(self, run: PrimitiveRun, now: JointReference) -> None:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        times, references = run.preview(AHEAD, LOOKS)
        motion = [reference for reference in references if isinstance(reference, JointReference)]
        self._check_limits(np.array([at.q_des for at in motion]), np.array([at.v_des for at in motion]), times, now)

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: JointReference) -> None:
        """See :class:`~arm_control.motion.primitive_follower.Space`; the change adds to the speed of the rhythm."""
        times = np.linspace(0.0, cycle.period, LOOKS)
        motion = primitive.rollout(times, goal=cycle.centre, duration=cycle.period, amplitude=cycle.amplitude)
        change = STEEPEST * np.abs(cycle.centre - cycle.before) / cycle.period
        self._check_limits(motion.q, motion.v + np.sign(motion.v) * change, times, now)

    def _check_limits(self, q: Array, v: Array, times: Array, now: JointReference) -> None:
        excess = float((np.abs(v) / self._model.v_max).max())
        try:
            check_limits(self._model, q, v, times, now)
        except InputError as error:
            hint = f"; {excess:.2f} times the period keeps the speed" if excess > 1.0 else ""
            raise InputError(f"{error}{hint}") from None

    def _nearest(self, q_goal: Array, now: JointReference) -> Array:
        """Joint positions without whole turns of continuous joints."""
        return q_goal - whole_turns(q_goal - now.q_des, self._continuous)


class PoseSpace:
    """The end effector of an arm; where it cannot follow, the phase of the motion waits.

    Parameters
    ----------
    model : RobotModel
        The arm.
    """

    def __init__(self, model: RobotModel) -> None:
        self._model = model

    def place(self, q: Array) -> Pose:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return self._model.pose(q)

    def at_rest(self, q: Array) -> Reference:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return Reference(self._model.pose(q))

    def start(self, reference: Reference) -> tuple[Pose, Array]:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return reference.X_WT, reference.V_des

    def goal(self, goal: JointGoal | Target, q: Array, now: Reference) -> Pose:
        """See :class:`~arm_control.motion.primitive_follower.Space`; of joint positions, the pose that they have."""
        if isinstance(goal, Target):
            return self._model.pose(q, goal.frame) @ goal.X_FT
        return self._model.pose(np.asarray(goal.destination))

    def learned_goal(self, primitive: Primitive, now: Reference) -> Pose:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""
        return primitive.learned_goal()

    def error(self, reference: Reference, q: Array) -> float:
        """See :class:`~arm_control.motion.primitive_follower.Space`; of the position."""
        return float(np.linalg.norm(reference.X_WT.p - self._model.pose(q).p))

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: Reference) -> None:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""

    def check(self, run: PrimitiveRun, now: Reference) -> None:
        """See :class:`~arm_control.motion.primitive_follower.Space`."""


def check_frame(primitive: Primitive, model: RobotModel) -> None:
    """Refuse a primitive of positions that are not poses in the base of an arm.

    Parameters
    ----------
    primitive : Primitive
        A primitive of an end effector.
    model : RobotModel
        The arm.

    Raises
    ------
    ParameterError
        When it has no orientation, or another frame.
    """
    if primitive.quat_xyzw is None:
        raise ParameterError(f"a primitive of {primitive.size} coordinates without joints: poses or joints are needed")
    if primitive.frame not in ("", model.base):
        raise ParameterError(f"the primitive is in the frame {primitive.frame}; the base of this arm is {model.base}")
