"""Goals: what a controller is asked to reach or to follow from a moment on, and their queue."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy.typing as npt

from arm_control.maths import Array, Pose
from arm_control.motion.joint_trajectory import Waypoints
from arm_control.motion.pose_trajectory import PosePoints, PoseTrajectory

NEVER = 2**63 - 1
"""A stamp that never comes [ns]."""
ALWAYS = -NEVER
"""A stamp before all others [ns]."""


@dataclass(frozen=True)
class Target:
    """A pose of the end effector to reach.

    Attributes
    ----------
    stamp_ns : int
        The goal acts from the first state whose stamp is not before this one [ns].
    frame : str
        The link in whose frame the pose is.
    """

    stamp_ns: int
    frame: str
    X_FT: Pose
    is_immediate: bool = False


@dataclass(frozen=True)
class PoseMotion:
    """Poses of the end effector to pass.

    Attributes
    ----------
    stamp_ns : int
        Begin of the motion, from which the times of the points count [ns].
    frame : str
        The link in whose frame the poses are.
    points : PosePoints
        The poses. When the first time is later than 0, the end effector moves to the first pose until then.
    """

    stamp_ns: int
    frame: str
    points: PosePoints
    is_immediate: bool = False
    trajectory: PoseTrajectory = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trajectory", PoseTrajectory(self.points))


class JointTolerances(NamedTuple):
    """Tolerances of one trajectory: 0 stands for that of the parameters, less than 0 for no limit.

    Attributes
    ----------
    path, goal : ndarray, shape (nv,)
        Largest error of each joint, on the way and at the end [rad or m].
    goal_time : float
        Time after the end within which the goal must be reached [s].
    """

    path: Array
    goal: Array
    goal_time: float


class JointGoal(NamedTuple):
    """A goal of the joints.

    Attributes
    ----------
    stamp_ns : int
        The goal acts from this stamp on [ns].
    destination : Waypoints or ndarray, shape (nv,)
        Points to pass, or joint positions to reach [rad or m].
    tolerances : JointTolerances or None
        Tolerances of this goal; None: those of the parameters.
    is_single : bool
        Whether it does not act again when time starts over.
    """

    stamp_ns: int
    destination: Waypoints | Array
    is_immediate: bool = False
    tolerances: JointTolerances | None = None
    is_single: bool = False


class TwistJog(NamedTuple):
    """A velocity of the end effector, which acts for a short time: see :mod:`arm_control.motion.jogging`.

    Attributes
    ----------
    stamp_ns : int
        It acts from this stamp on [ns].
    sent_ns : int
        Stamp from which its age counts [ns].
    frame : str
        The link along whose axes it is.
    velocity : ndarray, shape (6,)
        Velocity of the end effector, linear before angular [m/s, rad/s].
    """

    stamp_ns: int
    sent_ns: int
    frame: str
    velocity: Array
    is_immediate: bool = False


class JointJog(NamedTuple):
    """Velocities of the joints, which act for a short time: see :mod:`arm_control.motion.jogging`.

    Attributes
    ----------
    stamp_ns : int
        They act from this stamp on [ns].
    sent_ns : int
        Stamp from which their age counts [ns].
    velocity : ndarray, shape (nv,)
        Velocity of each joint [rad/s or m/s].
    """

    stamp_ns: int
    sent_ns: int
    velocity: Array
    is_immediate: bool = False


class WrenchGoal(NamedTuple):
    """A wrench that the end effector exerts, for a while, on what it touches.

    Attributes
    ----------
    stamp_ns : int
        The wrench acts from this stamp on, until it is too old [ns].
    frame : str
        The link along whose axes it is.
    wrench : tuple of float
        Force [N] and moment [N m] about the end effector's origin; all zero: the poses count again.
    """

    stamp_ns: int
    frame: str
    wrench: tuple[float, ...]
    is_immediate: bool = False


class Chunk(NamedTuple):
    """Joint positions of a policy.

    Attributes
    ----------
    stamp_ns : int
        Time of the observation [ns].
    times : array_like, shape (k,)
        Times of the points from the stamp on [s].
    positions : array_like, shape (k, len(names))
        A point in each row [rad or m].
    names : sequence of str
        Joint of each column; empty: the model's order.
    """

    stamp_ns: int
    times: npt.ArrayLike
    positions: npt.ArrayLike
    names: Sequence[str] = ()


class PoseChunk(NamedTuple):
    """Poses of the end effector of a policy.

    Attributes
    ----------
    stamp_ns : int
        Time of the observation [ns].
    times : array_like, shape (k,)
        Times of the poses from the stamp on [s].
    poses : array_like, shape (k, 7)
        Position [m] and quaternion x, y, z, w in each row.
    frame : str
        The link in whose frame they are; empty: the base. One that moves counts where it was at the stamp: the end
        effector's own, for poses relative to that of the observation.
    """

    stamp_ns: int
    times: npt.ArrayLike
    poses: npt.ArrayLike
    frame: str = ""


class ChunkGoal(NamedTuple):
    """A chunk, and when it comes.

    Attributes
    ----------
    stamp_ns : int
        It is joined in the first state whose stamp is not before this one [ns].
    """

    stamp_ns: int
    chunk: Chunk | PoseChunk
    is_immediate: bool = False


class JointStiffness(NamedTuple):
    """Stiffness and damping of each joint that belong to a chunk.

    Attributes
    ----------
    stamp_ns : int
        They do not act before this stamp [ns].
    chunk_ns : int
        They act once a chunk is joined that was observed then or later [ns]; 0: at once.
    stiffness, damping : ndarray, shape (nv,)
        Shares; empty: as before.
    """

    stamp_ns: int
    chunk_ns: int
    stiffness: Array
    damping: Array
    is_immediate: bool = False


class Modulation(NamedTuple):
    """A number of a controller, such as the period of a movement primitive.

    Attributes
    ----------
    stamp_ns : int
        It acts from this stamp on [ns].
    quantity : str
        What it is, such as ``amplitude`` or ``period``.
    value : float
        The number, in SI units.
    """

    stamp_ns: int
    quantity: str
    value: float
    is_immediate: bool = False


PoseGoal = Target | PoseMotion | TwistJog
Goal = PoseGoal | JointGoal | JointJog | ChunkGoal | JointStiffness | WrenchGoal | Modulation


G = TypeVar("G", bound=Goal)


class GoalQueue(Generic[G]):
    """Goals in the order of their stamps; the newest one that is due is active.

    Past goals are kept: when a simulation is reset and time starts over, they take effect again. Goals that
    :meth:`end` has ended do not act before that.

    Parameters
    ----------
    capacity : int
        Largest number of goals; the oldest ones are removed.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._goals: list[G] = []
        self._stamps: list[int] = []
        self._ended_ns = ALWAYS
        self._awaits_pause = False

    def __len__(self) -> int:
        return len(self._goals)

    def add(self, goal: G) -> None:
        """Add a goal; it replaces one with the same stamp, and an immediate one all later ones, too."""
        i = bisect.bisect_left(self._stamps, goal.stamp_ns)
        is_replacement = i < len(self._stamps) and self._stamps[i] == goal.stamp_ns
        end = len(self._stamps) if goal.is_immediate else i + is_replacement
        self._goals[i:end] = [goal]
        self._stamps[i:end] = [goal.stamp_ns]
        del self._goals[: -self._capacity], self._stamps[: -self._capacity]
        if goal.stamp_ns == self._ended_ns:  # in the place of one that has been ended
            self._ended_ns -= 1

    def end(self, stamp_ns: int) -> None:
        """End all goals up to a stamp [ns]; one that is added for this very stamp later acts."""
        self._ended_ns, self._awaits_pause = max(self._ended_ns, stamp_ns), True

    def end_stream(self, now_ns: int, pause_ns: int) -> None:
        """End what goes on behind :meth:`end`: goals up to a stamp [ns], until none came for over a pause [ns]."""
        while self._awaits_pause and (next_ns := self.next_ns(self._ended_ns)) <= now_ns:
            self._awaits_pause = next_ns - self._ended_ns <= pause_ns
            if self._awaits_pause:
                self._ended_ns = next_ns

    def restart(self) -> None:
        """Let the goals that have been ended act again: time has started over."""
        self._ended_ns, self._awaits_pause = ALWAYS, False

    def discard(self, is_out: Callable[[G], bool]) -> None:
        """Remove the goals for which a function returns True."""
        self._goals = [goal for goal in self._goals if not is_out(goal)]
        self._stamps = [goal.stamp_ns for goal in self._goals]

    def next_ns(self, now_ns: int) -> int:
        """Return the stamp of the first goal after ``now_ns`` [ns]; :data:`NEVER` where there is none."""
        i = bisect.bisect_right(self._stamps, now_ns)
        return self._stamps[i] if i < len(self._stamps) else NEVER

    def active(self, now_ns: int) -> G | None:
        """Return the goal with the latest stamp that is not after ``now_ns``; None without one, or if it is ended."""
        i = bisect.bisect_right(self._stamps, now_ns)
        return self._goals[i - 1] if i and self._stamps[i - 1] > self._ended_ns else None
