"""Postures on the task path: inverse kinematics at its samples, from starts in the tree, many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.kinematics import InverseKinematics, Task, repeated_step
from arm_control.maths import Array, Pose
from arm_control.planning.task_constrained.problem import TaskConstrainedProblem

LIMIT = 12
"""Largest number of steps."""
TOLERANCE = 1e-4
"""Of a posture that a chain is led towards [m]."""


class Postures(NamedTuple):
    """Postures of one call.

    Attributes
    ----------
    q : ndarray, shape (k, n)
        Joint positions [rad or m].
    is_done : ndarray of bool, shape (k,)
        Whether they are on the path.
    """

    q: Array
    is_done: npt.NDArray[np.bool_]


class TaskPostures:
    """Finds postures of one problem.

    Parameters
    ----------
    problem : TaskConstrainedProblem
    size : int
        Postures of one call.
    """

    def __init__(self, problem: TaskConstrainedProblem, size: int) -> None:
        model, self._columns = problem.model, problem.path.numbers
        n, m = model.nq, len(self._columns)
        task = Task(None, tuple(self._columns), "world", (False,) * n)
        shared = {
            "q_min": model.q_min,
            "q_max": model.q_max,
            "tolerance": np.array([TOLERANCE]),
            "caution": np.zeros(1),
        }
        shared |= {"tool": model.tool} if model.has_tool else {}
        self._arrays = {"q": np.zeros((n, size)), "target": np.zeros((12, size)), "error": np.zeros((m, size))}
        self._arrays |= {
            "reference": np.zeros((n, size)),
            "more": np.zeros((1, size)),
            "repetitions": np.zeros((1, size)),
        }
        self._arrays["target"][[0, 4, 8]] = 1.0
        samples = {name: self._arrays[name][:, :9].copy() for name in ("target", "reference")} | shared
        samples["q"] = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 9))
        kernel = model.compile_law(repeated_step(model.tree, task, model.has_tool), samples)
        self._call = kernel.bind({**self._arrays, **shared}, LIMIT)

    def near(self, starts: Array, y: Array) -> Postures:
        """Postures near starts.

        Parameters
        ----------
        starts : ndarray, shape (k, n)
            Joint positions [rad or m].
        y : ndarray, shape (k, m)
            Positions on the path [m].
        """
        k, a = len(starts), self._arrays
        a["q"][:, :k] = a["reference"][:, :k] = starts.T
        for column, values in zip(self._columns, y.T, strict=True):
            a["target"][9 + column, :k] = values
        self._call(k)
        return Postures(a["q"][:, :k].T.copy(), a["more"][0, :k] <= 0.0)


def why_unreachable(problem: TaskConstrainedProblem, levels: int) -> str:
    """Which sample of the path no posture reaches, in a sentence; empty where all are reached.

    Parameters
    ----------
    problem : TaskConstrainedProblem
    levels : int
        Number of pieces of the path.
    """
    s = np.linspace(0.0, 1.0, levels + 1)
    y = problem.path.at(s).y
    solver = InverseKinematics(problem.model, " ".join(problem.path.rows), tolerance=TOLERANCE)
    p = np.zeros((len(s), 3))
    p[:, problem.path.numbers] = y
    batch = solver.solve_batch([Pose(np.eye(3), place) for place in p])
    if batch.converged.all():
        return ""
    i = int(np.argmin(batch.converged))
    position = ", ".join(f"{row} = {value:.4g}" for row, value in zip(problem.path.rows, y[i], strict=True))
    return f"the task cannot be held at s = {s[i]:.4g}, {position} m: {batch[i].why}"
