"""Planning: paths and motions free of contact, along tasks too, timed within limits and executed."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.planning.execution.motion_checks import LimitCheck, contact_time
    from arm_control.planning.execution.motion_monitor import Action, MonitorParameters, MotionMonitor, stop
    from arm_control.planning.execution.planner_in_time import PlannerInTime, points_of
    from arm_control.planning.execution.rounded_in_time import rest_of
    from arm_control.planning.execution.told_motion import from_time, present
    from arm_control.planning.motion_planner import (
        TORQUE_SHARE,
        MotionAnswer,
        MotionPlanner,
        MotionPlannerParameters,
        MotionRequest,
        NoMotion,
        PlannerAnswer,
        PlannerRequest,
        WatchAnswer,
        WatchRequest,
        prepared_planner,
    )
    from arm_control.planning.plan_record import MotionPlan, PlanRecord, are_moving, foretold, trajectory_of
    from arm_control.planning.plans import Plan, SearchOutcome
    from arm_control.planning.rrt.blended_path import fastest_motion, rounded_paths
    from arm_control.planning.rrt.connect import RrtConnect
    from arm_control.planning.rrt.goals import plan_to_pose
    from arm_control.planning.rrt.joint_space import SearchParameters
    from arm_control.planning.rrt.ompl_adapter import ompl_space, ompl_state, path_of
    from arm_control.planning.rrt.shortcuts import shorten
    from arm_control.planning.rrt.space_time import TIMED, SpaceTimeRrt, Travel
    from arm_control.planning.task_constrained.problem import TaskConstrainedProblem, TaskParameters
    from arm_control.planning.task_constrained.task_path import TaskPath, circle, ellipse, line
    from arm_control.planning.task_constrained.task_search import TaskPlanner, plan_task
    from arm_control.planning.time_scaling import FREE, PathLimits, TimeScaler
else:
    __getattr__, __dir__, __all__ = face(__name__)
