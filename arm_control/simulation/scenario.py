"""Scenarios: which nodes, with which parameters and targets, make up a run. Data, read from YAML.

A scenario is one file below ``config/scenarios``; the launch files, ``arm_control run`` and ``arm_control
simulate`` all read it here. What there is to do is in files of their own (:mod:`arm_control.motion.target_files`).

Variants of a scenario differ in parameters of the nodes; the first one is what runs unless another is asked for.
Checks are figures of :mod:`arm_control.report.metrics` that must hold: ``name: true`` or ``false``,
``name: {most: 0.01}`` or ``{least: 0.01}``, below the name of a variant or below ``all``.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arm_control.control.osc.tuning import OF_ONE_ARM, PROPOSED
from arm_control.core.files import as_mapping, file_names, read_yaml, ros_parameters, yaml_path
from arm_control.core.parameters import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.model.arm_parameters import ArmParameters
from arm_control.motion.target_files import Motion, TargetList
from arm_control.simulation.world import World

NODES = (
    "simulator",
    "dynamics",
    "osc",
    "joint",
    "ilqr",
    "obstacle_avoidance",
    "gate",
    "targets",
    "visuals",
    "coppeliasim_bridge",
    "viewer",
)
"""The package's executables; each is also the name of its node."""

CONTROLLERS = ("osc", "joint", "ilqr")
"""Those of them that control an arm; a scenario has one."""

SIMULATORS = ("mujoco", "coppeliasim", "none")
BRIDGE_RATE = 200.0
"""Rate of the states of a CoppeliaSim [Hz]: 5 ms are the longest step it may take."""


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
        Parameters of each node, by the node's name, before any variant.
    variants : dict of str to dict
        By name what is different: parameters by node. Empty when there is one way only.
    world : World
        Obstacles and pushes.
    duration : float
        How long it takes [s]; 0: until somebody ends it.
    checks : dict of str to dict
        By the name of a variant, or ``all``, the figures that must hold.
    source : str
        The file it was read from: nodes that need its world read it there.
    """

    name: str
    description: str
    robot: str
    nodes: dict[str, dict[str, Any]]
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    world: World = field(default_factory=World, compare=False)
    duration: float = 0.0
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    source: str = field(default="", compare=False)

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
        path = yaml_path("scenarios", name)
        content = read_yaml(path)
        refuse_unknown(content, ("description", "robot", "nodes", "variants", "world", "duration", "checks"), str(path))
        nodes, variants, checks = (_mappings(content, key, path) for key in ("nodes", "variants", "checks"))
        refuse_unknown(nodes, NODES, f"{path}: nodes")
        for variant, changes in variants.items():
            refuse_unknown(changes, nodes, f"{path}: {variant}")
        refuse_unknown(checks, (*variants, "all"), f"{path}: checks")
        return cls(
            path.stem,
            str(content.get("description", "")),
            str(content.get("robot", "")),
            nodes,
            variants,
            World.from_mapping(as_mapping(content.get("world"), f"{path}: world"), f"{path}: world"),
            _duration(content.get("duration", 0.0), path),
            checks,
            str(path.absolute()),
        )

    def variant(self, name: str) -> Scenario:
        """Return the scenario with the parameters of one of its variants; of the first one for an empty name.

        Raises
        ------
        ParameterError
            When there is no such variant.
        """
        name = name or next(iter(self.variants), "")
        if not name:
            return self
        if name not in self.variants:
            there = ", ".join(self.variants) or "none"
            raise ParameterError(f"no variant '{name}' of {self.name}; there are: {there}")
        return replace(self, nodes=merged(self.nodes, self.variants[name]), variants={})

    def required(self, variant: str) -> dict[str, Any]:
        """Figures that must hold for a variant."""
        return {**self.checks.get("all", {}), **self.checks.get(variant, {})}

    def with_options(
        self,
        *,
        variant: str = "",
        robot: str = "",
        simulator: str = "mujoco",
        lock_step: bool = False,
        start_paused: bool = False,
        targets: bool = True,
        real_time_factor: float = 0.0,
        paced: bool = False,
    ) -> Scenario:
        """Return the scenario as the command line or a launch file wants it.

        Parameters
        ----------
        variant : str
            One of the scenario's variants; empty: the first.
        robot : str
            Another robot than the scenario's; empty: the scenario's own.
        simulator : str
            ``mujoco``, ``coppeliasim`` for one that runs already, in lock step, or ``none`` where a real robot (or
            another simulator) publishes the joint states.
        lock_step : bool
            Whether each state waits for its command.
        start_paused : bool
            Whether the simulator waits until somebody calls its ``~/pause`` with false.
        targets : bool
            Whether the scenario's own targets are published.
        real_time_factor : float
            Simulated time per wall time, as the simulator's parameter; 0: the scenario's own.
        paced : bool
            Lock step at the pace of the clock.

        Raises
        ------
        ParameterError
            When the options do not fit the scenario.
        """
        if simulator not in SIMULATORS:
            raise ParameterError(f"simulator = {simulator!r}, allowed {', '.join(SIMULATORS)}")
        other = bool(robot) and robot != self.robot
        if other and targets and "targets" in self.nodes:
            raise ParameterError(f"the targets of {self.name} are for {self.robot}: leave them out (--no-targets)")
        left_out = {"simulator"} if simulator == "none" else set()
        left_out |= set() if targets else {"targets"}
        chosen = self.variant(variant)
        given = {node: {**chosen.arm(), **parameters} for node, parameters in chosen.nodes.items()}
        nodes = {node: parameters for node, parameters in given.items() if node not in left_out}
        if self.world.movers:
            nodes["targets"] = {**chosen.arm(), **nodes.get("targets", {}), "world": self.source}
            nodes["targets"] |= {"lead": 1.0} if lock_step else {}  # whose time goes faster than the clock
        if self.world.pushes and "simulator" in nodes:
            nodes["simulator"]["world"] = self.source
        for name in ("initial_position", *OF_ONE_ARM) if other else ():
            for parameters in nodes.values():
                parameters.pop(name, None)
        paced = paced and simulator != "none"  # a robot's time does not wait
        if lock_step or paced:
            for parameters in nodes.values():
                parameters["lock_step"] = True
        if "simulator" in nodes:
            nodes["simulator"] |= {"robot": robot or self.robot, "start_paused": start_paused}
            nodes["simulator"] |= {"real_time_factor": real_time_factor} if real_time_factor else {}
            nodes["simulator"] |= {"paced": True} if paced else {}
        if simulator == "coppeliasim":
            nodes = _with_bridge(nodes)
        return replace(chosen, robot=robot or self.robot, nodes=nodes)

    @property
    def simulator(self) -> str:
        """The node that simulates the arm; empty where none does."""
        return next((node for node in ("simulator", "coppeliasim_bridge") if node in self.nodes), "")

    def arm(self) -> dict[str, Any]:
        """What the controller's parameters say of the arm: it is the same arm for every node."""
        controllers = [self.nodes[node] for node in ("osc", "joint", "ilqr") if node in self.nodes]
        choices = {name: x for given in controllers for name, x in given.items() if name in ArmParameters.types()}
        return deepcopy(choices)  # ROS reads no YAML in which two nodes share a list

    @property
    def controller(self) -> str:
        """The node that controls the arm; empty where none does."""
        return next((node for node in CONTROLLERS if node in self.nodes), "")

    def targets(self) -> TargetList | None:
        """The list of targets this scenario goes through, or None."""
        name = self.nodes.get("targets", {}).get("file")
        return TargetList.load(name) if name else None

    def motion(self) -> Motion | None:
        """The motion of the end effector in this scenario, or None."""
        name = self.nodes.get("targets", {}).get("motion")
        return Motion.load(name) if name else None


