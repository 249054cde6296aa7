"""All postures of an arm at a pose: its branches, or the curve of its self-motion.

As many independent rows as joints leave a number of separate postures. For the six-joint arms of
:mod:`arm_control.kinematics.closed_forms` they come from equations and have names, for others from the steps of many
starts, and have numbers. Each is completed and checked by forward kinematics in the steps of
:mod:`arm_control.kinematics.damped_step`.

One joint more than rows leaves a curve, along which the arm moves while the end effector rests:

    (1)  dq/ds = n(q),  J(q) n = 0, |n| = 1

It is followed in steps that are put back on the pose, until it closes or a joint comes to a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.compiler import OwnWork
from arm_control.exceptions import InputError
from arm_control.kinematics.closed_forms import NAMES, closed_form_law, geometry_of
from arm_control.kinematics.damped_step import TURN
from arm_control.kinematics.search import LIMIT, Search, sobol_points
from arm_control.maths import Array, Pose

N_STARTS = 256
"""Starts from which the postures of an arm without closed form are searched."""
SAME = 1e-3
"""Largest difference of a joint between two results that are one posture [rad or m]."""
SLACK = 0.02
"""How far an equation of a closed form may be from a solution, for axes that are nearly parallel."""
COMPLETION_LIMIT = 8
"""Largest number of steps from a solution of the equations."""
FAR = 0.3
"""Distance from a solution of the equations at which a result is another posture [rad]."""
DOUBLE = 1e-6
"""Slack below which two solutions of an equation may be one posture."""
PRECISE = 1e-10
"""Tolerance of that search: near a singular posture a small error leaves joints far apart [m, rad]."""
MAX_POINTS = 4000
"""Largest number of points of a curve, in each direction."""


@dataclass(frozen=True)
class Branches:
    """Separate postures at one pose.

    Attributes
    ----------
    q : ndarray, shape (k, n)
        Joint positions of each, within the limits, angles turned near to the start [rad or m].
    names : tuple of str
        Such as ``shoulder left, elbow up, wrist flip``; numbers for an arm without closed form.
    error : ndarray, shape (k, m)
        Errors of the rows [m, rad].
    """

    q: Array
    names: tuple[str, ...]
    error: Array

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, Array]]:
        return iter(zip(self.names, self.q, strict=True))


class SelfMotion(NamedTuple):
    """Postures along a curve at one pose.

    Attributes
    ----------
    q : ndarray, shape (k, n)
        Joint positions, neighbours a step apart [rad or m].
    is_closed : bool
        Whether the last one is a step before the first one; else a joint is at a limit at both ends, or the curve was
        too long.
    """

    q: Array
    is_closed: bool


class BranchSearch:
    """Finds all postures for the poses of one search."""

    def __init__(self, search: Search) -> None:
        self._search, model = search, search.model
        link = model.tree.tip if search.task.frame is None else model.tree.frames[search.task.frame]
        geometry = geometry_of(model.tree, link.body) if len(search.task.rows) == 6 else None
        self._candidates = None if geometry is None else _Starts(search)
        if geometry is not None:
            postures = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 6))  # not singular
            targets, homes = ([_pose_numbers(model.pose(q)) for q in qs] for qs in (postures, np.zeros((3, 6))))
            samples = {"target": np.array(targets), "home": np.array(homes)}
            self._solve = OwnWork(model.compile_law(closed_form_law(geometry), samples))  # other frames share the law
            self._target, self._home = (self._solve.inputs[name] for name in ("target", "home"))
            self._q, self._slack = (self._solve.outputs[name] for name in ("q", "slack"))
        else:
            self._precise = Search(model, search.task, search.q_min, search.q_max, PRECISE, 1)
        self._tool: Array | None = None

    def find(self, target: Array, reference: Array) -> Branches:
        """All postures at a pose (12,): R_WT and p_WT; angles are turned near to a reference (n,) [rad]."""
        if self._candidates is None:
            return self._by_many_starts(target, reference)
        if self._tool is not self._search.model.tool:
            self._tool = self._search.model.tool
            self._home[:] = _pose_numbers(self._search.model.pose(np.zeros(6), self._search.task.frame))
            self._candidates = _Starts(self._search)
        self._target[:] = target
        self._solve()
        q, error, more, repetitions = self._candidates.complete(self._q, target, reference)
        slack = self._slack.tolist()
        chosen = [k for k in range(8) if more[k] <= 0.0 and slack[k] > -SLACK]
        is_moved = any(repetitions[k] > 1.0 for k in chosen)
        if is_moved:  # the arm was calibrated, or a posture is beyond a limit
            chosen = [k for k in chosen if np.abs(_without_turns(q[k] - self._q[k])).max() < FAR]
        if is_moved or any(slack[k] < DOUBLE for k in chosen):
            chosen = [chosen[i] for i in _distinct(q[chosen])]
        return Branches(q[chosen], tuple([NAMES[k] for k in chosen]), error[chosen])

    def _by_many_starts(self, target: Array, reference: Array) -> Branches:
        search, n = self._search, self._search.model.nq
        self._precise.follow_tool()
        if len(search.task.rows) < n:
            raise InputError(
                f"{n} joints have a continuum of postures for {len(search.task.rows)} rows; allowed: as many rows as"
                " joints; for one row less, self_motion"
            )
        starts = search.low + (search.high - search.low) * sobol_points(n, N_STARTS)
        targets, references = (np.broadcast_to(x, (N_STARTS, len(x))) for x in (target, reference))
        attempts = self._precise.run(targets, references, starts, LIMIT)
        q, error = attempts.q[attempts.is_done], attempts.error[attempts.is_done]
        order = np.argsort(np.square(q - reference).sum(axis=1), kind="stable")
        chosen = order[_distinct(q[order])]
        return Branches(q[chosen], tuple(str(k + 1) for k in range(len(chosen))), error[chosen])


class _Starts:
    """Eight starts in the lanes, for one pose."""

    def __init__(self, search: Search) -> None:
        n = search.model.nq
        self._middle, self._is_limited = search.middle, not all(search.task.turning)
        self._q, self._target, self._reference = np.zeros((8, n)), np.zeros(12), np.zeros(n)
        self._error, self._more, self._repetitions = np.zeros((8, 6)), np.zeros((1, 8)), np.zeros((1, 8))
        arrays = {
            "q": self._q.T,
            "target": np.broadcast_to(self._target[:, None], (12, 8)),
            "reference": np.broadcast_to(self._reference[:, None], (n, 8)),
            "error": self._error.T,
            "more": self._more,
            "repetitions": self._repetitions,
        }
        self._call: Callable[[], float] = search.bind(arrays, COMPLETION_LIMIT)

    def complete(self, q: Array, target: Array, reference: Array) -> tuple[Array, Array, list[float], list[float]]:
        """Put starts, shape (8, n), on a pose; returns joint positions, errors, how far from done, and repetitions."""
        self._q[:], self._target[:], self._reference[:] = q, target, reference
        if self._is_limited:  # each angle where its limits are, perhaps
            self._q += TURN * np.rint((self._middle - q) / TURN)
        self._call()
        return self._q, self._error, self._more[0].tolist(), self._repetitions[0].tolist()


def self_motion(search: Search, target: Array, start: Array, step: float) -> SelfMotion:
    """The curve of self-motion through a posture (n,) at a pose (12,), equation (1); neighbours are a step apart.

    The search is one of one row less than joints; positions and step in rad or m.
    """
    forwards, is_closed = _follow(search, target, start, step)
    if is_closed:
        return SelfMotion(np.array(forwards), True)
    backwards, _ = _follow(search, target, start, -step)
    return SelfMotion(np.array(backwards[:0:-1] + forwards), False)


def _follow(search: Search, target: Array, start: Array, step: float) -> tuple[list[Array], bool]:
    """Postures from the start on, in one direction, and whether the last one is a step before the first one."""
    curve, tangent = [start], np.sign(step) * _null_vector(search, target, start, None)
    length = abs(step)
    for k in range(MAX_POINTS):
        ahead = curve[-1] + length * tangent
        if np.any(~np.array(search.task.turning) & ((ahead < search.q_min) | (ahead > search.q_max))):
            return curve, False
        attempts = search.run(target[None], ahead[None], ahead[None], LIMIT)
        q = attempts.q[0]
        if not attempts.is_done[0] or not 0.5 * length < np.linalg.norm(q - curve[-1]) < 2.0 * length:
            return curve, False
        tangent = _null_vector(search, target, q, tangent)
        gap = np.where(search.task.turning, _without_turns(q - start), q - start)
        if k > 1 and np.linalg.norm(gap) < 0.75 * length:
            return curve, True
        curve.append(q)
    return curve, False


def _null_vector(search: Search, target: Array, q: Array, before: Array | None) -> Array:
    n = np.linalg.svd(search.task_error(q, target).J)[2][-1]
    return -n if before is not None and n @ before < 0.0 else n


def _without_turns(difference: Array) -> Array:
    """Differences of angles, whole turns taken off."""
    return difference - TURN * np.rint(difference / TURN)


def _distinct(q: Array) -> list[int]:
    """Numbers of the rows that differ from those before them."""
    chosen: list[int] = []
    for i, x in enumerate(q):
        if not chosen or np.abs(_without_turns(x - q[chosen])).max(axis=1).min() > SAME:
            chosen.append(i)
    return chosen


def _pose_numbers(X: Pose) -> Array:
    return np.concatenate([X.R.ravel(), X.p])
