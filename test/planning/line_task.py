"""A planar arm of four links whose hand follows a line."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.kinematics import Search
from arm_control.maths import Array
from arm_control.planning import TaskConstrainedProblem, TaskPath, line
from arm_control.planning import task_feasibility as feasibility

START = np.array([0.86549746, -1.23313677, -0.9210975, 0.2886459])
PATH = line([1.2, -0.7], [1.2, 0.7])
V_MAX = np.full(4, 0.5)
TAU_MAX = np.array([6.0, 4.0, 2.0, 1.0])


def task_problem(path: TaskPath = PATH) -> TaskConstrainedProblem:
    """From the start along the line, or another path, in at most 12 s."""
    return TaskConstrainedProblem(Validity(RobotModel.from_urdf(urdf_path("planar4"))), path, 12.0, START, V_MAX)


def check_blocked(problem: TaskConstrainedProblem, search: Search, rng: np.random.Generator, least: int) -> int:
    """Check random postures, more than ``least``, at the ends of blocked cells: all in contact; return how often."""
    cells = feasibility.blocked_cells(problem)
    assert cells is not None
    blocked = np.flatnonzero(cells[1][0] >= 0)
    places = [
        (cell + share) / feasibility.CELLS
        for cell in (blocked[[0, -1]] if len(blocked) else [])
        for share in (0.001, 0.999)
    ]
    for s in places:
        q = feasibility.random_postures(problem, search, np.repeat(problem.path.targets([s]), 64, axis=0), rng)
        assert len(q) > least
        assert not problem.validity.free_states(q).any()
    return len(places)


def least_share(problem: TaskConstrainedProblem, J: Array, y_s: Array, tau_max: Array) -> float:
    """The largest share of the torque at the start, by a linear program: unknown are q_ddot, s_ddot and that share."""
    model, q = problem.model, problem.q_start
    M, g, n = model.mass_matrix(q), model.gravity(q), model.nq
    rows = np.block([[M, np.zeros((n, 1)), -tau_max[:, None]], [-M, np.zeros((n, 1)), -tau_max[:, None]]])
    task = np.column_stack([J, -y_s, np.zeros(len(y_s))])
    bounds, cost = [(None, None)] * n + [(0.0, None)] * 2, np.append(np.zeros(n + 1), 1.0)
    return float(linprog(cost, rows, np.concatenate([-g, g]), task, np.zeros(len(y_s)), bounds).x[-1])
