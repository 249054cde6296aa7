"""Proximity: for each link and obstacle, and each two links, the nearest points and their motion.

The shape of the arm is the capsules of :mod:`arm_control.model.urdf.capsules`. For nearest points p on the arm and p_O
on the other side, with the unit vector n from p_O to p,

    rho = |p - p_O| - radii,     d(rho)/dt = n^T (J_p v - V_O),     J_n = n^T J_p,

where column i of J_p is ``z_i x (p - o_i)``, with the axis z_i and the origin o_i of a joint that carries p, or
``z_i`` for a prismatic joint. So

    J_n = z_i^T (p x n) + (o_i x z_i)^T n,     or     J_n = z_i^T n.

Between two links J_n is the difference of both rows: p x n is the same for both, as n is along p - p_O.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler.law import Law
from arm_control.control.avoidance.pair_distances import LAWS, distance_loop, samples, selection_loop
from arm_control.control.avoidance.pair_selection import FEW, PairSelection, moving_capsules
from arm_control.control.avoidance.pair_table import (
    NEAR,
    NORMAL,
    POINT,
    RHO,
    Capsules,
    PairColumns,
    PairTable,
)
from arm_control.maths.obstacles import TWIST, Obstacle
from arm_control.maths.poses import Array
from arm_control.maths.vectors import cross
from arm_control.model import RobotModel
from arm_control.model.quantities import State
from arm_control.model.urdf.capsules import link_capsules

SAMPLES, CLOSE_BY_DESIGN = 200, 0.05
"""Two links that are nearer than this [m] in half of so many postures are not monitored."""
CLEARANCE_REACH = 2.0
"""Largest distance that :func:`clearance` measures [m]."""


Table = PairTable | PairSelection
"""All pairs, or those of many obstacles that may be near."""


class Pairs(NamedTuple):
    """Nearest points of n pairs.

    Attributes
    ----------
    names : list of tuple of str
        The link, and the other link or ``obstacle i``.
    rho : ndarray, shape (n,)
        Distance between the surfaces, negative inside [m].
    n : ndarray, shape (n, 3)
        Unit vector towards the link.
    J_n : ndarray, shape (n, nv)
        Row of the Jacobian along n.
    v_n : ndarray, shape (n,)
        Speed of the obstacle's nearest point along n [m/s].
    is_self : ndarray of bool, shape (n,)
        Whether it is a pair of links.
    obstacle : ndarray of int, shape (n,)
        Number of the obstacle; below zero for a pair of links.
    p, p_other : ndarray, shape (n, 3)
        Nearest points on the surface of the link and of the other one, ``p - p_other = rho n`` [m].
    """

    names: list[tuple[str, str]]
    rho: Array
    n: Array
    J_n: Array
    v_n: Array
    is_self: Array
    obstacle: Array
    p: Array
    p_other: Array


class Snapshot(NamedTuple):
    """Nearest points of one tick; unlike the table, it does not change any more."""

    columns: PairColumns
    axes: Array
    obstacles: tuple[Obstacle, ...]


class Proximity:
    """The near pairs of one arm.

    By default two links are monitored unless one joint connects them, or they are close by design: nearer than
    :data:`CLOSE_BY_DESIGN` in at least half of :data:`SAMPLES` random postures, as are the ends of a wrist.

    Parameters
    ----------
    model : RobotModel
        The arm.
    link_pairs : collection of tuple of str, optional
        The pairs of links to monitor instead.

    Attributes
    ----------
    capsules : tuple of LinkCapsule
        Shape of the arm.
    notes : tuple of str
        Collision shapes left out, with the reason of each.
    link_pairs : tuple of tuple of str
        The monitored pairs of links.
    capsule_pairs : ndarray, shape (n, 2)
        Numbers of their capsules.
    axes : ndarray, shape (6, n_bodies)
        Of each body's joint, in the state of the last :meth:`measure`: factors of n and of p x n in J_n.
    joint_coupling : ndarray, shape (n_bodies, nv)
        Motion of each body's joint per motion of each joint of the arm.
    table : PairTable or PairSelection
        The pairs of the last :meth:`measure`.
    """

    def __init__(self, model: RobotModel, link_pairs: Collection[tuple[str, str]] | None = None) -> None:
        self.capsules, self.notes = link_capsules(model.urdf)
        self._model, tree = model, model.tree
        names = dict.fromkeys(capsule.link for capsule in self.capsules)
        link = np.array([list(names).index(capsule.link) for capsule in self.capsules], dtype=int)
        body = np.array([tree.frames[capsule.link].body for capsule in self.capsules], dtype=int)
        radius = np.array([capsule.radius for capsule in self.capsules])
        self.joint_coupling = np.zeros((len(tree.bodies), model.nv))
        self._carries = np.zeros((len(tree.bodies) + 1, len(tree.bodies)))  # the last row: the world
        for i, b in enumerate(tree.bodies):
            self.joint_coupling[i, b.coordinate] = b.ratio
            self._carries[i, tree.path(i)] = 1.0
        made_from = [(c.link, *c.a.tolist(), *c.b.tolist()) for c in self.capsules]
        law = Law("capsules and axes", self._arm, {"q": model.nq}, made_from, has_masses=False)
        kernel = model.compile_law(law, {"q": np.linspace(-1.0, 1.0, model.nq)[None]})
        self._call, self._q = kernel.call, kernel.inputs["q"]
        self._ends, self.axes = kernel.outputs["ends"], kernel.outputs["axes"]
        self._laws = {name: model.compile_law(distance_loop(name), samples(name)) for name in LAWS}
        self._reach = np.zeros(2)
        self._set = Capsules(np.append(link, -1), np.append(body, -1), np.append(radius, 0.0), np.zeros((0, 2), int))
        capsules = tuple(moving_capsules(self._set).tolist())
        if capsules:
            self._laws["selection"] = model.compile_law(*selection_loop(capsules, len(self._set.link)))
        if link_pairs is None:
            self._set = self._set._replace(pairs=_unconnected_pairs(body, [b.parent for b in tree.bodies]))
            self.table: Table = self._new_table((), True)
            pairs = self._set.pairs[self._not_close_by_design(model)]
        else:
            pairs = _pairs_of_capsules([capsule.link for capsule in self.capsules], link_pairs)
        self._set = self._set._replace(pairs=pairs)
        self.table = self._new_table((), True)
        self.capsule_pairs = self._set.pairs
        links = [(self.capsules[i].link, self.capsules[j].link) for i, j in self.capsule_pairs.tolist()]
        self.link_pairs = tuple(dict.fromkeys(links))

    def _arm(self, x: Mapping[str, Array]) -> dict[str, Any]:
        """Ends of the capsules (6, C) and axes of the joints (6, n_bodies) in the world, over any scalar."""
        tree, state = self._model.tree, State(self._model.tree, {"q": x["q"]})
        ends = [[np.zeros(3), np.zeros(3)]]  # the last one fills up
        for c in reversed(self.capsules):
            frame = tree.frames[c.link]
            local = [frame.X_BF.R @ end + frame.X_BF.p for end in (c.a, c.b)]
            ends.append([y if frame.body < 0 else state.X_W[frame.body].R @ y + state.X_W[frame.body].p for y in local])
        axes = []
        for body, X_W in zip(tree.bodies, state.X_W, strict=True):
            z = X_W.R[:, 2]
            axes.append([z, np.zeros(3)] if body.is_prismatic else [cross(X_W.p, z), z])
        return {"ends": np.array(ends[::-1]).reshape(-1, 6).T, "axes": np.array(axes).reshape(-1, 6).T}

    def measure(self, q: Array, obstacles: Sequence[Obstacle], reach: float, reach_self: float) -> Table:
        """Measure all pairs; parameters of :meth:`near`. The table is overwritten by the next call."""
        table = self.table
        with_links = reach_self > 0.0
        if len(obstacles) != len(table.types) or table.with_links != with_links or not table.place(obstacles):
            table = self.table = self._new_table(obstacles, with_links)
            table.place(obstacles)
        self._q[...] = q
        self._reach[0], self._reach[1] = reach, reach_self
        self._call()
        if isinstance(table, PairSelection):
            table = self.table = table.select()
        table.measure()
        return table

    def near(self, q: Array, obstacles: Sequence[Obstacle], reach: float, reach_self: float) -> Pairs:
        """Return the pairs nearer than ``reach`` (obstacles) or ``reach_self`` (two links).

        Of several capsules of a link only the nearest is among them.

        Parameters
        ----------
        q : ndarray, shape (nq,)
            Joint positions.
        obstacles : sequence of Obstacle
            The obstacles.
        reach, reach_self : float
            Distances [m]; 0 for the second leaves pairs of links out.

        Returns
        -------
        Pairs
        """
        return self.pairs(self.snapshot(self.measure(q, obstacles, reach, reach_self), obstacles))

    def snapshot(self, table: Table, obstacles: Sequence[Obstacle]) -> Snapshot:
        """Copy the nearest points of the last measurement.

        Parameters
        ----------
        table : PairTable or PairSelection
            Result of :meth:`measure`.
        obstacles : sequence of Obstacle
            The obstacles of that call.
        """
        return Snapshot(table.columns(), self.axes.copy(), tuple(obstacles))

    def pairs(self, snapshot: Snapshot) -> Pairs:
        """Return the near pairs of a snapshot."""
        (nearest, sign, capsule, second, counts), axes, obstacles = snapshot
        keep = np.flatnonzero((nearest[NEAR][0] > 0.0) & (True if counts is None else counts))
        keep = keep[self._by_link(capsule[keep], second[keep])]
        rho = nearest[RHO][0, keep]
        n = nearest[NORMAL][:, keep].T
        p = nearest[POINT][:, keep].T
        i = capsule[keep]
        moment = np.cross(p, n)
        J_n = (sign[:, keep].T * (n @ axes[:3] + moment @ axes[3:])) @ self.joint_coupling
        other = second[keep].tolist()
        twist = np.array([np.zeros(6) if k < 0 else obstacles[k].numbers[TWIST] for k in other]).reshape(-1, 6)
        v_n = np.einsum("ij,ij->i", n, twist[:, :3]) + np.einsum("ij,ij->i", moment, twist[:, 3:])
        p = p - self._set.radius[i][:, None] * n
        names = [
            (self.capsules[a].link, self.capsules[-1 - b].link if b < 0 else f"obstacle {b}")
            for a, b in zip(i.tolist(), other, strict=True)
        ]
        return Pairs(names, rho, n, J_n, v_n, second[keep] < 0, second[keep], p, p - rho[:, None] * n)

    def _by_link(self, i: Array, other: Array) -> Array:
        """Order of pairs by link, and by what it is near: other links, then obstacles."""
        link = self._set.link
        second = link[np.where(other < 0, -1 - other, 0)]
        return np.lexsort((np.where(other < 0, -1 - second, other), link[i]))

    def _new_table(self, obstacles: Sequence[Obstacle], with_links: bool) -> Table:
        types = [obstacle.type for obstacle in obstacles]
        table = PairTable if len(types) <= FEW or "selection" not in self._laws else PairSelection
        return table(self._set, self._carries, types, with_links, self._laws, self._ends, self._reach)

    def _not_close_by_design(self, model: RobotModel) -> Array:
        """Pairs of capsules that are not close by design, shape (n,)."""
        low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
        n = len(self._set.pairs)
        rho = [
            self.measure(q, (), 0.0, 1.0).nearest[RHO][0, :n].copy()
            for q in np.random.default_rng(0).uniform(low, high, (SAMPLES, model.nq))
        ]
        return np.median(rho, axis=0) >= CLOSE_BY_DESIGN


def clearance(proximity: Proximity, q: Array, obstacles: Sequence[Obstacle]) -> float:
    """Distance from an arm's capsules to the nearest obstacle [m].

    Parameters
    ----------
    proximity : Proximity
        The arm's capsules.
    q : ndarray, shape (nv,)
        Joint positions [rad or m].
    obstacles : sequence of Obstacle
        The obstacles; beyond 2 m, or without any, the distance is infinite.
    """
    if not obstacles:
        return np.inf
    pairs = proximity.near(q, obstacles, CLEARANCE_REACH, 0.0)
    return float(pairs.rho[~pairs.is_self].min(initial=np.inf))


def _unconnected_pairs(body: Array, parents: Sequence[int]) -> Array:
    """Capsules i, j of links that no joint connects, shape (n, 2)."""
    i, j = np.triu_indices(len(body), 1)
    parent = np.array([*parents, -2])
    a, b = body[i], body[j]
    return np.stack([i, j], axis=1)[(a != b) & (parent[a] != b) & (parent[b] != a)]


def _pairs_of_capsules(links: Sequence[str], link_pairs: Collection[tuple[str, str]]) -> Array:
    """Capsules i, j of pairs of links, shape (n, 2); ``links`` are those of the capsules."""
    chosen = set(map(frozenset, link_pairs))
    pairs = [(i, j) for (i, a), (j, b) in combinations(enumerate(links), 2) if frozenset((a, b)) in chosen]
    return np.array(pairs, dtype=int).reshape(-1, 2)
