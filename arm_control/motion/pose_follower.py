"""Following of targets, motions and jogged velocities of the end effector: the newest that is due is active.

A target is a pose to hold, a motion is a pose trajectory. Both act from a stamp on, and may be in the frame of any
link: the pose of that frame in the world is read once, when the goal becomes active. A velocity
(:mod:`arm_control.motion.jogging`) is along the present axes of its frame.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion.goals import ALWAYS, NEVER, GoalQueue, PoseGoal, PoseMotion, Target, TwistJog
from arm_control.motion.jogging import LEAD, JogLimits, PoseJogging, near
from arm_control.motion.pose_trajectory import PosePoints, PoseTrajectory, transform_reference
from arm_control.motion.references import Reference


class ReferenceSource(Protocol):
    """From goals of the end effector to its reference, state by state.

    Attributes
    ----------
    goal : Pose or None
        Where the references of the last state lead; None: the reference itself is where the arm should be.
    refused : ArmControlError or None
        Why the goal of the last state is passed over.
    is_holding : bool
        Whether no goal has acted since :meth:`hold`.
    """

    jog_limits: JogLimits
    goal: Pose | None
    refused: ArmControlError | None
    is_holding: bool

    def add(self, goal: PoseGoal) -> None:
        """Add a goal, which acts from its stamp on."""

    def restart(self, q: Array) -> None:
        """Hold the pose of the arm at ``q``, shape (nq,) [rad or m]: time has started over."""

    def reference(self, stamp_ns: int, q: Array) -> Reference:
        """Return the reference in a state."""

    def hold(self, stamp_ns: int, q: Array) -> None:
        """End all goals up to a state, before its reference is asked for, and hold the arm where it is.

        Velocities count again when their stream has paused for longer than their time-out.
        """


class PoseFollower:
    """Reference of the end effector, state by state.

    Parameters
    ----------
    model : RobotModel
        The arm; a new one may be set before :meth:`restart`.

    Attributes
    ----------
    queue : GoalQueue
        Targets and motions; the last one of a stamp counts.
    active : Target or PoseMotion or None
        Newest target or motion that was due; None: the pose at the start, or of :meth:`hold`, is held.
    goal, refused : None
        The reference itself is where the arm should be; no goal is passed over.
    is_holding : bool
        Whether no goal has acted since :meth:`hold`.
    """

    goal: Pose | None = None
    refused: ArmControlError | None = None

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.queue: GoalQueue[Target | PoseMotion] = GoalQueue()
        self.active: Target | PoseMotion | None = None
        self._held = Reference(Pose.identity())
        self._X_WF = Pose.identity()
        self._approach: PoseTrajectory | None = None
        self.jog_limits = JogLimits(np.array([0.5, 1.0]), np.array([2.5, 6.0]), timeout=0.1)
        self._jogs: GoalQueue[TwistJog] | None = None
        self._jogging: PoseJogging | None = None
        self._has_run = False
        self._held_ns = self._begin_ns = ALWAYS
        self.is_holding = False

    def add(self, goal: PoseGoal) -> None:
        """Add a goal."""
        if not isinstance(goal, TwistJog):
            self.queue.add(goal)
            return
        if self._jogs is None:
            self._jogs = GoalQueue(capacity=1000)
        self._jogs.add(goal)

    def restart(self, q: Array) -> None:
        """Hold the pose of the arm at ``q``, shape (nq,) [rad or m], until a goal is due."""
        self.active = None
        if self._has_run:  # velocities of before mean nothing any more
            self._jogs = self._jogging = None
        self._has_run = True
        self.queue.restart()
        self._approach = None
        self._held = Reference(self.model.pose(q))
        self.is_holding = False

    def hold(self, stamp_ns: int, q: Array) -> None:
        """See :class:`ReferenceSource`."""
        if self._jogs is None:
            self._jogs = GoalQueue(capacity=1000)
        for queue in (self.queue, self._jogs):
            queue.end(stamp_ns)
        self.active = self._approach = self._jogging = None
        self._held = Reference(self.model.pose(q))
        self._held_ns = stamp_ns
        self.is_holding = True

    def reference(self, stamp_ns: int, q: Array) -> Reference:
        """Return the reference in a state.

        Measured positions q, shape (nq,), are for the frame of a goal that becomes active now [rad or m].
        """
        due = self.queue.active(stamp_ns)
        if due is not None and due is not self.active:
            before = self._active_reference(due.stamp_ns)
            self._begin_ns = max(due.stamp_ns, min(self._held_ns, stamp_ns))  # behind a hold that has ended it
            self._activate(due, before, q)
        if self._jogs is not None:
            self._jogs.end_stream(stamp_ns, int(self.jog_limits.timeout * NANOSECONDS))
            self._jog(self._jogs.active(stamp_ns), stamp_ns, q)
        is_moving = self._jogging is not None or isinstance(self.active, PoseMotion)
        return self._active_reference(stamp_ns) if is_moving else self._held

    def steady_reference(self, stamp_ns: int) -> tuple[Reference, int] | None:
        """Return the reference that stands still after a state of a stamp [ns], and the stamp until which it does [ns].

        None while it moves, and where the next state has a goal to take up. The reference of the state is known.
        """
        jog = None if self._jogs is None else self._jogs.active(stamp_ns)
        is_jogged = jog is not None and (self.active is None or jog.stamp_ns > self.active.stamp_ns)
        if self.queue.active(stamp_ns) is not self.active or self._jogging is not None or is_jogged:
            return None
        motion = self.active if isinstance(self.active, PoseMotion) else None
        if motion is not None and (stamp_ns - self._begin_ns) * 1e-9 < motion.trajectory.duration:
            return None
        next_jog_ns = NEVER if self._jogs is None else self._jogs.next_ns(stamp_ns)
        return self._active_reference(stamp_ns), min(self.queue.next_ns(stamp_ns), next_jog_ns)

    def _jog(self, jog: TwistJog | None, stamp_ns: int, q: Array) -> None:
        """Follow a velocity, if it is newer than the active goal."""
        if jog is None or (self.active is not None and jog.stamp_ns <= self.active.stamp_ns):
            return
        self.is_holding = False
        X_WE = self.model.pose(q)
        if self._jogging is None:
            start = self._active_reference(stamp_ns)
            X_WT = near(start.X_WT, X_WE, LEAD * self.jog_limits.speed)
            self._jogging = PoseJogging(Reference(X_WT, start.V_des, start.A_des), stamp_ns)
        self._jogging.tick(jog, stamp_ns, self.jog_limits, X_WE, self.model.pose(q, jog.frame).R)

    def _activate(self, due: Target | PoseMotion, before: Reference, q: Array) -> None:
        """Follow a goal from now on; ``before`` is the reference at its stamp."""
        self.active = due
        self._approach = None
        self._jogging = None
        self.is_holding = False
        self._X_WF = self.model.pose(q, due.frame)
        if isinstance(due, Target):
            self._held = Reference(self._X_WF @ due.X_FT)
        elif due.points.times[0] > 0.0:
            first = transform_reference(self._X_WF, due.trajectory.sample(due.points.times[0]))
            self._approach = _connect(before, first, float(due.points.times[0]))

    def _active_reference(self, stamp_ns: int) -> Reference:
        if self._jogging is not None:
            return self._jogging.reference
        if not isinstance(self.active, PoseMotion):
            return self._held
        t = (stamp_ns - self._begin_ns) * 1e-9
        if self._approach is not None and t < self._approach.duration:
            return self._approach.sample(t)
        return transform_reference(self._X_WF, self.active.trajectory.sample(t))


def _connect(start: Reference, end: Reference, duration: float) -> PoseTrajectory:
    """Return the motion from one reference to another in a time [s]."""
    Vs, As = (np.array([x, y]) for x, y in ((start.V_des, end.V_des), (start.A_des, end.A_des)))
    return PoseTrajectory(PosePoints(np.array([0.0, duration]), (start.X_WT, end.X_WT), Vs, As))
