"""Files of an arm's goals, in YAML: targets, motions of the end effector, joint trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from arm_control.core import as_mapping, read_yaml, refuse_unknown, yaml_path
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array, Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.motion import generators
from arm_control.motion.goals import WrenchGoal
from arm_control.motion.joint_trajectory import Waypoints
from arm_control.motion.pose_trajectory import PosePoints
from arm_control.motion.references import check_distance

PATTERNS: dict[str, Callable[..., Array]] = {
    "star": generators.star,
    "grid": generators.grid,
    "random": generators.random,
}
"""Generators of a list's positions; the entries below ``pattern`` are their arguments."""
MOTIONS: dict[str, Callable[..., PosePoints]] = {
    "circle": generators.circle,
    "polyline": generators.polyline,
    "curve": generators.curve,
    "digits": generators.digits,
}
"""Generators of a motion; the entries below ``motion`` are their arguments."""
G = TypeVar("G")
WRENCH_PERIOD = 0.2
"""Time between two messages of one wrench [s]: less than the time after which it is too old."""
TOLERANCES = ("position_tolerance", "orientation_tolerance")


@dataclass(frozen=True)
class TargetList:
    """Poses to reach, one after the other.

    Attributes
    ----------
    frame : str
        The link in whose frame the poses are.
    period : float
        Time for each target [s].
    position_tolerance, orientation_tolerance : float
        Largest errors of a reached target at the end of its period [m], [rad].
    wrenches : tuple of (tuple of float)
        For each pose six numbers, the wrench that the end effector exerts meanwhile [N, N m]; zero: none.
    on_the_way : tuple of bool
        For each pose whether the next one comes before it is reached; empty: for none.
    """

    frame: str
    period: float
    position_tolerance: float
    orientation_tolerance: float
    targets: tuple[Pose, ...]
    wrenches: tuple[tuple[float, ...], ...] = ()
    on_the_way: tuple[bool, ...] = ()

    def is_judged(self, number: int) -> bool:
        """Whether the target with this number, from 0 and with repetitions of the list, is to be reached."""
        return not self.on_the_way or not self.on_the_way[number % len(self.on_the_way)]

    def wrench_goals(self, count: int, first: int = 0) -> list[WrenchGoal]:
        """Return the wrenches of targets, each repeated before it is too old.

        A target without a wrench, after one with a wrench, ends it.

        Parameters
        ----------
        count : int
            Number of targets, with repetitions of the list.
        first : int
            Number of the first one.
        """
        goals = []
        wrenches, n = self.wrenches, len(self.wrenches)
        for number in range(first, first + count) if any(map(any, wrenches)) else ():
            wrench = wrenches[number % n]
            ends = number > 0 and any(wrenches[(number - 1) % n])
            repeats = np.arange(0.0, self.period, WRENCH_PERIOD) if any(wrench) else [0.0] if ends else []
            begin = number * self.period
            goals += [WrenchGoal(round((begin + t) * 1e9), self.frame, wrench) for t in repeats]
        return goals

    @classmethod
    def load(cls, name: str) -> TargetList:
        """Read a list by name (``config/targets/<name>.yaml``) or path.

        The poses are listed below ``targets``, or generated: ``pattern`` has the ``kind`` of the generator, its
        arguments and the orientation of all, ``quat_xyzw``. A listed one may have a ``force`` and a ``moment`` that
        the end effector exerts meanwhile, and be ``on_the_way``: the next one comes before it is reached.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not a list of targets.
        """
        path = yaml_path("targets", name)
        content = read_yaml(path)
        keys = ("frame", "period", *TOLERANCES)
        refuse_unknown(content, (*keys, "robot", "description", "targets", "pattern"), str(path))
        if "pattern" in content and "targets" in content:
            raise ParameterError(f"{path}: targets and pattern: one of them is needed, not both")
        try:
            if "pattern" in content:
                poses = _generated_poses(as_mapping(content["pattern"], "pattern"))
                wrenches: tuple[tuple[float, ...], ...] = ()
                on_the_way: tuple[bool, ...] = ()
            else:
                entries = [dict(entry) for entry in content["targets"]]
                wrenches = tuple(_take_wrench(entry) for entry in entries)
                on_the_way = tuple(bool(entry.pop("on_the_way", False)) for entry in entries)
                poses = tuple(_pose(entry, "target") for entry in entries)
            period, position, orientation = (float(content[key]) for key in keys[1:])
            return cls(str(content["frame"]), period, position, orientation, poses, wrenches, on_the_way)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def target_entry(X: Pose, smallest_singular_value: float) -> dict[str, Any]:
    """Return a target as an entry of a file, for :meth:`TargetList.load`.

    Parameters
    ----------
    smallest_singular_value : float
        Smallest singular value of the Jacobian there, as a note.
    """
    return {
        "position": X.p.round(6).tolist(),
        "quat_xyzw": quaternion_from_rotation(X.R).round(9).tolist(),
        "smallest_singular_value": round(smallest_singular_value, 4),
    }


