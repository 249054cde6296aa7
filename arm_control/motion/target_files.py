"""What an arm is to do, read from YAML: lists of targets, motions of the end effector, joint trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.core.files import as_mapping, read_yaml, yaml_path
from arm_control.core.parameters import refuse_unknown
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths.poses import Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.motion import generators as motions
from arm_control.motion import patterns
from arm_control.motion.pose_trajectory import PosePoints
from arm_control.motion.waypoints import Waypoints

PATTERNS = {"star": patterns.star, "grid": patterns.grid, "random": patterns.random}
"""Rules that a list's positions may be made by; their arguments are what stands below ``pattern``."""

MOTIONS = {
    "circle": motions.circle,
    "polyline": motions.polyline,
    "curve": motions.curve,
    "digits": motions.digits,
}
"""Generators of a motion; their arguments are what stands below ``motion``."""

TOLERANCES = ("position_tolerance", "orientation_tolerance")


@dataclass(frozen=True)
class TargetList:
    """Poses to reach, one after the other.

    Attributes
    ----------
    frame : str
        The link in whose frame the poses are given.
    period : float
        Time for each [s].
    position_tolerance, orientation_tolerance : float
        What counts as reached at the end of a period [m], [rad].
    targets : tuple of Pose
        The poses.
    """

    frame: str
    period: float
    position_tolerance: float
    orientation_tolerance: float
    targets: tuple[Pose, ...]

    @classmethod
    def load(cls, name: str) -> TargetList:
        """Read a list by name (``config/targets/<name>.yaml``) or path.

        Poses are spelled out below ``targets``, or made by a rule: ``pattern`` holds its ``kind``, its arguments
        and the orientation of all, ``quat_xyzw``.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not that of a list of targets.
        """
        path = yaml_path("targets", name)
        content = read_yaml(path)
        keys = ("frame", "period", *TOLERANCES)
        refuse_unknown(content, (*keys, "robot", "description", "targets", "pattern"), str(path))
        if "pattern" in content and "targets" in content:
            raise ParameterError(f"{path}: targets and pattern: one of them is needed, not both")
        try:
            if "pattern" in content:
                poses = _patterned(as_mapping(content["pattern"], "pattern"))
            else:
                poses = tuple(_pose(entry, "target") for entry in content["targets"])
            period, position, orientation = (float(content[key]) for key in keys[1:])
            return cls(str(content["frame"]), period, position, orientation, poses)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def target_entry(X: Pose, smallest_singular_value: float) -> dict[str, Any]:
    """Return a target as it stands in a file; the inverse of what :meth:`TargetList.load` reads."""
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
        The link in whose frame the poses are given.
    position_tolerance, orientation_tolerance : float
        What counts as being where it should be [m], [rad].
    points : PosePoints
        The poses and when to be there.
    """

    frame: str
    position_tolerance: float
    orientation_tolerance: float
    points: PosePoints

    @classmethod
    def load(cls, name: str) -> Motion:
        """Read a motion by name (``config/motions/<name>.yaml``) or path.

        Below ``motion`` stand its ``kind``, one of :data:`MOTIONS`, its frame as ``position`` and ``quat_xyzw``, its
        ``orientation`` (a quaternion, where that is another one), and the generator's own arguments. Or ``kind``
        is ``points``, and ``points`` holds a ``time``, a ``position`` and a ``quat_xyzw`` each.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not that of a motion.
        """
        path = yaml_path("motions", name)
        content = read_yaml(path)
        refuse_unknown(content, ("frame", *TOLERANCES, "robot", "description", "start", "motion"), str(path))
        try:
            points = _points(as_mapping(content["motion"], "motion")).later(float(content.get("start", 0.0)))
            position, orientation = (float(content[key]) for key in TOLERANCES)
            checked = PosePoints.checked(points.times, points.poses, points.Vs, points.As)
            return cls(str(content["frame"]), position, orientation, checked)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def load_trajectory(name: str) -> tuple[tuple[str, ...], Waypoints]:
    """Read a joint trajectory by name (``config/trajectories/<name>.yaml``) or path.

    Returns
    -------
    joints : tuple of str
        Joint of each column.
    points : Waypoints
        The points, not yet checked against an arm.

    Raises
    ------
    ParameterError
        When there is no such file, or its content is not that of a trajectory.
    """
    path = yaml_path("trajectories", name)
    content = read_yaml(path)
    refuse_unknown(content, ("robot", "description", "joints", "points"), str(path))
    keys = ("time", "positions", "velocities", "accelerations")
    try:
        joints = tuple(map(str, content["joints"]))
        for point in content["points"]:
            refuse_unknown(point, keys, f"{path}: point")
        times, qs = (np.array([point[key] for point in content["points"]], dtype=float) for key in keys[:2])
        vs, as_ = (
            np.array([point[key] for point in content["points"]], dtype=float) if key in content["points"][0] else None
            for key in keys[2:]
        )
        return joints, Waypoints(times, qs, vs, as_)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def _pose(entry: Mapping[str, Any], what: str) -> Pose:
    refuse_unknown(entry, ("position", "quat_xyzw", "smallest_singular_value"), what)
    x, y, z = (float(value) for value in entry["position"])
    return Pose(rotation_from_quaternion(entry["quat_xyzw"]), np.array([x, y, z]))


def _patterned(rule: dict[str, Any]) -> tuple[Pose, ...]:
    make, R = _chosen(rule, PATTERNS), rotation_from_quaternion(rule.pop("quat_xyzw"))
    return tuple(Pose(R, p) for p in make(**rule))


def _points(rule: dict[str, Any]) -> PosePoints:
    if rule.get("kind") == "points":
        refuse_unknown(rule, ("kind", "points"), "motion")
        given = [dict(point) for point in rule["points"]]
        times = np.array([float(point.pop("time")) for point in given])
        return PosePoints(times, tuple(_pose(point, "point") for point in given))
    make = _chosen(rule, MOTIONS)
    X = _pose({key: rule.pop(key) for key in ("position", "quat_xyzw")}, "motion")
    R = rotation_from_quaternion(rule.pop("orientation")) if "orientation" in rule else None
    if make is motions.digits:
        return motions.digits(str(rule.pop("text")), X, R=R, **rule)
    return make(X, R=R, **rule)


def _chosen(rule: dict[str, Any], table: Mapping[str, Any]) -> Any:
    kind = rule.pop("kind")
    if kind not in table:
        raise InputError(f"kind = {kind!r}; there are: {', '.join(table)}")
    return table[kind]
