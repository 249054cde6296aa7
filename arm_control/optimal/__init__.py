"""Optimal control: iterative LQR, LQR, reaches planned while the arm moves; for arms and for other systems."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.optimal.arm_dynamics import ArmDynamics, UserDynamics
    from arm_control.optimal.box_constraints import box_qp
    from arm_control.optimal.costs import (
        Barrier,
        ControlError,
        Costs,
        LimitDistance,
        ObstacleDistance,
        OrientationError,
        PositionError,
        SmoothAbs,
        Square,
        StateError,
        Term,
    )
    from arm_control.optimal.ilqr_solver import Ilqr, IlqrParameters, IlqrResult
    from arm_control.optimal.local_lqr import LocalLqr
    from arm_control.optimal.numpy_passes import NumpyPasses, UserCosts
    from arm_control.optimal.reach import ReachPlan, ReachPlanner, RecedingParameters
    from arm_control.optimal.receding import (
        Answer,
        InlinePlanner,
        PlanFollower,
        PlannerClient,
        PlannerProcess,
        Request,
        Server,
        reach_planner,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
