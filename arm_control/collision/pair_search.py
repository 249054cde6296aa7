"""Memory of a search for near pairs: an arm's capsules, a table of obstacles, and columns of pairs.

The laws of distance belong to the arm; every search has arrays of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision.obstacle_table import ObstacleTable
from arm_control.collision.pair_distances import (
    LAWS,
    PLACES,
    SEARCHED,
    distance_loop,
    samples,
    search_loop,
    selection_loop,
)
from arm_control.collision.pair_procedures import BLOCK, whole_blocks
from arm_control.collision.pair_records import (
    N_DISTANCE,
    N_SHAPE,
    N_TWIST,
    ArmCapsules,
    CloseSearch,
    LinkPairs,
    NearPairs,
    PairCandidates,
    PairColumns,
)
from arm_control.compiler import BoundLoop, Kernel, Law, LoopKernel, OwnWork
from arm_control.maths import TYPES, Array, Obstacle, cross
from arm_control.model import LinkCapsule, RobotModel, State

TIE = 1e-12
"""Difference between two capsules of a link that are equally near [m]."""
CANDIDATES = 128
"""Candidates measured at a time: they stay in the processor's nearest cache."""
NEAR = 64
"""Near pairs that there is room for at first."""
RHO, NORMAL, POINT = slice(0, 1), slice(1, 4), slice(4, 7)
"""Rows of a distance."""


class PaddedCapsules(NamedTuple):
    """Capsules of an arm, the last of which stands for none; C with that one.

    Attributes
    ----------
    link, body : ndarray of int, shape (C,)
        Number of the link, and of the body that carries it, -1 for the world.
    radius, half_length : ndarray, shape (C,)
        Of the capsule, and of its segment [m].
    carries : ndarray, shape (n_bodies + 1, n_bodies)
        1 where the second body carries the first; the last row is the world.
    """

    link: Array
    body: Array
    radius: Array
    half_length: Array
    carries: Array

    @property
    def moving(self) -> Array:
        """Numbers of the capsules that move."""
        return np.flatnonzero(self.body >= 0)


class SearchLaws(NamedTuple):
    """The compiled laws of one arm: capsules and axes in a state, near capsules; distances and searches by type."""

    arm: Kernel
    near: LoopKernel
    distances: dict[str, LoopKernel]
    searches: dict[str, LoopKernel]


def arm_shape(model: RobotModel, capsules: Sequence[LinkCapsule]) -> PaddedCapsules:
    """Capsules as arrays.

    Parameters
    ----------
    model : RobotModel
        The arm.
    capsules : sequence of LinkCapsule
        Its shape.
    """
    tree = model.tree
    names = list(dict.fromkeys(capsule.link for capsule in capsules))
    carries = np.zeros((len(tree.bodies) + 1, len(tree.bodies)))
    for i in range(len(tree.bodies)):
        carries[i, tree.path(i)] = 1.0
    link = [names.index(capsule.link) for capsule in capsules]
    body = [tree.frames[capsule.link].body for capsule in capsules]
    radius = [capsule.radius for capsule in capsules]
    half_length = [0.5 * float(np.linalg.norm(capsule.b - capsule.a)) for capsule in capsules]
    return PaddedCapsules(
        np.array([*link, -1]), np.array([*body, -1]), np.array([*radius, 0.0]), np.array([*half_length, 0.0]), carries
    )


def search_laws(model: RobotModel, capsules: Sequence[LinkCapsule]) -> SearchLaws:
    """Compile the laws of an arm.

    Parameters
    ----------
    model : RobotModel
        The arm.
    capsules : sequence of LinkCapsule
        Its shape.
    """
    made_from = [(c.link, *c.a.tolist(), *c.b.tolist()) for c in capsules]
    function = partial(_arm, model=model, capsules=capsules)
    law = Law("capsules and axes", function, {"q": model.nq}, made_from, has_masses=False)
    arm = model.compile_law(law, {"q": np.linspace(-1.0, 1.0, model.nq)[None]})
    n = len(capsules)
    moving = [i for i, c in enumerate(capsules) if model.tree.frames[c.link].body >= 0]
    squares = {i: float((capsules[i].b - capsules[i].a) @ (capsules[i].b - capsules[i].a)) for i in moving}
    near = model.compile_law(*selection_loop(squares or {n: 0.0}, n + 1))
    distances = {of_type: model.compile_law(distance_loop(of_type), samples(of_type)) for of_type in LAWS}
    searches = {of_type: model.compile_law(search_loop(of_type), samples(of_type)) for of_type in SEARCHED}
    return SearchLaws(arm, near, distances, searches)


