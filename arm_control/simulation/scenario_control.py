"""The controller of a scenario: its arm, and its parameters."""

from __future__ import annotations

from arm_control.control import LoopParameters, resolve_parameters
from arm_control.controllers import CONTROLLERS
from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel, read_description
from arm_control.simulation.scenario import Scenario


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
