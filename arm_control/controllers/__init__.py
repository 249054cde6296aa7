"""The controllers, a file each: the controller, its parameters, and its row.

Everything else reads the rows: another controller is another file here.

=======================  ========================================================================
``CONTROLLERS``          the row of each controller by its name; a module is imported when asked for
``DEFAULT_CONTROLLER``   controller of an arm without a scenario
``row_of``               the row that belongs to parameters
``control_loop``         the loop that simulation and replay run, from parameters
``new_loop``             the loop of a controller that is made
=======================  ========================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arm_control.controllers._rows import CONTROLLERS
from arm_control.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from arm_control.controllers._loops import control_loop, new_loop, row_of

__all__ = ["CONTROLLERS", "DEFAULT_CONTROLLER", "control_loop", "new_loop", "row_of"]

DEFAULT_CONTROLLER = "osc"
"""Controller of an arm without a scenario."""
__getattr__ = lazy_names(__name__, dict.fromkeys(("control_loop", "new_loop", "row_of"), "_loops"))