def _with_bridge(nodes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The same nodes with CoppeliaSim in the simulator's place: in lock step, with gains for its rate."""
    given = nodes.get("simulator", {})
    own = {key: value for key, value in given.items() if key not in ("timestep", "damping")} | {"lock_step": True}
    others = {node: {**parameters, "lock_step": True} for node, parameters in nodes.items() if node != "simulator"}
    if "osc" in others:
        kept = {key: value for key, value in others["osc"].items() if key not in PROPOSED}
        others["osc"] = {**kept, "rate": BRIDGE_RATE}
    if "joint" in others:
        others["joint"]["period"] = 1.0 / BRIDGE_RATE
    return {"coppeliasim_bridge": own, **others}


def world_of(name: str) -> World:
    """What is around in a scenario, by its name or path; nothing for an empty name."""
    return Scenario.load(name).world if name else World()


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with changes, mappings in them entry by entry."""
    result = dict(values)
    for key, change in changes.items():
        old = result.get(key)
        result[key] = merged(old or {}, change) if isinstance(change, Mapping) else change
    return result


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that come with the package."""
    return file_names("config/scenarios", ".yaml")


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
        refuse_unknown(as_mapping(content, f"{path}: {key}"), ("ros__parameters",), f"{path}: {key}")
        ros_parameters(content, f"{path}: {key}")


def _mappings(content: Mapping[str, Any], key: str, path: Path) -> dict[str, dict[str, Any]]:
    """A mapping of mappings, such as parameters by node."""
    found = as_mapping(content.get(key), f"{path}: {key}")
    return {str(name): as_mapping(inner, f"{path}: {name}") for name, inner in found.items()}


def _duration(value: Any, path: Path) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{path}: duration = {value!r}: a time [s] is needed") from None
    if not 0.0 <= seconds < float("inf"):
        raise ParameterError(f"{path}: duration = {value!r}: 0 or a positive time [s] is needed")
    return seconds
