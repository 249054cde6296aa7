"""Memory of a search for near pairs: an arm's capsules, a table of obstacles, and columns of pairs.

The laws of distance belong to the arm; every search has arrays of its own. Obstacles that are the same objects as
before are not looked at again: the rows of others are written in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.hull_pairs import HullRows
from arm_control.collision.pair_distances import (
    LAWS,
    PLACES,
    SEARCHED,
    distance_loop,
    samples,
    search_loop,
    selection_loop,
)
from arm_control.collision.pair_procedures import (
    BLOCK,
    HULL,
    N_DISTANCE,
    N_SHAPE,
    N_TWIST,
    ArmCapsules,
    CloseSearch,
    LinkPairs,
    NearPairs,
    ObstacleRows,
    PairCandidates,
    PairColumns,
    whole_blocks,
)
from arm_control.compiler import Kernel, Law, Loop, LoopKernel, OwnWork, Program, RunsLoop
from arm_control.maths import CENTRE, EXTENT, N_NUMBERS, PLACE, TYPES, Array, Hull, Obstacle, Scalar, cross
from arm_control.model import State

ROOM = 1024
"""Number of obstacles at first; the table doubles where there are more."""
FAR = 1e9
"""Coordinate of an obstacle that is not there [m]."""


class ObstacleTable:
    """Obstacles around an arm.

    Parameters
    ----------
    arm : mapping of str to ndarray
        Its inputs besides the obstacles: ``ends``, ``radii``, ``reach``.
    m : int
        Number of capsules that it looks at.

    Attributes
    ----------
    rows : ObstacleRows
        Their numbers; another object when the table has grown.
    hulls : dict of int to Hull
        The shapes of those that are hulls, by their numbers; another object when something has changed.
    """

    def __init__(self, find_near: LoopKernel, arm: dict[str, Array], m: int) -> None:
        self._find_near, self._arm, self._m = find_near, arm, m
        self.obstacles: tuple[Obstacle, ...] = ()
        self.hulls: dict[int, Hull] = {}
        self._make_rows(ROOM)

    def _make_rows(self, n: int) -> None:
        """Make memory for n obstacles, without any in it."""
        capacity = n + BLOCK  # rows of arrays whose size is a power of two crowd in the processor's cache
        self._balls = np.full((4, capacity), FAR)  # centre, extent: an obstacle in each column
        self._balls[3] = 0.0
        kinds, order = np.zeros((2, capacity), np.int64)
        near, nearest = np.zeros((self._m, capacity)), np.zeros((1, capacity))
        balls = {"centre": self._balls[:3], "extent": self._balls[3:]}
        run = self._find_near.bind({**self._arm, **balls, "near": near, "nearest": nearest})
        rows, size = np.zeros((capacity, N_NUMBERS)), np.zeros(1, np.int64)
        self.rows = ObstacleRows(run, rows, kinds, order, size, near, nearest)
        self._capacity = n

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be the obstacles: rows of those that have changed are written anew."""
        obstacles = tuple(obstacles)
        if len(obstacles) == len(self.obstacles) and all(map(is_, obstacles, self.obstacles)):
            return
        old, new = self.obstacles, obstacles
        n, n_old = len(new), len(old)
        begin, end = 0, 0  # how many stay at the beginning, and at the end
        if n == n_old:
            changed = np.flatnonzero(~np.fromiter(map(is_, new, old), bool, n))
        else:
            begin = _equal_items(new, old)
            end = _equal_items(new[begin:][::-1], old[begin:][::-1])
            changed = np.arange(begin, n - end)
        these = [new[k] for k in changed.tolist()]
        numbers = np.array([one.numbers for one in these]).reshape(-1, N_NUMBERS)
        kinds = [TYPES.index(one.type) for one in these]
        if n > self._capacity:
            self._grow(max(n, 2 * self._capacity))
        self._move_rows(n_old - end, n - end, end)
        rows = self.rows
        rows.numbers[changed], rows.kind[changed] = numbers, kinds
        self.obstacles = obstacles
        self._sort(n, n_old)

    def _grow(self, n: int) -> None:
        """Make memory for n obstacles, and copy those that there are."""
        numbers, kinds = self.rows.numbers, self.rows.kind
        self._make_rows(n)
        self.rows.numbers[: len(numbers)], self.rows.kind[: len(kinds)] = numbers, kinds

    def _move_rows(self, source: int, target: int, n: int) -> None:
        """Move n rows from one place to another."""
        if source != target:
            for rows in (self.rows.numbers, self.rows.kind):
                rows[target : target + n] = rows[source : source + n].copy()

    def _sort(self, n: int, n_old: int) -> None:
        """Bring balls and order up to date."""
        rows = self.rows
        self._balls[:3, :n], self._balls[3, :n] = rows.numbers[:n, CENTRE].T, rows.numbers[:n, EXTENT.start]
        self._balls[:3, n:n_old], self._balls[3, n:n_old] = FAR, 0.0
        at = np.flatnonzero(rows.kind[:n] == HULL)
        self.hulls = {k: shape for k in at.tolist() if isinstance(shape := self.obstacles[k].shape, Hull)}
        if self.hulls:
            balls = np.array([hull.ball for hull in self.hulls.values()])
            R_WO = rows.numbers[at, PLACE].reshape(-1, 3, 3)
            self._balls[:3, at] += np.einsum("kij,kj->ik", R_WO, balls[:, :3])
            self._balls[3, at] = balls[:, 3]
        rows.order[:n] = np.argsort(rows.kind[:n], kind="stable")
        rows.size[0] = n


