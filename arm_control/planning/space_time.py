"""RRT-Connect in space-time: obstacles move as told, joint speeds are limited, and the arm may wait.

A node is a state at a time (q, t). Edges go forward in time, at constant joint velocities within their limits v:

    (1)  need(q, q') = max_j |q'_j - q_j| / v_j  <=  t' - t

One tree goes forward from (start, 0), the other one backward from the goals at several times. A sample (q, t) can be
reached from the start and leads to a goal,

    (2)  need(start, q) <= t <= T - need(q, goal)

and is connected to the node with the smallest  need + w (|t - t_node| - need), where w weighs waiting. Some samples are
nodes at another time: the arm waits there. Two nodes (q, t), (q', t') of different trees are connected in three ways:

    (3)  at constant velocity;   waiting at q first, then at full speed;   at full speed, then waiting at q'

Proofs as in :mod:`arm_control.planning.connect`, with obstacles that move along a motion.

Source: F. Grothe, V. N. Hartmann, A. Orthey, M. Toussaint, "ST-RRT*: asymptotically-optimal bidirectional motion
planning through space-time", 2022, for (2) and both trees.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.collision import Motions, Validity
from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.planning.joint_space import SearchParameters, SearchSpace
from arm_control.planning.plans import (
    Effort,
    Plan,
    SearchOutcome,
    Way,
    describe_contact,
    free_path,
    no_path,
    no_way,
    proved_shares,
    start_in_contact,
)
from arm_control.planning.trees import Numbers, SearchTree

WAITING = 0.3
"""Weight w of waiting in the distance of a sample from a node."""
WAITS = 0.25
"""Share of samples that are a node at another time."""
GOAL_TIMES = 24
"""Times at which a goal is tried, where its time is free."""
LEAST_DURATION = 0.02
"""Shortest motion that makes a node [s]."""
TIMED = SearchParameters(rounds=300, samples=16, connections=8)
"""How trees in space-time grow."""
FORWARD, BACKWARD = 1.0, -1.0
"""Directions of time in which the trees grow."""
SMALL = 1e-9
"""Rounding of times [s]; smallest length that is divided by [rad or m]."""


@dataclass(frozen=True)
class Travel:
    """Limits of a motion in time.

    Attributes
    ----------
    v_max : ndarray, shape (n,)
        Largest joint speeds [rad/s or m/s].
    horizon : float
        Latest arrival [s].
    stays : float
        For how long the goal must stay free after the arrival [s].
    """

    v_max: Array
    horizon: float
    stays: float = 0.0

    def __post_init__(self) -> None:
        v = np.asarray(self.v_max, dtype=float)
        if not ((v > 0.0) & (v < np.inf)).all():
            raise InputError(f"v_max = {v.tolist()}: positive, finite speeds are needed")
        if not 0.0 < self.horizon < np.inf:
            raise InputError(f"horizon = {self.horizon}: a positive time is needed [s]")
        if not 0.0 <= self.stays < np.inf:
            raise InputError(f"stays = {self.stays}: a time of 0 or more is needed [s]")

    def need(self, steps: Array) -> Array:
        """Shortest durations of differences of joint positions, shape (..., n) [s]: equation (1)."""
        return (np.abs(steps) / self.v_max).max(axis=-1)


class SpaceTimeRrt:
    """Plans motions of one arm among obstacles that move: those that its validity was given."""

    def __init__(self, validity: Validity, travel: Travel, parameters: SearchParameters = TIMED) -> None:
        self.validity, self.travel, self.parameters = validity, travel, parameters
        self.lock = validity.lock  # its obstacles stay while a motion is searched
        self._space = SearchSpace.of(validity)
        if np.shape(travel.v_max) != self._space.low.shape:
            raise InputError(f"v_max has shape {np.shape(travel.v_max)}; allowed: {self._space.low.shape}")

    @exclusive
    def plan(self, start: npt.ArrayLike, goals: npt.ArrayLike, arrival: float | None = None) -> Plan:
        """Plan a motion from a start at time 0 to the first goal that is reached.

        Parameters
        ----------
        start : array_like, shape (n,)
            Joint positions [rad or m].
        goals : array_like, shape (n,) or (k, n)
            Joint positions of one goal, or of several [rad or m].
        arrival : float, optional
            Time of arrival; by default any up to the horizon [s].

        Returns
        -------
        Plan
            Proved free without a gap until its arrival, and as long after it as the goal must stay free.

        Raises
        ------
        InputError
            As :meth:`arm_control.planning.connect.RrtConnect.plan`, and when the arrival is not in the horizon.
        """
        if arrival is not None and not 0.0 < arrival <= self.travel.horizon:
            raise InputError(f"arrival = {arrival}; allowed: above 0 and up to the horizon of {self.travel.horizon} s")
        begin = time.perf_counter()
        q, ends = self._space.states(start, "start")[0], self._space.states(goals, "goal")
        if not self.validity.free_states(q[None])[0]:
            return start_in_contact(self.validity, q)
        roots = self._goals_in_time(q, ends, arrival)
        if not len(roots.path):
            return self._no_goal(q, ends, arrival)
        trees = _TimedTrees(self.validity, self._space, self.travel, self.parameters, q, roots)
        way, n_rounds = trees.straight(), 0
        while not len(way.path) and n_rounds < self.parameters.rounds:
            way, n_rounds = trees.grow(), n_rounds + 1
        effort = Effort(n_rounds, trees.n_motions, time.perf_counter() - begin)
        if not len(way.path):
            return no_path(SearchOutcome.LIMIT, f"no motion was found in {n_rounds} rounds of samples", len(q), effort)
        return free_path(*way, effort)

    def _goals_in_time(self, start: Array, goals: Array, arrival: float | None) -> Way:
        """Goals at the times at which they can be reached, and from which on they are free as long as they must be."""
        first = self.travel.need(goals - start)
        latest = self.travel.horizon if arrival is None else arrival
        shares = np.linspace(0.0, 1.0, GOAL_TIMES) if arrival is None else np.ones(1)
        can = first <= latest
        times = (first[can, None] + shares * (latest - first[can, None])).ravel()
        states = np.repeat(goals[can], len(shares), axis=0)
        is_free = self.validity.free_motions(states, states, times, times + self.travel.stays)
        order = np.argsort(times[is_free], kind="stable")
        return Way(states[is_free][order], times[is_free][order])

    def _no_goal(self, start: Array, goals: Array, arrival: float | None) -> Plan:
        """Why no goal can be reached in time."""
        n, first = len(start), float(self.travel.need(goals - start).min())
        latest = self.travel.horizon if arrival is None else arrival
        if first > latest:
            reason = f"the goal cannot be reached: the way takes {first:.3g} s at least, {latest:.3g} s are allowed"
            return no_path(SearchOutcome.UNREACHABLE, reason, n)
        reason, contacts = describe_contact(
            self.validity, goals[0], latest, f"the goal at {latest:.3g} s", self.travel.stays
        )
        more = "" if arrival is not None else "; it is at all times tried"
        return no_path(SearchOutcome.GOAL_IN_CONTACT, reason + more, n, Effort(), contacts)


class _TimedTrees:
    """Two trees of one search; each round grows both."""

    def __init__(
        self,
        validity: Validity,
        space: SearchSpace,
        travel: Travel,
        parameters: SearchParameters,
        start: Array,
        roots: Way,
    ) -> None:
        self._validity, self._space, self._travel, self._parameters = validity, space, travel, parameters
        self._start, self._roots = start, roots
        self._rng = np.random.default_rng(parameters.seed)
        self._forward = SearchTree.with_roots(start[None], np.zeros(1))
        self._backward = SearchTree.with_roots(*roots)
        self.n_motions = 0  # looked at, or tried to prove

    def straight(self) -> Way:
        """The earliest of the ways (3) from the start to a goal, or none."""
        k = len(self._roots.path)
        return self._link(np.zeros(k, int), np.arange(k))

    def grow(self) -> Way:
        """One round; returns a way that is proved free, or none."""
        first, second = self._extend(self._forward, FORWARD), self._extend(self._backward, BACKWARD)
        there = self._nearest(self._backward, self._forward.q[first], self._forward.t[first], BACKWARD)
        back = self._nearest(self._forward, self._backward.q[second], self._backward.t[second], FORWARD)
        forward = np.concatenate([first[there >= 0], back[back >= 0]])
        backward = np.concatenate([there[there >= 0], second[back >= 0]])
        slack = self._backward.t[backward] - self._forward.t[forward]
        order = np.argsort(slack, kind="stable")[: 2 * self._parameters.connections]
        return self._link(forward[order], backward[order])

    def _extend(self, tree: SearchTree, direction: float) -> Numbers:
        """Add nodes towards samples, as far as no contact is seen; returns their numbers."""
        q, t = self._samples(tree, direction)
        near = self._nearest(tree, q, t, direction)
        q, t, near = q[near >= 0], t[near >= 0], near[near >= 0]
        steps, durations = q - tree.q[near], t - tree.t[near]
        shares = np.minimum(1.0, self._parameters.step / np.maximum(self._space.lengths(steps), SMALL))
        begin, steps, durations = tree.q[near], steps * shares[:, None], durations * shares
        seen = self._look(begin, begin + steps, tree.t[near], tree.t[near] + durations)
        durations = np.where(seen.is_contact, seen.covered, 1.0) * durations
        is_kept = np.abs(durations) > LEAST_DURATION
        steps *= np.where(seen.is_contact, seen.covered, 1.0)[:, None]
        ends = self._space.within(begin + steps)
        return tree.add(near[is_kept], q=ends[is_kept], t=(tree.t[near] + durations)[is_kept])

    def _samples(self, tree: SearchTree, direction: float) -> Way:
        """Random states at times of (2), and nodes at other times."""
        space, travel, n = self._space, self._travel, self._parameters.samples
        q = space.pulled(self._rng.uniform(space.low, space.high, (n, len(space.low))))
        alive = np.flatnonzero(tree.is_alive)
        n_waits = int(WAITS * n) if len(alive) else 0
        nodes = alive[self._rng.integers(0, max(len(alive), 1), n_waits)]
        q[:n_waits] = tree.q[nodes]
        first = travel.need(q - self._start)
        last = (self._roots.times - travel.need(q[:, None] - self._roots.path)).max(axis=1)
        if direction > 0.0:
            first[:n_waits] = tree.t[nodes]
        else:
            last[:n_waits] = np.minimum(last[:n_waits], tree.t[nodes])
        t = first + self._rng.uniform(0.0, 1.0, n) * (last - first)
        return Way(q[last > first], t[last > first])

    def _nearest(self, tree: SearchTree, q: Array, t: Array, direction: float) -> Numbers:
        """The node of a tree from which each state can be reached with the smallest effort; -1 for none."""
        if not len(q):
            return np.zeros(0, int)
        need = np.zeros((len(q), tree.size))
        for j, v in enumerate(self._travel.v_max):  # several times faster than an array of all joints
            np.maximum(need, np.abs(q[:, j, None] - tree.q[:, j]) / v, out=need)
        duration = direction * (t[:, None] - tree.t)
        can = (need <= duration + SMALL) & tree.is_alive & (duration > LEAST_DURATION)
        cost = np.where(can, need + WAITING * (duration - need), np.inf)
        best = cost.argmin(axis=1)
        return np.where(np.isfinite(cost[np.arange(len(q)), best]), best, -1)

    def _link(self, forward: Numbers, backward: Numbers) -> Way:
        """Try the ways (3) between nodes of both trees; returns a way that is proved free, or none."""
        nothing = no_way(len(self._start))
        if not len(forward):
            return nothing
        a, b = self._forward.q[forward], self._backward.q[backward]
        t_a, t_b = self._forward.t[forward], self._backward.t[backward]
        need = self._travel.need(b - a)
        leave, arrive = np.maximum(t_b - need, t_a), np.minimum(t_a + need, t_b)
        begin, end = np.concatenate([a, a, a, a, b]), np.concatenate([b, a, b, b, b])
        t_begin, t_end = (
            np.concatenate([t_a, t_a, leave, t_a, arrive]),
            np.concatenate([t_b, leave, t_b, arrive, t_b]),
        )
        seen = self._look(begin, end, t_begin, t_end).is_contact.reshape(5, -1)
        is_open = ~np.array([seen[0], seen[1] | seen[2], seen[3] | seen[4]])
        for k in np.flatnonzero(is_open.any(axis=0)).tolist():
            between = (nothing, Way(a[[k]], leave[[k]]), Way(b[[k]], arrive[[k]]))
            for kind in np.flatnonzero(is_open[:, k]).tolist():
                way = self._prove(int(forward[k]), int(backward[k]), between[kind])
                if len(way.path):
                    return way
        return nothing

    def _look(self, begin: Array, end: Array, t_begin: Array, t_end: Array) -> Motions:
        self.n_motions += len(begin)
        return self._validity.motions(begin, self._space.within(end), t_begin, t_end, most_looks=self._parameters.looks)

    def _prove(self, in_first: int, in_second: int, between: Way) -> Way:
        """Prove the way through two nodes and the states between them free, or cut off what is not; or none."""
        a, b = self._forward, self._backward
        nothing = no_way(a.q.shape[1])
        if not (a.is_alive[in_first] and b.is_alive[in_second]):
            return nothing
        there, back = a.branch(in_first), b.branch(in_second)[::-1]
        path = np.concatenate([a.q[there], between.path, b.q[back]])
        times = np.concatenate([a.t[there], between.times, b.t[back]])
        self.n_motions += len(path) - 1
        shares = proved_shares(self._validity, path, times)
        if shares.min() >= 1.0:
            return Way(path, times)
        first_back = len(path) - len(back)
        for k in np.flatnonzero((shares >= 0.0) & (shares < 1.0)).tolist():
            if k < len(there) - 1:
                self._shorten(there[k], there[k + 1], float(shares[k]))
            elif k >= first_back:
                b.cut(back[k - first_back])
        return nothing

    def _shorten(self, parent: int, child: int, share: float) -> None:
        """Cut off a node of the first tree, and put another one where the motion to it is proved free."""
        tree = self._forward
        tree.cut(child)
        step = share * (tree.q[child] - tree.q[parent])
        if np.linalg.norm(step) > self._parameters.least_step:
            t = tree.t[parent] + share * (tree.t[child] - tree.t[parent])
            tree.add(np.array([parent]), q=tree.q[[parent]] + step, t=np.array([t]))
