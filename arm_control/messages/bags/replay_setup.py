"""Which arm and controller a replay is for: what the bag says of its scenario, or what the command line says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arm_control.control.loop import LoopParameters
from arm_control.core.files import file_parameters, urdf_path
from arm_control.exceptions import BagError
from arm_control.messages.bags.bag import Bag
from arm_control.model import RobotModel
from arm_control.model.arm_parameters import ArmParameters
from arm_control.model.urdf.load import read_source
from arm_control.simulation.scenario import CONTROLLERS, Scenario, scenario_names
from arm_control.simulation.scenario_control import arm_and_parameters


@dataclass(frozen=True)
class Choice:
    """What is asked for; what is empty is what the bag says.

    Attributes
    ----------
    scenario, variant : str
        Name or path of a scenario, and of its variant.
    controller : str
        A controller instead of a scenario's.
    params_file : str
        ROS parameter file; its values come last.
    urdf : str
        Name of a robot, or path of a URDF or xacro file.
    changes : dict
        Parameters of the controller that come after all others.
    """

    scenario: str = ""
    variant: str = ""
    controller: str = ""
    params_file: str = ""
    urdf: str = ""
    changes: dict[str, Any] = field(default_factory=dict)


def description_in(bag: Bag, urdf: str = "") -> str:
    """Text of the URDF that is asked for, or that the bag brings along; empty where there is none."""
    if urdf:
        return read_source(urdf_path(urdf))[0]
    for _, _, message in bag.contents("robot_description"):
        return str(message.data)
    return ""


def scenario_of(bag: Bag, choice: Choice) -> Scenario | None:
    """The scenario that is asked for, or that the bag was recorded in, as it ran; None where there is none."""
    name = choice.scenario or bag.custom.get("scenario", "")
    if not name or choice.controller:
        return None
    if not choice.scenario and name not in scenario_names() and not Path(name).is_file():
        raise BagError(f"{bag.path} was recorded in the scenario {name}, which is not here: --scenario names another")
    own = bag.custom if not choice.scenario else {}
    scenario, robot = Scenario.load(name), own.get("robot", "")
    is_other = bool(robot) and robot != scenario.robot
    chosen = scenario.with_options(variant=choice.variant or own.get("variant", ""), robot=robot, targets=not is_other)
    return _with(chosen, _parameters_in(bag, own.get("parameters", "{}")))


def controller_of(bag: Bag, choice: Choice) -> tuple[RobotModel, LoopParameters]:
    """Return arm and parameters of the controller that a replay is for.

    Raises
    ------
    BagError
        When neither the bag nor the choice says which.
    ParameterError
        When a parameter is unknown or not allowed.
    """
    scenario = scenario_of(bag, choice)
    if scenario is None and not choice.controller:
        raise BagError(f"{bag.path} names no scenario: --scenario NAME or --controller, or --model, is needed")
    scenario = scenario or Scenario(choice.controller, "", "", {choice.controller: {}})
    description = description_in(bag, choice.urdf)
    if not description and not scenario.robot:
        raise BagError(f"{bag.path} has no robot_description: --urdf FILE is needed")
    given = {node: {**file_parameters(choice.params_file, node), **choice.changes} for node in CONTROLLERS}
    return arm_and_parameters(_with(scenario, given), description)


def arm_of(bag: Bag, choice: Choice, names: Sequence[str]) -> RobotModel:
    """Return the arm that a recording of these joints is about, whether or not a controller is known.

    Raises
    ------
    BagError
        When there is no description of it.
    """
    scenario = None if choice.urdf else scenario_of(bag, choice)
    if scenario is not None:
        return controller_of(bag, choice)[0]
    description = description_in(bag, choice.urdf)
    if not description:
        raise BagError(f"{bag.path} has no robot_description of {', '.join(names)}: --urdf FILE is needed")
    return ArmParameters.from_mapping(choice.changes).model(description)


def _parameters_in(bag: Bag, text: str) -> dict[str, dict[str, Any]]:
    """Parameters by node, as a recorder has written them."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(values, dict) for values in found.values()):
        raise BagError(f"{bag.path}: its parameters are not those of nodes: {text[:60]!r}")
    return found


def _with(scenario: Scenario, given: dict[str, dict[str, Any]]) -> Scenario:
    """The scenario with other parameters of its controllers."""
    for node, values in given.items():
        if node in scenario.nodes:
            scenario.nodes[node].update(values)
    return scenario
