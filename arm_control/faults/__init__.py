"""Faults between a controller, a gate and a driver, in simulated time."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.faults.arrangements import BehindSimulator, Surroundings
    from arm_control.faults.campaign import Case, all_cases, plants_of, run_cases, run_on, some_cases
    from arm_control.faults.catalogue import all_faults
    from arm_control.faults.chain_setup import EXACT, OTHER, OWN, Setup, joint_state
    from arm_control.faults.exported_arrangement import (
        CC,
        CPU,
        CController,
        can_compile,
        compile_c,
        compiled,
        library_of,
        row_of,
    )
    from arm_control.faults.fault_table import page, row_text, summary
    from arm_control.faults.native_arrangement import MANY, SimulatedMiddleware, SimulatedNetwork
    from arm_control.faults.schedules import run_schedules, shortened
else:
    __getattr__, __dir__, __all__ = face(__name__)
