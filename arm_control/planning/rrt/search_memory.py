"""Memory of a search, bound to the procedure that works in it."""

from __future__ import annotations

import numpy as np

from arm_control.collision import MotionColumns, Validity
from arm_control.compiler import Binds
from arm_control.maths import Array
from arm_control.planning.rrt.joint_space import SearchSpace
from arm_control.planning.rrt.proofs import MOST_AT_ONCE
from arm_control.planning.rrt.rounds import GOES_ON
from arm_control.planning.rrt.search_parameters import SearchParameters
from arm_control.planning.rrt.trees import (
    N_COUNTERS,
    N_MOTIONS,
    N_ROUNDS,
    N_SAMPLES,
    NEXT_SAMPLE,
    NOT_BEGUN,
    PATH_LENGTH,
    ROOM,
    TreeSearch,
    edges_of,
    enlarged,
    new_lists,
    new_tree,
    set_roots,
)

CAPACITY = 2 * ROOM
"""Nodes of a tree that memory is made for at first."""
FEWEST_SAMPLES = 1024
"""Samples that memory is made for at first."""


class SearchMemory:
    """Trees, samples and what else a search works with; the next search uses it again.

    Parameters
    ----------
    validity : Validity
    space : SearchSpace
    parameters : SearchParameters
    bind : Binds
        Binds the procedure.
    """

    def __init__(
        self, validity: Validity, space: SearchSpace, parameters: SearchParameters, bind: Binds[TreeSearch]
    ) -> None:
        self._validity, self._bind, self._parameters = validity, bind, parameters
        self._use(_new_search(space, parameters, validity.columns(self._n_motions(1))))

    def _n_motions(self, n_goals: int) -> int:
        """Motions that are checked at once."""
        p = self._parameters
        return max(MOST_AT_ONCE, 2 * p.samples, 2 * p.connections, 1 + n_goals)

    def begin(self, starts: Array, goals: Array) -> int:
        """Begin a search among the obstacles that there are; returns the result of the straight motions.

        Parameters
        ----------
        starts, goals : ndarray, shape (k, n)
            Joint positions of the roots of both trees [rad or m].
        """
        set_roots(self._search.first, starts, np.zeros(len(starts)))
        set_roots(self._search.second, goals, np.zeros(len(goals)))
        self._search.counters[:] = 0
        self._search.counters[N_ROUNDS] = NOT_BEGUN
        n, old = self._n_motions(len(goals)), self._search
        motions = self._validity.columns(n)
        if motions.check is not old.motions.check:
            self._use(old._replace(motions=motions, lists=new_lists(motions.a.shape[1])))
        return int(self._run())

    def go_on(self, samples: Array) -> int:
        """Go on with more samples, as long as no path is found; returns the result.

        Parameters
        ----------
        samples : ndarray, shape (k, n)
            Joint positions [rad or m].
        """
        k = len(samples)
        if k > len(self._search.samples):
            self._use(self._search._replace(samples=np.zeros((k, self._search.n))))
        counters = self._search.counters
        self._search.samples[:k] = samples
        counters[NEXT_SAMPLE], counters[N_SAMPLES] = 0, k
        result = int(self._run())
        while result == GOES_ON and counters[NEXT_SAMPLE] < k:  # there was not enough memory for a round
            self._use(_enlarged(self._search))
            result = int(self._run())
        return result

    def _use(self, search: TreeSearch) -> None:
        self._search, self._run = search, self._bind(search)

    @property
    def n_rounds(self) -> int:
        """Rounds up to now."""
        return int(max(self._search.counters[N_ROUNDS], 0))

    @property
    def n_motions(self) -> int:
        """Motions checked up to now."""
        return int(self._search.counters[N_MOTIONS])

    @property
    def edges(self) -> Array:
        """Joint positions at both ends of each edge of both trees, shape (k, 2, n) [rad or m]."""
        return np.concatenate([edges_of(self._search.first), edges_of(self._search.second)])

    @property
    def path(self) -> tuple[Array, Array]:
        """Joint positions and times of the path that was found, shape (m, n) and (m,) [rad or m, s]."""
        m = int(self._search.counters[PATH_LENGTH])
        return self._search.path[:m].copy(), self._search.times[:m].copy()


def _new_search(space: SearchSpace, p: SearchParameters, motions: MotionColumns) -> TreeSearch:
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
        first=new_tree(n, CAPACITY),
        second=new_tree(n, CAPACITY),
        motions=motions,
        samples=np.zeros((FEWEST_SAMPLES, n)),
        begin=np.zeros(n),
        end=np.zeros(n),
        counters=np.zeros(N_COUNTERS, np.int64),
        capacity=CAPACITY,
        distances=np.zeros(CAPACITY),
        path=np.zeros((2 * CAPACITY, n)),
        times=np.zeros(2 * CAPACITY),
        lists=new_lists(motions.a.shape[1]),
    )


def _enlarged(s: TreeSearch) -> TreeSearch:
    """The same search with twice as much memory for nodes."""
    size = 2 * s.capacity
    return s._replace(
        first=enlarged(s.first),
        second=enlarged(s.second),
        capacity=size,
        distances=np.zeros(size),
        path=np.zeros((2 * size, s.n)),
        times=np.zeros(2 * size),
    )
