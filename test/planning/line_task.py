"""A planar arm of four links whose hand follows a line."""

from __future__ import annotations

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.planning import TaskConstrainedProblem, TaskPath, line

START = np.array([0.86549746, -1.23313677, -0.9210975, 0.2886459])
PATH = line([1.2, -0.7], [1.2, 0.7])
V_MAX = np.full(4, 0.5)
TAU_MAX = np.array([6.0, 4.0, 2.0, 1.0])


def task_problem(path: TaskPath = PATH) -> TaskConstrainedProblem:
    """From the start along the line, or another path, in at most 12 s."""
    return TaskConstrainedProblem(Validity(RobotModel.from_urdf(urdf_path("planar4"))), path, 12.0, START, V_MAX)
