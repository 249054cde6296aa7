"""A scenario with other values, by flat names such as ``osc.kp_linear``, as sweeps and ``simulate --set`` have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from arm_control.controllers import CONTROLLERS
from arm_control.core import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.model import ArmParameters
from arm_control.simulation.engine import EngineParameters
from arm_control.simulation.plant_properties import PREFIX, PlantProperties
from arm_control.simulation.scenario import Scenario, merged

ROBOT = "robot"
SHORT = {"payload": f"simulator.{PREFIX}payload_mass"}
"""Names for what has a longer one."""
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
    robot = str(values.get(ROBOT, chosen.robot))
    return replace(chosen, robot=robot, nodes=merged(chosen.nodes, nodes), variants={})


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
