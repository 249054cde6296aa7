"""Scenarios: which nodes, with which parameters and targets, make up a run. Data, read from YAML.

A scenario is one file below ``config/scenarios``; the launch files and ``arm_control run`` both read it
here. A list of targets is one file below ``config/targets``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.parameters import refuse_unknown
from arm_control.resources import available, share_path
from arm_control.spatial import Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.waypoints import Waypoints

NODES = ("simulator", "dynamics", "osc", "joint", "obstacle_avoidance", "gate", "targets")
"""The package's executables; each is also the name of its node."""

SIMULATORS = ("mujoco", "none")


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

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not that of a list of targets.
        """
        path = _yaml_path("targets", name)
        content = read_yaml(path)
        keys = ("frame", "period", "position_tolerance", "orientation_tolerance", "targets")
        refuse_unknown(content, (*keys, "robot", "description"), str(path))
        try:
            poses = tuple(_pose(entry) for entry in content["targets"])
            period, position, orientation = (float(content[key]) for key in keys[1:4])
            return cls(str(content["frame"]), period, position, orientation, poses)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error


def _pose(entry: Mapping[str, Any]) -> Pose:
    refuse_unknown(entry, ("position", "quat_xyzw", "smallest_singular_value"), "target")
    x, y, z = (float(value) for value in entry["position"])
    return Pose(rotation_from_quaternion(entry["quat_xyzw"]), np.array([x, y, z]))


def target_entry(X: Pose, smallest_singular_value: float) -> dict[str, Any]:
    """Return a target as it stands in a file; the inverse of what :meth:`TargetList.load` reads."""
    return {
        "position": X.p.round(6).tolist(),
        "quat_xyzw": quaternion_from_rotation(X.R).round(9).tolist(),
        "smallest_singular_value": round(smallest_singular_value, 4),
    }


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
    path = _yaml_path("trajectories", name)
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


@dataclass(frozen=True)
class Scenario:
    """Which nodes make up a run.

    Attributes
    ----------
    name, description : str
        What it is called, and one sentence about it.
    robot : str
        Name of the robot's URDF, or its path.
    nodes : dict of str to dict
        Parameters of each node, by the node's name.
    """

    name: str
    description: str
    robot: str
    nodes: dict[str, dict[str, Any]]

    @classmethod
    def load(cls, name: str) -> Scenario:
        """Read a scenario by name (``config/scenarios/<name>.yaml``) or path.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When it has an unknown key or names an unknown node.
        """
        path = _yaml_path("scenarios", name)
        content = read_yaml(path)
        refuse_unknown(content, ("description", "robot", "nodes"), str(path))
        nodes = _mapping(content.get("nodes"), f"{path}: nodes")
        refuse_unknown(nodes, NODES, f"{path}: nodes")
        return cls(
            path.stem,
            str(content.get("description", "")),
            str(content.get("robot", "")),
            {node: _mapping(parameters, f"{path}: {node}") for node, parameters in nodes.items()},
        )

    def with_options(
        self,
        *,
        robot: str = "",
        simulator: str = "mujoco",
        lock_step: bool = False,
        start_paused: bool = False,
        targets: bool = True,
    ) -> Scenario:
        """Return the scenario as the command line or a launch file wants it.

        Parameters
        ----------
        robot : str
            Another robot than the scenario's; empty: the scenario's own.
        simulator : str
            ``mujoco``, or ``none`` where a real robot (or another simulator) publishes the joint states.
        lock_step : bool
            Whether each state waits for its command.
        start_paused : bool
            Whether the simulator waits until somebody calls its ``~/pause`` with false.
        targets : bool
            Whether the scenario's own targets are published.
        """
        if simulator not in SIMULATORS:
            raise ParameterError(f"simulator = {simulator!r}, allowed {', '.join(SIMULATORS)}")
        other = bool(robot) and robot != self.robot
        if other and targets and "targets" in self.nodes:
            raise ParameterError(f"the targets of {self.name} are for {self.robot}: leave them out (--no-targets)")
        left_out = {"simulator"} if simulator == "none" else set()
        left_out |= set() if targets else {"targets"}
        nodes = {node: dict(parameters) for node, parameters in self.nodes.items() if node not in left_out}
        if other and "simulator" in nodes:
            nodes["simulator"].pop("initial_position", None)
        if lock_step:
            for parameters in nodes.values():
                parameters["lock_step"] = True
        if "simulator" in nodes:
            nodes["simulator"] |= {"robot": robot or self.robot, "start_paused": start_paused}
        return Scenario(self.name, self.description, robot or self.robot, nodes)

    def targets(self) -> TargetList | None:
        """The list of targets this scenario goes through, or None."""
        name = self.nodes.get("targets", {}).get("file")
        return TargetList.load(name) if name else None


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that come with the package."""
    return available("config/scenarios", ".yaml")


def check_parameter_file(path: str | Path, nodes: Mapping[str, Any], namespace: str = "") -> None:
    """Refuse a ROS parameter file that names a node which the scenario does not have.

    ROS ignores such an entry without a word, and a misspelt name then does nothing. A name without a
    slash means the node at the root: with a namespace, ``/**/osc`` means it wherever it is.

    Raises
    ------
    ParameterError
        When a key is neither a node (with or without a namespace) nor ROS's own ``/**``.
    """
    for key, content in read_yaml(Path(path)).items():
        place, _, name = str(key).rpartition("/")
        if key != "/**" and name not in (*nodes, "*", "**"):
            raise ParameterError(f"{path}: '{key}' is no node of the scenario; allowed: /**, {', '.join(nodes)}")
        if namespace.strip("/") and key != "/**" and place not in ("/**", "/" + namespace.strip("/")):
            raise ParameterError(f"{path}: '{key}' is not in the namespace {namespace}: write '/**/{name}'")
        refuse_unknown(_mapping(content, f"{path}: {key}"), ("ros__parameters",), f"{path}: {key}")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping.

    Raises
    ------
    ParameterError
        When the file is missing, is not YAML or holds something else.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ParameterError(f"{path}: {error}") from error
    if content is None:
        raise ParameterError(f"{path}: a mapping is needed, the file is empty")
    return _mapping(content, str(path))


def _mapping(content: Any, where: str) -> dict[str, Any]:
    """Return a copy of what should be a mapping; nothing at all is an empty one."""
    if not isinstance(content, (Mapping, type(None))):
        raise ParameterError(f"{where}: a mapping is needed, not {type(content).__name__}")
    return dict(content or {})


def _yaml_path(folder: str, name: str) -> Path:
    if Path(name).suffix == ".yaml":
        return Path(name)
    try:
        return share_path("config", folder, f"{name}.yaml")
    except ArmControlError:
        there = ", ".join(available(f"config/{folder}", ".yaml"))
        raise ParameterError(f"no '{name}' in config/{folder}; there are: {there}") from None
