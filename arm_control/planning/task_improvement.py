"""Shorter motions along a task path: other ways through joint space, and the best timing of each.

A motion is a way through joint space, in pieces, and a time for each piece; both are improved apart.

    (1)  T_i = max_j |dq_j / dr| / v_j dr                         shortest time of piece i of a way
    (2)  t_i = T_0 + ... + T_{i-1} + k dt                         earliest moment at its begin, and k delays
    (3)  (i, k) -> (i + 1, k + j),   (i, k) -> (i, k + 1)         along the piece, j delays slower; a wait
    (4)  the smallest k at the end among all that is proved free

On the grid of (2) a motion at the speed limits is exact, whatever dt is. With limits of torque or acceleration a motion
is the time-optimal one (:mod:`~arm_control.planning.time_scaling`) of the whole way, from rest to rest; it may begin
later, and all of it may be slower by a factor: these limits allow that wherever the arm can stand still.

Ways are the motion itself, without its waits; its begin up to a random place, and from there on the task path with
another residual, in all lanes at once; and what a search with a nearer horizon finds. All that comes of it passes the
proof of each plan.

Source for timing among moving obstacles apart from the way: K. Kant, S. W. Zucker, "Toward efficient trajectory
planning: the path-velocity decomposition", 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.collision import Validity, is_at_rest
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.motion import JointTrajectory, cubic, powers, quintic
from arm_control.planning.edges import Edges, Flags, Integers, Start
from arm_control.planning.task_problem import TaskConstrainedProblem, TaskParameters
from arm_control.planning.task_tree import PLACES, Branch, TaskMotion, deviations, first_unproved, motion_of
from arm_control.planning.time_scaling import FREE, PathLimits, TimeScaler

SPEED_SHARE, LOAD_SHARE = 0.98, 0.95
"""Shares of the limits that are used."""
GAIN = 0.99
"""Largest duration of a shorter motion, as a share of that before."""
TRIES = 6
"""Ways of a round that are timed."""
DELAYS, SHORTEST_DELAY = 80, 0.02
"""Largest number of delays, and smallest one [s]."""
SLOWER = (0, 2, 8)
"""Delays within one piece."""
LOOKS = 8
"""Places of a piece that are looked at for each delay."""
SLOWNESS = (1.0, 1.25, 1.6, 2.0, 2.8, 4.0)
"""Factors of the time of a motion from rest to rest."""
INTERVALS = 80
"""Of the time scaling."""
LATER = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the time that is left at which the pieces of a way are looked at first."""
STEPS = 3
"""Steps of integration of one piece of the path: so many that whole ways keep to it at all speeds."""
EDGE_WORK = 12
"""Work of an edge that is followed, in motions checked."""
RESIDUALS = (0.2, 6.0)
"""Smallest and largest size of residuals [rad or m by the whole path]."""
PACES = (0.05, 0.7)
"""Smallest and largest share of the largest rate with which ways are followed: slower ones have more null motion."""
BATCHES = 2
"""Number of times that all lanes are followed to estimate the least time."""
SLOW = 1e-3
"""Rate at a start, and smallest one [1/s]."""
STILL = 1e-9
"""Shortest time of a piece; others are left out [s]."""


class TaskWay(NamedTuple):
    """A way that begins as a motion and goes on along the task path.

    Attributes
    ----------
    bound : float
        Shortest time for it [s].
    begin : int
        Number of pieces of the motion that it begins with.
    branch : Branch
        What follows, at a rate of 1.
    """

    bound: float
    begin: int
    branch: Branch

    @property
    def q(self) -> Array:
        """Joint positions at the ends of the steps of the branch, shape (m + 1, n) [rad or m]."""
        q = self.branch.q
        return np.concatenate([q[:, :-1].reshape(-1, q.shape[2]), q[-1:, -1]])


Timed: TypeAlias = TaskMotion | None
"""A motion, or None where none is proved."""


def shortest_times(problem: TaskConstrainedProblem, joints: JointTrajectory) -> Array:
    """Equation (1): shortest time of each piece of a motion, shape (m,) [s]."""
    T = np.diff(joints.knots)
    v = np.einsum("mpk,mkn->mpn", powers(T[:, None] * PLACES)[1], joints.pieces)
    return T * (np.abs(v) / (SPEED_SHARE * problem.speed_limits)).max(axis=(1, 2))


