"""Following targets and pose trajectories of the end effector: the newest that is due is what counts.

A target is a pose to hold, a motion is a pose trajectory. Both act from a stamp on, and both may be given in the
frame of any link: where that frame is at the moment one becomes active, it stays for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion.pose_trajectory import PosePoints, PoseTrajectory, seen_from
from arm_control.motion.references import Queue, Reference, Target


@dataclass(frozen=True)
class PoseMotion:
    """Poses to go through from a moment on.

    Attributes
    ----------
    stamp_ns : int
        The moment that the points' times count from [ns].
    frame : str
        The link in whose frame the poses are given.
    points : PosePoints
        The poses. A first one later than 0 is gone to from wherever the end effector should be then.
    """

    stamp_ns: int
    frame: str
    points: PosePoints
    trajectory: PoseTrajectory = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trajectory", PoseTrajectory(self.points))


class PoseFollower:
    """Where the end effector should be, state by state.

    Parameters
    ----------
    model : RobotModel
        The arm; may be replaced by another one before :meth:`restart`.

    Attributes
    ----------
    queue : Queue
        Targets and motions; of two with the same stamp the one that came last counts.
    active : Target or PoseMotion or None
        What was followed in the newest state; None: the place where the arm was at the start.

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
        self.queue: Queue[Target | PoseMotion] = Queue()
        self.active: Target | PoseMotion | None = None
        self._held = Reference(Pose(np.eye(3), np.zeros(3)))
        self._X_WF = Pose(np.eye(3), np.zeros(3))
        self._approach: PoseTrajectory | None = None

    def restart(self, q: Array) -> None:
        """Hold where the arm is, at ``q`` [rad or m], until something is due."""
        self.active, self._approach = None, None
        self._held = Reference(self.model.pose(q))

    def reference(self, stamp_ns: int, q: Array) -> Reference:
        """Desired motion in a state.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].
        q : ndarray, shape (nq,)
            Measured positions [rad or m]: where the frame of what becomes active now is.
        """
        due = self.queue.active(stamp_ns)
        if due is not None and due is not self.active:
            self._begin(due, self._wanted(due.stamp_ns), q)
        return self._wanted(stamp_ns)

    def _begin(self, due: Target | PoseMotion, before: Reference, q: Array) -> None:
        self.active, self._approach = due, None
        self._X_WF = self.model.pose(q, due.frame)
        if isinstance(due, Target):
            self._held = Reference(self._X_WF @ due.X_FT)
        elif due.points.times[0] > 0.0:
            self._approach = _between(before, seen_from(self._X_WF, due.trajectory.sample(due.points.times[0])), due)

    def _wanted(self, stamp_ns: int) -> Reference:
        if not isinstance(self.active, PoseMotion):
            return self._held
        t = (stamp_ns - self.active.stamp_ns) * 1e-9
        if self._approach is not None and t < self._approach.duration:
            return self._approach.sample(t)
        return seen_from(self._X_WF, self.active.trajectory.sample(t))


def _between(a: Reference, b: Reference, motion: PoseMotion) -> PoseTrajectory:
    """The way from one motion into another, which begins at the motion's first point."""
    rows = (np.array([x, y]) for x, y in ((a.V_des, b.V_des), (a.A_des, b.A_des)))
    return PoseTrajectory(PosePoints(np.array([0.0, motion.points.times[0]]), (a.X_WT, b.X_WT), *rows))
