"""Kinematics: from poses of the end effector to joint positions."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.kinematics.branches import Branches
    from arm_control.kinematics.damped_step import Task
    from arm_control.kinematics.inverse import IkResult, InverseKinematics, is_revolute
    from arm_control.kinematics.search import Search
    from arm_control.kinematics.task_errors import (
        FRAMES,
        TWIST_ROWS,
        pose_rank,
        sampled_jacobians,
        served_rows,
        task_error,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