def _equal_items(some: Sequence[object], others: Sequence[object]) -> int:
    """Number of the first items that are the same objects."""
    same = np.fromiter(map(is_, some, others), bool, min(len(some), len(others)))
    return len(same) if same.all() else int(same.argmin())


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
    def extent(self) -> Array:
        """Radius of a ball around each capsule [m]."""
        return self.half_length + self.radius

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


def padded(shape: ArmShape) -> PaddedCapsules:
    """Return the capsules of an arm as arrays."""
    tree = shape.model.tree
    carries = np.zeros((len(tree.bodies) + 1, len(tree.bodies)))
    for i in range(len(tree.bodies)):
        carries[i, tree.path(i)] = 1.0
    link = [shape.names.index(capsule.link) for capsule in shape.capsules]
    radius = [capsule.radius for capsule in shape.capsules]
    half_length = [0.5 * float(np.linalg.norm(capsule.b - capsule.a)) for capsule in shape.capsules]
    return PaddedCapsules(
        np.array([*link, -1]),
        np.array([*shape.bodies, -1]),
        np.array([*radius, 0.0]),
        np.array([*half_length, 0.0]),
        carries,
    )


def search_laws(shape: ArmShape) -> SearchLaws:
    """Compile the laws of an arm."""
    model = shape.model
    arm = model.compile_law(_arm_law(shape), {"q": np.linspace(-1.0, 1.0, model.nq)[None]})
    near = model.compile_law(*_selection(shape))
    distances = {of_type: model.compile_law(distance_loop(of_type), samples(of_type)) for of_type in LAWS}
    searches = {of_type: model.compile_law(search_loop(of_type), samples(of_type)) for of_type in SEARCHED}
    return SearchLaws(arm, near, distances, searches)


def search_programs(shape: ArmShape) -> dict[str, Program]:
    """Return the laws of an arm for one case, for other languages: ``capsules``, ``near``, those of distances.

    The latter are ``to_sphere``, ``search_box`` and so on, as in :class:`PairCandidates`, and ``to_link``.
    """
    laws = {"capsules": _arm_law(shape), "near": _selection(shape)[0].law}
    laws |= {f"to_{of_type}": distance_loop(of_type).law for of_type in LAWS if of_type != "facet"}
    laws |= {f"search_{of_type}": search_loop(of_type).law for of_type in SEARCHED}
    return {name: law.program() for name, law in laws.items()}


def _arm_law(shape: ArmShape) -> Law:
    made_from = [(c.link, *c.a.tolist(), *c.b.tolist()) for c in shape.capsules]
    return Law("capsules and axes", partial(_arm, shape=shape), {"q": shape.model.nq}, made_from, has_masses=False)


def _selection(shape: ArmShape) -> tuple[Loop, dict[str, Array]]:
    n, capsules = len(shape.capsules), enumerate(shape.capsules)
    squares = {i: float((c.b - c.a) @ (c.b - c.a)) for i, c in capsules if shape.bodies[i] >= 0}
    return selection_loop(squares or {n: 0.0}, n + 1)


