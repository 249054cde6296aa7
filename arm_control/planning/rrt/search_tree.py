"""A tree of states with their times, and the nearest of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arm_control.maths import Array

Numbers = npt.NDArray[np.int_]
"""Numbers of nodes."""
CAPACITY = 512
"""Nodes that memory is made for at first."""
NO_PARENT = -1


class SearchTree:
    """States that are connected by straight motions, each to its parent; roots have none.

    A node is before its children. Nodes that were cut off stay in place, and are never the nearest.

    Parameters
    ----------
    roots : ndarray, shape (k, n)
        Joint positions [rad or m].
    weights : ndarray, shape (n,)
        Of the joints in distances.
    times : ndarray, shape (k,), optional
        Times of the roots [s].
    """

    def __init__(self, roots: Array, weights: Array, times: Array | None = None) -> None:
        n = roots.shape[1]
        self._weights, self._size = weights, 0
        self._q, self._scaled = np.zeros((CAPACITY, n)), np.zeros((CAPACITY, n))
        self._t, self._squares, self._parent = np.zeros(CAPACITY), np.zeros(CAPACITY), np.zeros(CAPACITY, int)
        self.add(roots, np.full(len(roots), NO_PARENT), times)

    def __len__(self) -> int:
        return self._size

    @property
    def q(self) -> Array:
        """Joint positions of all nodes, shape (len, n) [rad or m]."""
        return self._q[: self._size]

    @property
    def t(self) -> Array:
        """Times of all nodes, shape (len,) [s]."""
        return self._t[: self._size]

    @property
    def is_alive(self) -> npt.NDArray[np.bool_]:
        """Which nodes have not been cut off, shape (len,)."""
        return self._squares[: self._size] < np.inf

    def add(self, q: Array, parents: Numbers, t: Array | None = None) -> Numbers:
        """Add nodes; returns their numbers.

        Parameters
        ----------
        q : ndarray, shape (k, n)
            Joint positions [rad or m].
        parents : ndarray of int, shape (k,)
            Number of each one's parent.
        t : ndarray, shape (k,), optional
            Times [s].
        """
        first, end = self._size, self._size + len(q)
        while end > len(self._q):
            self._grow()
        scaled = q * self._weights
        self._q[first:end], self._scaled[first:end], self._parent[first:end] = q, scaled, parents
        self._squares[first:end] = np.einsum("ij,ij->i", scaled, scaled)
        if t is not None:
            self._t[first:end] = t
        self._size = end
        return np.arange(first, end)

    def _grow(self) -> None:
        for name in ("_q", "_scaled", "_t", "_squares", "_parent"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def nearest(self, q: Array) -> Numbers:
        """Number of the nearest node to each of some joint positions, shape (k, n)."""
        n = self._size
        return (self._squares[:n] - 2.0 * (q * self._weights) @ self._scaled[:n].T).argmin(axis=1)

    def branch(self, node: int) -> list[int]:
        """Numbers of the nodes from a node to its root."""
        numbers = []
        while node != NO_PARENT:
            numbers.append(int(node))
            node = self._parent[node]
        return numbers

    def cut(self, node: int) -> None:
        """Cut off a node and everything behind it."""
        is_cut = np.zeros(self._size, bool)
        is_cut[node] = True
        for i in range(node + 1, self._size):
            is_cut[i] = self._parent[i] != NO_PARENT and is_cut[self._parent[i]]
        self._squares[: self._size][is_cut] = np.inf
