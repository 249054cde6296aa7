"""Control loops of controllers, for simulation, replay and nodes."""

from __future__ import annotations

from typing import Any

from arm_control.control import ControllerRow, ControlLoop, LoopParameters, MadeController
from arm_control.controllers._rows import CONTROLLERS
from arm_control.model import RobotModel


def row_of(parameters: LoopParameters) -> ControllerRow[Any]:
    """Return the row of the controller that has these parameters, of its loop or of its node."""
    kinds = type(parameters).__mro__
    return min(
        (row for row in CONTROLLERS.values() if row.parameters in kinds), key=lambda row: kinds.index(row.parameters)
    )


def control_loop(model: RobotModel, parameters: LoopParameters, *, waits_for_commands: bool = True) -> ControlLoop:
    """Return the loop that simulation and replay run.

    Plans are made in this process, and waited for.

    Parameters
    ----------
    waits_for_commands : bool
        Whether gaps mean nothing: each state waits for its command, or the gaps of a recording may be its recorder's.
    """
    made = row_of(parameters).make(model, parameters)
    return new_loop(model, parameters, made, waits_for_commands=waits_for_commands)


def new_loop(
    model: RobotModel, parameters: LoopParameters, made: MadeController, *, waits_for_commands: bool
) -> ControlLoop:
    """Return the loop of a controller that is made; the arguments are those of :func:`control_loop`."""
    return ControlLoop(
        model,
        made.controller,
        parameters.gate,
        made.avoidance,
        observer=parameters.observer,
        adaptation=parameters.adaptation,
        waits_for_commands=waits_for_commands,
    )
