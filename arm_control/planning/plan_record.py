"""A motion that has been planned: its points, the moment of its begin, and the obstacles that it was planned among.

A plan as a file: joint positions over time, obstacles with their motions, and the trees of the search.

The page of the viewer shows it, and any program can read it: JSON, lengths in metres, angles in radians, times in
seconds from the begin of the plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Shape,
    Span,
    Sphere,
    quaternion_from_rotation,
)
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
    """Return obstacles as their twists carry them in a time [s]."""
    return tuple(Mover(obstacle, Span()).at(t) for obstacle in obstacles)


def are_moving(obstacles: Sequence[Obstacle]) -> bool:
    """Return whether one of some obstacles moves."""
    return any(np.any(obstacle.V_WO) for obstacle in obstacles)


SHAPES: dict[str, Callable[..., Shape]] = {
    kind.__name__.lower(): kind for kind in (Sphere, Box, Cylinder, Capsule, Cone, Hull)
}
"""Shapes by name."""
PERIOD = 0.02
"""Time between two postures of a record [s]."""


@dataclass(frozen=True)
class PlanRecord:
    """A plan, and what it was made from.

    Attributes
    ----------
    robot, tip : str
        Name of the robot's URDF or its path, and link of the end effector; empty: the only one.
    times : ndarray, shape (m,)
        From 0 on [s].
    qs : ndarray, shape (m, n)
        Joint positions then [rad or m].
    obstacles : tuple of Mover
        Obstacles, each in its span of time.
    tree : ndarray, shape (k, 2, n)
        Joint positions at both ends of each edge of the search's trees [rad or m]; no edges where they are unknown.

    Raises
    ------
    InputError
        When the times do not increase, or a shape does not fit the others.
    """

    robot: str
    times: Array
    qs: Array
    obstacles: tuple[Mover, ...] = ()
    tip: str = ""
    tree: Array = field(default_factory=no_tree)

    def __post_init__(self) -> None:
        m, n = np.shape(self.qs) if np.ndim(self.qs) == 2 else (0, 0)
        if m < 1 or np.shape(self.times) != (m,) or self.times[0] < 0.0 or (np.diff(self.times) < 0.0).any():
            raise InputError(f"a plan of {m} postures at times {self.times}: one time for each, increasing from 0 on")
        if len(self.tree) and self.tree.shape[1:] != (2, n):
            raise InputError(f"edges of shape {self.tree.shape}; needed: (k, 2, {n})")
        if not all(np.isfinite(values).all() for values in (self.times, self.qs, self.tree)):
            raise InputError("a number of the plan is not finite")

    @classmethod
    def of(cls, robot: str, plan: MotionPlan) -> PlanRecord:
        """Return the record of a planned motion of a robot, by the name of its URDF or its path."""
        times = np.linspace(0.0, plan.duration, 1 + math.ceil(plan.duration / PERIOD))
        qs = np.array([plan.motion.sample(t).q_des for t in times.tolist()])
        movers = tuple(Mover(obstacle, Span()) for obstacle in plan.obstacles)
        return cls(robot, times, qs, movers, "", plan.tree)

    @property
    def duration(self) -> float:
        """Time of the plan [s]."""
        return float(self.times[-1])

    def at(self, t: float) -> Array:
        """Joint positions at a time [s], shape (n,); between two postures on the straight way."""
        return np.array([np.interp(t, self.times, column) for column in self.qs.T])

    def obstacles_at(self, t: float) -> list[Obstacle | None]:
        """Obstacles at a time [s]; None in the place of one that is not there."""
        return [mover.at(t) if mover.span.holds(t) else None for mover in self.obstacles]

    def save(self, path: Path) -> None:
        """Write the plan into a file; an InputError when an obstacle has a shape that a file has no place for."""
        content = {
            "robot": self.robot,
            "tip": self.tip,
            "times": self.times.tolist(),
            "positions": self.qs.tolist(),
            "obstacles": [_entry(mover) for mover in self.obstacles],
            "tree": self.tree.tolist(),
        }
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> PlanRecord:
        """Read the plan of a file; an InputError when the file cannot be read, or is none of a plan."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            tree = np.array(content["tree"], dtype=float)
            return cls(
                str(content["robot"]),
                np.array(content["times"], dtype=float),
                np.array(content["positions"], dtype=float),
                tuple(_mover(entry) for entry in content["obstacles"]),
                str(content["tip"]),
                tree if tree.size else no_tree(),
            )
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = str(error) if isinstance(error, ArmControlError) else f"{type(error).__name__}: {error}"
            raise InputError(f"{path} is not the file of a plan: {reason}") from None


def _entry(mover: Mover) -> dict[str, Any]:
    """A mover as JSON; without an end where it has none."""
    obstacle, span = mover.obstacle, mover.span
    name = type(obstacle.shape).__name__.lower()
    if name not in SHAPES:
        raise InputError(f"an obstacle of the shape '{name}' has no place in a file; allowed: {', '.join(SHAPES)}")
    return {
        "shape": name,
        "sizes": [np.asarray(size).tolist() for size in _sizes(obstacle.shape)],
        "position": obstacle.X_WO.p.tolist(),
        "quat_xyzw": quaternion_from_rotation(obstacle.X_WO.R).tolist(),
        "twist": [float(x) for x in obstacle.V_WO],
        "begin": span.begin,
        **({"end": span.end} if math.isfinite(span.end) else {}),
    }


def _sizes(shape: Shape) -> tuple[Any, ...]:
    """What a shape is made from."""
    return (shape.vertices, shape.triangles) if isinstance(shape, Hull) else astuple(shape)


def _mover(entry: Mapping[str, Any]) -> Mover:
    """The mover of an entry."""
    if entry["shape"] not in SHAPES:
        raise InputError(f"shape '{entry['shape']}'; allowed: {', '.join(SHAPES)}")
    sizes = [tuple(size) if isinstance(size, list) else float(size) for size in entry["sizes"]]
    shape = SHAPES[entry["shape"]](*sizes)
    pose = Pose.at(entry["position"], entry["quat_xyzw"])
    span = Span(float(entry["begin"]), float(entry.get("end", math.inf)))
    return Mover(Obstacle(shape, pose, tuple(float(x) for x in entry["twist"])), span)