def _arm(x: Mapping[str, Array], model: RobotModel, capsules: Sequence[LinkCapsule]) -> dict[str, Any]:
    """Ends of the capsules (6, C) and axes of the joints (6, n_bodies) in the world, over any scalar."""
    tree, state = model.tree, State(model.tree, {"q": x["q"]})
    ends = [[np.zeros(3), np.zeros(3)]]  # the last one stands for none
    for c in reversed(capsules):
        frame = tree.frames[c.link]
        local = [frame.X_BF.R @ end + frame.X_BF.p for end in (c.a, c.b)]
        ends.append([y if frame.body < 0 else state.X_W[frame.body].R @ y + state.X_W[frame.body].p for y in local])
    axes = []
    for body, X_W in zip(tree.bodies, state.X_W, strict=True):
        z = X_W.R[:, 2]
        axes.append([z, np.zeros(3)] if body.is_prismatic else [cross(X_W.p, z), z])
    return {"ends": np.array(ends[::-1]).reshape(-1, 6).T, "axes": np.array(axes).reshape(-1, 6).T}


class PairSearch:
    """Memory of a search.

    Parameters
    ----------
    laws : SearchLaws
    shape : PaddedCapsules
        Both of the arm.
    capsule_pairs : ndarray of int, shape (L, 2)
        Pairs of capsules of two links.

    Attributes
    ----------
    record : CloseSearch
        The memory; another object when it has grown.
    q : ndarray, shape (nv,)
        Joint positions, to be written before a search [rad or m].
    axes : ndarray, shape (6, n_bodies)
        Of each body's joint: factors of n and of p x n in J_n.
    reach : ndarray, shape (2,)
        Distances that count as near: of obstacles, of links [m]; 0 for the second leaves links out.
    """

    def __init__(self, laws: SearchLaws, shape: PaddedCapsules, capsule_pairs: Array) -> None:
        self._laws, self._shape = laws, shape
        self._arm = OwnWork(laws.arm)
        self.q, self.axes, self.reach = self._arm.inputs["q"], self._arm.outputs["axes"], np.zeros(2)
        self._capsules = {"ends": self._arm.outputs["ends"].reshape(-1), "radii": shape.radius}
        of_obstacles = {**self._capsules, "reach": self.reach[:1]}
        self._table = ObstacleTable(laws.near, of_obstacles, max(1, len(shape.moving)))
        arm, links = self._arm_record(), self._links(capsule_pairs)
        of_capsules = shape.carries[shape.body] - shape.carries[-1]
        i, j = capsule_pairs.T
        signs = np.concatenate([of_capsules, shape.carries[shape.body[i]] - shape.carries[shape.body[j]]])
        near = near_pairs(NEAR, signs.shape[1])
        self.record = CloseSearch(
            self.reach, signs, signs.shape[1], len(shape.link), arm, self._table.rows, self._candidates(), links, near
        )

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles."""
        return self._table.obstacles

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be the obstacles."""
        self._table.place(obstacles)
        if self._table.rows is not self.record.obstacles:
            self.record = self.record._replace(obstacles=self._table.rows)

    def make_room(self) -> bool:
        """Make room for all near pairs of the last search; return whether there was too little."""
        needed = int(self.record.near.size[0])
        if needed <= self.record.near.capacity:
            return False
        self.record = self.record._replace(near=near_pairs(2 * needed, self.record.n_bodies))
        return True

    def _arm_record(self) -> ArmCapsules:
        shape, arm = self._shape, self._arm
        moving, link = np.zeros(len(shape.link), np.int64), shape.link.astype(np.int64)
        moving[: len(shape.moving)] = shape.moving
        bias = TIE * _ranks(np.where(shape.body >= 0, link, -1))
        return ArmCapsules(arm, self.q, arm.outputs["ends"], shape.radius, moving, len(shape.moving), link, bias)

    def _candidates(self) -> PairCandidates:
        capacity = max(CANDIDATES, whole_blocks(len(self._shape.moving)))
        pairs, searched, between = _columns(capacity), _columns(capacity), np.zeros((1, capacity))
        measured, found = {**_inputs(pairs), "between": between}, _inputs(searched)
        ball, box, turned, segment = (self._laws.distances[of_type].bind(measured) for of_type in TYPES)
        of_box, of_turned = (self._laws.searches[of_type].bind(found) for of_type in SEARCHED)
        column, capsule, obstacle, place = np.zeros((4, capacity), np.int64)
        return PairCandidates(
            ball, box, turned, segment, of_box, of_turned,
            pairs, between, searched, column, capsule, obstacle, place, capacity,
        )  # fmt: skip

    def _links(self, capsule_pairs: Array) -> LinkPairs:
        """Columns of the pairs of links; those that fill the last block are of no capsule."""
        shape, n = self._shape, len(capsule_pairs)
        columns = max(BLOCK, whole_blocks(n))
        (first, second, groups, pair), radius = np.zeros((4, columns), np.int64), np.zeros((1, columns))
        first[:n], second[:n] = capsule_pairs.T
        radius[0, :n] = shape.radius[first[:n]] + shape.radius[second[:n]]
        links = np.stack([shape.link[first], shape.link[second]])[:, :n]
        groups[:n] = np.unique(links, axis=1, return_inverse=True)[1].ravel()
        ends, distance = np.zeros((12, columns)), np.zeros((N_DISTANCE, columns))
        ends_by_name = dict(zip("abcd", ends.reshape(4, 3, columns), strict=True))
        arrays = {**ends_by_name, "radius": radius, "size": np.zeros((3, columns)), **_rows(distance)}
        run, n_groups = self._laws.distances["capsule"].bind(arrays), 1 + int(groups.max())
        bias, best = TIE * _ranks(groups), np.zeros(n_groups)
        return LinkPairs(
            *self._balls(first, second),
            run, pair, ends, radius, distance, first, second, groups, radius[0].copy(), bias, best, n, n_groups,
        )  # fmt: skip

    def _balls(self, first: Array, second: Array) -> tuple[BoundLoop, Array, Array, Array, Array]:
        """``find_near``, ``centre``, ``near``, ``row`` and ``ball`` of pairs; the ball is around the shorter capsule.

        Where one capsule of a pair does not move, the ball is around that one.
        """
        shape, m = self._shape, len(self._shape.moving)
        capacity = whole_blocks(len(shape.link))
        centre, extent, near = np.zeros((3, capacity)), np.zeros((1, capacity)), np.ones((max(1, m) + 1, capacity))
        extent[0, : len(shape.link)] = shape.half_length + shape.radius
        balls = {"centre": centre, "extent": extent, "near": near[:-1], "nearest": np.zeros((1, capacity))}
        run = self._laws.near.bind({**self._capsules, "reach": self.reach[1:], **balls})
        row, length = np.full(len(shape.link), len(near) - 1), np.full(len(shape.link), -1.0)
        row[shape.moving], length[shape.moving] = np.arange(m), shape.half_length[shape.moving]
        is_first_longer = length[first] >= length[second]
        rows, ball = row[np.where(is_first_longer, first, second)], np.where(is_first_longer, second, first)
        return run, centre, near, rows, ball


