"""Scenarios: the nodes of a run, with their parameters and targets, from YAML.

A scenario is one file below ``config/scenarios``; the launch files, ``arm_control run`` and ``arm_control
simulate`` read it here. Targets and motions have files of their own (:mod:`arm_control.motion.target_files`).

Variants of a scenario differ in parameters of the nodes; the default is the first one. Every scenario has a variant
``real``, too: its first one on a plant that is not the model (:mod:`arm_control.simulation.plant_properties`). The
nodes of any such plant compensate friction, payloads and rotors. An arm that is its model is better without: it gives
way to a push as a spring, and a floor of inertia that is not there makes its paths worse. Any other arm misses its
targets without. So ``auto`` compensates where the simulated arm is not its model (``plant.*``) and where no simulator
is started: a real arm never is its model.

Checks are bounds on figures of :mod:`arm_control.report.simulation_figures`: ``name: true`` or ``false``, ``name:
{most: 0.01}`` or ``{least: 0.01}``, below the name of a variant or below ``all``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arm_control.control import OF_ONE_ARM, PROPOSED, LoopParameters, resolve_parameters
from arm_control.controllers import CONTROLLERS, OscLoopParameters
from arm_control.core import (
    WILDCARDS,
    as_mapping,
    file_names,
    node_names,
    read_yaml,
    refuse_unknown,
    ros_parameters,
    write_text,
    yaml_document,
    yaml_path,
)
from arm_control.exceptions import ParameterError
from arm_control.model import ArmParameters, RobotModel, read_description, refuse_xacro_in
from arm_control.motion import Motion, TargetList
from arm_control.simulation.engine import EngineParameters
from arm_control.simulation.plan_scene import PlanFile
from arm_control.simulation.plant_properties import PREFIX, PlantProperties, properties_of
from arm_control.simulation.rigid_body import PREFIX as RIGID_BODY
from arm_control.simulation.scene import SURROUNDINGS, World, positive, read_scene
from arm_control.simulation.sensors import RangeSensor, range_sensors_of

NODES = node_names()
"""The package's executables; each is also the name of its node."""
PLANNED = ("goal", "pose", "horizon", "margin")
"""Entries that belong to the plan before a run; those of a task path are read as those of a planning scene."""
OF_TASKS = ("kind", "limits", "rest", "tolerance", "angle_tolerance")
"""Entries that a scenario has beside a task path only."""
REAL = "real"
"""Variant of every scenario: the arm is not its model."""
SIMULATORS = ("mujoco", "coppeliasim", "none")
BRIDGE_RATE = 200.0
"""Rate of the states with CoppeliaSim [Hz]; its steps are 5 ms."""


