"""RRT-Connect: two trees, one from the start and one from the goals, grow towards random states and towards each other.

A round, for both trees at once, many motions in the lanes of one call:

    (1)  samples q_k, and the nearest node p_k of the tree to each
    (2)  new nodes  p_k + c_k (q_k - p_k),   at most a step away, as far as no contact is seen (share c_k)
    (3)  from new nodes straight to the nearest node of the other tree; where no contact is seen: a candidate path
    (4)  a candidate is proved free without a gap; what cannot be proved is cut off the tree

Motions in (2) and (3) are looked at in a few places only, those of (4) as often as the proof takes: a proof is
expensive near contact, and few motions of a tree become part of a path. What (2) and (3) have proved is not proved
again. A round is one procedure that is compiled (:mod:`arm_control.planning.rrt.rounds`).

Source: J. J. Kuffner, S. M. LaValle, "RRT-Connect: an efficient approach to single-query path planning", 2000; delayed
checks: G. Sanchez, J.-C. Latombe, "A single-query bi-directional probabilistic roadmap planner with lazy collision
checking", 2003.
"""

from __future__ import annotations

import time
from functools import cache
from threading import RLock

import numpy as np
import numpy.typing as npt

from arm_control.collision import Validity
from arm_control.compiler import Binds, compile_procedure
from arm_control.core import exclusive, progress_bar
from arm_control.maths import Array
from arm_control.planning.rrt.joint_space import SearchSpace
from arm_control.planning.rrt.plans import (
    Effort,
    Plan,
    SearchOutcome,
    free_path,
    goals_in_contact,
    no_path,
    start_in_contact,
)
from arm_control.planning.rrt.random_states import RandomStates
from arm_control.planning.rrt.rounds import FOUND, GOALS_IN_CONTACT, GOES_ON, START_IN_CONTACT, search
from arm_control.planning.rrt.search_memory import SearchMemory
from arm_control.planning.rrt.search_parameters import STANDARD, SearchParameters
from arm_control.planning.rrt.trees import TreeSearch

__all__ = ["RrtConnect", "SearchParameters"]

FEWEST_ROUNDS, MOST_ROUNDS = 4, 64
"""Rounds of the first call of a search, and of a later one: samples are drawn before it."""


@cache
def _search() -> Binds[TreeSearch]:
    """The compiled search."""
    return compile_procedure(search)


class RrtConnect:
    """Plans paths of one arm among obstacles that stand still: those that its validity was given.

    Parameters
    ----------
    validity : Validity
        Arm and obstacles.
    parameters : SearchParameters
        How trees grow.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> arm = RobotModel.from_urdf(urdf_path("planar3"))
    >>> plan = RrtConnect(Validity(arm)).plan([0.0, 0.0, 0.0], [1.0, 0.5, 0.2])
    >>> plan.is_found, len(plan.path)
    (True, 2)
    """

    def __init__(self, validity: Validity, parameters: SearchParameters = STANDARD) -> None:
        self.validity, self.parameters = validity, parameters
        self._space = SearchSpace.of(validity)
        with self.lock:
            self._memory = SearchMemory(validity, self._space, parameters, _search())
        self._states, self._rounds = RandomStates(self._space, parameters.seed), rounds_of_calls(parameters.rounds)

    @property
    def lock(self) -> RLock:
        """That of the validity, whose obstacles stay while a path is searched."""
        return self.validity.lock

    @property
    def edges(self) -> Array:
        """Joint positions at both ends of each edge of the last search's trees, shape (k, 2, n) [rad or m]."""
        return self._memory.edges

    def plan(self, start: npt.ArrayLike, goals: npt.ArrayLike, title: str | None = None) -> Plan:
        """Plan a path from a start to the first goal that is reached.

        Parameters
        ----------
        start : array_like, shape (n,)
            Joint positions [rad or m].
        goals : array_like, shape (n,) or (k, n)
            Joint positions of one goal, or of several [rad or m].
        title : str, optional
            Title of a progress bar; none by default.

        Returns
        -------
        Plan
            Its path is proved free without a gap.

        Raises
        ------
        InputError
            When an array has a wrong shape or an entry that is not finite, or all goals or the start are beyond the
            limits of the joints.
        """
        return self.search(start, goals, np.inf, self.parameters.seed, title)

    @exclusive
    def search(
        self, start: npt.ArrayLike, goals: npt.ArrayLike, longest: float, seed: int, title: str | None = None
    ) -> Plan:
        """As :meth:`plan`, with states only that a path below a length may pass.

        Parameters
        ----------
        start : array_like, shape (n,)
            Joint positions [rad or m].
        goals : array_like, shape (n,) or (k, n)
            Joint positions of one goal, or of several [rad or m].
        longest : float
            Length of the path, in weighted joint positions.
        seed : int
            Of the samples.
        title : str, optional
            Title of a progress bar.
        """
        begin = time.perf_counter()
        q, ends = self._space.states(start, "start")[:1], self._space.states(goals, "goal")
        states = self._states if seed == self._states.seed and longest == np.inf else RandomStates(self._space, seed)
        result, first = self._memory.begin(q, ends), 0
        for n_rounds in progress_bar(self._rounds if result == GOES_ON else [], title):
            last = first + 2 * n_rounds * self.parameters.samples
            is_bounded = longest < np.inf
            chunk = states.near_way(q[0], ends, longest, last - first) if is_bounded else states.rows(first, last)
            result, first = self._memory.go_on(chunk), last
            if result == FOUND:
                break
        return self._plan(result, q[0], ends, time.perf_counter() - begin)

    def _plan(self, result: int, start: Array, goals: Array, seconds: float) -> Plan:
        """The path that was found, or why there is none."""
        effort = Effort(self._memory.n_rounds, self._memory.n_motions, seconds)
        if result == FOUND:
            return free_path(*self._memory.path, effort)
        if result == START_IN_CONTACT:
            return start_in_contact(self.validity, start)
        if result == GOALS_IN_CONTACT:
            return goals_in_contact(self.validity, goals)
        return no_path(
            SearchOutcome.LIMIT, f"no path was found in {effort.rounds} rounds of samples", len(start), effort
        )


def rounds_of_calls(n: int) -> list[int]:
    """Rounds of each call of a search, n in all: a few at first, then more."""
    numbers: list[int] = []
    left = n
    while left > 0:
        numbers.append(min(FEWEST_ROUNDS * 2 ** len(numbers), MOST_ROUNDS, left))
        left -= numbers[-1]
    return numbers
