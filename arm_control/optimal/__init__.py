"""Optimal control: iterative LQR, LQR, reaches planned while the arm moves; for arms and for other systems."""

from arm_control.optimal.arm_dynamics import ArmDynamics
from arm_control.optimal.costs import Barrier, Costs, SmoothAbs, Square, Term
from arm_control.optimal.generic.user_costs import UserCosts
from arm_control.optimal.generic.user_dynamics import UserDynamics
from arm_control.optimal.ilqr_solver import Ilqr, IlqrParameters, IlqrResult
from arm_control.optimal.residuals import (
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
