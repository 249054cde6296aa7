"""The pairs of many obstacles that may be near an arm, selected anew in every state.

The obstacles around an arm may be a thousand, of which it is near a few. A compiled law measures the distance of each
capsule from the ball around each obstacle, an obstacle in each lane; only pairs nearer than the reach have columns. The
laws of their distance are those of :mod:`~arm_control.control.avoidance.pair_table`, and the sums over all pairs differ
by rounding only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import is_

import numpy as np

from arm_control.compiler.kernels import LoopKernel
from arm_control.control.avoidance.pair_table import (
    BLOCK,
    NEAR,
    NEVER,
    RHO,
    TIE,
    Capsules,
    DistanceArrays,
    PairColumns,
    PairTable,
    bind_distances,
)
from arm_control.maths.obstacles import CENTRE, EXTENT, N_NUMBERS, TWIST, TYPES, Obstacle
from arm_control.maths.poses import Array

FEW = 200
"""So many obstacles are faster without a selection."""
FAR = 1e9
"""Coordinate of an obstacle that is not there [m]."""


def moving_capsules(capsules: Capsules) -> Array:
    """Numbers of the capsules that move, by link."""
    moving = np.flatnonzero(capsules.body >= 0)
    return moving[np.argsort(capsules.link[moving], kind="stable")]


class PairSelection:
    """The pairs of one arm and many obstacles of given types that may be near.

    Parameters
    ----------
    capsules, carries, types, with_links, laws, ends, reach
        As for a :class:`~arm_control.control.avoidance.pair_table.PairTable`.
    capacity : mapping of str to int, optional
        Number of columns for each type of obstacle, a multiple of BLOCK.

    Attributes
    ----------
    nearest, sign, twist, is_self, key, best, types, with_links
        As those of a :class:`~arm_control.control.avoidance.pair_table.PairTable`.
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
        capacity: Mapping[str, int] | None = None,
    ) -> None:
        self.types = tuple(types)
        self.with_links = with_links
        self._arguments = capsules, carries, types, with_links, laws, ends, reach
        self._capsule_ends = ends
        self._reach = reach
        self._moving = moving_capsules(capsules)
        self._link = capsules.link[self._moving]
        self._capsule_radius = capsules.radius[self._moving]
        self._capsule_sign = np.ascontiguousarray((carries[capsules.body[self._moving]] - carries[-1]).T)
        self._by_type = np.argsort([TYPES.index(of_type) for of_type in types], kind="stable")
        self._place = np.argsort(self._by_type)
        counts = [self.types.count(of_type) for of_type in TYPES]
        self._bounds = np.cumsum([0, *counts]) * len(self._moving)
        if capacity is None:
            capacity = {of_type: 8 * BLOCK * bool(n) for of_type, n in zip(TYPES, counts, strict=True)}
        self._capacity = dict(capacity)
        self._obstacles: list[Obstacle | None] = [None] * len(types)
        n = len(types) + -len(types) % BLOCK
        self._obstacle_numbers = np.zeros((N_NUMBERS, n))
        self._obstacle_numbers[CENTRE] = FAR
        self._near = np.zeros((len(self._moving), n))
        numbers = {"centre": self._obstacle_numbers[CENTRE], "extent": self._obstacle_numbers[EXTENT]}
        arm = {"ends": ends.reshape(-1), "radii": capsules.radius, "reach": reach[:1]}
        self._find_near = laws["selection"].bind({**numbers, **arm, "near": self._near})
        self._hits = self._groups = np.zeros(0, int)
        self._make_columns(PairTable(capsules, carries, (), with_links, laws, ends, reach), laws)

    def _make_columns(self, links: PairTable, laws: Mapping[str, LoopKernel]) -> None:
        """Make the arrays: columns for each type, and at their end the pairs of links."""
        n, m = sum(self._capacity.values()), len(links.i)
        stops = np.cumsum([*self._capacity.values(), m]).tolist()
        self._parts = {
            part: slice(start, stop)
            for part, start, stop in zip((*TYPES, "links"), [0, *stops[:-1]], stops, strict=True)
        }
        self._links = links
        self._numbers = np.zeros((N_NUMBERS, n + m))
        self._radius = np.concatenate([np.full((1, n), NEVER), links.radius], axis=1)
        self.nearest = np.zeros((8, n + m))
        self.twist = self._numbers[TWIST]
        self.sign = np.concatenate([np.zeros((len(links.sign), n)), links.sign], axis=1)
        self.is_self = np.concatenate([np.zeros((1, n)), links.is_self], axis=1)
        self.key, self.best = np.zeros((1, n + m)), np.zeros((1, n + m))
        self._index = np.concatenate([np.zeros(n, int), links.index])
        self._other = np.concatenate([np.zeros(n, int), links.other])
        self._ends = np.zeros((6, len(self._index)))
        arrays = DistanceArrays(self._numbers, self.nearest, self._ends, self._radius, np.ones((1, n + m)))
        self._calls = bind_distances(laws, self._parts, arrays, self._reach)

    def place(self, obstacles: Sequence[Obstacle]) -> bool:
        """Write the numbers of new obstacles; return False where the types of obstacles differ from these."""
        if all(map(is_, obstacles, self._obstacles)):
            return True
        if any(obstacle.type != of_type for obstacle, of_type in zip(obstacles, self.types, strict=True)):
            return False
        changed = [k for k, obstacle in enumerate(obstacles) if obstacle is not self._obstacles[k]]
        self._obstacle_numbers[:, self._place[changed]] = np.array([obstacles[k].numbers for k in changed]).T
        self._obstacles = list(obstacles)
        return True

    def select(self) -> PairSelection:
        """Give a column to each pair that may be near; return this selection, or one that has enough columns."""
        self._find_near()
        hits = np.flatnonzero((self._near > 0.0).T)
        limits = np.searchsorted(hits, self._bounds).tolist()
        needed = {of_type: b - a for of_type, (a, b) in zip(TYPES, pairwise(limits), strict=True)}
        if any(needed[of_type] > self._capacity[of_type] for of_type in TYPES):
            return self._grown(needed).select()
        obstacle, capsule = np.divmod(hits, len(self._moving))
        self._radius[0, self._hits] = NEVER
        columns = []
        for of_type, (a, b) in zip(TYPES, pairwise(limits), strict=True):
            if a < b:
                start = self._parts[of_type].start
                self._fill(slice(start, start + b - a), obstacle[a:b], capsule[a:b])
                columns.append(np.arange(start, start + b - a))
        self._hits = np.concatenate(columns) if columns else hits
        self._groups = obstacle * (1 + int(self._link.max())) + self._link[capsule]
        return self

    def _fill(self, columns: slice, obstacle: Array, capsule: Array) -> None:
        """Write the numbers of pairs: those of their obstacles and of their capsules, shape (n,) each."""
        self._radius[0, columns] = self._capsule_radius.take(capsule)
        self._index[columns] = self._moving.take(capsule)
        self._other[columns] = self._by_type.take(obstacle)
        self._numbers[:, columns] = self._obstacle_numbers.take(obstacle, 1)
        self.sign[:, columns] = self._capsule_sign.take(capsule, 1)

    def _grown(self, needed: Mapping[str, int]) -> PairSelection:
        """The same with twice the columns that are needed."""
        capacity = {t: max(self._capacity[t], 2 * (needed[t] + -needed[t] % BLOCK)) for t in TYPES}
        grown = PairSelection(*self._arguments, capacity)
        grown.place([obstacle for obstacle in self._obstacles if obstacle is not None])
        return grown

    def columns(self) -> PairColumns:
        """Copy the near pairs of the last measurement that count."""
        keep = np.flatnonzero((self.nearest[NEAR] > 0.0) & (self.key <= self.best))
        capsules, other = self._index.take(keep), self._other.take(keep)
        return PairColumns(self.nearest.take(keep, 1), self.sign.take(keep, 1), capsules, other, None)

    def measure(self) -> None:
        """Compute the nearest points of the selected pairs."""
        self._capsule_ends.take(self._index, 1, self._ends, "clip")
        for call in self._calls:
            call()
        self._find_best()

    def _find_best(self) -> None:
        """Write the keys: of several capsules of a link, the nearest one counts."""
        links = self._parts["links"]
        if self._links.groups.are_needed:
            self._links.groups.find_best(self.nearest[RHO, links], self.key[:, links], self.best[:, links])
        n = len(self._hits)
        if not n:
            return
        starts = np.flatnonzero(np.diff(self._groups, prepend=-1))
        sizes = np.diff(starts, append=n)
        key = self.nearest[RHO][0, self._hits] + TIE * (np.arange(n) - np.repeat(starts, sizes))
        self.key[0, self._hits] = key
        self.best[0, self._hits] = np.repeat(np.minimum.reduceat(key, starts), sizes)