@dataclass(frozen=True)
class Scenario:
    """The nodes of a run.

    Attributes
    ----------
    nodes : dict of str to dict
        Parameters of each node, by the node's name, before any variant.
    variants : dict of str to dict
        Changed parameters by node, for each variant by its name; empty without variants.
    duration : float
        Simulated time [s]; 0: without end.
    checks : dict of str to dict
        Bounds on figures, by the name of a variant or ``all``.
    plan : dict of str to value
        Motion to plan before the run (:mod:`arm_control.simulation.planned_motion`); empty: none.
    source : str
        Path of its file; nodes read the world from there.
    """

    name: str
    description: str
    robot: str
    nodes: dict[str, dict[str, Any]]
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    world: World = field(default_factory=World, compare=False)
    duration: float = 0.0
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    range_sensors: tuple[RangeSensor, ...] = ()
    plan: dict[str, Any] = field(default_factory=dict)
    source: str = field(default="", compare=False)

    @classmethod
    def load(cls, name: str, *, trust: bool = False) -> Scenario:
        """Read a scenario by name (``config/scenarios/<name>.yaml``) or path.

        With ``trust`` it may name a xacro file; expanding one may run any code.

        Raises
        ------
        ArmControlError
            When there is no such file, or it names a xacro file without being trusted.
        ParameterError
            When it has an unknown key or names an unknown node.
        """
        path = yaml_path("scenarios", name)
        content = read_scene(path)
        if not trust:
            refuse_xacro_in(content, str(path))
        nodes, variants, checks = (_mappings(content, key, path) for key in ("nodes", "variants", "checks"))
        refuse_unknown(nodes, NODES, f"{path}: nodes")
        for variant, changes in variants.items():
            refuse_unknown(changes, (*nodes, "start"), f"{path}: {variant}")
            _start(changes, nodes, changes.pop("start", None))
        _start(nodes, nodes, content.get("start"))
        arm = as_mapping(content.get("arm"), f"{path}: arm")
        ArmParameters.from_mapping(arm, where=f"{path}: arm")
        nodes = {node: {**deepcopy(arm), **values} for node, values in nodes.items()}
        refuse_unknown(checks, (*variants, "all", REAL), f"{path}: checks")
        return cls(
            path.stem,
            str(content.get("description", "")),
            str(content.get("robot", "")),
            nodes,
            variants,
            _world(content, str(path)),
            positive(content.get("duration", 0.0), f"{path}: duration", or_zero=True),
            checks,
            range_sensors_of(content.get("range_sensors"), f"{path}: range_sensors"),
            _plan(content, str(path)),
            str(path.absolute()),
        )

    def variant(self, name: str) -> Scenario:
        """Return the scenario with the parameters of a variant; of the first one for an empty name.

        Raises
        ------
        ParameterError
            When there is no such variant, or its plant is not allowed.
        """
        chosen = self.file_variant(name)
        needed = is_needed("mujoco", chosen.nodes.get("simulator", {}), f"{self.name}: simulator")
        return replace(chosen, nodes=with_compensation(chosen.nodes, "auto", is_needed=needed))

    def file_variant(self, name: str) -> Scenario:
        """Return a variant as its file has it: nothing is compensated because of its plant."""
        first = next(iter(self.variants), "")
        name = name or first
        if not name:
            return self
        if name == REAL and REAL not in self.variants:
            chosen = self.file_variant(first)
            plant = {"simulator": {"plant.set": REAL}} if "simulator" in chosen.nodes else {}
            return replace(chosen, nodes=merged(chosen.nodes, plant), checks={"all": self.required(REAL)})
        if name not in self.variants:
            known = ", ".join((*self.variants, REAL))
            raise ParameterError(f"no variant '{name}' of {self.name}; there are: {known}")
        nodes, checks = merged(self.nodes, self.variants[name]), {"all": self.required(name)}
        return replace(self, nodes=nodes, variants={}, checks=checks)

    @property
    def expects_misses(self) -> bool:
        """Whether its checks expect that targets are missed, of a scenario without variants."""
        required = self.required("")
        return "reached_share" in required or required.get("reached") is False

    def required(self, variant: str) -> dict[str, Any]:
        """Return the bounds on figures for a variant; those of all variants are for plants that are the model."""
        common = {} if variant == REAL else self.checks.get("all", {})
        return {**common, **self.checks.get(variant, {})}

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
        gate: bool = False,
        awaits_controller: bool = False,
        friction: str = "auto",
        plant: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """Return the scenario with options of the command line or a launch file.

        Parameters
        ----------
        variant : str
            One of the scenario's variants; empty: the first.
        robot : str
            Another robot; empty: the scenario's own.
        simulator : str
            ``mujoco``; ``coppeliasim`` for a running one, in lock step; or ``none`` when a real robot or another
            simulator publishes the joint states.
        start_paused : bool
            Whether the simulator waits for a call of its ``~/pause`` with false.
        real_time_factor : float
            Simulated time per wall time, as the simulator's parameter; 0: the scenario's own.
        paced : bool
            Lock step at the pace of the clock.
        gate : bool
            Whether the node ``gate`` stands between the controller and what moves the arm.
        awaits_controller : bool
            Whether simulated time begins when the controller knows its targets, without a call of ``~/pause``.
        friction : str
            Whether friction, payloads and rotors are compensated: ``true``, ``false``, or ``auto``: with ``none``, and
            where the plant is not the model.
        plant : mapping, optional
            More parameters of the simulator, which say whether it is: those of a parameter file.

        Raises
        ------
        ParameterError
            When the options do not fit the scenario.
        """
        if simulator not in SIMULATORS:
            raise ParameterError(f"simulator = {simulator!r}, allowed {', '.join(SIMULATORS)}")
        is_other_robot = bool(robot) and robot != self.robot
        if is_other_robot and targets and "targets" in self.nodes:
            ways = "--no-targets, in a launch targets:=false"
            raise ParameterError(f"the targets of {self.name} are for {self.robot}: leave them out ({ways})")
        chosen = self.file_variant(variant)
        left_out = {"simulator"} if simulator == "none" else set()
        left_out |= set() if targets else {"targets"}
        nodes = {
            node: {**chosen.arm(), **parameters} for node, parameters in chosen.nodes.items() if node not in left_out
        }
        if gate:
            nodes["gate"] = {**chosen.arm(), "publish_effort_array": simulator == "none", **nodes.get("gate", {})}
        if simulator == "none":
            _publish_efforts_once(nodes)
        plant = {**chosen.nodes.get("simulator", {}), **(plant or {})}
        needed = is_needed(simulator, plant, f"{self.name}: simulator")
        nodes = with_compensation(nodes, friction, is_needed=needed, is_real=simulator == "none")
        self._add_world(nodes, chosen, lock_step)
        if is_other_robot:
            for parameters in nodes.values():
                for name in ("initial_position", *OF_ONE_ARM):
                    parameters.pop(name, None)
        paced = paced and "simulator" in nodes  # the time of a robot does not wait
        if lock_step or paced:
            for parameters in nodes.values():
                parameters["lock_step"] = True
        if "simulator" in nodes:
            nodes["simulator"] |= {"robot": robot or self.robot, "start_paused": start_paused}
            nodes["simulator"] |= {"real_time_factor": real_time_factor} if real_time_factor else {}
            nodes["simulator"] |= {"paced": True} if paced else {}
        if simulator == "coppeliasim":
            nodes = _with_bridge(nodes)
        result = replace(chosen, robot=robot or self.robot, nodes=nodes)
        if awaits_controller and result.simulator and result.controller:
            awaited = {f"awaited_{name}": count for name, count in result.awaited().items()}
            result.nodes[result.simulator] |= awaited
        return result

    def awaited(self) -> dict[str, int]:
        """Return how many targets, and obstacles to avoid, must be known before time starts."""
        sender = self.nodes.get("targets")
        is_none = sender is None or "policy" in sender or "planner" in self.nodes  # they send chunks, or motions
        targets = 0 if sender is None or is_none else sender.get("count") or 1
        listed = self.targets()
        targets += len(listed.wrench_goals(targets)) if listed is not None else 0
        obstacles = sum(mover.span.holds(0.0) for mover in self.world.movers)
        avoids = any(p.get("avoid_obstacles") or p.get("obstacle_gain") for p in self.nodes.values())
        avoids = avoids or not {"obstacle_avoidance", "planner"}.isdisjoint(self.nodes)
        return {"targets": targets, **({"obstacles": obstacles} if avoids and obstacles else {})}

    def _add_world(self, nodes: dict[str, dict[str, Any]], chosen: Scenario, lock_step: bool) -> None:
        """Let the node ``targets`` publish obstacles and a plan; the simulator has what touches, and range sensors."""
        if self.world.movers or self.plan:
            nodes["targets"] = {**chosen.arm(), **nodes.get("targets", {}), "world": self.source}
            nodes["targets"] |= {"lead": 1.0} if lock_step else {}  # simulated time may be faster than the clock
        if (self.world.pushes or self.world.solids or self.range_sensors or self.plan) and "simulator" in nodes:
            nodes["simulator"]["world"] = self.source

    @property
    def simulator(self) -> str:
        """Name of the node that simulates the arm; empty without one."""
        return next((node for node in ("simulator", "coppeliasim_bridge") if node in self.nodes), "")

    def arm(self) -> dict[str, Any]:
        """Return the controller's parameters about the arm, which all nodes share."""
        controllers = [self.nodes[node] for node in CONTROLLERS if node in self.nodes]
        choices = {name: x for values in controllers for name, x in values.items() if name in ArmParameters.types()}
        return deepcopy(choices)  # ROS does not read YAML aliases of a shared list

    @property
    def controller(self) -> str:
        """Name of the node that controls the arm; empty without one."""
        return next((node for node in CONTROLLERS if node in self.nodes), "")

    @property
    def reaches_poses(self) -> bool:
        """Whether its controller brings the end effector to poses, by operational space control."""
        return bool(self.controller) and issubclass(CONTROLLERS[self.controller].parameters, OscLoopParameters)

    def targets(self) -> TargetList | None:
        """Return the scenario's list of targets, or None."""
        name = self.nodes.get("targets", {}).get("file")
        return TargetList.load(name) if name else None

    def motion(self) -> Motion | None:
        """Return the scenario's motion of the end effector, or None."""
        name = self.nodes.get("targets", {}).get("motion")
        return Motion.load(name) if name else None


