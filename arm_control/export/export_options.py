"""What of a controller is exported: its arm, gains, limits and posture; and what cannot be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.control import OscParameters, between_law_and_gate
from arm_control.controllers import OscLoopParameters
from arm_control.exceptions import ParameterError
from arm_control.gate import GateParameters
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.simulation import Scenario, arm_and_parameters, start_posture

FILES = ("check", "main")
"""Names of other files beside a controller's own."""


class ExportedController(NamedTuple):
    """Operational space control behind a gate, for one arm.

    Attributes
    ----------
    name : str
        Beginning of all names in C.
    start : ndarray, shape (nq,)
        Posture in which an example begins [rad or m].
    period : float
        Time between two ticks for which gains are proposed [s].
    driver_adds_gravity : bool
        Whether the driver adds the weight of the arm, so that it gets torque without that.
    """

    name: str
    model: RobotModel
    law: OscParameters
    gate: GateParameters
    start: Array
    period: float
    driver_adds_gravity: bool = False


def exported_controller(scenario: Scenario, name: str = "", *, driver_adds_gravity: bool = False) -> ExportedController:
    """Return the controller of a scenario as it is exported.

    Raises
    ------
    ParameterError
        When it is another controller, has parts that stay in Python, a joint mimics another one, or a parameter is
        not allowed.
    """
    model, parameters = arm_and_parameters(scenario)
    if type(parameters) is not OscLoopParameters:
        raise ParameterError(f"{scenario.name}: {scenario.controller} cannot be exported, only osc")
    if parts := between_law_and_gate(parameters):
        raise ParameterError(f"{scenario.name}: {', '.join(parts)} cannot be exported: leave that out")
    if mimics := sorted({*model.urdf.movable_joints} - {*model.joint_names}):
        raise ParameterError(
            f"{scenario.name}: mimic joints cannot be exported: {', '.join(mimics)}: no driver knows that they follow"
        )
    if model.backend != "llvm":
        raise ParameterError(f"{scenario.name}: machine code is not made here ({'; '.join(model.backend_reasons)})")
    position = scenario.nodes.get("simulator", {}).get("initial_position")
    start = start_posture(model) if position is None else np.array(position, dtype=float)
    law = parameters.control.law
    if name and name != identifier(name):
        raise ParameterError(f"'{name}' is no name in C; '{identifier(name)}' would be one")
    if name in FILES:
        raise ParameterError(f"'{name}' is the name of another file that is exported: choose another one")
    if not law.posture:
        law = law.replace(posture=tuple(start.tolist()))
    name = name or identifier(f"{Path(scenario.robot.split()[0]).stem}_osc")
    period = 1.0 / parameters.control.rate
    return ExportedController(name, model, law, parameters.gate, start, period, driver_adds_gravity)


def identifier(name: str) -> str:
    """Return a name of C that is like another name.

    Examples
    --------
    >>> identifier("my-arm 2"), identifier("7dof")
    ('my_arm_2', 'arm_7dof')
    """
    word = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "arm"
    return f"arm_{word}" if word[0].isdigit() else word
