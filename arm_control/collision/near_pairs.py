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

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.pair_procedures import CloseSearch, Postures, find_pairs, measure_postures
from arm_control.collision.pair_search import FAR, NORMAL, POINT, RHO, PairSearch, padded, search_laws
from arm_control.compiler import compile_procedure
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel, drawn_range

SAMPLES, CLOSE_BY_DESIGN = 200, 0.05
"""Two links that are nearer than this [m] in half of so many postures are not monitored."""
CLEARANCE_REACH = 2.0
"""Largest distance that :func:`clearance` measures [m]."""
REACH = 10.0
"""Distances beyond this are not measured, if nothing else is asked [m]."""


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


class Margins(NamedTuple):
    """Distances from obstacles, and between links, that count as contact [m]."""

    obstacles: float = 0.0
    links: float = 0.0


class NearPair(NamedTuple):
    """A link, and what it is near to.

    Attributes
    ----------
    link, other : str
        The link, and another link or the name of an obstacle.
    distance : float
        Between their surfaces, below zero inside [m].
    p, p_other : ndarray, shape (3,)
        Nearest points of both, in the world [m].
    obstacle : int
        Number of the obstacle; -1 for a pair of links.
    """

    link: str
    other: str
    distance: float
    p: Array
    p_other: Array
    obstacle: int

    @property
    def is_self(self) -> bool:
        """Whether it is a pair of links."""
        return self.obstacle < 0

    @property
    def label(self) -> str:
        """Both names."""
        return f"{self.link} - {self.other}"

    def is_contact(self, margins: Margins) -> bool:
        """Whether it is in contact."""
        return self.distance <= (margins.links if self.is_self else margins.obstacles)


