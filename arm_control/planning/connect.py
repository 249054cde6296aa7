"""RRT-Connect: two trees, one from the start and one from the goals, grow towards random states and towards each other.

A round, for both trees at once, many motions in the lanes of one call:

    (1)  samples q_k, and the nearest node p_k of the tree to each
    (2)  new nodes  p_k + c_k (q_k - p_k),   at most a step away, as far as no contact is seen (share c_k)
    (3)  from new nodes straight to the nearest node of the other tree; where no contact is seen: a candidate path
    (4)  a candidate is proved free without a gap; what cannot be proved is cut off the tree

Motions in (2) and (3) are looked at in a few places only, those of (4) as often as the proof takes: a proof is
expensive near contact, and few motions of a tree become part of a path. What (2) and (3) have proved is not proved
again. A round is one procedure that is compiled (:mod:`arm_control.planning.rounds`). Where the start or all goals are
free by their meshes but not by the capsules around them, trees begin at the ends of
:mod:`~arm_control.planning.ways_out`.

Source: J. J. Kuffner, S. M. LaValle, "RRT-Connect: an efficient approach to single-query path planning", 2000; delayed
checks: G. Sanchez, J.-C. Latombe, "A single-query bi-directional probabilistic roadmap planner with lazy collision
checking", 2003.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arm_control.collision import MotionColumns, Validity
from arm_control.compiler import compile_procedure
from arm_control.core import exclusive
from arm_control.maths import Array
from arm_control.planning.joint_space import STANDARD, RandomStates, SearchParameters, SearchSpace
from arm_control.planning.plans import (
    Effort,
    Plan,
    SearchOutcome,
    free_path,
    goals_in_contact,
    no_path,
    start_in_contact,
)
from arm_control.planning.rounds import FOUND, GOALS_IN_CONTACT, GOES_ON, MOST_AT_ONCE, START_IN_CONTACT, search
from arm_control.planning.trees import (
    N_COUNTERS,
    N_MOTIONS,
    N_ROUNDS,
    N_SAMPLES,
    NEXT_SAMPLE,
    NOT_BEGUN,
    PATH_LENGTH,
    ROOM,
    PathTree,
    SearchTree,
    TreeSearch,
    new_lists,
)
from arm_control.planning.ways_out import free_roots

CAPACITY = 2 * ROOM
"""Nodes of a tree that memory is made for at first."""
FEWEST_SAMPLES = 1024
"""Samples that memory is made for at first."""


def _new_search(
    space: SearchSpace, p: SearchParameters, motions: MotionColumns, first: PathTree, second: PathTree
) -> TreeSearch:
    n = len(space.low)
    return TreeSearch(
        n=n,
        n_samples=p.samples,
        n_connections=p.connections,
        looks=p.looks,
        step=p.step,
        least_step=p.least_step,
        weights=np.ascontiguousarray(space.weights),
        low=np.ascontiguousarray(space.model.q_min),
        high=np.ascontiguousarray(space.model.q_max),
        first=first,
        second=second,
        motions=motions,
        samples=np.zeros((FEWEST_SAMPLES, n)),
        begin=np.zeros(n),
        counters=np.zeros(N_COUNTERS, np.int64),
        capacity=CAPACITY,
        distances=np.zeros(CAPACITY),
        path=np.zeros((2 * CAPACITY, n)),
        times=np.zeros(2 * CAPACITY),
        lists=new_lists(motions.a.shape[1]),
    )


FEWEST_ROUNDS, MOST_ROUNDS = 4, 64
"""Rounds of the first call of a search, and of a later one: samples are drawn before it."""


class RrtConnect:
    """Plans paths of one arm among obstacles that stand still: those that its validity was given.

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
        self.lock = validity.lock  # its obstacles stay while a path is searched
        self._space = SearchSpace.of(validity)
        self._trees = [SearchTree(len(self._space.low), CAPACITY, order="F") for _ in range(2)]
        with self.lock:
            motions = validity.columns(self._n_motions(1))
        self._use(_new_search(self._space, parameters, motions, *(tree.record for tree in self._trees)))
        self._states, self._rounds = RandomStates(self._space, parameters.seed), rounds_of_calls(parameters.rounds)

    @property
    def edges(self) -> Array:
        """Joint positions at both ends of each edge of the last search's trees, shape (k, 2, n) [rad or m]."""
        return np.concatenate([tree.edges for tree in self._trees])

    @exclusive
    def plan(self, start: npt.ArrayLike, goals: npt.ArrayLike, seed: int | None = None) -> Plan:
        """Plan a path, proved free without a gap, from a start to the first goal that is reached.

        Parameters
        ----------
        start : array_like, shape (n,)
            Joint positions [rad or m].
        goals : array_like, shape (n,) or (k, n)
            Joint positions of one goal, or of several [rad or m].
        seed : int, optional
            Of the samples; by default that of the parameters.

        Raises
        ------
        InputError
            When an array has a wrong shape or an entry that is not finite, or all goals or the start are beyond the
            limits of the joints.
        """
        seed = self.parameters.seed if seed is None else seed
        begin = time.perf_counter()
        q, ends = self._space.states(start, "start")[:1], self._space.states(goals, "goal")
        states = self._states if seed == self._states.seed else RandomStates(self._space, seed)
        result, first, roots = self._begin(q, ends), 0, None
        if result in (START_IN_CONTACT, GOALS_IN_CONTACT):
            roots = [free_roots(self.validity, self._space, some, seed) for some in (q, ends)]
            if all(len(ways) for ways, _ in roots):
                result = self._begin(*(ways for ways, _ in roots))
        for n_rounds in self._rounds if result == GOES_ON else ():
            last = first + 2 * n_rounds * self.parameters.samples
            result, first = self._go_on(states.rows(first, last)), last
            if result == FOUND:
                break
        plan = self._plan(result, q[0], ends, time.perf_counter() - begin)
        return plan if roots is None else _with_ways(plan, *roots)

    def _plan(self, result: int, start: Array, goals: Array, seconds: float) -> Plan:
        """The path that was found, or why there is none."""
        search, m = self._search, int(self._search.counters[PATH_LENGTH])
        effort = Effort(max(int(search.counters[N_ROUNDS]), 0), int(search.counters[N_MOTIONS]), seconds)
        if result == FOUND:
            return free_path(search.path[:m].copy(), search.times[:m].copy(), effort)
        if result == START_IN_CONTACT:
            return start_in_contact(self.validity, start)
        if result == GOALS_IN_CONTACT:
            return goals_in_contact(self.validity, goals)
        return no_path(
            SearchOutcome.LIMIT, f"no path was found in {effort.rounds} rounds of samples", len(start), effort
        )

    def _n_motions(self, n_goals: int) -> int:
        """Motions that are checked at once."""
        p = self.parameters
        return max(MOST_AT_ONCE, 2 * p.samples, 2 * p.connections, 1 + n_goals)

    def _begin(self, starts: Array, goals: Array) -> int:
        """Begin a search from the roots of both trees, shape (k, n); returns the result of the straight motions."""
        while max(len(starts), len(goals)) + ROOM > self._search.capacity:
            self._enlarge()
        for tree, roots in zip(self._trees, (starts, goals), strict=True):
            tree.set_roots(roots, np.zeros(len(roots)))
        self._search.counters[:] = 0
        self._search.counters[N_ROUNDS] = NOT_BEGUN
        n, old = self._n_motions(len(goals)), self._search
        motions = self.validity.columns(n)
        if motions.check is not old.motions.check:
            self._use(old._replace(motions=motions, lists=new_lists(motions.a.shape[1])))
        return int(self._run())

    def _go_on(self, samples: Array) -> int:
        """Go on with more samples, shape (k, n), as long as no path is found; returns the result."""
        k = len(samples)
        if k > len(self._search.samples):
            self._use(self._search._replace(samples=np.zeros((k, self._search.n))))
        counters = self._search.counters
        self._search.samples[:k] = samples
        counters[NEXT_SAMPLE], counters[N_SAMPLES] = 0, k
        result = int(self._run())
        while result == GOES_ON and counters[NEXT_SAMPLE] < k:  # there was not enough memory for a round
            self._enlarge()
            result = int(self._run())
        return result

    def _enlarge(self) -> None:
        """Make twice as much memory for nodes."""
        for tree in self._trees:
            tree.grow()
        s, (first, second) = self._search, self._trees
        size = 2 * s.capacity
        s = s._replace(first=first.record, second=second.record, capacity=size, distances=np.zeros(size))
        self._use(s._replace(path=np.zeros((2 * size, s.n)), times=np.zeros(2 * size)))

    def _use(self, record: TreeSearch) -> None:
        self._search, self._run = record, compile_procedure(search)(record)


def _with_ways(plan: Plan, *roots: tuple[Array, Array]) -> Plan:
    """The plan with the motions between the roots of its trees, (k, n), and the states from which ways lead there."""
    if not plan.is_found:
        return plan
    start, goal = (
        origins[(ways == q).all(axis=1)][:1] for (ways, origins), q in zip(roots, plan.path[[0, -1]], strict=True)
    )
    path = np.concatenate([start, plan.path, goal])
    moves = np.append(True, (path[1:] != path[:-1]).any(axis=1))
    return replace(plan, path=path[moves], times=np.zeros(int(moves.sum())))


def rounds_of_calls(n: int) -> list[int]:
    """Rounds of each call of a search, n in all: a few at first, then more."""
    numbers: list[int] = []
    left = n
    while left > 0:
        numbers.append(min(FEWEST_ROUNDS * 2 ** len(numbers), MOST_ROUNDS, left))
        left -= numbers[-1]
    return numbers
