"""A motion that has been planned: its points, the moment of its begin, and the obstacles that it was planned among."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.maths import Array, Mover, Obstacle, Span
from arm_control.motion import JointReference, JointTrajectory, Waypoints


def no_tree() -> Array:
    """Return no edges, shape (0, 2, 0)."""
    return np.zeros((0, 2, 0))


@dataclass(frozen=True)
class MotionPlan:
    """A motion to rest, among obstacles.

    Attributes
    ----------
    points : Waypoints
        From the start at time 0 to the end; a single point where the arm is at its goal already.
    begin_ns : int
        Stamp of the begin [ns].
    obstacles : tuple of Obstacle
        Obstacles at the begin; each goes on with its twist.
    tree : ndarray, shape (k, 2, n)
        Joint positions at both ends of each edge of the search's trees [rad or m]; none where they are unknown.
    """

    points: Waypoints
    begin_ns: int = 0
    obstacles: tuple[Obstacle, ...] = ()
    tree: Array = field(default_factory=no_tree, compare=False)

    @cached_property
    def motion(self) -> JointTrajectory:
        """The motion through the points, as a controller of joints interpolates it."""
        return trajectory_of(self.points)

    @property
    def duration(self) -> float:
        """Time of the motion [s]."""
        return float(self.points.times[-1])

    @property
    def has_moving_obstacles(self) -> bool:
        """Whether an obstacle moves, so that the motion must begin at its time."""
        return are_moving(self.obstacles)

    def time(self, now_ns: int) -> float:
        """Time since the begin [s] at a stamp [ns]."""
        return (now_ns - self.begin_ns) / NANOSECONDS

    def obstacles_at(self, t: float) -> tuple[Obstacle, ...]:
        """Return the obstacles as they are foretold for a time since the begin [s]."""
        return foretold(self.obstacles, t)


def trajectory_of(points: Waypoints) -> JointTrajectory:
    """Return the motion through points of which the first is the start, at time 0; at rest where it has no velocity."""
    start = JointReference.at_rest(points.qs[0])
    if points.vs is not None:
        start = JointReference(points.qs[0], points.vs[0], start.a_des if points.as_ is None else points.as_[0])
    if len(points.times) == 1:
        points = Waypoints(np.ones(1), points.qs)
    return JointTrajectory.through(start, points)


def foretold(obstacles: Sequence[Obstacle], t: float) -> tuple[Obstacle, ...]:
    """Return obstacles as their twists carry them.

    Parameters
    ----------
    obstacles : sequence of Obstacle
        At time 0.
    t : float
        Time [s].
    """
    return tuple(Mover(obstacle, Span()).at(t) for obstacle in obstacles)


def are_moving(obstacles: Sequence[Obstacle]) -> bool:
    """Return whether one of some obstacles moves."""
    return any(np.any(obstacle.V_WO) for obstacle in obstacles)
