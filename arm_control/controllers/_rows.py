"""The rows of all controllers, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arm_control.core import module_names

if TYPE_CHECKING:  # the names alone are needed by the help of the command line, which is to come at once
    from arm_control.control import ControllerRow

FOLDER = "controllers"


class _LazyRows(Mapping[str, "ControllerRow[Any]"]):
    """The rows by name; a module is imported when its row is asked for."""

    def __getitem__(self, name: str) -> ControllerRow[Any]:
        if name not in self:
            raise KeyError(name)
        row: ControllerRow[Any] = import_module(f"arm_control.{FOLDER}.{name}").ROW
        return row

    def __contains__(self, name: object) -> bool:
        return name in module_names(FOLDER)

    def __iter__(self) -> Iterator[str]:
        return iter(module_names(FOLDER))

    def __len__(self) -> int:
        return len(module_names(FOLDER))


CONTROLLERS: Mapping[str, ControllerRow[Any]] = _LazyRows()
"""The row of each controller, by its name."""
DEFAULT_CONTROLLER = "osc"
"""Controller of an arm without a scenario."""