def retimed(motion: TaskMotion, T: Array, waits: Array) -> TaskMotion:
    """Return a motion in other times: of each piece, shape (m,), after waits at all knots, shape (m + 1,) [s]."""
    n = len(T)
    keep = np.column_stack([waits, np.append(T, 0.0)]).ravel() > STILL
    knots = np.concatenate([[0.0], np.cumsum(np.column_stack([waits, np.append(T, 0.0)]).ravel()[keep])])
    shares = (np.diff(motion.joints.knots) / np.maximum(T, STILL))[:, None] ** np.arange(6)
    parts = []
    for trajectory in motion:
        pieces = np.zeros((2 * (n + 1), 6, trajectory.pieces.shape[2]))
        pieces[1:-1:2] = trajectory.pieces * shares[..., None]
        pieces[::2, 0] = np.concatenate([trajectory.pieces[:, 0], trajectory.end.q_des[None]])
        parts.append(JointTrajectory(knots, pieces[keep]))
    return TaskMotion(*parts)


def joined(first: TaskMotion, begin: int, second: TaskMotion) -> TaskMotion:
    """Return a motion of the first pieces of one, and all of another."""
    t = first.joints.knots[begin]
    knots = np.concatenate([first.joints.knots[:begin], t + second.joints.knots])
    pairs = zip(first, second, strict=True)
    return TaskMotion(*(JointTrajectory(knots, np.concatenate([a.pieces[:begin], b.pieces])) for a, b in pairs))


class DelayGrid:
    """The grid of (2) for one way: what is proved free on it, and the earliest arrival.

    Parameters
    ----------
    q, deviation : ndarray, shape (m + 1, n) and (m, n)
        Ends of the pieces, and how far these are from their chords [rad or m].
    T : ndarray, shape (m,)
        Their shortest times [s].
    latest : float
        Latest arrival [s].
    """

    def __init__(self, validity: Validity, q: Array, deviation: Array, T: Array, latest: float) -> None:
        self._validity, self._q, self._deviation, self.n_checked = validity, q, deviation, 0
        room = latest - float(T.sum())
        self.dt = max(room / DELAYS, SHORTEST_DELAY)
        self._t = np.concatenate([[0.0], np.cumsum(T)])[:, None] + self.dt * np.arange(int(room / self.dt) + 1)

    def goes(self, delays: int) -> Array:
        """Whether pieces are free from each moment, as many delays slower, shape (m, K)."""
        m, K = len(self._deviation), self._t.shape[1]
        a, b = (np.repeat(q, K, axis=0) for q in (self._q[:-1], self._q[1:]))
        begin, end = self._t[:-1].ravel(), (self._t[1:] + delays * self.dt).ravel()
        deviation = np.repeat(self._deviation, K, axis=0)
        self.n_checked += m * K
        return self._validity.motions(a, b, begin, end, deviation, most_looks=LOOKS).is_free.reshape(m, K)

    def stays(self, places: slice = slice(None)) -> Array:
        """Whether the ends of pieces are free from each moment to the next one, shape (m + 1, K)."""
        t = self._t[places]
        q = np.repeat(self._q[places], t.shape[1], axis=0)
        self.n_checked += t.size
        return self._validity.motions(q, q, t.ravel(), t.ravel() + self.dt, most_looks=LOOKS).is_free.reshape(t.shape)

    def earliest(self) -> tuple[Array, Array] | None:
        """Equations (3) and (4): waits, shape (m + 1,), and delays within pieces, shape (m,) [s]; or None."""
        m, K = len(self._deviation), self._t.shape[1]
        stays, goes = self.stays(), {j: self.goes(j) for j in SLOWER if j < K}
        number, arrived = np.arange(K), np.arange(K) == 0
        waiting, origin = np.zeros((m, K), int), np.full((m + 1, K), -1)
        for i in range(m):
            blocked = np.maximum.accumulate(np.where(stays[i], 0, number + 1))  # first moment behind what is not free
            waiting[i] = np.maximum.accumulate(np.where(arrived, number, -1))
            is_here = (waiting[i] >= np.append(0, blocked[:-1])) & (waiting[i] >= 0)
            for j, is_free in goes.items():
                k = np.flatnonzero(is_here[: K - j] & is_free[i, : K - j] & (origin[i + 1, j:] < 0))
                origin[i + 1, k + j] = k
            arrived = origin[i + 1] >= 0
        if not arrived.any():
            return None
        waits, delays, at = np.zeros(m + 1), np.zeros(m), int(arrived.argmax())
        for i in reversed(range(m)):
            before = int(origin[i + 1, at])
            delays[i], at = self.dt * (at - before), int(waiting[i, before])
            waits[i] = self.dt * (before - at)
        return waits, delays

    def first_start(self) -> int | None:
        """Smallest number of delays at the begin with which the way is free at its shortest times, or None."""
        can_stay = np.logical_and.accumulate(np.append(True, self.stays(slice(0, 1))[0, :-1]))
        free = can_stay & self.goes(0).all(axis=0)
        return int(free.argmax()) if free.any() else None


