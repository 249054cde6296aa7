"""Optimal control: iterative LQR, LQR, reaches planned while the arm moves."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.optimal.arm_dynamics import ArmDynamics
    from arm_control.optimal.box_constraints import box_qp
    from arm_control.optimal.costs import (
        SQUARE,
        Costs,
        Term,
        barrier,
        control_error,
        limit_distance,
        obstacle_distance,
        orientation_error,
        position_error,
        smooth_abs,
        state_error,
    )
    from arm_control.optimal.ilqr_solver import Ilqr, IlqrParameters, IlqrResult, PassFailed
    from arm_control.optimal.local_lqr import LocalLqr
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
