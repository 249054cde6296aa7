"""Trees of states with their times: as objects that grow, and as records with the procedures of a compiled search.

A node is a column of its tree, behind its parent. Roots have no parent. Nodes that were cut off stay in place, and are
never the nearest. The motion from a parent to its child is straight; it may be proved free, or not yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision import MotionColumns
from arm_control.compiler import Floats, Ints, Rows, procedure
from arm_control.maths import Array

INFINITY = float("inf")
NOBODY = -1
"""Number of no node: the parent of a root."""
NEXT_SAMPLE, N_SAMPLES, N_ROUNDS, N_MOTIONS, PATH_LENGTH, N_COUNTERS = 0, 1, 2, 3, 4, 5
"""Counters of a search: the next sample and all there are, rounds, motions checked, nodes of the path."""
NOT_BEGUN = -1
"""Number of rounds before the straight motions have been tried."""
ROOM = 1024
"""Nodes that a round may add to a tree at most."""
CAPACITY = 1024
"""Nodes of a tree that memory is made for at first."""
Numbers = npt.NDArray[np.int_]
"""Numbers of nodes."""


class PathTree(NamedTuple):
    """Columns of a tree, as procedures work on them; see :class:`SearchTree`.

    Attributes
    ----------
    q : ndarray, shape (n, capacity)
        Joint positions [rad or m].
    t : ndarray, shape (capacity,)
        Times [s].
    penalty : ndarray, shape (capacity,)
        Added to the distance of a node: infinite where it was cut off, else 0.
    parent : ndarray of int, shape (capacity,)
    is_proved : ndarray of int, shape (capacity,)
        1 where the motion from the parent is proved free, else 0.
    size : ndarray of int, shape (1,)
        Number of nodes.
    """

    q: Rows
    t: Floats
    penalty: Floats
    parent: Ints
    is_proved: Ints
    size: Ints


class SearchTree:
    """States that are connected by motions, each to its parent, which was added before it; roots have none.

    Memory grows with the tree. Nodes that were cut off stay in place.

    Parameters
    ----------
    capacity : int
        Nodes that memory is made for at first.
    columns : mapping of str to tuple of int
        Further numbers of each node: the shape of each one.
    order : str
        Layout of the memory: ``F`` for procedures, whose lanes are nodes.
    """

    def __init__(
        self,
        n: int,
        capacity: int = CAPACITY,
        columns: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
        order: Literal["C", "F"] = "C",
    ) -> None:
        shapes = {"q": (n,), "t": (), "penalty": (), **columns}
        self._order = order
        self._columns: dict[str, Array] = {k: np.zeros((capacity, *shape), order=order) for k, shape in shapes.items()}
        self._columns |= {name: np.zeros(capacity, np.int64) for name in ("parent", "is_proved")}
        self._size = np.zeros(1, np.int64)

    @classmethod
    def with_roots(cls, q: Array, t: Array) -> SearchTree:
        """Return a tree of roots at joint positions, shape (k, n) [rad or m], and times, shape (k,) [s]."""
        tree = cls(q.shape[1])
        tree.set_roots(q, t)
        return tree

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self._size[0])

    def __getitem__(self, name: str) -> Array:
        """One column of all nodes, shape (size, ...)."""
        return self._columns[name][: self._size[0]]

    @property
    def q(self) -> Array:
        """Joint positions of all nodes, shape (size, n) [rad or m]."""
        return self["q"]

    @property
    def t(self) -> Array:
        """Times of all nodes, shape (size,) [s]."""
        return self["t"]

    @property
    def is_alive(self) -> npt.NDArray[np.bool_]:
        """Which nodes have not been cut off, shape (size,)."""
        return self["penalty"] == 0.0

    @property
    def record(self) -> PathTree:
        """The columns of procedures, until the memory grows."""
        a = self._columns
        return PathTree(a["q"].T, a["t"], a["penalty"], a["parent"], a["is_proved"], self._size)

    @property
    def edges(self) -> Array:
        """Joint positions at both ends of each edge, shape (k, 2, n) [rad or m]; without what was cut off."""
        q, parents = self.q, self["parent"]
        is_edge = (parents != NOBODY) & self.is_alive
        return np.stack([q[parents[is_edge]], q[is_edge]], axis=1)

    def set_roots(self, q: Array, t: Array) -> None:
        """Begin anew with roots at joint positions, shape (k, n) [rad or m], and times, shape (k,) [s]."""
        self._size[0] = 0
        self.add(np.full(len(q), NOBODY), q=q, t=t)
        self["is_proved"][:] = 1

    def add(self, parents: Numbers, **values: Array) -> Numbers:
        """Add nodes with their parents, shape (k,), and columns by name, shape (k, ...); returns their numbers."""
        first = self.size
        end = first + len(parents)
        while end > len(self._columns["t"]):
            self.grow()
        self._size[0] = end
        for name, column in self._columns.items():
            column[first:end] = values.get(name, 0)
        self["parent"][first:] = parents
        return np.arange(first, end)

    def grow(self) -> None:
        """Double the memory."""
        for name, column in self._columns.items():
            self._columns[name] = np.require(np.concatenate([column, np.zeros_like(column)]), requirements=self._order)

    def branch(self, node: int) -> Numbers:
        """Numbers of the nodes from a root to a node."""
        parent, numbers = self["parent"], []
        while node != NOBODY:
            numbers.append(int(node))
            node = int(parent[node])
        return np.array(numbers[::-1], dtype=int)

    def cut(self, node: int) -> None:
        """Cut off a node and everything behind it."""
        cut(self.record, node)


class Lists(NamedTuple):
    """Lists of what is at work in a round.

    Attributes
    ----------
    origin, fresh, goal : ndarray of int, shape (size,)
        Nodes from which motions go, new nodes, and the nearest node of the other tree to each.
    gap : ndarray, shape (size,)
        Squared distance of both.
    in_first, in_second : ndarray of int, shape (size,)
        Nodes of links, which are motions from tree to tree.
    owner, is_free : ndarray of int, shape (size,)
        Tree from which links go: 0 for the first, 1 for the second; 1 for those that are proved, else 0.
    length : ndarray, shape (size,)
        Of links; infinite for those that are not tried.
    side, target : ndarray of int, shape (size,)
        Of motions that are proved: tree and node.
    """

    origin: Ints
    fresh: Ints
    goal: Ints
    gap: Floats
    in_first: Ints
    in_second: Ints
    owner: Ints
    is_free: Ints
    length: Floats
    side: Ints
    target: Ints


def new_lists(size: int) -> Lists:
    """Return lists of so many entries."""
    origin, fresh, goal, in_first, in_second, owner, is_free, side, target = np.zeros((9, size), np.int64)
    gap, length = np.zeros((2, size))
    return Lists(origin, fresh, goal, gap, in_first, in_second, owner, is_free, length, side, target)


class TreeSearch(NamedTuple):
    """What a search works with.

    Attributes
    ----------
    capacity : int
        Nodes that there is memory for in each tree.
    n_samples, n_connections, looks : int
        Samples for each tree in a round, new nodes of each that are connected, looks at a motion of a tree.
    step, least_step : float
        Longest motion towards a sample, and shortest one that makes a node [rad or m].
    weights, low, high : ndarray, shape (n,)
        Of the joints in distances, and their limits [rad or m].
    first, second : PathTree
        From the start, and from the goals.
    samples : ndarray, shape (count, n)
        Random joint positions [rad or m].
    distances : ndarray, shape (capacity,)
        Squared distances of nodes.
    begin : ndarray, shape (n,)
        Joint positions of a new node [rad or m].
    path, times : ndarray, shape (count, n) and (count,)
        The result [rad or m, s].
    counters : ndarray of int, shape (N_COUNTERS,)
    """

    n: int
    capacity: int
    n_samples: int
    n_connections: int
    looks: int
    step: float
    least_step: float
    weights: Floats
    low: Floats
    high: Floats
    first: PathTree
    second: PathTree
    motions: MotionColumns
    samples: Rows
    distances: Floats
    lists: Lists
    begin: Floats
    path: Rows
    times: Floats
    counters: Ints


@procedure
def nearest_node(s: TreeSearch, tree: PathTree, q: Floats) -> int:
    """Number of the node nearest to joint positions."""
    size = tree.size[0]
    for i in range(size):
        s.distances[i] = tree.penalty[i]
    for j in range(s.n):
        for i in range(size):
            step = s.weights[j] * (tree.q[j, i] - q[j])
            s.distances[i] += step * step
    best = 0
    for i in range(1, size):
        if s.distances[i] < s.distances[best]:
            best = i
    return best


@procedure
def node_at(s: TreeSearch, tree: PathTree, node: int, q: Floats) -> None:
    """Copy the joint positions of a node."""
    for j in range(s.n):
        q[j] = tree.q[j, node]


@procedure
def add_share(s: TreeSearch, tree: PathTree, parent: int, k: int, share: float, is_proved: int) -> int:
    """Add the state at a share of motion k, whose begin is the parent; returns its number."""
    node = tree.size[0]
    motions = s.motions
    for j in range(s.n):
        x = motions.a[j, k] + share * (motions.b[j, k] - motions.a[j, k])
        tree.q[j, node] = min(max(x, s.low[j]), s.high[j])
    tree.t[node] = motions.times[0, k] + share * (motions.times[1, k] - motions.times[0, k])
    tree.penalty[node] = 0.0
    tree.parent[node] = parent
    tree.is_proved[node] = is_proved
    tree.size[0] = node + 1
    return node


@procedure
def cut(tree: PathTree, node: int) -> None:
    """Cut off a node and everything behind it."""
    tree.penalty[node] = INFINITY
    for i in range(node + 1, tree.size[0]):
        if tree.parent[i] != NOBODY and tree.penalty[tree.parent[i]] == INFINITY:
            tree.penalty[i] = INFINITY


@procedure
def write_motion(s: TreeSearch, k: int, of_a: PathTree, a: int, of_b: PathTree, b: int) -> None:
    """Let motion k go from one node to another."""
    motions = s.motions
    for j in range(s.n):
        motions.a[j, k] = of_a.q[j, a]
        motions.b[j, k] = of_b.q[j, b]
    motions.times[0, k] = of_a.t[a]
    motions.times[1, k] = of_b.t[b]
