"""Joints and end effector of an arm as the spaces in which movement primitives run."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, JointReference, JointsOfPose, Reference, Target, check_limits, whole_turns
from arm_control.primitives.primitive import Primitive
from arm_control.primitives.primitive_run import PrimitiveRun

LOOKS = 120
"""Moments of a motion at which limits are checked."""
AHEAD = 1.5
"""How far ahead a motion is checked, in durations."""
STEEPEST = 1.875
"""Largest speed of a change within a period, over its mean speed."""


R = TypeVar("R", JointReference, Reference)


class Cycle(NamedTuple):
    """A rhythm, and how it swings to where it is wished.

    Attributes
    ----------
    before, centre : ndarray, shape (n,)
        Coordinates of the centre now, and as it is wished.
    amplitude_before, amplitude : float
        Amplitudes now, and as it is wished.
    period : float
        Period, and time of the change [s].
    """

    before: Array
    centre: Array
    amplitude_before: float
    amplitude: float
    period: float

    def at(self, t: float) -> tuple[Array, float]:
        """Return centre and amplitude a time after the begin of the change [s]."""
        s = min(t / self.period, 1.0)
        m = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
        centre = self.before + m * (self.centre - self.before)
        return centre, self.amplitude_before + m * (self.amplitude - self.amplitude_before)


class Space(Protocol[R]):
    """What the joints, or the end effector, of an arm are to a primitive; ``now`` is the present reference."""

    def at_rest(self, q: Array) -> R:
        """Return the reference at rest at ``q``, shape (nq,) [rad or m]."""

    def start(self, reference: R) -> tuple[Pose | Array, Array]:
        """Return place and velocity of a reference, as a primitive starts there."""

    def goal(self, goal: JointGoal | Target, q: Array, now: R) -> Pose | Array:
        """Return the place of a goal, for measured positions q; an InputError where there is none."""

    def learned_goal(self, primitive: Primitive, now: R) -> Pose | Array:
        """Return the goal of a primitive, or its centre."""

    def error(self, reference: R, q: Array) -> float:
        """Return the tracking error at measured positions q [m or rad]."""

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: R) -> None:
        """Refuse, with an InputError, a rhythm that exceeds the arm's limits."""

    def check(self, run: PrimitiveRun, now: R) -> None:
        """Refuse, with an InputError, a motion that exceeds the arm's limits from now on."""


class JointSpace:
    """The joints of an arm; a motion that would exceed a limit of position or speed is refused."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._continuous = np.isinf(model.q_max)
        self.joints_of_pose = JointsOfPose(model)

    def at_rest(self, q: Array) -> JointReference:
        """See :class:`Space`."""
        return JointReference.at_rest(q)

    def start(self, reference: JointReference) -> tuple[Array, Array]:
        """See :class:`Space`."""
        return reference.q_des, reference.v_des

    def goal(self, goal: JointGoal | Target, q: Array, now: JointReference) -> Array:
        """See :class:`Space`; of a pose, joint positions near to the present."""
        if isinstance(goal, Target):
            return self.joints_of_pose.solve(goal, q, now.q_des)
        return self._nearest(np.asarray(goal.destination), now)

    def learned_goal(self, primitive: Primitive, now: JointReference) -> Array:
        """See :class:`Space`."""
        return self._nearest(primitive.goal, now)

    def error(self, reference: JointReference, q: Array) -> float:
        """See :class:`Space`; the largest of all joints."""
        return float(np.abs(reference.q_des - q).max())

    def check(self, run: PrimitiveRun, now: JointReference) -> None:
        """See :class:`Space`."""
        times, references = run.preview(AHEAD, LOOKS)
        motion = [reference for reference in references if isinstance(reference, JointReference)]
        self._check_limits(np.array([at.q_des for at in motion]), np.array([at.v_des for at in motion]), times, now)

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: JointReference) -> None:
        """See :class:`Space`; the change adds to the speed of the rhythm."""
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
    """The end effector of an arm; where it cannot follow, the phase of the motion waits."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model

    def at_rest(self, q: Array) -> Reference:
        """See :class:`Space`."""
        return Reference(self._model.pose(q))

    def start(self, reference: Reference) -> tuple[Pose, Array]:
        """See :class:`Space`."""
        return reference.X_WT, reference.V_des

    def goal(self, goal: JointGoal | Target, q: Array, now: Reference) -> Pose:
        """See :class:`Space`; of joint positions, the pose that they have."""
        if isinstance(goal, Target):
            return self._model.pose(q, goal.frame) @ goal.X_FT
        return self._model.pose(np.asarray(goal.destination))

    def learned_goal(self, primitive: Primitive, now: Reference) -> Pose:
        """See :class:`Space`."""
        return primitive.learned_goal()

    def error(self, reference: Reference, q: Array) -> float:
        """See :class:`Space`; of the position."""
        return float(np.linalg.norm(reference.X_WT.p - self._model.pose(q).p))

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: Reference) -> None:
        """See :class:`Space`."""

    def check(self, run: PrimitiveRun, now: Reference) -> None:
        """See :class:`Space`."""


def check_frame(primitive: Primitive, model: RobotModel) -> None:
    """Refuse, with a ParameterError, a primitive of positions that are not poses in the base of an arm."""
    if primitive.quat_xyzw is None:
        raise ParameterError(f"a primitive of {primitive.size} coordinates without joints: poses or joints are needed")
    if primitive.frame not in ("", model.base):
        raise ParameterError(f"the primitive is in the frame {primitive.frame}; the base of this arm is {model.base}")
