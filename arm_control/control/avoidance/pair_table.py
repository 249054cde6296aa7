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
from arm_control.control.avoidance.obstacles import CENTRE, EXTENT, N_NUMBERS, PLACE, SIZE, TWIST, TYPES, Obstacle
from arm_control.maths.poses import Array

BLOCK, NEVER = 8, -1e6
"""Columns computed together, and the radius of a filling pair, which is never near [m]."""
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


class PairTable:
    """The pairs of one arm and obstacles of given types.

    Parameters
    ----------
    capsules : Capsules
        Those of the arm.
    carries : ndarray, shape (n_bodies + 1, n_bodies)
        1 where the second body carries the first; the last row is the world.
    types : sequence of str
        Type of each obstacle; see :data:`~arm_control.control.avoidance.obstacles.TYPES`.
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
    order : ndarray, shape (N,)
        Columns by link and by what it is near.
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
        self._radius = np.where(self.other == len(types), NEVER, radius)[None]
        self._numbers, self._maybe = np.zeros((N_NUMBERS, n)), np.ones((1, n))
        self.nearest, self.twist = np.zeros((8, n)), self._numbers[TWIST]
        self._take = ends.take
        links = self._parts["links"]
        self._index = np.concatenate([self.i, second[links]])
        self._ends = np.zeros((6, len(self._index)))
        self._calls = self._bind(laws, reach)
        self._group()

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

    def _bind(self, laws: Mapping[str, LoopKernel], reach: Array) -> list[Callable[[], float]]:
        """Bind each law to its columns."""
        first, last, part = 0, self._parts["capsule"].stop, self._parts
        calls = []
        for law, columns in (
            ("ball", slice(first, last)),
            ("box", part["box"]),
            ("turned", part["turned"]),
            ("segment", part["capsule"]),
            ("segment", part["links"]),
        ):
            if columns.start == columns.stop:
                continue
            numbers, nearest, ends = (x[:, columns] for x in (self._numbers, self.nearest, self._ends))
            c, d = numbers[0:3], numbers[3:6]
            if columns is part["links"]:
                c, d = self._ends[:3, len(self.i) :], self._ends[3:, len(self.i) :]
            arrays = {"a": ends[:3], "b": ends[3:], "c": c, "d": d, "radius": self._radius[:, columns]}
            arrays |= {"place": numbers[PLACE], "centre": numbers[CENTRE], "size": numbers[SIZE]}
            arrays |= {"extent": numbers[EXTENT], "reach": reach[1:] if columns is part["links"] else reach[:1]}
            arrays |= {"maybe": self._maybe[:, columns], "rho": nearest[RHO], "near": nearest[NEAR]}
            calls.append(laws[law].bind({**arrays, "n": nearest[NORMAL], "p": nearest[POINT]}))
        return calls

    def _group(self) -> None:
        """Group the columns of the same link and the same obstacle or other link."""
        link = self._capsules.link
        other = np.where(self.other < 0, -1 - link[np.where(self.other < 0, -1 - self.other, 0)], self.other)
        other = np.where(self.other == len(self.types), len(self.types) + np.arange(len(self.i)), other)
        _, self._member, count = np.unique(
            np.stack([link[self.i], other]), axis=1, return_inverse=True, return_counts=True
        )
        self._member = self._member.ravel()
        self.order = np.argsort(self._member, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(count)[:-1]]) if len(count) else np.zeros(0, int)
        self._has_groups = bool((count > 1).any())
        rank = np.empty(len(self.i))
        rank[self.order] = np.arange(len(self.i)) - np.repeat(self._starts, count)
        self._bias = 1e-12 * rank[None]
        self.key, self.best = (np.zeros((1, len(self.i))) for _ in range(2))
        if not self._has_groups:
            self.key = self.best = self.nearest[RHO]

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

    @property
    def counts(self) -> Array:
        """Columns that count: the nearest of each group, shape (N,)."""
        return (self.key <= self.best)[0]

    def measure(self) -> None:
        """Compute the nearest points of all pairs."""
        self._take(self._index, 1, self._ends, "clip")
        for call in self._calls:
            call()
        if self._has_groups:
            np.add(self.nearest[RHO], self._bias, out=self.key)
            best = np.minimum.reduceat(self.key[0].take(self.order), self._starts)
            best.take(self._member, 0, self.best[0], "clip")