class Proximity:
    """The near pairs of one arm.

    By default two links are monitored unless one joint connects them, or they are close by design: nearer than
    :data:`CLOSE_BY_DESIGN` in at least half of :data:`SAMPLES` random postures, as are the ends of a wrist.

    Parameters
    ----------
    link_pairs : collection of tuple of str, optional
        The pairs of links to monitor instead.
    shape : ArmShape, optional
        By default capsules around the collision shapes that can be read.

    Attributes
    ----------
    notes : tuple of str
        Collision shapes left out, with the reason of each.
    capsule_pairs : ndarray, shape (n, 2)
        Numbers of the capsules of monitored pairs of links.
    search : PairSearch
        What :meth:`near` searches with.
    joint_coupling : ndarray, shape (n_bodies, nv)
        Motion of each body's joint per motion of each joint of the arm.
    """

    def __init__(
        self,
        model: RobotModel,
        link_pairs: Collection[tuple[str, str]] | None = None,
        shape: ArmShape | None = None,
    ) -> None:
        shape = ArmShape(model, is_partial=True) if shape is None else shape
        self.capsules, self.notes = shape.capsules, shape.notes
        self._shape, self._laws = padded(shape), search_laws(shape)
        bodies = model.tree.bodies
        self.joint_coupling = np.zeros((len(bodies), model.nv))
        for i, b in enumerate(bodies):
            self.joint_coupling[i, b.coordinate] = b.ratio
        unconnected = shape.names_of(pair for pair in shape.pairs if not shape.are_neighbours(*pair))
        chosen = unconnected if link_pairs is None else link_pairs
        pairs = _pairs_of_capsules([capsule.link for capsule in self.capsules], chosen)
        if link_pairs is None and len(pairs):
            low, high = drawn_range(model.q_min, model.q_max)
            states = np.random.default_rng(0).uniform(low, high, (SAMPLES, model.nq))
            distances = sampled_distances(self.new_search(pairs), states)
            pairs = pairs[np.median(distances, axis=0) >= CLOSE_BY_DESIGN]
        self.capsule_pairs = pairs
        links = [(self.capsules[i].link, self.capsules[j].link) for i, j in pairs.tolist()]
        self.link_pairs = tuple(dict.fromkeys(links))
        self.search = self.new_search(pairs)
        self._bound: CloseSearch | None = None
        self._find: Callable[[], float]

    def new_search(self, capsule_pairs: Array | None = None) -> PairSearch:
        """Return memory for a search of one's own; of other pairs of capsules where they are given, shape (n, 2)."""
        return PairSearch(self._laws, self._shape, self.capsule_pairs if capsule_pairs is None else capsule_pairs)

    def overlapping(self, q: Array) -> tuple[tuple[str, str], ...]:
        """The monitored pairs of links whose capsules overlap at joint positions q, shape (nv,)."""
        if not len(self.capsule_pairs):
            return ()
        overlaps = sampled_distances(self.new_search(), np.asarray(q, dtype=float)[None])[0] <= 0.0
        links = [(self.capsules[i].link, self.capsules[j].link) for i, j in self.capsule_pairs[overlaps].tolist()]
        return tuple(dict.fromkeys(links))

    def clearances(self, qs: Array) -> Array:
        """Least distance of two monitored links at joint positions (n, nv), shape (n,) [m]; infinite without a pair."""
        if not len(self.capsule_pairs):
            return np.full(len(qs), np.inf)
        return sampled_distances(self.new_search(), np.asarray(qs, dtype=float)).min(axis=1)

    def leave_out(self, search: PairSearch, link_pairs: Collection[tuple[str, str]]) -> None:
        """Let a search of the monitored pairs find these pairs of links no more, and all others again."""
        links, chosen = search.record.links, set(link_pairs)
        for k, (i, j) in enumerate(self.capsule_pairs.tolist()):
            is_out = (self.capsules[i].link, self.capsules[j].link) in chosen
            links.radii[k] = -FAR if is_out else self._shape.radius[i] + self._shape.radius[j]

    def near(self, q: Array, obstacles: Sequence[Obstacle], reach: float, reach_self: float) -> Pairs:
        """Return pairs nearer than ``reach`` (obstacles) or ``reach_self`` (two links) [m] at joint positions (nq,).

        Of several capsules of a link only the nearest is among them; a reach of 0 leaves pairs of links out.
        """
        search = self.search
        search.place(obstacles)
        search.q[...] = q
        search.reach[:] = reach, reach_self
        self._run()
        while search.make_room():
            self._run()
        return self._pairs()

    def nearest(
        self, q: Array, obstacles: Sequence[Obstacle], names: Sequence[str] = (), reach: float = REACH
    ) -> list[NearPair]:
        """The pairs that are nearer than the reach, the nearest first; ``names`` are those of the obstacles."""
        pairs = self.near(q, obstacles, reach, reach)
        order = np.argsort(pairs.rho, kind="stable").tolist()
        numbers, distances = pairs.obstacle.tolist(), pairs.rho.tolist()
        others = [names[k] if names and k >= 0 else b for (_, b), k in zip(pairs.names, numbers, strict=True)]
        return [
            NearPair(pairs.names[i][0], others[i], distances[i], pairs.p[i], pairs.p_other[i], max(numbers[i], -1))
            for i in order
        ]

    def _run(self) -> None:
        record = self.search.record
        if record is not self._bound:
            self._bound, self._find = record, compile_procedure(find_pairs)(record)
        self._find()

    def _pairs(self) -> Pairs:
        """The near pairs of the last search."""
        near, axes = self.search.record.near, self.search.axes
        size = int(near.size[0])
        order = self._by_link(near.capsule[:size], near.other[:size])
        i, other = near.capsule[order], near.other[order]
        distance = near.distance[:, order]
        rho, n, p = distance[RHO][0], distance[NORMAL].T, distance[POINT].T
        moment = np.cross(p, n)
        J_n = (near.sign[:, order].T * (n @ axes[:3] + moment @ axes[3:])) @ self.joint_coupling
        twist = near.twist[:, order].T
        v_n = np.einsum("ij,ij->i", n, twist[:, :3]) + np.einsum("ij,ij->i", moment, twist[:, 3:])
        p = p - self._shape.radius[i][:, None] * n
        names = [
            (self.capsules[a].link, self.capsules[-1 - b].link if b < 0 else f"obstacle {b}")
            for a, b in zip(i.tolist(), other.tolist(), strict=True)
        ]
        return Pairs(names, rho, n, J_n, v_n, other < 0, other, p, p - rho[:, None] * n)

    def _by_link(self, i: Array, other: Array) -> Array:
        """Order of pairs by link, and by what it is near: other links, then obstacles."""
        link = self._shape.link
        second = link[np.where(other < 0, -1 - other, 0)]
        return np.lexsort((np.where(other < 0, -1 - second, other), link[i]))


def clearance(proximity: Proximity, q: Array, obstacles: Sequence[Obstacle]) -> float:
    """Distance from an arm's capsules at joint positions (nv,) to the nearest obstacle [m].

    Beyond 2 m, or without obstacles, it is infinite.
    """
    if not obstacles:
        return np.inf
    pairs = proximity.near(q, obstacles, CLEARANCE_REACH, 0.0)
    return float(pairs.rho[~pairs.is_self].min(initial=np.inf))


def _pairs_of_capsules(links: Sequence[str], link_pairs: Collection[tuple[str, str]]) -> Array:
    """Capsules i, j of pairs of links, shape (n, 2); ``links`` are those of the capsules."""
    chosen = set(map(frozenset, link_pairs))
    pairs = [(i, j) for (i, a), (j, b) in combinations(enumerate(links), 2) if frozenset((a, b)) in chosen]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def sampled_distances(search: PairSearch, states: Array) -> Array:
    """Distances of the pairs of capsules of a search, of which there is one at least, in states (n, nv): (n, L) [m]."""
    links = search.record.links
    distance = np.zeros((len(states), links.n))
    postures = Postures(search.record, np.ascontiguousarray(states), distance, *states.shape)
    compile_procedure(measure_postures)(postures)()
    return distance