class TaskImprover:
    """Improves motions of one problem.

    Attributes
    ----------
    work : int
        Motions checked, and edges followed, :data:`EDGE_WORK` fold.
    """

    def __init__(self, problem: TaskConstrainedProblem, parameters: TaskParameters) -> None:
        self._problem, self._p = problem, replace(parameters, steps=STEPS)
        self._edges = Edges(replace(problem, tau_max=None, a_max=None), self._p)
        self._edges.horizon = np.inf  # the way that chains follow is no time
        self._scaler: TimeScaler | None = None
        if problem.is_dynamic:
            tau_max = (
                np.full(problem.model.nv, FREE) if problem.tau_max is None else LOAD_SHARE * np.asarray(problem.tau_max)
            )
            a_max = None if problem.a_max is None else LOAD_SHARE * np.asarray(problem.a_max)
            limits = PathLimits(SPEED_SHARE * problem.speed_limits, tau_max, a_max)
            self._scaler = TimeScaler(problem.model, limits, INTERVALS)
        self.begin()

    def begin(self) -> None:
        """Begin with the obstacles that the problem's validity has now."""
        self.work, self._is_moving = 0, not all(is_at_rest(placed) for placed in self._problem.obstacles)

    def timed(self, motion: TaskMotion) -> TaskMotion | None:
        """Return a kinematic motion along the same way in less time, proved free; or None."""
        T, latest = shortest_times(self._problem, motion.joints), GAIN * motion.joints.duration
        return self._timed(motion, T, latest)

    def improved(self, motion: TaskMotion, rng: np.random.Generator) -> TaskMotion | None:
        """Return a motion along one of some other ways in less time, proved free; or None."""
        T = shortest_times(self._problem, motion.joints)
        ways = self._ways(motion, T, rng)
        return self._best(ways, GAIN * motion.joints.duration, partial(self._along, motion, T))

    def direct(self, q: Array, rng: np.random.Generator) -> TaskMotion | None:
        """Return a motion from rest to rest along one of some ways from starts, shape (k, n), proved free; or None."""
        if self._scaler is None:
            return None
        begins = np.zeros(self._edges.width, int)
        ways = self._whole(q[np.arange(len(begins)) % len(q)], begins, rng, begins, np.zeros(1))
        return self._best(ways, self._problem.horizon, partial(self._from_rest, self._scaler))

    def _best(self, ways: Iterable[TaskWay], latest: float, timed: Callable[[TaskWay, float], Timed]) -> Timed:
        """The best timing of some ways before a time, of the shortest ones that are open; or None."""
        best, short = None, [way for way in ways if way.bound < latest]
        ways = [way for way, is_open in zip(short, self._are_open(short, latest), strict=True) if is_open]
        for way in sorted(ways, key=lambda way: way.bound)[:TRIES]:
            if way.bound >= latest:
                break
            found = timed(way, latest)
            if found is not None:
                best, latest = found, GAIN * found.joints.duration
        return best

    def _along(self, motion: TaskMotion, T: Array, way: TaskWay, latest: float) -> TaskMotion | None:
        """The best timing of a way, proved free; or None."""
        if self._scaler is not None:
            return self._from_rest(self._scaler, way, latest)
        rest = motion_of(way.branch, self._p.levels, is_dynamic=False)
        whole = joined(motion, way.begin, rest)
        return self._timed(whole, np.concatenate([T[: way.begin], shortest_times(self._problem, rest.joints)]), latest)

    def _timed(self, motion: TaskMotion, T: Array, latest: float) -> TaskMotion | None:
        if T.sum() >= latest:
            return None
        joints = motion.joints
        q = np.concatenate([joints.pieces[:, 0], joints.end.q_des[None]])
        grid = DelayGrid(self._problem.validity, q, deviations(joints), T, self._latest(latest, T))
        times = grid.earliest()
        self.work += grid.n_checked
        if times is None:
            return None
        result = retimed(motion, T + times[1], times[0])
        return result if first_unproved(self._problem, result.joints) is None else None

    def _latest(self, latest: float, T: Array) -> float:
        """Latest arrival that a grid has; without delays where nothing moves."""
        return latest if self._is_moving else float(T.sum())

    # -- ways ----------------------------------------------------------------------------------------------

    def least_time(self, q: Array, rng: np.random.Generator) -> float:
        """Shortest time of some ways from a start, shape (n,), without a look at obstacles; infinite for none [s]."""
        W = self._edges.width
        states, zeros = np.tile(q, (W, 1)), np.zeros(W, int)
        batches = [self._whole(states, zeros, rng, zeros, np.zeros(1)) for _ in range(BATCHES)]
        return min((way.bound for ways in batches for way in ways), default=np.inf)

    def _ways(self, motion: TaskMotion, T: Array, rng: np.random.Generator) -> Iterator[TaskWay]:
        """Ways that begin as a motion, and go on along the path with other residuals."""
        begins, levels = self._begins(motion)
        W = self._edges.width
        at = np.where(rng.random(W) < 0.5, 0, rng.integers(0, len(begins), W))
        if self._scaler is not None:
            at[:] = 0
        until = np.concatenate([[0.0], np.cumsum(T)])
        return self._whole(motion.joints.pieces[begins[at], 0], levels[at], rng, begins[at], until)

    def _follow(self, q: Array, level: Integers, rng: np.random.Generator) -> tuple[Array, Array, Flags]:
        """Chains of L edges from states, shape (W, n), at samples of the path to its end, with random residuals.

        Returns q and q_r at the ends of steps, shape (L, M + 1, n, W), and whether limits and task are kept so far.
        """
        W, N, n = self._edges.width, self._p.levels, self._problem.model.nq
        size = np.exp(rng.uniform(np.log(RESIDUALS[0]), np.log(RESIDUALS[1]), W))
        size[0] = 0.0
        share, w = rng.uniform(PACES[0], PACES[1], W), size[:, None] * rng.normal(size=(W, n))
        start = Start(q, np.zeros_like(q), level, np.full(W, SLOW), np.zeros(W), np.ones(W, int), w)
        cap = self._edges.follow(start, lambda *_: np.full(W, SLOW), 1, np.ones(W)).cap[-1].copy()
        parts = []
        for first in range(0, N - int(level.min()), self._p.chain):
            self.work += EDGE_WORK * self._p.chain * W
            chains = self._edges.follow(start, lambda _, rate, cap: share * np.maximum(cap, SLOW), self._p.chain, cap)
            ends, ends_r = chains.q.copy(), chains.q_r.copy()
            parts.append((ends, ends_r, chains.is_valid.copy()))
            cap = chains.cap[-1].copy()
            next_level = level + first + self._p.chain
            start = start._replace(q=ends[-1, -1].T, q_r=ends_r[-1, -1].T, level=next_level)
        q, q_r, is_valid = (np.concatenate(values) for values in zip(*parts, strict=True))
        return q, q_r, np.logical_and.accumulate(is_valid)

    def _begins(self, motion: TaskMotion) -> tuple[Integers, Integers]:
        """Pieces of a motion that begin at samples of the path before its end, and the numbers of these."""
        place = motion.progress.pieces[:, 0, 0] * self._p.levels
        level = np.round(place).astype(int)
        begins = np.flatnonzero((np.abs(place - level) < 1e-6) & (level < self._p.levels))
        return begins, level[begins]

    def _whole(
        self, starts: Array, levels: Integers, rng: np.random.Generator, begins: Integers, until: Array
    ) -> Iterator[TaskWay]:
        """The chains that reach the end of the path, behind so many pieces of a motion, which take ``until``."""
        N, M = self._p.levels, self._p.steps
        qs, qs_r, is_valid = self._follow(starts, levels, rng)
        speed = (np.abs(qs_r) / (SPEED_SHARE * self._problem.speed_limits[:, None])).max(axis=2)
        shortest = np.cumsum(np.maximum(speed[:, :-1], speed[:, 1:]).sum(axis=1) / (N * M), axis=0)
        t = (np.arange(N)[:, None] + np.linspace(0.0, 1.0, M + 1)) / N
        for lane, (begin, level) in enumerate(zip(begins.tolist(), levels.tolist(), strict=True)):
            k = N - level
            if is_valid[k - 1, lane]:
                q, q_r = qs[:k, ..., lane], qs_r[:k, ..., lane]
                zero, number = np.zeros(k), np.arange(k)
                branch = Branch(q, q_r, 0.0 * q, np.ones((k, M + 1)), t[:k], zero, level + number, zero.astype(int) + 1)
                yield TaskWay(float(until[begin] + shortest[k - 1, lane]), begin, branch)

    def _are_open(self, ways: list[TaskWay], latest: float) -> list[bool]:
        """Whether no step of a way is in contact at all of a few moments."""
        if not ways:
            return []
        qs = [way.q for way in ways]
        a, b = np.concatenate([q[:-1] for q in qs]), np.concatenate([q[1:] for q in qs])
        begins = np.cumsum([0] + [len(q) - 1 for q in qs])
        slack = np.repeat([latest - way.bound for way in ways], np.diff(begins))
        t = np.concatenate([way.bound * np.arange(len(q) - 1) / (len(q) - 1) for way, q in zip(ways, qs, strict=True)])
        is_shut = np.ones(len(a), bool)
        for share in LATER if self._is_moving else (0.0,):
            moments = t + share * slack
            is_shut &= self._problem.validity.motions(a, b, moments, moments, most_looks=LOOKS).is_contact
            self.work += len(a)
        return np.logical_not(np.logical_or.reduceat(is_shut, begins[:-1])).tolist()

    # -- from rest to rest -----------------------------------------------------------------------------------------

    def _from_rest(self, scaler: TimeScaler, way: TaskWay, latest: float) -> TaskMotion | None:
        """The time-optimal motion along a way, later or slower where obstacles need it; or None."""
        branch = way.branch
        path = spline_through(way.q, branch.q_r[0, 0], branch.q_r[-1, -1])
        if not self._keeps_task(path):
            return None
        try:
            motion = fastest(path, scaler)
        except InputError:  # the arm cannot stand still on it
            return None
        shortest, joints, best = np.diff(motion.joints.knots), motion.joints, None
        q, deviation = np.concatenate([joints.pieces[:, 0], joints.end.q_des[None]]), deviations(joints)
        for factor in SLOWNESS:
            T = factor * shortest
            if T.sum() >= latest:
                break
            grid = DelayGrid(self._problem.validity, q, deviation, T, self._latest(latest, T))
            k = grid.first_start()
            self.work += grid.n_checked
            if k is None:
                continue
            found = retimed(motion, T, np.append(k * grid.dt, np.zeros(len(T))))
            if first_unproved(self._problem, found.joints) is None:
                best, latest = found, GAIN * found.joints.duration
        return best

    def _keeps_task(self, path: JointTrajectory) -> bool:
        """Whether a way keeps to the task in the middle of its pieces, too."""
        middles = 0.5 * (path.knots[1:] + path.knots[:-1])
        half = 0.5 * np.diff(path.knots)
        q = np.einsum("mk,mkn->mn", half[:, None] ** np.arange(6), path.pieces)
        poses, task = [self._problem.model.pose(state) for state in q], self._problem.path
        errors = np.abs(np.array([X.p for X in poses])[:, task.numbers] - task.at(middles).y).max(axis=1)
        if task.orientation is not None:
            errors = np.maximum(errors, task.orientation.angles(middles, [X.R for X in poses]))
        return bool(errors.max() <= 2.0 * self._p.tolerance)