def _arm(x: Mapping[str, Array], shape: ArmShape) -> dict[str, Any]:
    """Ends of the capsules (6, C) and axes of the joints (6, n_bodies) in the world, over any scalar."""
    state = State(shape.model.tree, {"q": x["q"]})
    ends = [[np.zeros(3), np.zeros(3)]]  # the last one stands for none
    for c, i in zip(reversed(shape.in_bodies), reversed(shape.bodies), strict=True):
        ends.append([y if i < 0 else state.X_W[i].R @ y + state.X_W[i].p for y in (c.a, c.b)])
    return {"ends": np.array(ends[::-1]).reshape(-1, 6).T, "axes": joint_axes(state)}


def joint_axes(state: State) -> Array:
    """Axes of the joints as factors of a force and of its moment about the origin of the world, (6, n_bodies)."""
    axes = []
    for body, X_W in zip(state.tree.bodies, state.X_W, strict=True):
        z = X_W.R[:, 2]
        axes.append([z, np.zeros(3)] if body.is_prismatic else [cross(X_W.p, z), z])
    return np.array(axes).reshape(-1, 6).T


def distance_rate(x: Mapping[str, Array], axes: Array, v: Array, joint_coupling: Array) -> tuple[Array, Scalar]:
    """Return ``J_n`` (n,) of one pair and the rate of its distance [m/s], over any scalar.

    The pair has ``n``, ``p``, ``sign`` and ``twist``; axes (6, n_bodies) are those of :func:`joint_axes`; v (n,) are
    joint velocities; ``joint_coupling`` (n_bodies, n) is the motion of each body's joint per motion of each joint of
    the arm.
    """
    n, twist = x["n"], x["twist"]
    moment = cross(x["p"], n)
    J_n = (x["sign"] * (n @ axes[:3] + moment @ axes[3:])) @ joint_coupling
    return J_n, J_n @ v - n @ twist[:3] - moment @ twist[3:]


