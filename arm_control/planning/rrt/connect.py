"""RRT-Connect: two trees, one from the start and one from the goals, grow towards random states and towards each other.

A round, for both trees at once, many motions in the lanes of one call:

    (1)  samples q_k, and the nearest node p_k of the tree to each
    (2)  new nodes  p_k + c_k (q_k - p_k),   at most a step away, as far as no contact is seen (share c_k)
    (3)  from new nodes straight to the nearest node of the other tree; where no contact is seen: a candidate path
    (4)  a candidate is proved free without a gap; what cannot be proved is cut off the tree

Motions in (2) and (3) are looked at in a few places only, those of (4) as often as the proof takes: a proof is
expensive near contact, and few motions of a tree become part of a path.

Source: J. J. Kuffner, S. M. LaValle, "RRT-Connect: an efficient approach to single-query path planning", 2000; delayed
checks: G. Sanchez, J.-C. Latombe, "A single-query bi-directional probabilistic roadmap planner with lazy collision
checking", 2003.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.core.progress import progress_bar
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.planning.rrt.candidates import Candidates
from arm_control.planning.rrt.joint_space import JointSpace
from arm_control.planning.rrt.plans import (
    Effort,
    Outcome,
    Plan,
    check_ends,
    free_path,
    no_path,
)
from arm_control.planning.rrt.search_tree import Numbers, SearchTree
from arm_control.planning.validity.motions import Motions
from arm_control.planning.validity.validity import Validity


@dataclass(frozen=True)
class SearchParameters:
    """How trees grow.

    Attributes
    ----------
    rounds : int
        Largest number of rounds.
    samples : int
        Samples for each tree in a round.
    connections : int
        New nodes of each tree from which the other one is tried: the nearest.
    step : float
        Longest motion towards a sample [rad or m].
    least_step : float
        Shortest motion that makes a node [rad or m].
    looks : int
        Places of a motion that are looked at while trees grow.
    seed : int
        Of the samples: equal seeds, equal paths.
    """

    rounds: int = 1000
    samples: int = 32
    connections: int = 4
    step: float = 1.0
    least_step: float = 0.1
    looks: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rounds", "samples", "connections", "looks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 1 or more is needed")
        if not 0.0 < self.least_step <= self.step < np.inf:
            raise InputError(f"steps are {self.least_step} and {self.step}; needed: 0 < least_step <= step")


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

    def __init__(self, validity: Validity, parameters: SearchParameters = SearchParameters()) -> None:
        self.validity, self.parameters = validity, parameters
        self._space = JointSpace.of(validity)

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
        q, ends = self._space.states(start, "start")[0], self._space.states(goals, "goal")
        n = len(q)
        failed, ends = check_ends(self.validity, q, ends)
        if failed is not None:
            return failed
        trees = _Trees(self.validity, self._space, self.parameters, q, ends, longest, np.random.default_rng(seed))
        path, n_rounds = trees.straight(), 0
        for _ in search_rounds(0 if len(path) else self.parameters.rounds, title):
            path, n_rounds = trees.grow(), n_rounds + 1
            if len(path):
                break
        effort = Effort(n_rounds, trees.n_motions, time.perf_counter() - begin)
        if not len(path):
            return no_path(Outcome.LIMIT, f"no path was found in {n_rounds} rounds of samples", n, effort)
        return free_path(path, np.zeros(len(path)), effort)


def search_rounds(n: int, title: str | None) -> Iterable[int]:
    """Count the rounds of a search.

    Parameters
    ----------
    n : int
        Largest number of rounds.
    title : str or None
        Title of a progress bar; None: no bar.
    """
    return range(n) if title is None else progress_bar(range(n), title)


class _Trees:
    """Two trees of one search."""

    def __init__(
        self,
        validity: Validity,
        space: JointSpace,
        parameters: SearchParameters,
        start: Array,
        goals: Array,
        longest: float,
        rng: np.random.Generator,
    ) -> None:
        self._validity, self._space, self._parameters, self._rng = validity, space, parameters, rng
        self._start, self._goals, self._longest = start, goals, longest
        self._trees = SearchTree(start[None], space.weights), SearchTree(goals, space.weights)
        self._candidates = Candidates(validity, *self._trees, parameters.least_step)
        self._n_looked_at = 0

    @property
    def n_motions(self) -> int:
        """Motions looked at, and motions that proofs were tried for."""
        return self._n_looked_at + self._candidates.n_motions

    def straight(self) -> Array:
        """The straight motion to a goal, where one is free; else no path, shape (0, n)."""
        starts = np.repeat(self._start[None], len(self._goals), axis=0)
        is_contact = self._check(starts, self._goals).is_contact
        for goal in self._goals[~is_contact]:
            path = np.array([self._start, goal])
            if self._candidates.proved_shares(path, np.zeros(2)).min() >= 1.0:
                return path
        return np.zeros((0, len(self._start)))

    def grow(self) -> Array:
        """One round; returns a path that is proved free, or none, shape (0, n)."""
        first, second = self._extend()
        return self._connect(first, second)

    def _extend(self) -> list[Numbers]:
        """Equations (1) and (2): the numbers of the new nodes of both trees."""
        p, (a, b) = self._parameters, self._trees
        samples = self._sample()
        near = a.nearest(samples[: p.samples]), b.nearest(samples[p.samples :])
        begin = np.concatenate([a.q[near[0]], b.q[near[1]]])
        steps = samples - begin
        lengths = self._space.lengths(steps)
        shares = np.minimum(1.0, p.step / np.maximum(lengths, p.least_step))
        return self._add_prefixes(begin, steps * shares[:, None], near)

    def _sample(self) -> Array:
        """Random states, shape (2 samples, n); where the length of a path is bounded, near the straight way."""
        space, p = self._space, self._parameters
        if not self._longest < np.inf:
            return self._rng.uniform(space.low, space.high, (2 * p.samples, len(space.low)))
        samples = self._rng.uniform(space.low, space.high, (32 * p.samples, len(space.low)))
        to_goal = np.min([space.lengths(samples - goal) for goal in self._goals], axis=0)
        way = space.lengths(samples - self._start) + to_goal
        return samples[np.argsort(np.maximum(way, self._longest), kind="stable")[: 2 * p.samples]]

    def _add_prefixes(self, begin: Array, steps: Array, parents: tuple[Numbers, Numbers]) -> list[Numbers]:
        """Add the ends of motions, as far as no contact is seen, to both trees; returns the numbers of the nodes."""
        seen = self._check(begin, begin + steps)
        shares = np.where(seen.is_contact, seen.covered, 1.0)
        return self._add_ends(begin, steps, shares, parents)

    def _add_ends(self, begin: Array, steps: Array, shares: Array, parents: tuple[Numbers, Numbers]) -> list[Numbers]:
        """Add the states at shares of motions to both trees, where they are far enough from their parents."""
        is_kept = shares * self._space.lengths(steps) > self._parameters.least_step
        ends = self._space.within(begin + shares[:, None] * steps)
        k = len(parents[0])
        parts = (slice(0, k), slice(k, None))
        return [
            tree.add(ends[part][is_kept[part]], numbers[is_kept[part]])
            for tree, part, numbers in zip(self._trees, parts, parents, strict=True)
        ]

    def _connect(self, first: Numbers, second: Numbers) -> Array:
        """Equations (3) and (4)."""
        a, b = self._trees
        from_a, to_b = self._nearest_pairs(a, b, first)
        from_b, to_a = self._nearest_pairs(b, a, second)
        begin = np.concatenate([a.q[from_a], b.q[from_b]])
        if not len(begin):
            return begin
        steps = np.concatenate([b.q[to_b], a.q[to_a]]) - begin
        seen = self._check(begin, begin + steps)
        lengths = np.where(seen.is_contact, np.inf, self._space.lengths(steps))
        ends_a, ends_b = np.concatenate([from_a, to_a]), np.concatenate([to_b, from_b])
        for i in np.argsort(lengths)[: int((~seen.is_contact).sum())]:
            path = self._candidates.prove(int(ends_a[i]), int(ends_b[i])).path
            if len(path):
                return path
        is_alive = np.concatenate([a.is_alive[from_a], b.is_alive[from_b]])
        self._add_ends(begin, steps, np.where(seen.is_contact & is_alive, seen.covered, 0.0), (from_a, from_b))
        return np.zeros((0, begin.shape[1]))

    def _nearest_pairs(self, tree: SearchTree, other: SearchTree, nodes: Numbers) -> tuple[Numbers, Numbers]:
        """Nodes that are nearest to the other tree, and the nodes there."""
        if not len(nodes):
            return nodes, nodes
        near = other.nearest(tree.q[nodes])
        order = np.argsort(self._space.lengths(other.q[near] - tree.q[nodes]))[: self._parameters.connections]
        return nodes[order], near[order]

    def _check(self, begin: Array, end: Array) -> Motions:
        """Look at some places of motions."""
        self._n_looked_at += len(begin)
        return self._validity.motions(begin, self._space.within(end), most_looks=self._parameters.looks)
