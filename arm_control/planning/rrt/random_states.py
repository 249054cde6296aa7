"""Random joint positions for a search: anywhere, or where a short path may pass."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array
from arm_control.planning.rrt.joint_space import SearchSpace

NEAR_WAY = 32
"""States of which the one nearest to the straight way is taken, where the length of a path is bounded."""


class RandomStates:
    """Random states of one seed; they are kept, since all searches of a seed use the same.

    Parameters
    ----------
    space : SearchSpace
    seed : int
        Of the random numbers.
    """

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self.seed, self._space, self._rng = seed, space, np.random.default_rng(seed)
        self._states = np.zeros((0, len(space.low)))

    def rows(self, first: int, last: int) -> Array:
        """States from one number to another, shape (last - first, n) [rad or m].

        Parameters
        ----------
        first, last : int
            Numbers.
        """
        while len(self._states) < last:
            more = self._rng.uniform(
                self._space.low, self._space.high, (last - len(self._states), len(self._space.low))
            )
            self._states = np.concatenate([self._states, more])
        return self._states[first:last]

    def near_way(self, start: Array, goals: Array, longest: float, n: int) -> Array:
        """New states that a path below a length may pass, shape (n, nq) [rad or m].

        Parameters
        ----------
        start, goals : ndarray, shape (nq,) and (k, nq)
            Joint positions [rad or m].
        longest : float
            Length, in weighted joint positions.
        n : int
            How many.
        """
        space = self._space
        states = self._rng.uniform(space.low, space.high, (NEAR_WAY * n, len(space.low)))
        to_goal = np.min([space.lengths(states - goal) for goal in goals], axis=0)
        way = space.lengths(states - start) + to_goal
        best = np.argsort(np.maximum(way, longest), kind="stable")[:n]
        return states[self._rng.permutation(best)]