def near_pairs(capacity: int, n_bodies: int) -> NearPairs:
    """Return memory for near pairs.

    Parameters
    ----------
    capacity : int
        How many there is room for.
    n_bodies : int
        Number of bodies of the arm.
    """
    n = whole_blocks(capacity)
    distance, twist, sign = (np.zeros((size, n)) for size in (N_DISTANCE, N_TWIST, n_bodies))
    capsule, other, place = np.zeros((3, n), np.int64)
    return NearPairs(distance, twist, np.zeros((1, n)), sign, capsule, other, place, np.zeros(1, np.int64), n)


def _columns(capacity: int) -> PairColumns:
    ends, radius, shape, distance = (np.zeros((size, capacity)) for size in (6, 1, N_SHAPE, N_DISTANCE))
    return PairColumns(ends, radius, shape, distance)


def _inputs(x: PairColumns) -> dict[str, Array]:
    """Inputs and outputs of all laws of distance, by name."""
    shape = {name: x.shape[rows] for name, rows in PLACES.items()} | {"c": x.shape[:3], "d": x.shape[3:6]}
    return {"a": x.ends[:3], "b": x.ends[3:], "radius": x.radius, **shape, **_rows(x.distance)}


def _rows(distance: Array) -> dict[str, Array]:
    """Outputs of a law of distance, by name."""
    return {"rho": distance[RHO], "n": distance[NORMAL], "p": distance[POINT]}


def _ranks(groups: Array) -> Array:
    """How many earlier entries are of the same group, shape (n,)."""
    return np.array([float(np.count_nonzero(groups[:k] == group)) for k, group in enumerate(groups)])
