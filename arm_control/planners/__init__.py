"""Planners: what the arm should do over the next second or so, computed before it moves. No ROS here."""

from arm_control.planners.costs import Barrier, Costs, SmoothAbs, Square, Term
from arm_control.planners.dynamics import ArmDynamics, UserDynamics
from arm_control.planners.ilqr import Ilqr, IlqrResult
from arm_control.planners.ilqr_parameters import IlqrParameters
from arm_control.planners.residuals import (
    ControlError,
    LimitDistance,
    ObstacleDistance,
    OrientationError,
    PositionError,
    StateError,
)
from arm_control.planners.user_costs import UserCosts

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
