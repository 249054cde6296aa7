"""Constraints: rows that an acceleration has to satisfy, and the least change of it that does."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.constraints.least_change import (
        BROKEN,
        HOLDS,
        IS_CAPPED,
        N_ACTIVE,
        N_IGNORED,
        N_ROWS,
        NOT_FINITE,
        RELAXED,
        STATUS,
        STEPS,
        WORST,
        LeastChange,
        LeastDistance,
        Solver,
        find_least_change,
        solve,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
