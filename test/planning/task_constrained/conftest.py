"""The task of a planar arm, and its planners: of motions within the speed limits, and within those of torque, too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from line_task import TAU_MAX, task_problem

from arm_control.planning import TaskConstrainedProblem, TaskPlanner


@pytest.fixture(scope="module")
def problem() -> TaskConstrainedProblem:
    return task_problem()


@pytest.fixture(scope="module")
def kinematic(problem: TaskConstrainedProblem) -> TaskPlanner:
    return TaskPlanner(problem)


@pytest.fixture(scope="module")
def dynamic(problem: TaskConstrainedProblem) -> TaskPlanner:
    return TaskPlanner(replace(problem, tau_max=TAU_MAX))
