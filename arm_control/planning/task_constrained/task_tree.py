"""The tree of a task-constrained search: vertices (q, q', s, s_dot, t), each with the edge that leads to it.

q' and s_dot are kept apart: at rest their product vanishes, and the direction in joint space would be lost with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.maths import Array
from arm_control.planning.task_constrained.edges import Chains, Integers, Start

CAPACITY = 1024
"""Vertices that memory is made for at first."""


class DrawnTree(NamedTuple):
    """The tree of a search, to be drawn.

    Attributes
    ----------
    s, t : ndarray, shape (k,)
        Place on the task path and time of each vertex [s].
    parents : ndarray of int, shape (k,)
        Number of the vertex before it; -1 at a root.
    q : ndarray, shape (k, n)
        Joint positions [rad or m].
    """

    s: Array
    t: Array
    parents: npt.NDArray[np.int_]
    q: Array


class TaskTree:
    """Vertices in the order in which they were added.

    Parameters
    ----------
    n, steps : int
        Number of joints, and steps of an edge.

    Attributes
    ----------
    size : int
        Number of vertices.
    """

    def __init__(self, n: int, steps: int) -> None:
        self.size = 0
        self._arrays: dict[str, Array] = {}
        self._arrays |= {name: np.zeros((CAPACITY, steps + 1, n)) for name in ("edge_q", "edge_q_r", "edge_q_rr")}
        self._arrays |= {name: np.zeros((CAPACITY, steps + 1)) for name in ("edge_rate", "edge_t")}
        self._arrays |= {name: np.zeros((CAPACITY, n)) for name in ("q", "q_r")}
        self._arrays |= {name: np.zeros(CAPACITY) for name in ("rate", "t", "cap", "thrust")}
        self._arrays |= {name: np.zeros(CAPACITY, int) for name in ("level", "direction", "parent")}
        self._arrays |= {name: np.zeros(CAPACITY, bool) for name in ("is_alive", "is_open")}

    def __getitem__(self, name: str) -> Array:
        """One array of all vertices: ``q``, ``q_r``, ``rate``, ``t``, ``cap``, ``level``, ``direction``, ``parent``.

        ``is_alive``: no edge before it was found in contact; ``is_open``: chains may begin there.
        """
        return self._arrays[name][: self.size]

    def add_roots(self, q: Array) -> None:
        """Add vertices at rest at the begin of the path, shape (k, n) [rad or m]."""
        new = self._reserve(len(q))
        self._arrays["q"][new] = q
        self._arrays["parent"][new] = -1
        self._arrays["cap"][new] = np.inf
        for name in ("is_alive", "is_open"):
            self._arrays[name][new] = True

    def add(self, start: Start, parents: Integers, chains: Chains, lengths: Integers) -> Integers:
        """Add the first edges of chains; returns the numbers of the vertices.

        Parameters
        ----------
        start : Start
        parents : ndarray of int, shape (W,)
            Vertices where the chains begin.
        chains : Chains
        lengths : ndarray of int, shape (W,)
            Number of edges of each chain that are added.
        """
        l, lane = np.nonzero(np.arange(len(chains.thrust))[:, None] < lengths)
        new = self._reserve(len(l))
        a, numbers = self._arrays, np.zeros((len(chains.thrust), len(lengths)), int)
        numbers[l, lane] = np.arange(new.start, new.stop)
        a["parent"][new] = np.where(l > 0, numbers[l - 1, lane], parents[lane])
        for name, values in (("edge_q", chains.q), ("edge_q_r", chains.q_r), ("edge_q_rr", chains.q_rr)):
            a[name][new] = values[l, :, :, lane]
        a["edge_rate"][new], a["edge_t"][new] = chains.rates[l, :, lane], chains.t[l, :, lane]
        a["q"][new], a["q_r"][new] = chains.q[l, -1, :, lane], chains.q_r[l, -1, :, lane]
        a["rate"][new], a["t"][new] = chains.rates[l, -1, lane], chains.t[l, -1, lane]
        a["cap"][new], a["thrust"][new] = chains.cap[l, lane], chains.thrust[l, lane]
        a["direction"][new] = start.direction[lane]
        a["level"][new] = start.level[lane] + (l + 1) * start.direction[lane]
        a["is_alive"][new], a["is_open"][new] = True, True
        return np.arange(new.start, new.stop)

    def branch(self, vertex: int) -> Integers:
        """Numbers of the vertices from behind a root to a vertex."""
        parent, numbers = self["parent"], []
        while parent[vertex] >= 0:
            numbers.append(vertex)
            vertex = int(parent[vertex])
        return np.array(numbers[::-1], dtype=int)

    def cut(self, vertex: int) -> None:
        """Take out a vertex and all behind it."""
        is_alive, parent = self["is_alive"], self["parent"]
        is_alive[vertex] = False
        while True:
            is_dead = is_alive & (parent >= 0) & ~is_alive[parent]
            if not is_dead.any():
                return
            is_alive[is_dead] = False

    def drawn(self, levels: int) -> DrawnTree:
        """The tree for a picture; ``levels`` is the number of pieces of the path."""
        return DrawnTree(self["level"] / levels, self["t"].copy(), self["parent"].copy(), self["q"].copy())

    def _reserve(self, n: int) -> slice:
        """Make room for more vertices."""
        capacity = len(self._arrays["t"])
        while capacity < self.size + n:
            capacity *= 2
        if capacity > len(self._arrays["t"]):
            for name, array in self._arrays.items():
                self._arrays[name] = np.concatenate(
                    [array, np.zeros((capacity - len(array), *array.shape[1:]), array.dtype)]
                )
        self.size += n
        return slice(self.size - n, self.size)