def spline_through(q: Array, begin: Array, end: Array) -> JointTrajectory:
    """Return the cubic spline over 0 to 1 through states at equal distances, with these derivatives at its ends."""
    knots = np.linspace(0.0, 1.0, len(q))
    q_r = _slopes(len(q)) @ np.concatenate([begin[None], 3.0 / knots[1] * (q[2:] - q[:-2]), end[None]])
    return JointTrajectory(knots, cubic(q[:-1], q_r[:-1], q[1:], q_r[1:], knots[1]))


@lru_cache(maxsize=4)
def _slopes(m: int) -> Array:
    """From derivatives at the ends and second differences between to the derivatives of a spline, shape (m, m)."""
    system = np.eye(m)
    inner = np.arange(1, m - 1)
    system[inner, inner - 1], system[inner, inner], system[inner, inner + 1] = 1.0, 4.0, 1.0
    return np.linalg.inv(system)


def fastest(path: JointTrajectory, scaler: TimeScaler) -> TaskMotion:
    """Return the time-optimal motion along a way over 0 to 1, which is also the place on the task path."""
    scaled = scaler.fastest(path)
    s, speed, T = scaled.s, np.sqrt(scaled.x), np.diff(scaled.times)
    q, q_s, q_ss = path.at(s)
    v, u, bend = q_s * speed[:, None], scaled.u[:, None], q_ss * scaled.x[:, None]
    a_begin, a_end = q_s[:-1] * u + bend[:-1], q_s[1:] * u + bend[1:]
    pieces = quintic(q[:-1], v[:-1], a_begin, q[1:], v[1:], a_end, T[:, None])
    progress = np.zeros((len(T), 6, 1))
    progress[:, 0, 0], progress[:, 1, 0], progress[:, 2, 0] = s[:-1], speed[:-1], 0.5 * scaled.u
    return TaskMotion(JointTrajectory(scaled.times, pieces), JointTrajectory(scaled.times, progress))
