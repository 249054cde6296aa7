"""Task-constrained planning among moving obstacles: a tree of motions that keep to the task path.

    planner = TaskPlanner(problem)
    plan = planner.plan(seed=0)

Each round, for W lanes at once:

    (1)  sample k_rand of the path, time t_rand; posture q_rand there, by inverse kinematics from a posture of the tree
    (2)  the nearest vertex that can be there in time:  |q - q_rand|^2 + (w_s |s - s_rand|)^2 + (w_t |t - t_rand|)^2
    (3)  from it a chain of edges towards s_rand, forward or backward, or a wait; its residual w leads to q_rand
    (4)  the first edges of the chain that keep all limits, and on which no contact is seen, join the tree
    (5)  a branch that reaches the end of the path is proved free without a gap; what cannot be proved is cut off
    (6)  from rest to rest: now and then, ways straight along the path at their best timing, proved in the same way

An edge takes time, t_new = t + ds / |s_dot|, whichever way it goes. Without |s - s_rand| in (2) the tree hardly goes
along the path: all its postures are near each other in q.

Sources: G. Oriolo, M. Vendittelli, "A control-based approach to task-constrained motion planning", IROS 2009;
M. Cefalo, G. Oriolo, M. Vendittelli, "Task-constrained motion planning with moving obstacles", IROS 2013.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property

import numpy as np

from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.kinematics import Search
from arm_control.maths import Array
from arm_control.planning.edges import Chains, Edges, Integers, Start
from arm_control.planning.plans import DrawnTree, Effort, Plan, SearchOutcome, no_path, start_in_contact
from arm_control.planning.task_feasibility import (
    how_far,
    new_posture_search,
    postures_near,
    random_postures,
    why_blocked,
    why_too_weak,
    why_unreachable,
)
from arm_control.planning.task_improvement import BATCHES, EDGE_WORK, TaskImprover
from arm_control.planning.task_problem import DEFAULTS, TaskConstrainedProblem, TaskParameters
from arm_control.planning.task_tree import Branch, TaskMotion, TaskTree, first_unproved, found, motion_of

FASTEST = 0.95
"""Share of the largest rate that chains have."""
LEAST = 1e-6
"""Smallest rate of a kinematic chain [1/s]."""


class Pace:
    """Rates along chains.

    Parameters
    ----------
    rate : ndarray, shape (W,)
        Rate that is aimed at [1/s].
    thrust : ndarray, shape (W,)
        Largest acceleration of it [1/s^2].
    direction : ndarray of int, shape (W,)
    left : ndarray of int, shape (W,)
        Number of edges after which a dynamic chain stops.

    Attributes
    ----------
    lengths : ndarray of int, shape (W,)
        Number of edges up to a stop.
    """

    def __init__(
        self, is_dynamic: bool, rate: Array, thrust: Array, direction: Integers, left: Integers, ds: float
    ) -> None:
        self._is_dynamic, self._rate, self._thrust, self._ds = is_dynamic, rate, thrust, ds
        self._direction, self._left = direction, left
        self.lengths = np.full(len(rate), np.iinfo(int).max)

    def __call__(self, l: int, rate: Array, cap: Array) -> Array:
        """Rate at the end of edge l, see :meth:`Edges.follow`."""
        is_wait = self._direction == 0
        aim = np.where(is_wait, self._rate, np.minimum(self._rate, FASTEST * cap))
        if not self._is_dynamic:
            return np.maximum(aim, LEAST)
        step = 2.0 * self._thrust * self._ds
        square = np.clip(aim**2, rate**2 - step, rate**2 + step)
        square = np.minimum(square, step * np.maximum(self._left - l - 1, 0))
        square = np.where(is_wait, aim**2 if l == 0 else 0.0, square)
        end = np.sqrt(np.maximum(square, 0.0))
        self.lengths = np.where((end == 0.0) & (self.lengths > l + 1), l + 1, self.lengths)
        return end


WEIGHT_S, WEIGHT_T = 4.0, 2.0
"""w_s, and w_t times the horizon, of equation (2)."""
SPREAD = 0.5
"""Standard deviation of the starts of inverse kinematics from postures of the tree [rad or m]."""
CANDIDATES = 512
"""Vertices among which the nearest one is searched."""
SLOWEST = 0.02
"""Smallest share of it."""
LOOKS = 8
"""Places of an edge that are looked at while the tree grows."""
SHORTEST_WAIT = 0.02
"""[s]."""
N_ROOTS = 16
"""Postures at the begin of the path, where none is given."""
START_ERROR = 1e-5
"""Largest distance of the start from the path [m, rad]."""
LATE = 1e6
"""Added to the cost of vertices that cannot be there in time."""
NO_BEGIN = "no posture at the begin of the task path was found within the limits of the joints"
STOPS = 0.3
"""Share of the chains of a dynamic plan that stop at their sample."""


QUICK, SURE = 10, 0.7
"""Rounds before the search asks whether a motion is possible, and between two looks for a direct one; and share of the
time of the fastest of some ways below which a horizon is too short."""
IMPROVEMENTS, WORK = 60, 2_000_000
"""Largest number of rounds in which a motion is made shorter, and largest work."""
SEARCH_EVERY, NEARER, NEARER_ROUNDS = 3, 0.9, 6
"""Rounds from one search for a shorter motion to the next; its horizon as a share of the duration, and its rounds."""


def _check_start(problem: TaskConstrainedProblem) -> None:
    """Refuse a start that is beyond the limits or not at the begin of the path."""
    model, path, q = problem.model, problem.path, np.asarray(problem.q_start, dtype=float)
    if (beyond := np.maximum(model.q_min - q, q - model.q_max)).max() > 0.0:
        j = int(beyond.argmax())
        raise InputError(f"the start is beyond the limits: '{model.joint_names[j]}' at {q[j]:.4g}")
    X, y = model.pose(q), path.at([0.0]).y[0]
    error = float(np.linalg.norm(X.p[path.numbers] - y))
    if not error <= START_ERROR:
        raise InputError(f"the start is {error * 1e3:.3g} mm off the begin of the task path, {y.round(4).tolist()} m")
    angle = 0.0 if path.orientation is None else float(path.orientation.angles([0.0], X.R[None])[0])
    if not angle <= START_ERROR:
        what = f"direction of {path.orientation.axis}" if path.orientation and path.orientation.axis else "orientation"
        raise InputError(f"the start is turned by {angle:.3g} rad from the {what} at the begin of the task path")


class TaskPlanner:
    """Plans motions of one problem, among the obstacles that its validity has while it plans.

    Raises
    ------
    InputError
        When the start is not at the begin of the path, or beyond the limits of the joints.
    """

    def __init__(self, problem: TaskConstrainedProblem, parameters: TaskParameters = DEFAULTS) -> None:
        self.problem, self.parameters = problem, parameters
        self.lock = problem.validity.lock  # its obstacles stay while a motion is searched
        self._edges = Edges(problem, parameters)
        kinematic = replace(problem, tau_max=None, a_max=None)
        self._directions = Edges(kinematic, parameters) if problem.is_dynamic else self._edges
        self._postures = new_posture_search(problem)
        self._unreachable = why_unreachable(problem, parameters.levels)
        self._blocked: tuple[object, str] = (None, "")
        self._targets = problem.path.targets(np.linspace(0.0, 1.0, parameters.levels + 1))
        if problem.q_start is not None:
            _check_start(problem)

    @exclusive
    def plan(self, seed: int = 0) -> Plan:
        """Plan a motion; equal seeds of the samples, equal plans."""
        begin = time.perf_counter()
        search = self._search(self.problem, seed)
        if self._unreachable:
            return search.without(SearchOutcome.UNREACHABLE, self._unreachable)
        if (failed := search.plant()) is not None:
            return failed
        motion, n_rounds, reason = None, 0, ""
        for _ in range(self.parameters.rounds):
            motion, n_rounds = search.grow(), n_rounds + 1
            if motion is None and n_rounds == min(QUICK, self.parameters.rounds):
                reason = self.why_impossible(search.tree["level"].max() / self.parameters.levels)
            if motion is None and not reason and n_rounds % QUICK == 0:
                motion = self._direct(search.roots, np.random.default_rng([seed, n_rounds]))
            if motion is not None or reason:
                break
        effort = Effort(n_rounds, search.n_expansions, time.perf_counter() - begin, search.tree.size)
        if reason:
            return replace(search.without(SearchOutcome.IMPOSSIBLE, reason), effort=effort)
        if motion is None:
            far = how_far(self.problem, self._postures, int(search.tree["level"].max()), self.parameters.levels)
            reason = f"no motion was found in {n_rounds} rounds of samples: {far}"
            if self.problem.horizon < self._least_time:
                reason += f"; {self._speed_needs}, the horizon is {self.problem.horizon:.3g} s"
            return replace(search.without(SearchOutcome.LIMIT, reason), effort=effort)
        return found(motion, search.drawn_tree, effort)

    @exclusive
    def why_impossible(self, reached: float = 0.0) -> str:
        """What leaves no motion among the obstacles that are placed now, in a sentence; empty where nothing is seen to.

        Obstacles on the path, torque, and the horizon: :mod:`~arm_control.planning.task_feasibility` says which of
        these are certain. ``reached`` is how far on the path a search came.
        """
        if self._blocked[0] is not self.problem.obstacles:
            self._blocked = self.problem.obstacles, why_blocked(self.problem)
        if self._blocked[1]:
            return f"motions lead up to s = {reached:.3g}; {self._blocked[1]}"
        return self._beyond_limits

    def _search(self, problem: TaskConstrainedProblem, seed: int) -> _TaskSearch:
        edges, directions, postures = self._edges, self._directions, self._postures
        return _TaskSearch(problem, self.parameters, edges, directions, postures, self._targets, seed)

    @cached_property
    def _improver(self) -> TaskImprover:
        """What makes motions shorter."""
        return TaskImprover(self.problem, self.parameters)

    @cached_property
    def _beyond_limits(self) -> str:
        """Why torque or the horizon leave no motion whatever the obstacles are."""
        if reason := why_too_weak(self.problem, self._postures):
            return reason
        if self.problem.horizon < SURE * self._least_time:
            return f"the horizon of {self.problem.horizon:.3g} s is too short: {self._speed_needs}"
        return ""

    @cached_property
    def _least_time(self) -> float:
        """Shortest time of some ways from the start at the speed limits; 0 without a start, or with no way [s]."""
        if self.problem.q_start is None:
            return 0.0
        least = self._improver.least_time(np.asarray(self.problem.q_start, dtype=float), np.random.default_rng(0))
        return least if np.isfinite(least) else 0.0

    def _direct(self, roots: Array, rng: np.random.Generator) -> TaskMotion | None:
        """A motion from rest to rest that goes straight along the path; None without one, and of a kinematic problem.

        It is often found where all but slow chains of the tree accelerate too much.
        """
        if not self.problem.is_dynamic:
            return None
        self._improver.begin()
        return self._improver.direct(roots, rng)

    @property
    def _speed_needs(self) -> str:
        n = BATCHES * self._edges.width
        return f"at the speed limits the fastest of {n} ways from the start takes {self._least_time:.3g} s"

    @exclusive
    def improve(self, plan: Plan, rounds: int = IMPROVEMENTS, seed: int = 0) -> Plan:
        """Return a plan of a shorter motion, or the same one; see :mod:`~arm_control.planning.task_improvement`.

        Each round times some other ways, and searches with a nearer horizon. Without a motion the plan comes back as it
        is; equal seeds, equal plans.
        """
        if plan.trajectory is None or plan.progress is None:
            return plan
        begin, rng, improver = time.perf_counter(), np.random.default_rng([seed, 1]), self._improver
        improver.begin()
        best = TaskMotion(plan.trajectory, plan.progress)
        if not self.problem.is_dynamic:
            best = improver.timed(best) or best
        k = 0
        while k < rounds and improver.work < WORK:
            k += 1
            best = improver.improved(best, rng) or best
            other = self._nearer(improver, NEARER * best.joints.duration, seed + k) if k % SEARCH_EVERY == 0 else None
            if other is not None:
                best = other if self.problem.is_dynamic else improver.timed(other) or other
        old = plan.effort
        effort = replace(old, rounds=old.rounds + k, seconds=old.seconds + time.perf_counter() - begin)
        return found(best, plan.tree, effort)

    def _nearer(self, improver: TaskImprover, horizon: float, seed: int) -> TaskMotion | None:
        """A motion that ends before a horizon, of a short search."""
        search = self._search(replace(self.problem, horizon=horizon), seed)
        self._edges.horizon = horizon
        try:
            if search.plant() is None:
                for _ in range(NEARER_ROUNDS):
                    improver.work += EDGE_WORK * self._edges.width * self.parameters.chain
                    if (motion := search.grow()) is not None:
                        return motion
        finally:
            self._edges.horizon = self.problem.horizon
        return None


class _TaskSearch:
    """One search."""

    def __init__(
        self,
        problem: TaskConstrainedProblem,
        parameters: TaskParameters,
        edges: Edges,
        directions: Edges,
        postures: Search,
        targets: Array,
        seed: int,
    ) -> None:
        self._problem, self._p, self._edges, self._directions = problem, parameters, edges, directions
        self._postures, self._targets, self._rng = postures, targets, np.random.default_rng(seed)
        self.tree = TaskTree(problem.model.nq, parameters.steps)
        self.n_expansions, self.roots = 0, np.zeros((0, problem.model.nq))
        self._fastest = 1e-3

    # -- the roots ---------------------------------------------------------------------------------------

    @property
    def drawn_tree(self) -> DrawnTree:
        """The tree for a picture."""
        return self.tree.drawn(self._p.levels)

    def without(self, outcome: SearchOutcome, reason: str) -> Plan:
        """Return a plan without a motion."""
        return no_path(outcome, reason, self._problem.model.nq, tree=self.drawn_tree)

    def plant(self) -> Plan | None:
        """Add the roots; returns a plan without a motion where none is free."""
        problem = self._problem
        q = self._begins() if problem.q_start is None else np.array(problem.q_start, dtype=float)[None]
        if not len(q):
            return self.without(SearchOutcome.LIMIT, NO_BEGIN)
        is_free = problem.validity.free_states(q)
        if not is_free.any():
            return replace(start_in_contact(problem.validity, q[0]), tree=self.drawn_tree)
        self.roots = q[is_free]
        self.tree.add_roots(self.roots)
        self.tree["cap"][:] = self._caps(q[is_free])
        self._fastest = float(self.tree["cap"].max())
        return None

    def _begins(self) -> Array:
        """Postures at the begin of the path."""
        targets = np.repeat(self._targets[:1], self._edges.width, axis=0)
        return random_postures(self._problem, self._postures, targets, self._rng)[:N_ROOTS]

    def _caps(self, q: Array) -> Array:
        """Largest rates that the task leaves at the begin of the path, shape (k,)."""
        q_r = self._launch(q, np.zeros(len(q), int), np.ones(len(q), int), np.zeros_like(q), np.full(len(q), 1e-3))
        return 1.0 / np.maximum((np.abs(q_r) / self._problem.speed_limits).max(axis=1), 1e-9)

    def _launch(self, q: Array, level: Integers, direction: Integers, w: Array, rate: Array) -> Array:
        """Derivative of q by the way where an edge begins at rest, shape (k, n)."""
        k, W = len(q), self._directions.width
        rows = np.arange(W) % k
        start = Start(
            q[rows], np.zeros((W, q.shape[1])), level[rows], rate[rows], np.zeros(W), direction[rows], w[rows]
        )
        chains = self._directions.follow(start, lambda *_: rate[rows], 1, np.ones(W))
        return chains.q_r[0, 0, :, :k].T.copy()

    # -- rounds ------------------------------------------------------------------------------------------

    def grow(self) -> TaskMotion | None:
        """One round; returns a motion to the end of the path that is proved free, or None."""
        near, lengths, direction, level, q, duration = self._draw()
        start, pace = self._begin(near, direction, level, q, duration)
        chains = self._edges.follow(start, pace, self._p.chain, self.tree["cap"][near])
        lengths = self._free_lengths(chains, np.minimum(lengths, pace.lengths))
        new = self.tree.add_chains(start, near, chains, lengths)
        self._fastest = max(self._fastest, float(self.tree["cap"][new].max(initial=0.0)))
        if self._problem.is_dynamic:
            tree = self.tree
            tree["is_open"][new] = (tree["direction"][new] != 0) | (tree["rate"][new] == 0.0)
        for vertex in new[self.tree["level"][new] == self._p.levels].tolist():
            if self.tree.is_alive[vertex]:
                branch = self.tree.branch(vertex)[1:]
                motion = motion_of(Branch.of(self.tree, branch), self._p.levels, self._problem.is_dynamic)
                bad = first_unproved(self._problem, motion.joints)
                if bad is None:
                    return motion
                self.tree.cut(int(branch[bad // self._p.steps]))
        return None

    def _draw(self) -> tuple[Integers, Integers, Integers, Integers, Array, Array]:
        """Equations (1) and (2), for all lanes: vertices, lengths of chains from them, and what these go towards."""
        p, rng, tree, W = self._p, self._rng, self.tree, self._edges.width
        level = np.where(rng.random(W) < p.greedy, p.levels, rng.integers(0, p.levels + 1, W))
        t = rng.uniform(0.0, self._problem.horizon, W)
        nodes = np.flatnonzero((tree["is_open"] > 0.0) & tree.is_alive)
        if len(nodes) > CANDIDATES:
            nodes = nodes[rng.integers(0, len(nodes), CANDIDATES)]
        seeds = tree["q"][nodes[rng.integers(0, len(nodes), W)]] + rng.normal(0.0, SPREAD, (W, tree["q"].shape[1]))
        q, _ = postures_near(self._postures, seeds, self._targets[level])
        near = nodes[self._nearest(nodes, q, level, t)]
        ahead = level - tree["level"][near]
        is_wait = (ahead == 0) | (rng.random(W) < p.waits)
        direction = np.where(is_wait, 0, np.sign(ahead))
        lengths = np.where(is_wait, 1, np.minimum(np.abs(ahead), p.chain))
        if self._problem.is_dynamic:
            is_moving = tree["rate"][near] > 0.0
            direction = np.where(is_moving, tree["direction"][near], direction)
            lengths = np.where(is_moving, p.chain, np.where(direction == 0, 2, lengths))
        return near, lengths, direction, level, q, np.maximum(t - tree["t"][near], SHORTEST_WAIT)

    def _nearest(self, nodes: Integers, q: Array, level: Integers, t: Array) -> Integers:
        """Equation (2): places in ``nodes`` of the nearest ones, shape (W,)."""
        tree, N = self.tree, self._p.levels
        t_nodes, level_nodes = tree["t"][nodes], tree["level"][nodes]
        weights = WEIGHT_S / N, WEIGHT_T / self._problem.horizon
        samples = np.column_stack([q, weights[0] * level, weights[1] * t])
        places = np.column_stack([tree["q"][nodes], weights[0] * level_nodes, weights[1] * t_nodes])
        cost = (places**2).sum(axis=1) - 2.0 * samples @ places.T  # |a - b|^2 without |a|^2
        is_late = (t[:, None] - t_nodes) * (N * self._fastest) < np.abs(level[:, None] - level_nodes)
        cost[is_late] += LATE
        return cost.argmin(axis=1)

    def _begin(
        self, near: Integers, direction: Integers, to_level: Integers, to_q: Array, duration: Array
    ) -> tuple[Start, Pace]:
        """Equation (3): where chains begin, with which residual and at which rate."""
        p, rng, tree, W = self._p, self._rng, self.tree, self._edges.width
        q, level, rate = tree["q"][near], tree["level"][near], tree["rate"][near]
        ds = 1.0 / p.levels
        is_wait = direction == 0
        edges = (2 if self._problem.is_dynamic else 1) * np.ones(W)
        way = ds * np.where(is_wait, edges, np.maximum(np.abs(to_level - level), 1))
        w = (to_q - q) / way[:, None]
        fastest = np.minimum(tree["cap"][near], self._fastest)
        pace = way / duration
        pace = np.where(~is_wait & (rng.random(W) < 0.5), rng.uniform(SLOWEST, FASTEST, W) * fastest, pace)
        q_r = tree["q_r"][near].copy()
        thrust = np.zeros(W)
        if self._problem.is_dynamic:
            pace = np.where(is_wait, 2.0 * pace, pace)
            thrust = fastest**2 * np.exp(rng.uniform(np.log(0.5), np.log(0.25 / ds), W))
            is_still = rate == 0.0
            launched = self._launch(q, level, direction, w, np.maximum(pace, 1e-3))
            q_r[is_still] = launched[is_still]
        start = Start(q, q_r, level, rate, tree["t"][near], direction, w)
        stops = np.where(direction < 0, 0, p.levels)
        stops = np.where(rng.random(W) < STOPS, to_level, stops)
        return start, Pace(self._problem.is_dynamic, pace, thrust, direction, np.abs(stops - level), ds)

    def _free_lengths(self, chains: Chains, lengths: Integers) -> Integers:
        """Equation (4): number of edges of each chain that join the tree."""
        is_wanted = chains.is_valid & (np.arange(len(chains.is_valid))[:, None] < lengths)
        l, lane = np.nonzero(is_wanted)
        self.n_expansions += len(l)
        if len(l):
            a, b = chains.q[l, 0, :, lane], chains.q[l, -1, :, lane]
            seen = self._problem.validity.motions(a, b, chains.t[l, 0, lane], chains.t[l, -1, lane], most_looks=LOOKS)
            is_wanted[l, lane] = ~seen.is_contact
        return np.logical_and.accumulate(is_wanted).sum(axis=0)
