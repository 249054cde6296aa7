"""Planning: motions over the next second or so, computed before the arm moves. No ROS here."""

from arm_control.planning.arm_dynamics import ArmDynamics
from arm_control.planning.costs import Barrier, Costs, SmoothAbs, Square, Term
from arm_control.planning.generic.user_costs import UserCosts
from arm_control.planning.generic.user_dynamics import UserDynamics
from arm_control.planning.ilqr_solver import Ilqr, IlqrParameters, IlqrResult
from arm_control.planning.residuals import (
    ControlError,
    LimitDistance,
    ObstacleDistance,
    OrientationError,
    PositionError,
    StateError,
)

__all__ = [
    "ArmDynamics",
    "Barrier",
    "ControlError",
    "Costs",
    "Ilqr",
    "IlqrParameters",
    "IlqrResult",
    "LimitDistance",
    "ObstacleDistance",
    "OrientationError",
    "PositionError",
    "SmoothAbs",
    "Square",
    "StateError",
    "Term",
    "UserCosts",
    "UserDynamics",
]
