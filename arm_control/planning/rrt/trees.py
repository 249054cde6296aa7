"""Trees of states with their times, and what a search works with; procedures of nodes.

A node is a column of its tree, behind its parent. Roots have no parent. Nodes that were cut off stay in place, and are
never the nearest. The motion from a parent to its child is straight; it may be proved free, or not yet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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


class PathTree(NamedTuple):
    """Nodes of a tree, a column each.

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


def new_tree(n: int, capacity: int) -> PathTree:
    """Return memory for a tree.

    Parameters
    ----------
    n : int
        Number of joints.
    capacity : int
        Number of nodes.
    """
    times, penalties = np.zeros((2, capacity))
    parents, proved = np.zeros((2, capacity), np.int64)
    return PathTree(np.zeros((n, capacity)), times, penalties, parents, proved, np.zeros(1, np.int64))


def enlarged(tree: PathTree) -> PathTree:
    """Return the same tree in twice as much memory."""
    n, capacity = tree.q.shape
    larger = new_tree(n, 2 * capacity)
    for old, new in zip(tree, larger, strict=True):
        new[..., : old.shape[-1]] = old
    return larger


def set_roots(tree: PathTree, q: Array, t: Array) -> None:
    """Begin a tree anew.

    Parameters
    ----------
    tree : PathTree
    q : ndarray, shape (k, n)
        Joint positions of the roots [rad or m].
    t : ndarray, shape (k,)
        Their times [s].
    """
    k = len(q)
    tree.q[:, :k], tree.t[:k] = q.T, t
    tree.penalty[:k], tree.parent[:k], tree.is_proved[:k], tree.size[0] = 0.0, NOBODY, 1, k


def edges_of(tree: PathTree) -> Array:
    """Joint positions at both ends of each edge of a tree, shape (k, 2, n) [rad or m]; without what was cut off."""
    size = int(tree.size[0])
    q, parents = tree.q[:, :size].T, tree.parent[:size]
    is_edge = (parents != NOBODY) & np.isfinite(tree.penalty[:size])
    return np.stack([q[parents[is_edge]], q[is_edge]], axis=1)


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
    n : int
        Number of joints.
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
    motions : MotionColumns
    samples : ndarray, shape (count, n)
        Random joint positions [rad or m].
    distances : ndarray, shape (capacity,)
        Squared distances of nodes.
    lists : Lists
    begin, end : ndarray, shape (n,)
        Ends of a motion that is proved in pieces [rad or m].
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
    end: Floats
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