class PairSearch:
    """Memory of a search; ``capsule_pairs``, shape (L, 2), are capsules of two links each.

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
        arm, links, candidates = self._arm_record(), self._links(capsule_pairs), self._candidates()
        of_capsules = shape.carries[shape.body] - shape.carries[-1]
        i, j = capsule_pairs.T
        signs = np.concatenate([of_capsules, shape.carries[shape.body[i]] - shape.carries[shape.body[j]]])
        near = near_pairs(NEAR, signs.shape[1])
        self.record = CloseSearch(
            self.reach, signs, signs.shape[1], len(shape.link), arm, self._table.rows, candidates, links, near
        )

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles."""
        return self._table.obstacles

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be the obstacles."""
        self._table.place(obstacles)
        self._hulls.place(self._table.hulls)
        if self._table.rows is not self.record.obstacles:
            self.record = self.record._replace(obstacles=self._table.rows)

    @property
    def extents(self) -> Array:
        """Radius of a ball around each capsule [m]."""
        return self._shape.extent

    def make_room(self) -> bool:
        """Make room for all near pairs of the last search; return whether there was too little."""
        needed = int(self.record.near.size[0])
        if needed <= self.record.near.capacity:
            return False
        self.record = self.record._replace(near=near_pairs(2 * needed, self.record.n_bodies))
        return True

    def fixed(self, n_obstacles: int) -> CloseSearch:
        """Return memory with room for so many obstacles, without any, and for all near pairs, for other languages."""
        record, columns = self.record, self.record.links.radius.shape[1]
        column, capsule, obstacle, place = np.zeros((4, columns), np.int64)
        candidates = record.candidates._replace(
            pairs=_columns(columns), searched=_columns(columns), between=np.zeros((1, columns)),
            column=column, capsule=capsule, obstacle=obstacle, place=place, capacity=columns,
        )  # fmt: skip
        n, m = whole_blocks(n_obstacles), len(record.obstacles.near)
        kind, order = np.zeros((2, n), np.int64)
        obstacles = record.obstacles._replace(
            numbers=np.zeros((n, N_NUMBERS)), kind=kind, order=order, size=np.zeros(1, np.int64),
            near=np.zeros((m, n)), nearest=np.zeros((1, n)),
        )  # fmt: skip
        near = near_pairs(m * n_obstacles + record.links.n, record.n_bodies)
        return record._replace(candidates=candidates, obstacles=obstacles, near=near)

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
        ball, box, turned, segment = (self._laws.distances[of_type].bind(measured) for of_type in TYPES[:HULL])
        of_box, of_turned = (self._laws.searches[of_type].bind(found) for of_type in SEARCHED)
        (column, capsule, obstacle, place), size = np.zeros((4, capacity), np.int64), np.zeros(1, np.int64)
        self._hulls = HullRows(self._laws.distances["facet"], pairs, obstacle, size, self.reach)
        return PairCandidates(
            ball, box, turned, segment, self._hulls.run, of_box, of_turned,
            pairs, between, searched, column, capsule, obstacle, place, size, capacity,
        )  # fmt: skip

    def _links(self, capsule_pairs: Array) -> LinkPairs:
        """Columns of the pairs of links; those that fill the last block are of no capsule."""
        shape, n = self._shape, len(capsule_pairs)
        columns = max(BLOCK, whole_blocks(len(shape.moving)), whole_blocks(n))  # as many as candidates in C
        (first, second, groups, pair), radius = np.zeros((4, columns), np.int64), np.zeros((1, columns))
        first[:n], second[:n] = capsule_pairs.T
        radius[0, :n] = shape.radius[first[:n]] + shape.radius[second[:n]]
        links = np.stack([shape.link[first], shape.link[second]])[:, :n]
        groups[:n] = np.unique(links, axis=1, return_inverse=True)[1].ravel()
        ends, distance = np.zeros((12, columns)), np.zeros((N_DISTANCE, columns))
        ends_by_name = dict(zip("abcd", ends.reshape(4, 3, columns), strict=True))
        arrays = {**ends_by_name, "radius": radius, "size": np.zeros((3, columns)), **_rows(distance)}
        run, n_groups = self._laws.distances["link"].bind(arrays), 1 + int(groups.max())
        bias, best = TIE * _ranks(groups), np.zeros(n_groups)
        return LinkPairs(
            *self._balls(first, second),
            run, pair, ends, radius, distance, first, second, groups, radius[0].copy(), bias, best, n, n_groups,
        )  # fmt: skip

    def _balls(self, first: Array, second: Array) -> tuple[RunsLoop, Array, Array, Array, Array]:
        """``find_near``, ``centre``, ``near``, ``row`` and ``ball`` of pairs; the ball is around the shorter capsule.

        Where one capsule of a pair does not move, the ball is around that one.
        """
        shape, m = self._shape, len(self._shape.moving)
        capacity = whole_blocks(len(shape.link))
        centre, extent, near = np.zeros((3, capacity)), np.zeros((1, capacity)), np.ones((max(1, m) + 1, capacity))
        extent[0, : len(shape.link)] = shape.extent
        balls = {"centre": centre, "extent": extent, "near": near[:-1], "nearest": np.zeros((1, capacity))}
        run = self._laws.near.bind({**self._capsules, "reach": self.reach[1:], **balls})
        row, length = np.full(len(shape.link), len(near) - 1), np.full(len(shape.link), -1.0)
        row[shape.moving], length[shape.moving] = np.arange(m), shape.half_length[shape.moving]
        is_first_longer = length[first] >= length[second]
        rows, ball = row[np.where(is_first_longer, first, second)], np.where(is_first_longer, second, first)
        return run, centre, near, rows, ball


def near_pairs(capacity: int, n_bodies: int) -> NearPairs:
    """Return memory for near pairs."""
    n = whole_blocks(capacity)
    distance, twist, sign = (np.zeros((size, n)) for size in (N_DISTANCE, N_TWIST, n_bodies))
    capsule, other, place = np.zeros((3, n), np.int64)
    return NearPairs(distance, twist, np.zeros((1, n)), sign, capsule, other, place, np.zeros(1, np.int64), n)


def _columns(capacity: int) -> PairColumns:
    ends, radius, shape, distance = (np.zeros((size, capacity)) for size in (6, 1, N_SHAPE, N_DISTANCE))
    return PairColumns(ends, radius, shape, distance)


def _inputs(x: PairColumns) -> dict[str, Array]:
    """Inputs and outputs of all laws of distance, by name."""
    shape = {name: x.shape[rows] for name, rows in PLACES.items()}
    return {"a": x.ends[:3], "b": x.ends[3:], "radius": x.radius, **shape, **_rows(x.distance)}


def _rows(distance: Array) -> dict[str, Array]:
    """Outputs of a law of distance, by name."""
    return {"rho": distance[RHO], "n": distance[NORMAL], "p": distance[POINT]}


def _ranks(groups: Array) -> Array:
    """How many earlier entries are of the same group, shape (n,)."""
    return np.array([float(np.count_nonzero(groups[:k] == group)) for k, group in enumerate(groups)])
