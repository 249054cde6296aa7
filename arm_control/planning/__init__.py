"""Planning: paths and motions free of contact, along tasks too, timed within limits and executed."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.planning.blended_path import PlannedMotion, fastest_motion, rounded_paths
    from arm_control.planning.connect import RrtConnect
    from arm_control.planning.joint_space import SearchParameters
    from arm_control.planning.motion_monitor import Action, MonitorParameters, MotionMonitor, stop
    from arm_control.planning.motion_planner import (
        MotionAnswer,
        MotionPlanner,
        MotionPlannerParameters,
        MotionRequest,
        NoMotion,
        PlannerAnswer,
        PlannerRequest,
        WatchAnswer,
        WatchRequest,
        bounded_validity,
        motion_limits,
        plan_to_pose,
        prepared_planner,
    )
    from arm_control.planning.plan_record import MotionPlan, PlanRecord, are_moving, foretold, trajectory_of
    from arm_control.planning.planner_in_time import LimitCheck, PlannerInTime, contact_time, points_of, rest_of
    from arm_control.planning.plans import Plan, SearchOutcome
    from arm_control.planning.shortcuts import shorten
    from arm_control.planning.space_time import TIMED, SpaceTimeRrt, Travel
    from arm_control.planning.task_problem import (
        TaskConstrainedProblem,
        TaskOrientation,
        TaskParameters,
        TaskPath,
        circle,
        direction,
        ellipse,
        line,
        orientation,
    )
    from arm_control.planning.task_search import TaskPlanner
    from arm_control.planning.time_scaling import FREE, PathLimits, TimeScaler
else:
    __getattr__, __dir__, __all__ = face(__name__)
