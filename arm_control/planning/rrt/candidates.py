"""Candidate paths through two trees: proved free, or cut where they are not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.maths import Array
from arm_control.planning.rrt.plans import proved_shares
from arm_control.planning.rrt.search_tree import SearchTree


class Way(NamedTuple):
    """Joint positions, shape (m, n) [rad or m], and their times, shape (m,) [s]; m is 0 where there is no way."""

    path: Array
    times: Array


def no_way(n: int) -> Way:
    """Return an empty way of n joints."""
    return Way(np.zeros((0, n)), np.zeros(0))


class Candidates:
    """Candidate paths from the root of one tree to a root of another one.

    Parameters
    ----------
    validity : Validity
    first, second : SearchTree
        The path goes from the root of the first to a root of the second.
    least_step : float
        Shortest motion that makes a node [rad or m].

    Attributes
    ----------
    n_motions : int
        Motions that proofs were tried for.
    """

    def __init__(self, validity: Validity, first: SearchTree, second: SearchTree, least_step: float) -> None:
        self._validity, self._first, self._second, self._least_step = validity, first, second, least_step
        self.n_motions = 0

    def prove(self, in_first: int, in_second: int, between: Way | None = None) -> Way:
        """Prove a candidate free, or cut off what is not; returns the way, or none.

        Parameters
        ----------
        in_first, in_second : int
            Nodes of the trees that are connected.
        between : Way, optional
            States between the two.
        """
        a, b = self._first, self._second
        nothing = no_way(a.q.shape[1])
        if not (a.is_alive[in_first] and b.is_alive[in_second]):
            return nothing
        there, back = a.branch(in_first)[::-1], b.branch(in_second)
        middle = nothing if between is None else between
        path = np.concatenate([a.q[there], middle.path, b.q[back]])
        times = np.concatenate([a.t[there], middle.times, b.t[back]])
        shares = self.proved_shares(path, times)
        if shares.min() >= 1.0:
            return Way(path, times)
        first_back = len(path) - len(back)
        for k in np.flatnonzero((shares >= 0.0) & (shares < 1.0)).tolist():
            if k < len(there) - 1:
                self._shorten(there[k], there[k + 1], float(shares[k]))
            elif k >= first_back:
                b.cut(back[k - first_back])
        return nothing

    def proved_shares(self, path: Array, times: Array) -> Array:
        """Share of each segment of a path that is proved free, shape (m - 1,).

        Parameters
        ----------
        path : ndarray, shape (m, n)
            Joint positions [rad or m].
        times : ndarray, shape (m,)
            Times [s].
        """
        self.n_motions += len(path) - 1
        return proved_shares(self._validity, path, times)

    def _shorten(self, parent: int, child: int, share: float) -> None:
        """Cut off a node of the first tree, and put another one where the motion to it is proved free."""
        tree = self._first
        tree.cut(child)
        step = share * (tree.q[child] - tree.q[parent])
        if np.linalg.norm(step) > self._least_step:
            t = tree.t[parent] + share * (tree.t[child] - tree.t[parent])
            tree.add(tree.q[[parent]] + step, np.array([parent]), np.array([t]))
