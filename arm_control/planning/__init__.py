"""Planners: what the arm should do over the next second or so, computed before it moves. No ROS here."""

from arm_control.planning.arm_dynamics import ArmDynamics, UserDynamics
from arm_control.planning.costs import Barrier, Costs, SmoothAbs, Square, Term
from arm_control.planning.generic.user_costs import UserCosts
from arm_control.planning.ilqr import Ilqr, IlqrResult
from arm_control.planning.ilqr_parameters import IlqrParameters
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