@dataclass(frozen=True)
class Motion:
    """A motion of the end effector.

    Attributes
    ----------
    frame : str
        The link in whose frame the poses are.
    position_tolerance, orientation_tolerance : float
        Largest allowed errors [m], [rad].
    """

    frame: str
    position_tolerance: float
    orientation_tolerance: float
    points: PosePoints

    @classmethod
    def load(cls, name: str) -> Motion:
        """Read a motion by name (``config/motions/<name>.yaml``) or path.

        ``motion`` has the ``kind`` of its generator, one of :data:`MOTIONS`, the frame as ``position`` and
        ``quat_xyzw``, optionally another ``orientation`` (a quaternion), and the generator's own arguments. Or ``kind``
        is ``points``, and ``points`` has a ``time``, a ``position`` and a ``quat_xyzw`` for each pose.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not a motion.
        """
        path = yaml_path("motions", name)
        content = read_yaml(path)
        refuse_unknown(content, ("frame", *TOLERANCES, "robot", "description", "start", "motion"), str(path))
        try:
            points = _motion_points(as_mapping(content["motion"], "motion"))
            points = points.delayed(float(content.get("start", 0.0)))
            position, orientation = (float(content[key]) for key in TOLERANCES)
            checked = PosePoints.checked(points.times, points.poses, points.Vs, points.As)
            return cls(str(content["frame"]), position, orientation, checked)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def load_trajectory(name: str) -> tuple[tuple[str, ...], Waypoints]:
    """Read a joint trajectory by name (``config/trajectories/<name>.yaml``) or path.

    Raises
    ------
    ParameterError
        When there is no such file, or its content is not a trajectory.
    """
    path = yaml_path("trajectories", name)
    content = read_yaml(path)
    refuse_unknown(content, ("robot", "description", "joints", "points"), str(path))
    rows = ("positions", "velocities", "accelerations")
    try:
        joints = tuple(map(str, content["joints"]))
        points = content["points"]
        for point in points:
            refuse_unknown(point, ("time", *rows), f"{path}: point")
        times = np.array([point["time"] for point in points], dtype=float)
        vs, as_ = (_column(points, row) if row in points[0] else None for row in rows[1:])
        return joints, Waypoints(times, _column(points, "positions"), vs, as_)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def _column(points: Sequence[Mapping[str, Any]], key: str) -> Array:
    """Return one entry of all points, shape (n, number of joints)."""
    return np.array([point[key] for point in points], dtype=float)


def _pose(entry: Mapping[str, Any], title: str) -> Pose:
    refuse_unknown(entry, ("position", "quat_xyzw", "smallest_singular_value"), title)
    x, y, z = (float(value) for value in entry["position"])
    check_distance(math.hypot(x, y, z), f"{title} [{x}, {y}, {z}]")
    return Pose(rotation_from_quaternion(entry["quat_xyzw"]), np.array([x, y, z]))


def _take_wrench(entry: dict[str, Any]) -> tuple[float, ...]:
    """Remove ``force`` and ``moment`` from a target, and return both."""
    wrench = tuple(float(x) for key in ("force", "moment") for x in entry.pop(key, (0.0, 0.0, 0.0)))
    if len(wrench) != 6 or not np.isfinite(wrench).all():
        raise ValueError(f"force and moment {list(wrench)}: three finite numbers are needed for each")
    return wrench


def _generated_poses(rule: dict[str, Any]) -> tuple[Pose, ...]:
    """Return the poses of a ``pattern``."""
    generator = _take_generator(rule, PATTERNS)
    R = rotation_from_quaternion(rule.pop("quat_xyzw"))
    return tuple(Pose(R, p) for p in generator(**rule))


def _motion_points(rule: dict[str, Any]) -> PosePoints:
    """Return the points of a ``motion``."""
    if rule.get("kind") == "points":
        refuse_unknown(rule, ("kind", "points"), "motion")
        points = [dict(point) for point in rule["points"]]
        times = np.array([float(point.pop("time")) for point in points])
        return PosePoints(times, tuple(_pose(point, "point") for point in points))
    generator = _take_generator(rule, MOTIONS)
    X = _pose({key: rule.pop(key) for key in ("position", "quat_xyzw")}, "motion")
    R = rotation_from_quaternion(rule.pop("orientation")) if "orientation" in rule else None
    if generator is generators.digits:
        return generators.digits(str(rule.pop("text")), X, R=R, **rule)
    return generator(X, R=R, **rule)


def _take_generator(rule: dict[str, Any], table: Mapping[str, Callable[..., G]]) -> Callable[..., G]:
    """Remove ``kind`` from a rule, and return the generator of that name."""
    name = rule.pop("kind")
    if name not in table:
        raise InputError(f"kind = {name!r}; there are: {', '.join(table)}")
    return table[name]
