"""The rows of all controllers, by name; and the control loops of controllers, for simulation, replay and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control import control  # its face alone: the help of the command line, which needs the names, comes at once
from arm_control.core import file_parameters, module_names

if TYPE_CHECKING:
    from arm_control.model import RobotModel

FOLDER = "controllers"


class _LazyRows(Mapping[str, "control.ControllerRow[Any]"]):
    """The rows by name; a module is imported when its row is asked for."""

    def __getitem__(self, name: str) -> control.ControllerRow[Any]:
        if name not in self:
            raise KeyError(name)
        row: control.ControllerRow[Any] = import_module(f"arm_control.{FOLDER}.{name}").ROW
        return row

    def __contains__(self, name: object) -> bool:
        return name in module_names(FOLDER)

    def __iter__(self) -> Iterator[str]:
        return iter(module_names(FOLDER))

    def __len__(self) -> int:
        return len(module_names(FOLDER))


CONTROLLERS: Mapping[str, control.ControllerRow[Any]] = _LazyRows()
"""The row of each controller, by its name."""
DEFAULT_CONTROLLER = "osc"
"""Controller of an arm without a scenario."""


def row_of(parameters: control.LoopParameters) -> control.ControllerRow[Any]:
    """Return the row of the controller that has these parameters, of its loop or of its node."""
    kinds = type(parameters).__mro__
    return min(
        (row for row in CONTROLLERS.values() if row.parameters in kinds), key=lambda row: kinds.index(row.parameters)
    )


def controller_file(path: str | Path, name: str) -> dict[str, Any]:
    """Return the parameters of a controller in a ROS parameter file; wildcards may have names of other controllers."""
    own = CONTROLLERS[name].node_parameters.types()
    others = {each for row in CONTROLLERS.values() for each in row.node_parameters.types()} if path else set()
    return file_parameters(path, name, others - own.keys())


def control_loop(
    model: RobotModel, parameters: control.LoopParameters, *, waits_for_commands: bool = True
) -> control.ControlLoop:
    """Return the loop that simulation and replay run.

    Plans are made in this process, and waited for.

    Parameters
    ----------
    waits_for_commands : bool
        Whether gaps mean nothing: each state waits for its command, or the gaps of a recording may be its recorder's.
    """
    controller = row_of(parameters).make(model, parameters)
    return new_loop(model, parameters, controller, waits_for_commands=waits_for_commands)


def new_loop(
    model: RobotModel, parameters: control.LoopParameters, controller: control.Controller, *, waits_for_commands: bool
) -> control.ControlLoop:
    """Return the loop of a controller that is made; the arguments are those of :func:`control_loop`."""
    return control.ControlLoop(
        model,
        controller,
        parameters.gate,
        controller.avoidance,
        observer=parameters.observer,
        adaptation=parameters.adaptation,
        waits_for_commands=waits_for_commands,
    )