def _publish_efforts_once(nodes: dict[str, dict[str, Any]]) -> None:
    """Let the last node before a driver publish effort_controller/commands, and no other one."""
    for node in CONTROLLERS:
        if node in nodes:
            nodes[node]["publish_effort_array"] = "gate" not in nodes


def _with_bridge(nodes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the nodes with CoppeliaSim instead of the simulator: in lock step, with gains for its rate."""
    simulator = nodes.get("simulator", {})
    bridge = {key: value for key, value in simulator.items() if not _is_of_simulator(key)} | {"lock_step": True}
    others = {node: {**parameters, "lock_step": True} for node, parameters in nodes.items() if node != "simulator"}
    for node in {*CONTROLLERS} & others.keys():
        kept = {key: value for key, value in others[node].items() if key not in PROPOSED}
        others[node] = {**kept, **CONTROLLERS[node].at_rate(BRIDGE_RATE)}
    return {"coppeliasim_bridge": bridge, **others}


def _is_of_simulator(name: str) -> bool:
    return name in ("timestep", "damping", "engine") or name.startswith((PREFIX, RIGID_BODY))


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with changes; nested mappings are merged entry by entry."""
    result = dict(values)
    for key, change in changes.items():
        old = result.get(key)
        result[key] = merged(old or {}, change) if isinstance(change, Mapping) else change
    return result


def scenario_names() -> tuple[str, ...]:
    """Return the names of the package's scenarios."""
    return file_names("config/scenarios", ".yaml")


def _mappings(content: Mapping[str, Any], key: str, path: Path) -> dict[str, dict[str, Any]]:
    """Return a mapping of mappings, such as parameters by node."""
    outer = as_mapping(content.get(key), f"{path}: {key}")
    return {str(name): as_mapping(inner, f"{path}: {name}") for name, inner in outer.items()}


def _start(values: dict[str, Any], nodes: Mapping[str, Any], start: Any) -> None:
    """Let the arm start somewhere, where it is simulated."""
    if start is not None and "simulator" in nodes:
        values["simulator"] = {"initial_position": start, **values.get("simulator", {})}


def _plan(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The motion to plan before the run, empty without one; a task path is that of the file as a planning scene."""
    plan = as_mapping(content.get("plan"), f"{where}: plan") | {key: content[key] for key in PLANNED if key in content}
    if "task" in content:
        return plan | {"scene": where}
    if alone := [key for key in OF_TASKS if key in content and "nodes" in content]:
        raise ParameterError(f"{where}: {', '.join(alone)}: in a scenario beside a task only")
    return plan


def _world(content: Mapping[str, Any], where: str) -> World:
    """The surroundings, and the obstacles of another file whose scene is planned."""
    world = World.from_mapping({key: content[key] for key in SURROUNDINGS if key in content}, where)
    plan = as_mapping(content.get("plan"), f"{where}: plan")
    if "scene" not in plan:
        return world
    return world.beside(PlanFile.load(str(plan["scene"])).obstacles(str(plan.get("variant", ""))))


def scenario_in(name: str) -> Scenario:
    """Return the scenario in a file, by its name or path, of which the robot is not read; for no name an empty one."""
    return Scenario.load(name, trust=True) if name else Scenario("", "", "", {})


Nodes = dict[str, dict[str, Any]]
"""Parameters of each node, by its name."""
CHOICES = ("auto", "true", "false")
"""Whether friction is compensated."""
INERTIA_FLOOR = 0.02
"""The floor that suits the arms that were tried [s]."""
WEIGHING_TIME = 0.5
"""Time in which a real arm is weighed; the arms that were tried with light models were stopped within 0.35 s [s]."""
GATES = (*CONTROLLERS, "gate", "simulator")
"""Nodes with a gate: each needs the floor, or takes the torque against friction for an acceleration."""


def is_needed(simulator: str, plant: Mapping[str, Any], where: str) -> bool:
    """Return whether the arm is not its model.

    A ParameterError where a property of the plant is unknown or not allowed.

    Parameters
    ----------
    simulator : str
        What moves it: ``mujoco``, ``coppeliasim``, or ``none`` for a real arm.
    """
    is_ideal = properties_of(plant, where).is_ideal
    return simulator == "none" or (simulator == "mujoco" and not is_ideal)


def with_compensation(
    nodes: Mapping[str, dict[str, Any]], friction: str, *, is_needed: bool, is_real: bool = False
) -> Nodes:
    """Return the nodes with compensation, or without.

    A ParameterError where ``friction`` is none of these.

    Parameters
    ----------
    friction : str
        ``true`` and ``false`` replace what the nodes have; ``auto`` does not.
    is_real : bool
        Whether no simulator moves the arm, so that it is weighed first.
    """
    if friction not in CHOICES:
        raise ParameterError(f"friction = {friction!r}, allowed {', '.join(CHOICES)}")
    is_auto, is_on = friction == "auto", friction != "false"
    if is_auto and not is_needed:
        return dict(nodes)
    result: Nodes = {}
    for node, own in nodes.items():
        values: dict[str, Any] = {"disturbance_observer": is_on} if node in CONTROLLERS else {}
        values |= {"weighing_time": WEIGHING_TIME} if values and is_on and is_real else {}
        values |= {"inertia_floor": INERTIA_FLOOR if is_on else 0.0} if node in GATES else {}
        result[node] = {**values, **own} if is_auto else {**own, **values}
    return result


def arm_and_parameters(scenario: Scenario, description: str = "") -> tuple[RobotModel, LoopParameters]:
    """Return the arm of a scenario, and the parameters of its controller.

    Parameters
    ----------
    scenario : Scenario
        Its first controller counts.
    description : str
        Text of another URDF than the scenario's; empty: that one.

    Raises
    ------
    ParameterError
        When it has no controller, or a parameter is unknown or not allowed.
    """
    description = description or read_description(scenario.robot)
    if not scenario.controller:
        names = ", ".join(CONTROLLERS)
        raise ParameterError(f"{scenario.name} has no controller: one of the nodes {names} is needed")
    row, where = CONTROLLERS[scenario.controller], f"{scenario.name}: {scenario.controller}"
    given = scenario.nodes[scenario.controller]
    values = {name: value for name, value in given.items() if name not in row.node_only}
    parameters: LoopParameters
    if not row.proposes_gains:
        parameters = row.parameters.from_mapping(values, where=where)
        return parameters.arm.model(description), parameters
    model = resolve_parameters(row.parameters, values, None, where).arm.model(description)
    parameters = resolve_parameters(row.parameters, values, model, where)
    return model, parameters


ELSEWHERE = ("simulator", "coppeliasim_bridge", "gate")
"""Nodes for which a parameter file may have values where they do not run: one file serves simulation and hardware."""


def check_parameter_file(
    path: str | Path, nodes: Mapping[str, Any], namespace: str = "", *, trust: bool = False
) -> None:
    """Refuse a ROS parameter file that names a node outside the scenario, or without ``trust`` a xacro file.

    ROS ignores such an entry silently, so a misspelt name would have no effect. A name without a slash
    means the node at the root; ``/**/osc`` means the node in any namespace.

    Parameters
    ----------
    namespace : str
        Namespace of the nodes; empty for the root.

    Raises
    ------
    ParameterError
        When a key is neither a node (with or without a namespace) nor ROS's own ``/**``.
    """
    entries = read_yaml(Path(path))
    if not trust:
        refuse_xacro_in(entries, str(path))
    for key, content in entries.items():
        place, _, name = str(key).rpartition("/")
        if key != "/**" and name not in (*nodes, *ELSEWHERE, *WILDCARDS):
            raise ParameterError(f"{path}: '{key}' is not a node of the scenario; allowed: /**, {', '.join(nodes)}")
        if namespace.strip("/") and key != "/**" and place not in ("/**", "/" + namespace.strip("/")):
            raise ParameterError(f"{path}: '{key}' is not in the namespace {namespace}: write '/**/{name}'")
        refuse_unknown(as_mapping(content, f"{path}: {key}"), ("ros__parameters",), f"{path}: {key}")
        ros_parameters(content, f"{path}: {key}")


ROBOT = "robot"
SHORT = {"payload": f"simulator.{PREFIX}payload_mass"}
"""Names for what has a longer one."""
OF_VARIANTS = ("start", "arm", "variants")
"""Entries of a file that :attr:`Scenario.nodes` of a variant have in them."""
OF_TARGETS = ("file", "motion", "trajectory", "count")
OF_SIMULATORS = ("initial_position", "timestep", "damping", "wrench_rate")


def with_values(scenario: Scenario, values: Mapping[str, Any], variant: str = "") -> Scenario:
    """Return a variant of a scenario with other values; they take precedence over those of the variant.

    Parameters
    ----------
    values : mapping of str to value
        By ``node.parameter``, ``robot`` or ``payload`` [kg].
    variant : str
        Name of the variant; empty: the first.

    Raises
    ------
    ParameterError
        When a simulation of the scenario has no such value, or no such variant.
    """
    require_values(scenario, values)
    chosen = scenario.file_variant(variant)
    nodes: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        node, _, parameter = SHORT.get(name, name).partition(".")
        if name != ROBOT:
            nodes.setdefault(node, {})[parameter] = value
    return replace(chosen, robot=str(values.get(ROBOT, chosen.robot)), nodes=merged(chosen.nodes, nodes))


def save_scenario(scenario: Scenario, path: Path) -> Scenario:
    """Write a scenario of :func:`with_values` as a file of its own, and return it under the name of that.

    Raises
    ------
    ArmControlError
        When the file cannot be written.
    """
    content = {key: value for key, value in read_scene(Path(scenario.source)).items() if key not in OF_VARIANTS}
    nodes = {node: dict(values) for node, values in scenario.nodes.items()}
    start = {"start": nodes["simulator"].pop("initial_position", None)} if "simulator" in nodes else {}
    changed = {"robot": scenario.robot, **start, "nodes": nodes, "checks": scenario.checks}
    write_text(path, yaml_document(content | changed))
    return replace(scenario, name=path.stem, source=str(path.absolute()))


def require_values(scenario: Scenario, names: Iterable[str]) -> None:
    """Refuse names of values that a simulation of the scenario does not read.

    Raises
    ------
    ParameterError
        With what is allowed.
    """
    nodes = {node: known for node, known in _known(scenario).items() if node in scenario.nodes}
    for name in names:
        node, dot, parameter = SHORT.get(name, name).partition(".")
        if name == ROBOT:
            continue
        if node not in nodes or not dot:
            forms = ", ".join([ROBOT, *SHORT, *(f"{node}.PARAMETER" for node in nodes)])
            raise ParameterError(f"{scenario.name}: '{name}' is nothing that a simulation reads; allowed: {forms}")
        refuse_unknown({parameter: None}, nodes[node], f"{scenario.name}: {node}")


def _known(scenario: Scenario) -> dict[str, list[str]]:
    """Names of the parameters that a simulation reads, by node."""
    plant = [f"{PREFIX}{name}" for name in PlantProperties.types()]
    simulator = [*OF_SIMULATORS, *EngineParameters.types(), *plant, *ArmParameters.types()]
    known = {"simulator": simulator, "targets": list(OF_TARGETS)}
    if scenario.controller:
        known[scenario.controller] = list(CONTROLLERS[scenario.controller].parameters.types())
    return known
