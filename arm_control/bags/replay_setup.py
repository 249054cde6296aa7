"""Arm and controller of a replay: from the scenario that a bag names, or from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arm_control.bags.bag import Bag
from arm_control.control import LoopParameters
from arm_control.controllers import CONTROLLERS
from arm_control.core import file_parameters, robot_names
from arm_control.exceptions import BagError
from arm_control.model import ArmParameters, RobotModel, arm_values_in, read_description
from arm_control.simulation import Scenario, arm_and_parameters, scenario_names


@dataclass(frozen=True)
class ReplayOptions:
    """Arm and controller by the command line; the bag has what is empty here.

    Attributes
    ----------
    scenario, variant : str
        Name or path of a scenario, and of its variant.
    controller : str
        Name of a controller, in place of a scenario's.
    params_file : str
        ROS parameter file; its values override the scenario's.
    urdf : str
        Name of a robot, or path of a URDF or xacro file.
    changes : dict
        Parameters of the controller that override all others.
    trust : bool
        Whether a xacro file that ``scenario`` names is expanded; one that a bag names never is.
    """

    scenario: str = ""
    variant: str = ""
    controller: str = ""
    params_file: str = ""
    urdf: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    trust: bool = False


def description_in(bag: Bag, urdf: str = "") -> str:
    """Return the text of a URDF; empty where there is none.

    Parameters
    ----------
    urdf : str
        Name of a robot, or path of a URDF or xacro file; empty: the description in the bag.
    """
    if urdf:
        return read_description(urdf)
    for _, _, message in bag.contents("robot_description"):
        return str(message.data)
    return ""


def scenario_of(bag: Bag, options: ReplayOptions) -> Scenario | None:
    """Return the scenario of a recording, with the variant, robot and parameters of the run; None where there is none.

    Parameters
    ----------
    options : ReplayOptions
        They override what the bag names.

    Raises
    ------
    BagError
        When the bag names a scenario that is not on this machine.
    """
    name = options.scenario or bag.custom.get("scenario", "")
    if options.controller:
        return None
    if not name:
        return _scenario_of_controller(bag)
    if not options.scenario and name not in scenario_names() and not Path(name).is_file():
        raise BagError(f"{bag.path} was recorded in the scenario {name}, which is not here: --scenario names another")
    notes = bag.custom if not options.scenario else {}
    scenario = Scenario.load(name, trust=options.trust or not options.scenario)
    robot = notes.get("robot", "")
    variant = options.variant or notes.get("variant", "")
    is_other_robot = bool(robot) and robot != scenario.robot
    scenario = scenario.with_options(variant=variant, robot=robot, targets=not is_other_robot)
    if not options.scenario and scenario.robot not in robot_names():  # a bag may come from anyone: it names no file
        scenario = replace(scenario, robot="")
    return _with_parameters(scenario, _recorded_parameters(bag, notes.get("parameters", "{}")))


def _scenario_of_controller(bag: Bag) -> Scenario | None:
    """The controller that a recording names without a scenario, as that of an arm by itself."""
    name = bag.custom.get("controller", "")
    if name not in CONTROLLERS:
        return None
    recorded = _recorded_parameters(bag, bag.custom.get("parameters", "{}"))
    return Scenario(name, "", "", {name: recorded.get(name, {})})


def controller_of(bag: Bag, options: ReplayOptions) -> tuple[RobotModel, LoopParameters]:
    """Return arm and parameters of the controller of a replay.

    Parameters
    ----------
    options : ReplayOptions
        They override what the bag names.

    Raises
    ------
    BagError
        When neither the bag nor the options name a controller.
    ParameterError
        When a parameter is unknown or not allowed.
    """
    scenario = scenario_of(bag, options)
    if scenario is None and not options.controller:
        raise BagError(f"{bag.path} names no scenario: --scenario NAME or --controller, or --model, is needed")
    scenario = scenario or Scenario(options.controller, "", "", {options.controller: {}})
    description = description_in(bag, options.urdf)
    if not description and not scenario.robot:
        raise BagError(f"{bag.path} has no robot_description: --robot FILE is needed")
    overrides = {node: {**file_parameters(options.params_file, node), **options.changes} for node in CONTROLLERS}
    return arm_and_parameters(_with_parameters(scenario, overrides), description)


def arm_of(bag: Bag, options: ReplayOptions, names: Sequence[str]) -> RobotModel:
    """Return the arm of a recording, whether or not its controller is known.

    Parameters
    ----------
    options : ReplayOptions
        They override what the bag names.
    names : sequence of str
        The recorded joints, for the message of an error.

    Raises
    ------
    BagError
        When there is no description of it.
    """
    scenario = None if options.urdf else scenario_of(bag, options)
    if scenario is not None:
        return controller_of(bag, options)[0]
    description = description_in(bag, options.urdf)
    if not description:
        raise BagError(f"{bag.path} has no robot_description of {', '.join(names)}: --robot FILE is needed")
    return ArmParameters.from_mapping(
        {**arm_values_in(options.params_file, tuple(CONTROLLERS)), **options.changes}
    ).model(description)


def _recorded_parameters(bag: Bag, text: str) -> dict[str, dict[str, Any]]:
    """Parameters by node, as a recorder writes them."""
    try:
        parameters = json.loads(text)
    except ValueError:
        parameters = None
    if not isinstance(parameters, dict) or not all(isinstance(values, dict) for values in parameters.values()):
        raise BagError(f"{bag.path}: its parameters are not those of nodes: {text[:60]!r}")
    return parameters


def _with_parameters(scenario: Scenario, overrides: dict[str, dict[str, Any]]) -> Scenario:
    """The scenario with other parameters of its controllers."""
    for node, values in overrides.items():
        if node in scenario.nodes:
            scenario.nodes[node].update(values)
    return scenario
