"""A table of all pairs of an arm's capsules with obstacles, and of its links with each other: a column is a pair.

The columns lie in this order, each part filled up to a multiple of eight with pairs that are never near: spheres,
boxes, cylinders and cones, capsules, links. Numbers of an obstacle are written when it changes; a tick moves the arm's
capsules only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import NamedTuple

import numpy as np

from arm_control.compiler.kernels import LoopKernel
from arm_control.maths.obstacles import CENTRE, EXTENT, N_NUMBERS, PLACE, SIZE, TWIST, TYPES, Obstacle
from arm_control.maths.poses import Array

BLOCK, NEVER = 8, -1e6
"""Columns computed together, and the radius of a filling pair, which is never near [m]."""
TIE = 1e-12
"""Difference between two pairs of a group that are equally near [m]."""
RHO, NEAR, NORMAL, POINT = slice(0, 1), slice(1, 2), slice(2, 5), slice(5, 8)
"""Rows of :attr:`PairTable.nearest`."""


class Capsules(NamedTuple):
    """Capsules of an arm: numbers of link and body, and radius [m], shape (C,) each; pairs of links, shape (n, 2).

    The last capsule stands for filling pairs.
    """

    link: Array
    body: Array
    radius: Array
    pairs: Array


class DistanceArrays(NamedTuple):
    """Arrays of the distance laws, with a column for each pair.

    Attributes
    ----------
    numbers : ndarray, shape (N_NUMBERS, N)
        Numbers of the obstacles.
    nearest : ndarray, shape (8, N)
        Rows RHO, NEAR, NORMAL, POINT.
    ends : ndarray, shape (6, N + L)
        Ends of the capsules; behind them those of the second capsules of the L pairs of links [m].
    radius : ndarray, shape (1, N)
        Of the capsule, or of both [m].
    maybe : ndarray, shape (1, N)
        Above zero for pairs that may be near.
    """

    numbers: Array
    nearest: Array
    ends: Array
    radius: Array
    maybe: Array


class PairColumns(NamedTuple):
    """The pairs of a measurement; it does not change any more.

    Attributes
    ----------
    nearest : ndarray, shape (8, N)
        Rows RHO, NEAR, NORMAL, POINT.
    sign : ndarray, shape (n_bodies, N)
        As in :class:`PairTable`.
    i, other : ndarray, shape (N,)
        As in :class:`PairTable`.
    counts : ndarray of bool, shape (N,), or None
        Whether no other capsule of the same link is nearer; None: all count.
    """

    nearest: Array
    sign: Array
    i: Array
    other: Array
    counts: Array | None


def bind_distances(
    laws: Mapping[str, LoopKernel], parts: Mapping[str, slice], arrays: DistanceArrays, reach: Array
) -> list[Callable[[], float]]:
    """Bind each law of distance to its columns.

    Parameters
    ----------
    laws : mapping of str to LoopKernel
        Those of :mod:`~arm_control.control.avoidance.pair_distances`.
    parts : mapping of str to slice
        Columns of each type of obstacle, and of the pairs of links, ``links``, at the end.
    arrays : DistanceArrays
        They are read and written in every call.
    reach : ndarray, shape (2,)
        Distances that count as near: of obstacles, of links [m].

    Returns
    -------
    list of callable
        To be called in this order.
    """
    n = parts["links"].stop
    obstacles = slice(0, parts["links"].start)
    calls = []
    for law, columns in (
        ("ball", obstacles),
        ("box", parts["box"]),
        ("turned", parts["turned"]),
        ("segment", parts["capsule"]),
        ("segment", parts["links"]),
    ):
        if columns.start == columns.stop:
            continue
        numbers, nearest, ends = (x[:, columns] for x in (arrays.numbers, arrays.nearest, arrays.ends))
        c, d = numbers[0:3], numbers[3:6]
        is_link = columns is parts["links"]
        if is_link:
            c, d = arrays.ends[:3, n:], arrays.ends[3:, n:]
        inputs = {"a": ends[:3], "b": ends[3:], "c": c, "d": d, "radius": arrays.radius[:, columns]}
        inputs |= {"place": numbers[PLACE], "centre": numbers[CENTRE], "size": numbers[SIZE]}
        inputs |= {"extent": numbers[EXTENT], "reach": reach[1:] if is_link else reach[:1]}
        inputs |= {"maybe": arrays.maybe[:, columns], "rho": nearest[RHO], "near": nearest[NEAR]}
        calls.append(laws[law].bind({**inputs, "n": nearest[NORMAL], "p": nearest[POINT]}))
    return calls


class PairGroups:
    """Pairs of the same link and the same obstacle or other link, of which the nearest one counts.

    Parameters
    ----------
    link, other : ndarray, shape (N,)
        Number of the link, and of what it is near.

    Attributes
    ----------
    are_needed : bool
        Whether a group has two pairs.
    """

    def __init__(self, link: Array, other: Array) -> None:
        n = len(link)
        _, self._member, count = np.unique(np.stack([link, other]), axis=1, return_inverse=True, return_counts=True)
        self._member = self._member.ravel()
        self._order = np.argsort(self._member, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(count)[:-1]]) if len(count) else np.zeros(0, int)
        self.are_needed = bool((count > 1).any())
        rank = np.empty(n)
        rank[self._order] = np.arange(n) - np.repeat(self._starts, count)
        self._bias = TIE * rank[None]

    def find_best(self, rho: Array, key: Array, best: Array) -> None:
        """Write the key of each pair, and the best one of its group.

        Parameters
        ----------
        rho : ndarray, shape (1, N)
            Distances [m].
        key, best : ndarray, shape (1, N)
            The distances, different from each other in each group, and the least of each group [m].
        """
        np.add(rho, self._bias, out=key)
        least = np.minimum.reduceat(key[0].take(self._order), self._starts)
        least.take(self._member, 0, best[0], "clip")


class PairTable:
    """The pairs of one arm and obstacles of given types.

    Parameters
    ----------
    capsules : Capsules
        Those of the arm.
    carries : ndarray, shape (n_bodies + 1, n_bodies)
        1 where the second body carries the first; the last row is the world.
    types : sequence of str
        Type of each obstacle; see :data:`~arm_control.maths.obstacles.TYPES`.
    with_links : bool
        Whether pairs of links are in the table.
    laws : mapping of str to LoopKernel
        Those of :mod:`~arm_control.control.avoidance.pair_distances`.
    ends : ndarray, shape (6, C)
        Ends of all capsules, written before each measurement [m].
    reach : ndarray, shape (2,)
        Distances that count as near: of obstacles, of links [m].

    Attributes
    ----------
    nearest : ndarray, shape (8, N)
        Rows RHO, NEAR, NORMAL, POINT: see :mod:`~arm_control.control.avoidance.pair_distances`.
    sign : ndarray, shape (n_bodies, N)
        1 where a body carries the first link, -1 where it carries the second one, 0 for neither or both.
    twist : ndarray, shape (6, N)
        Twist of the obstacle, of its point at the world's origin.
    is_self : ndarray, shape (1, N)
        1 for two links.
    key, best : ndarray, shape (1, N)
        A pair counts when its key is not above the best: of several capsules of a link, the nearest one.
    i, other : ndarray, shape (N,)
        The capsule, and the number of the obstacle, or -1 less that of the second capsule.
    radius : ndarray, shape (1, N)
        Of the capsule, or of both [m].
    index : ndarray, shape (N + L,)
        Capsules of all pairs, then the second ones of the pairs of links.
    groups : PairGroups
        Capsules of the same link.
    """

    def __init__(
        self,
        capsules: Capsules,
        carries: Array,
        types: Sequence[str],
        with_links: bool,
        laws: Mapping[str, LoopKernel],
        ends: Array,
        reach: Array,
    ) -> None:
        self.types = tuple(types)
        self.with_links = with_links
        self._capsules = capsules
        self._obstacles: list[Obstacle | None] = [None] * len(types)
        self._moving = np.flatnonzero(capsules.body >= 0)
        self._lay_out(with_links)
        n = len(self.i)
        is_link = self.other < 0
        second = np.where(is_link, -1 - self.other, 0)
        self.is_self = is_link[None].astype(float)
        self.sign = carries[capsules.body[self.i]].T - carries[np.where(is_link, capsules.body[second], -1)].T
        self.sign = np.ascontiguousarray(self.sign)
        radius = capsules.radius[self.i] + np.where(is_link, capsules.radius[second], 0.0)
        self.radius = np.where(self.other == len(types), NEVER, radius)[None]
        self._numbers, self._maybe = np.zeros((N_NUMBERS, n)), np.ones((1, n))
        self.nearest, self.twist = np.zeros((8, n)), self._numbers[TWIST]
        self._take = ends.take
        links = self._parts["links"]
        self.index = np.concatenate([self.i, second[links]])
        self._ends = np.zeros((6, len(self.index)))
        arrays = DistanceArrays(self._numbers, self.nearest, self._ends, self.radius, self._maybe)
        self._calls = bind_distances(laws, self._parts, arrays, reach)
        link = capsules.link
        other = np.where(is_link, -1 - link[second], self.other)
        other = np.where(self.other == len(types), len(types) + np.arange(n), other)  # filling: a group each
        self.groups = PairGroups(link[self.i], other)
        self.key, self.best = np.zeros((1, n)), np.zeros((1, n))
        if not self.groups.are_needed:
            self.key = self.best = self.nearest[RHO]

    def _lay_out(self, with_links: bool) -> None:
        """Assign a column to each pair."""
        first, second = self._capsules.pairs.T
        no_capsule = len(self._capsules.link) - 1
        no_obstacle = len(self.types)
        parts, i, other = {}, [np.zeros(0, int)], [np.zeros(0, int)]
        self._first = dict.fromkeys(range(len(self.types)), 0)
        n = 0
        for part in (*TYPES, "links"):
            begin = n
            for k in (k for k, of_type in enumerate(self.types) if of_type == part):
                self._first[k] = n
                n += len(self._moving)
                i.append(self._moving)
                other.append(np.full(len(self._moving), k))
            if part == "links" and with_links:
                n += len(first)
                i.append(first)
                other.append(-1 - second)
            filling = -n % BLOCK if n or part != "links" else BLOCK
            i.append(np.full(filling, no_capsule))
            other.append(np.full(filling, no_obstacle))
            n += filling
            parts[part] = slice(begin, n)
        self._parts, self.i, self.other = parts, np.concatenate(i), np.concatenate(other)

    def place(self, obstacles: Sequence[Obstacle]) -> bool:
        """Write the numbers of new obstacles; return False where the types of obstacles differ from the table's."""
        if all(map(is_, obstacles, self._obstacles)):
            return True
        if any(obstacle.type != of_type for obstacle, of_type in zip(obstacles, self.types, strict=True)):
            return False
        m = len(self._moving)
        for k, obstacle in enumerate(obstacles):
            if obstacle is not self._obstacles[k]:
                self._numbers[:, self._first[k] : self._first[k] + m] = obstacle.numbers[:, None]
        self._obstacles = list(obstacles)
        return True

    def columns(self) -> PairColumns:
        """Copy the pairs of the last measurement."""
        counts = (self.key <= self.best)[0] if self.groups.are_needed else None
        return PairColumns(self.nearest.copy(), self.sign, self.i, self.other, counts)

    def measure(self) -> None:
        """Compute the nearest points of all pairs."""
        self._take(self.index, 1, self._ends, "clip")
        for call in self._calls:
            call()
        if self.groups.are_needed:
            self.groups.find_best(self.nearest[RHO], self.key, self.best)
