"""Constraints that hold: rows that an acceleration has to satisfy, and the least change of it that does."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.constraints.barriers import RATE_SHARE, SHARE, SMALLEST_ROOM, TICKS
    from arm_control.constraints.constraint import HAND, Constraint, Priority, vector
    from arm_control.constraints.constraint_file import Constraints, constraints_of, read_constraints, with_box_at
    from arm_control.constraints.constraint_set import (
        IS_BROKEN,
        MOST_OUTSIDE,
        N_FOUND,
        OUTSIDE,
        ConstraintSet,
        ConstraintTick,
        PairParts,
        PointParts,
        PointTick,
        Violation,
        constrain,
        floor_of_inertia,
        in_words,
        keep_points,
    )
    from arm_control.constraints.joint_program import JointProgram, keep_joints, new_joint_program
    from arm_control.constraints.joint_rows import (
        BACK,
        LimitNumbers,
        acceleration_bounds,
        rows_of_joints,
        speed_bounds,
    )
    from arm_control.constraints.kinds.box import BoxConstraint
    from arm_control.constraints.kinds.clearance import ClearanceConstraint
    from arm_control.constraints.kinds.cylinder import CylinderConstraint
    from arm_control.constraints.kinds.energy import EnergyConstraint
    from arm_control.constraints.kinds.half_space import HalfSpaceConstraint
    from arm_control.constraints.kinds.speed import SpeedConstraint
    from arm_control.constraints.kinds.upright import UprightConstraint
    from arm_control.constraints.least_change import (
        BROKEN,
        HOLDS,
        IS_CAPPED,
        N_ACTIVE,
        N_IGNORED,
        N_ROWS,
        N_STEPS_MAX,
        NOT_FINITE,
        RELAXED,
        STATUS,
        STEPS,
        WORST,
        LeastChange,
        LeastDistance,
        Solver,
        solve,
    )
    from arm_control.constraints.plan_bounds import PlanBounds, bounds_of_constraints, bounds_of_file
else:
    __getattr__, __dir__, __all__ = face(__name__)
