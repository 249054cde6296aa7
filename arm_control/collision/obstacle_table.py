"""A table of obstacles, a row each, with rows to spare: what changes is written in place.

A search for near pairs reads the rows; it never waits for a new scene. Obstacles that are the same objects as before
are not looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

import numpy as np

from arm_control.collision.pair_procedures import BLOCK
from arm_control.collision.pair_records import ObstacleRows
from arm_control.compiler import LoopKernel
from arm_control.maths import CENTRE, EXTENT, N_NUMBERS, TYPES, Array, Obstacle

ROOM = 1024
"""Number of obstacles at first; the table doubles where there are more."""
FAR = 1e9
"""Coordinate of an obstacle that is not there [m]."""


class ObstacleTable:
    """Obstacles around an arm.

    Parameters
    ----------
    find_near : LoopKernel
        :func:`~arm_control.collision.pair_distances.near_capsules`, compiled.
    arm : mapping of str to ndarray
        Its inputs besides the obstacles: ``ends``, ``radii``, ``reach``.
    m : int
        Number of capsules that it looks at.

    Attributes
    ----------
    obstacles : tuple of Obstacle
        The obstacles, in their order.
    rows : ObstacleRows
        Their numbers; another object when the table has grown.
    """

    def __init__(self, find_near: LoopKernel, arm: dict[str, Array], m: int) -> None:
        self._find_near, self._arm, self._m = find_near, arm, m
        self.obstacles: tuple[Obstacle, ...] = ()
        self._make_rows(ROOM)

    def _make_rows(self, n: int) -> None:
        """Make memory for n obstacles, without any in it."""
        capacity = n + BLOCK  # rows of arrays whose size is a power of two crowd in the processor's cache
        self._balls = np.full((4, capacity), FAR)  # centre, extent: an obstacle in each column
        self._balls[3] = 0.0
        self._kinds = np.zeros(capacity, np.int64)
        near, nearest = np.zeros((self._m, capacity)), np.zeros((1, capacity))
        balls = {"centre": self._balls[:3], "extent": self._balls[3:]}
        run = self._find_near.bind({**self._arm, **balls, "near": near, "nearest": nearest})
        order, size = np.zeros(capacity, np.int64), np.zeros(1, np.int64)
        self.rows = ObstacleRows(run, np.zeros((capacity, N_NUMBERS)), self._kinds, order, size, near, nearest)
        self._capacity = n

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be the obstacles: rows of those that have changed are written anew."""
        new, old = tuple(obstacles), self.obstacles
        n, n_old = len(new), len(old)
        begin, end = 0, 0  # how many stay at the beginning, and at the end
        if n == n_old:
            changed = np.flatnonzero(~np.fromiter(map(is_, new, old), bool, n))
        else:
            begin = _equal_items(new, old)
            end = _equal_items(new[begin:][::-1], old[begin:][::-1])
            changed = np.arange(begin, n - end)
        if n == n_old and not len(changed):
            return
        these = [new[k] for k in changed.tolist()]
        numbers = np.array([obstacle.numbers for obstacle in these]).reshape(-1, N_NUMBERS)
        kinds = [TYPES.index(obstacle.type) for obstacle in these]
        if n > self._capacity:
            self._grow(max(n, 2 * self._capacity))
        self._move_rows(n_old - end, n - end, end)
        self.rows.numbers[changed], self._kinds[changed] = numbers, kinds
        self.obstacles = new
        self._sort(n, n_old)

    def _grow(self, n: int) -> None:
        """Make memory for n obstacles, and copy those that there are."""
        numbers, kinds = self.rows.numbers, self._kinds
        self._make_rows(n)
        self.rows.numbers[: len(numbers)], self._kinds[: len(kinds)] = numbers, kinds

    def _move_rows(self, source: int, target: int, n: int) -> None:
        """Move n rows from one place to another."""
        if source != target:
            for rows in (self.rows.numbers, self._kinds):
                rows[target : target + n] = rows[source : source + n].copy()

    def _sort(self, n: int, n_old: int) -> None:
        """Bring balls and order up to date."""
        rows = self.rows
        self._balls[:3, :n], self._balls[3, :n] = rows.numbers[:n, CENTRE].T, rows.numbers[:n, EXTENT.start]
        self._balls[:3, n:n_old], self._balls[3, n:n_old] = FAR, 0.0
        rows.order[:n] = np.argsort(self._kinds[:n], kind="stable")
        rows.size[0] = n


def _equal_items(some: Sequence[Obstacle], others: Sequence[Obstacle]) -> int:
    """Number of the first items that are the same objects."""
    same = np.fromiter(map(is_, some, others), bool, min(len(some), len(others)))
    return len(same) if same.all() else int(same.argmin())
