"""What a controller is asked to do: one type that every source fills and every controller reads.

Sources differ (a target somebody sends, a trajectory, a planner); a controller sees where it should be
now and how it should move there: a :class:`Reference` for the end effector, a :class:`JointReference` for
the joints. They are two, not one with optional parts: a pose has no subtraction, its twist has six entries
whatever the arm, and a controller that found its part missing could only stop in the middle of a tick.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from arm_control.maths.poses import Array, Pose


@dataclass(frozen=True)
class Reference:
    """Desired motion of the end effector, in the world.

    Attributes
    ----------
    X_WT : Pose
        Desired pose; T is the target.
    V_des : ndarray, shape (6,)
        Twist the target has at this moment [m/s, rad/s].
    A_des : ndarray, shape (6,)
        Acceleration the target has at this moment [m/s^2, rad/s^2].
    """

    X_WT: Pose
    V_des: Array = field(default_factory=lambda: np.zeros(6))
    A_des: Array = field(default_factory=lambda: np.zeros(6))


@dataclass(frozen=True)
class JointReference:
    """Desired motion of the joints.

    Attributes
    ----------
    q_des, v_des, a_des : ndarray, shape (nv,)
        Position [rad or m], velocity [rad/s or m/s] and acceleration [rad/s^2 or m/s^2].
    """

    q_des: Array
    v_des: Array
    a_des: Array

    @classmethod
    def at_rest(cls, q_des: Array) -> JointReference:
        """Stay at ``q_des``, shape (nv,) [rad or m]."""
        return cls(q_des, np.zeros_like(q_des), np.zeros_like(q_des))


@dataclass(frozen=True)
class Target:
    """A pose to reach from a moment on.

    Attributes
    ----------
    stamp_ns : int
        The target acts from the first state whose stamp is not before this one [ns].
    frame : str
        The link in whose frame the pose is given.
    X_FT : Pose
        The pose of the target in that frame.
    """

    stamp_ns: int
    frame: str
    X_FT: Pose


class Stamped(Protocol):
    """What acts from a moment on."""

    @property
    def stamp_ns(self) -> int:
        """The moment [ns]."""


S = TypeVar("S", bound=Stamped)


class Queue(Generic[S]):
    """What was asked for, in the order in which it takes effect; the newest that is due is the active one.

    Past targets are kept, up to ``capacity``: when a simulation is reset and time starts over, the
    same targets take effect again.

    Examples
    --------
    >>> here = Pose(np.eye(3), np.zeros(3))
    >>> queue = TargetQueue()
    >>> queue.add(Target(2_000_000_000, "base_link", here))
    >>> queue.active(1_999_000_000) is None, queue.active(2_000_000_000).stamp_ns
    (True, 2000000000)
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._targets: list[S] = []

    def __len__(self) -> int:
        return len(self._targets)

    def add(self, target: S) -> None:
        """Take a target in; one with the stamp of another replaces it."""
        stamps = [t.stamp_ns for t in self._targets]
        i = bisect.bisect_left(stamps, target.stamp_ns)
        same = i < len(stamps) and stamps[i] == target.stamp_ns
        self._targets[i : i + same] = [target]
        del self._targets[: -self._capacity]

    def active(self, now_ns: int) -> S | None:
        """The target with the latest stamp that is not after ``now_ns``; None before the first."""
        i = bisect.bisect_right(self._targets, now_ns, key=lambda t: t.stamp_ns)
        return self._targets[i - 1] if i else None


class TargetQueue(Queue[Target]):
    """Targets of the end effector."""
