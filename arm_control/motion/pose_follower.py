"""Following of targets and motions of the end effector: the newest goal that is due is active.

A target is a pose to hold, a motion is a pose trajectory. Both act from a stamp on, and may be in the frame of any
link: the pose of that frame in the world is read once, when the goal becomes active.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion.goals import GoalQueue, PoseMotion, Target
from arm_control.motion.pose_trajectory import PosePoints, PoseTrajectory, transform_reference
from arm_control.motion.references import Reference


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
        Goal of the newest state; None: the pose at the start is held.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model, q = RobotModel.from_urdf(urdf_path("ur5")), np.zeros(6)
    >>> follower = PoseFollower(model)
    >>> follower.restart(q)
    >>> follower.queue.add(Target(1_000_000, "tool0", Pose(np.eye(3), np.array([0.0, 0.0, 0.1]))))
    >>> [(follower.reference(ns, q).X_WT.p - model.pose(q).p).round(3) + 0.0 for ns in (0, 1_000_000)]
    [array([0., 0., 0.]), array([0. , 0.1, 0. ])]
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.queue: GoalQueue[Target | PoseMotion] = GoalQueue()
        self.active: Target | PoseMotion | None = None
        self._held = Reference(Pose.identity())
        self._X_WF = Pose.identity()
        self._approach: PoseTrajectory | None = None

    def restart(self, q: Array) -> None:
        """Hold the pose of the arm at ``q``, shape (nq,) [rad or m], until a goal is due."""
        self.active = None
        self._approach = None
        self._held = Reference(self.model.pose(q))

    def reference(self, stamp_ns: int, q: Array) -> Reference:
        """Return the reference in a state.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].
        q : ndarray, shape (nq,)
            Measured positions [rad or m], for the frame of a goal that becomes active now.
        """
        due = self.queue.active(stamp_ns)
        if due is not None and due is not self.active:
            self._activate(due, self._active_reference(due.stamp_ns), q)
        return self._active_reference(stamp_ns) if isinstance(self.active, PoseMotion) else self._held

    def _activate(self, due: Target | PoseMotion, before: Reference, q: Array) -> None:
        """Follow a goal from now on; ``before`` is the reference at its stamp."""
        self.active = due
        self._approach = None
        self._X_WF = self.model.pose(q, due.frame)
        if isinstance(due, Target):
            self._held = Reference(self._X_WF @ due.X_FT)
        elif due.points.times[0] > 0.0:
            first = transform_reference(self._X_WF, due.trajectory.sample(due.points.times[0]))
            self._approach = _connect(before, first, float(due.points.times[0]))

    def _active_reference(self, stamp_ns: int) -> Reference:
        if not isinstance(self.active, PoseMotion):
            return self._held
        t = (stamp_ns - self.active.stamp_ns) * 1e-9
        if self._approach is not None and t < self._approach.duration:
            return self._approach.sample(t)
        return transform_reference(self._X_WF, self.active.trajectory.sample(t))


def _connect(start: Reference, end: Reference, duration: float) -> PoseTrajectory:
    """Return the motion from one reference to another in a time [s]."""
    Vs, As = (np.array([x, y]) for x, y in ((start.V_des, end.V_des), (start.A_des, end.A_des)))
    return PoseTrajectory(PosePoints(np.array([0.0, duration]), (start.X_WT, end.X_WT), Vs, As))
