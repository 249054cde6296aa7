"""RRT-Connect of OMPL with the motion checks of this package: what the search itself costs, and what lanes gain."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.maths import Array

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from ompl_planning import ompl_space, ompl_state, path_of


class OmplPlan(NamedTuple):
    """What OMPL found.

    Attributes
    ----------
    path : ndarray, shape (m, n)
        Joint positions [rad or m]; m = 0 where there is no path.
    ms : float
        Processor time of the search [ms].
    """

    path: Array
    ms: float

    @property
    def is_found(self) -> bool:
        """Whether there is a path."""
        return len(self.path) > 0


def plan_with_ompl(validity: Validity, start: Array, goals: Sequence[Array], seconds: float, seed: int = 0) -> OmplPlan:
    """Search a path with RRT-Connect of OMPL.

    Parameters
    ----------
    validity : Validity
        Arm and obstacles.
    start : ndarray, shape (n,)
        Joint positions [rad or m].
    goals : sequence of ndarray, shape (n,)
        Joint positions of the goals.
    seconds : float
        Longest time of the search.
    seed : int
        Of the random numbers; OMPL takes that of the first search of a process.

    Raises
    ------
    MissingExtra
        When ompl is not installed.
    """
    space = ompl_space(validity)
    from ompl import base, geometric, util  # after the sentence that says what is missing

    util.setLogLevel(util.LogLevel.LOG_NONE)
    util.RNG.setSeed(seed + 1)
    problem = base.ProblemDefinition(space)
    problem.addStartState(ompl_state(space, start))
    ends = base.GoalStates(space)
    for goal in np.atleast_2d(goals):
        ends.addState(ompl_state(space, goal))
    problem.setGoal(ends)
    planner = geometric.RRTConnect(space)
    planner.setProblemDefinition(problem)
    planner.setup()
    begin = time.process_time()
    is_solved = bool(planner.solve(base.timedPlannerTerminationCondition(seconds)))
    ms = 1e3 * (time.process_time() - begin)
    n = len(start)
    path = path_of(problem.getSolutionPath(), n) if is_solved and problem.hasExactSolution() else np.zeros((0, n))
    return OmplPlan(path, ms)
