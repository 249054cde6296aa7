"""Straight motions that are proved free, piece by piece, without a gap: conservative advancement in lanes.

A motion goes straight from joint positions a to b while time goes from t_a to t_b: at the place s between 0 and 1,
``q = a + s (b - a)``. Within ds of s, link k moves its distance from anything by D_k(ds) at most, and obstacle o by
T u_o |ds|,

    (1)  D_k(ds) = ds min{ w_k, v_k + a_k ds / 2 },      T = |t_b - t_a|,      u_o = |v_o| + |omega_o| extent_o,
         w_k = sum_j reach_kj x_j,      a_k = sum_j reach_kj x_j (x_j + 2 sum_{i < j} x_i),      x_j = |b_j - a_j|,

where v_k is the largest speed of a point of its segments at s, and i < j are joints further inwards: w and a bound
speed and acceleration in any posture. Where other pairs leave r* free, a pair at a distance d, the margin m less, stays
apart within ds < r* and ds < (d - m) r* / (D_k(r*) + T u_o r*), since D_k(ds) <= ds D_k(r*) / r*. All pairs together:

    (2)  r(s) = min over links and obstacles  max{ (d - m) r* / (D_k(r*) + T u_o r*),  (time until it is there) / T }
              and over pairs of links         (d - m) / w_kl.

What is known of a motion: it is free up to ``covered``; ``known`` is a free piece further on; nothing behind ``end``
matters. Each repetition looks at the place s = covered + half:

    (3)  r <= 0:  contact at s:       end = s
         r >= half:                   covered = s + r, over ``known`` if that begins there
         else:                        known = (s - r, s + r)
    (4)  half = half of the gap between covered and known or end; before a contact has been seen at most 2 r, or a
         64th of the gap, beyond what has been covered

until the gap is closed, or a contact has been found and what is before it is as short as the tolerance asks.

A gap of a millionth of a millionth of the motion counts as none: r is taken so much shorter than (2) says. An obstacle
is there longer than its span, at both ends, by the rounding of times; by that of the way of the fastest one m grows.

A motion that seems to take many looks is scouted first: where (5) ``looks < c (end - covered) / r``, the place is not
that of (4), but the next of a sequence that fills the motion evenly, from its end on. A contact is then seen early.

Where a pair of links has a table of joints i and j (:mod:`arm_control.collision.joint_tables`), d radians from contact,
the longer free piece counts:

    (6)  r(s) of the pair = max{ (2), d / max(x_i, x_j) }.

With a deviation e of the joints, as of a curve from its chord or of a controller from its reference, all motions within
it are checked: m grows by ``sum_j reach_kj e_j``.

Points that are kept to their places (:mod:`arm_control.collision.kept_points`) count as pairs do: with the margin,

    (7)  r(s) = min over points  (h - m) / (slope sum_j reach_j x_j).

Sources: F. Schwarzer, M. Saha, J.-C. Latombe, 2005 (:mod:`~arm_control.collision.arm_shape`); B. Mirtich,
"Impulse-based dynamic simulation of rigid body systems", 1996, for conservative advancement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.collision.arm_shape import Cluster
from arm_control.collision.obstacle_rows import ROUNDING, SPEED, obstacle_tables, time_until_present
from arm_control.collision.pair_texts import ArmText, Entries, clearance, table_inputs
from arm_control.compiler import (
    NEAR,
    Floats,
    Fold,
    Function,
    Law,
    Loop,
    LoopKernel,
    Rows,
    RunsLoop,
    procedure,
)
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Scalar,
    Shape,
    Span,
    Sphere,
    maximum,
    minimum,
    rotation_from_vector,
    select,
)
from arm_control.model import RobotModel, State

SHAPES: dict[str, tuple[Shape, Shape]] = {
    "sphere": (Sphere(0.1), Sphere(0.2)),
    "capsule": (Capsule(0.05, 0.3), Capsule(0.1, 0.2)),
    "box": (Box((0.1, 0.2, 0.3)), Box((0.4, 0.2, 0.1))),
    "turned": (Cylinder(0.1, 0.3), Cone(0.2, 0.3)),
}
_HULLS = tuple(
    Hull(size * (np.eye(4, 3) - 0.3), np.array([[3, 1, 0], [3, 0, 2], [3, 2, 1], [0, 1, 2]])) for size in (0.3, 0.6)
)
_HULL_POSES = (Pose.at([0.2, 0.1, 0.3]), Pose.at([-0.2, 0.2, 0.5]))


def sample_states(model: RobotModel, n: int) -> Array:
    """Joint positions within the limits, shape (nq, n) [rad or m]."""
    low, high = np.maximum(model.q_min, -2.0), np.minimum(model.q_max, 2.0)
    return np.random.default_rng(0).uniform(low[:, None], high[:, None], (model.nq, n))


def sample_tables(kinds: Sequence[str]) -> dict[str, Array]:
    """Two obstacles of each kind; the second one is there for half a second only."""
    rng = np.random.default_rng(1)
    obstacles: list[Obstacle | Mover] = []
    for kind in kinds:
        is_turning = kind.startswith("turning")
        if kind.endswith("facet"):
            turn = (0.1, -0.2, 0.1, 0.2 * is_turning, 0.0, 0.1 * is_turning)
            obstacles += [Obstacle(hull, X_WO, turn) for hull, X_WO in zip(_HULLS, _HULL_POSES, strict=True)]
            continue
        for i, shape in enumerate(SHAPES[kind.removeprefix("turning ")]):
            twist = rng.uniform(-0.3, 0.3, 6) * np.repeat([1.0, float(is_turning)], 3)
            X = Pose(rotation_from_vector(rng.normal(size=3)), rng.uniform(-0.4, 0.4, 3))
            obstacle = Obstacle(shape, X, twist)
            obstacles.append(obstacle if i == 0 else Mover(obstacle, Span(0.3, 0.8)))
    tables = obstacle_tables(obstacles)
    return {kind: tables[kind] for kind in kinds}


Clusters = Sequence[tuple[int, Cluster]]
"""Numbers of moving links, each with capsules of it."""
Pairs = Sequence[tuple[int, Cluster, Cluster]]
"""Numbers of pairs of links, each with capsules of both."""
PROGRESS = ("covered", "half", "end", "hit", "known_low", "known_high", "scout", "looks", "seen")
"""What is known of a motion; see the module's text. ``hit`` is 1 when a contact has been found, else 0; ``scout`` is
the place to look at as a share of what is not covered, 0 when the motion is not scouted; ``seen`` is the last r above
zero."""
NOT_KNOWN = 9.0
"""Begin and end of a free piece further on, where there is none."""
START = (0.0, 1.0, 1.0, 0.0, NOT_KNOWN, NOT_KNOWN, 1.0, 1.0, 1.0)
"""What is known before the first look, which is at the end."""
LEAP, STRIDE, FURTHER = 2.0, 1.0 / 64.0, 2.0
"""Of equation (4): half as a multiple of r, and a share of the gap that it is at least, or contacts would be approached
without end. And the largest r that is of interest, as a multiple of the last one: what is far costs less."""
SCOUTING, MOST_SCOUTS, GOLDEN = 0.25, 12.0, 0.6180339887498949
"""Factor c of (5), largest number of looks there, and the step of the sequence."""
SMALLEST_SPEED = 1e-12
"""Added to all speeds, so that what does not move is divided by something [m]."""
CLOSED = 1e-12
"""A gap that counts as closed: what is proved is taken so much shorter at both ends. Share of a motion."""
LEAST_CLEARANCE = 1e-9
"""Distance that counts as contact [m]."""


def motion_law(arm: ArmText, kinds: tuple[str, ...], has_deviation: bool) -> Loop:
    """Return the law that proves motions free, repeated on each motion.

    Parameters
    ----------
    has_deviation : bool
        Whether joints may deviate from the straight motion: another input, ``deviation``.
    """
    n = arm.shape.model.nq
    moving, pairs = arm.moving, arm.pairs
    reach = np.array([arm.shape.reach(k) for k in moving]).reshape(-1, n)
    pair_reach = np.array([arm.shape.pair_reach(*pair) for pair in pairs]).reshape(-1, n)

    def before(x: Entries) -> dict[str, Any]:
        covered, half, end, *_, scout, _, seen = x["progress"]
        s = covered + half
        step, duration = x["b"] - x["a"], x["times"][1] - x["times"][0]
        moved = np.abs(step)
        late = ROUNDING * maximum(x["times"][0], x["times"][1])
        to_obstacles = x["margins"][0] + LEAST_CLEARANCE + late * x["margins"][2]
        margins = [to_obstacles] * len(moving), [x["margins"][1] + LEAST_CLEARANCE] * len(pairs)
        if has_deviation:
            margins = tuple(m + R @ x["deviation"] for m, R in zip(margins, (reach, pair_reach), strict=True))
        q = x["a"] + s * step
        state = State(arm.shape.model.tree, {"q": q, "v": step})
        values = arm.values(state)
        if arm.tables:
            deviation = x["deviation"] if has_deviation else np.zeros(n)
            values |= {"q": q, "moved": moved + SMALLEST_SPEED, "deviates": deviation + LEAST_CLEARANCE * np.ones(n)}
        known = minimum(maximum(half, end - s), maximum(select(scout, 0.0, half), FURTHER * seen)) + 2.0 * CLOSED
        if arm.kept is not None:
            ways, gaps = arm.kept.reach @ moved, x["margins"][3] * arm.kept.shares + LEAST_CLEARANCE
            rooms = arm.kept.h(state.X_W) - gaps
            aside = arm.kept.reach @ x["deviation"] if has_deviation else np.zeros(len(rooms))
            for room, off, way in zip(rooms, aside, ways, strict=True):  # (7)
                known = minimum(known, (room - off) / (way + SMALLEST_SPEED))
        return {
            **values,
            "time": [x["times"][0] + s * duration, abs(duration) + SMALLEST_SPEED, late],
            "speeds": [speed + SMALLEST_SPEED for speed in values["speeds"]],
            "largest_speeds": reach @ moved + SMALLEST_SPEED,  # (1)
            "accelerations": [arm.shape.acceleration(k, moved) for k in moving],
            "pair_speeds": pair_reach @ moved + SMALLEST_SPEED,
            "gaps": margins[0],
            "pair_gaps": margins[1],
            "free": [known],
        }

    folds = [_obstacle_fold(arm, kind) for kind in kinds]
    folds += [_link_fold(arm)] if pairs else []
    inputs = {"a": n, "b": n, "times": 2, "progress": len(PROGRESS)} | ({"deviation": n} if has_deviation else {})
    inputs |= {"margins": 4, "tolerance": 1, "nothing": 1} | table_inputs(kinds)
    structure = ["motion", arm.made_from, kinds, has_deviation]
    law = Law(
        "free motion",
        _advance,
        inputs,
        structure,
        has_masses=False,
        before=before,
        folds=tuple(folds),
        tables=kinds,
        carried=("free",),
        goes_on="free",
    )
    shared = "margins", "tolerance", "nothing", *kinds
    return Loop(law, "repeated", shared, ("progress",), goes_on="more")


def _obstacle_fold(arm: ArmText, kind: str) -> Fold:
    """All links and the obstacles of one kind, equation (2)."""
    links = [arm.shape.links[k] for k in arm.moving]

    def near(x: Entries, clusters: Clusters) -> dict[str, Any]:
        t, free = x["time"][0], maximum(x["free"][0], 0.0)
        reach = {i: x["gaps"][i] + free * _way(x, kind, i, free) for i, _ in clusters}
        return {NEAR: [arm.obstacle_is_near(x, kind, t, cluster, reach[i]) for i, cluster in clusters]}

    def part(x: Entries, i: int, cluster: Cluster) -> dict[str, Any]:
        bound = clearance(arm.obstacle_squares(x, kind, x["time"][0], cluster), x["gaps"][i])
        way = _way(x, kind, i, maximum(x["free"][0], 0.0))
        absent = (time_until_present(x[kind], x["time"][0]) - x["time"][2]) / x["time"][1]
        return {"free": [minimum(x["free"][0], maximum(bound / way, absent))]}

    def parts(i: int) -> Function | Fold:
        clusters = [(i, cluster) for cluster in links[i].clusters]
        leaves = tuple(partial(part, i=i, cluster=cluster) for _, cluster in clusters)
        return leaves[0] if len(leaves) == 1 else Fold(leaves, partial(near, clusters=clusters))

    wholes = [(i, link.whole) for i, link in enumerate(links)]
    return Fold(tuple(map(parts, range(len(links)))), partial(near, clusters=wholes), kind)


def _way(x: Entries, kind: str, i: int, ds: Scalar) -> Scalar:
    """How much nearer a link and an obstacle come at most within ds, by ds: equation (1)."""
    own = minimum(x["largest_speeds"][i], x["speeds"][i] + 0.5 * x["accelerations"][i] * ds)
    return own + x["time"][1] * x[kind][SPEED]


def _link_fold(arm: ArmText) -> Fold:
    """All pairs of links, equation (2)."""
    links = [(arm.shape.links[g], arm.shape.links[h]) for g, h in arm.pairs]

    def near(x: Entries, pairs: Pairs) -> dict[str, Any]:
        free = maximum(x["free"][0], 0.0)
        reach = {i: x["pair_gaps"][i] + free * x["pair_speeds"][i] for i, _, _ in pairs}
        return {NEAR: [arm.clusters_are_near(x, first, second, reach[i]) for i, first, second in pairs]}

    def part(x: Entries, i: int, first: Cluster, second: Cluster) -> dict[str, Any]:
        bound = clearance(arm.cluster_squares(x, first, second), x["pair_gaps"][i]) / x["pair_speeds"][i]
        if (table := arm.tables.get(arm.pairs[i])) is not None:
            speed, gap = (maximum(*(x[name][j] for j in table.joints)) for name in ("moved", "deviates"))
            bound = maximum(bound, (table.distance(x["q"]) - gap) / speed)  # (6)
        return {"free": [minimum(x["free"][0], bound)]}

    def parts(i: int) -> Function | Fold:
        clusters = arm.shape.moving_clusters(*arm.pairs[i], arm.link_margin)
        pairs = [(i, first, second) for first, second in product(*clusters)]
        leaves = tuple(partial(part, i=i, first=first, second=second) for _, first, second in pairs)
        return leaves[0] if len(leaves) == 1 else Fold(leaves, partial(near, pairs=pairs))

    wholes = [(i, one.whole, other.whole) for i, (one, other) in enumerate(links)]
    return Fold(tuple(map(parts, range(len(links)))), partial(near, pairs=wholes))


def _advance(x: Entries) -> dict[str, Any]:
    """What is known after a place has been looked at, equations (3) and (4)."""
    covered, half, end, hit, known_low, known_high, scout, looks, seen = x["progress"]
    r, s = x["free"][0] - CLOSED, covered + half
    known, piece = np.array([known_low, known_high]), np.array([s - r, s + r])
    end, hit = select(r, end, s), select(r, hit, 1.0)
    reaches_back = select(r, r - half + CLOSED, -1.0)  # above zero where the piece begins in what is covered
    covered = select(reaches_back, s + r, covered)
    is_kept = select(scout, known_high - known_low - 2.0 * r + CLOSED, -1.0)  # while scouting, the longer piece
    known = select(reaches_back, known, select(minimum(r, -is_kept), piece, known))
    covered = select(covered - known[0] + CLOSED, maximum(covered, known[1]), covered)
    known = select(minimum(known[0] - covered, end - known[0]), known, NOT_KNOWN)
    gap, left = minimum(end, known[0]) - covered, end - covered - CLOSED
    leap = minimum(0.5 * gap, maximum(LEAP * r, STRIDE * gap))
    half = select(reaches_back, select(hit, 0.5 * gap, leap), 0.5 * gap)
    is_long = select(hit, -1.0, minimum(SCOUTING * (end - covered) - looks * r, MOST_SCOUTS - looks))  # (5)
    turn = scout + GOLDEN
    scout = select(is_long, select(turn - 1.0, turn - 1.0, turn), 0.0)
    half = select(scout, scout * (end - covered), half)
    more = select(hit, left - x["tolerance"][0], select(left, left, x["nothing"][0]))
    return {"progress": [covered, half, end, hit, *known, scout, looks + 1.0, select(r, r, seen)], "more": [more]}


COVERED, HIT = PROGRESS.index("covered"), PROGRESS.index("hit")
ALL = len(START)


class MotionColumns(NamedTuple):
    """Memory for many motions, a column each, and the law that checks them.

    Attributes
    ----------
    a, b : ndarray, shape (n, size)
        Joint positions from which and to which they go [rad or m].
    times : ndarray, shape (2, size)
        Of both [s].
    progress, more : ndarray, shape (9, size) and (1, size)
        Results; see :mod:`arm_control.collision.motions`.
    start : ndarray, shape (9,)
        Progress before the first look.
    """

    a: Rows
    b: Rows
    times: Rows
    progress: Rows
    more: Rows
    start: Floats
    check: RunsLoop


@procedure
def check_motions(motions: MotionColumns, n: int, most_looks: int) -> None:
    """Check the first n motions."""
    for i in range(ALL):
        for k in range(n):
            motions.progress[i, k] = motions.start[i]
    motions.check(n, most_looks)


@procedure
def is_contact(motions: MotionColumns, k: int) -> bool:
    """Whether a contact was seen."""
    return motions.progress[HIT, k] > 0.0


@procedure
def is_free(motions: MotionColumns, k: int) -> bool:
    """Whether a motion was proved free: its last output is not a number, and no contact was seen."""
    return motions.more[0, k] != motions.more[0, k] and not motions.progress[HIT, k] > 0.0


@procedure
def covered(motions: MotionColumns, k: int) -> float:
    """Share up to which a motion is free."""
    return motions.progress[COVERED, k]


FIRST_TOLERANCE = 1e-9
"""Share of a motion to which a first contact is found."""
CAPACITY = 64
"""Motions that memory is made for at first."""
_START = np.array(START)[:, None]


class Motions(NamedTuple):
    """Results for N motions.

    Attributes
    ----------
    is_free : ndarray of bool, shape (N,)
        Whether it was proved free.
    is_contact : ndarray of bool, shape (N,)
        Whether a contact was seen; where neither holds, the number of looks was not enough.
    covered : ndarray, shape (N,)
        The motion is free up to this share of it.
    contact : ndarray, shape (N,)
        Share of the motion at which the contact was seen; 1 where none was.
    looks : ndarray of int, shape (N,)
        Number of places looked at.
    """

    is_free: npt.NDArray[np.bool_]
    is_contact: npt.NDArray[np.bool_]
    covered: Array
    contact: Array
    looks: npt.NDArray[np.int_]


class MotionChecks:
    """Checks motions among obstacles; compiled for the kinds of obstacles there are.

    Parameters
    ----------
    margins : tuple of float
        Smallest distances that count as free, to obstacles, between links, and of points that are kept [m].

    Attributes
    ----------
    memory : dict of str to ndarray
        Columns of the motions: inputs ``a``, ``b``, ``times``, ``deviation``; results.
    """

    def __init__(self, arm: ArmText, margins: tuple[float, float, float]) -> None:
        self._arm, self._n = arm, arm.shape.model.nq
        self._shared = {"margins": np.insert(margins, 2, 0.0), "tolerance": np.zeros(1), "nothing": np.full(1, np.nan)}
        self._kernels: dict[tuple[tuple[str, ...], bool], LoopKernel] = {}
        self._calls: dict[tuple[tuple[str, ...], bool], RunsLoop] = {}
        self.memory = {"a": np.zeros((self._n, 0))}
        self.place({})

    def place(self, tables: Mapping[str, Array]) -> None:
        """Check against the obstacles in these tables from now on."""
        self._tables = dict(tables)
        self._shared["margins"][2] = max((table[:, SPEED].max() for table in tables.values()), default=0.0)
        kinds = tuple(tables)
        for (bound_to, _), call in self._calls.items():
            if bound_to == kinds:
                for kind in kinds:
                    call.replace_table(kind, self._tables[kind])

    def reserve(self, n: int) -> dict[str, Array]:
        """Return memory for n motions or more, in its columns."""
        if self.memory["a"].shape[1] < n:
            size = CAPACITY
            while size < n:
                size *= 2
            rows = {"a": self._n, "b": self._n, "times": 2, "deviation": self._n, "progress": len(PROGRESS)}
            rows |= {"more": 1, "repetitions": 1}
            self.memory = {name: np.zeros((k, size)) for name, k in rows.items()}
            self._calls = {}
        return self.memory

    def check(self, n: int, has_deviation: bool, is_first: bool, most_looks: int) -> Motions:
        """Check the first n motions in the memory.

        Parameters
        ----------
        has_deviation : bool
            Whether joints deviate, by the numbers in the memory.
        is_first : bool
            Whether the first contact is searched for; else any.
        most_looks : int
            Largest number of places of one motion that are looked at.
        """
        self.memory["progress"][:, :n] = _START
        self._shared["tolerance"][0] = FIRST_TOLERANCE if is_first else np.inf
        self._bound(has_deviation)(n, most_looks)
        covered, _, end, hit, *_ = self.memory["progress"][:, :n].copy()
        is_contact = hit > 0.0
        is_free = np.isnan(self.memory["more"][0, :n]) & ~is_contact
        return Motions(is_free, is_contact, covered, end, self.memory["repetitions"][0, :n].astype(int))

    def columns(self, n: int) -> MotionColumns:
        """Return memory for n motions or more to procedures, which check them for any contact.

        It holds until other kinds of obstacles are placed, or more motions are checked at once.
        """
        memory = self.reserve(n)
        self._shared["tolerance"][0] = np.inf
        a, b, times, progress, more = (memory[name] for name in ("a", "b", "times", "progress", "more"))
        return MotionColumns(a, b, times, progress, more, np.array(START), self._bound(False))

    def _bound(self, has_deviation: bool) -> RunsLoop:
        key = tuple(self._tables), has_deviation
        if key not in self._calls:
            arrays = {**self.memory, **self._shared, **self._tables}
            self._calls[key] = self._kernel(has_deviation).bind(arrays)
        return self._calls[key]

    def _kernel(self, has_deviation: bool) -> LoopKernel:
        kinds = tuple(self._tables)
        key = kinds, has_deviation
        if key not in self._kernels:
            n, model = 9, self._arm.shape.model
            a = sample_states(model, n)
            samples = {"a": a, "b": a[:, ::-1] * 0.9, "times": np.array([[0.0], [1.0]]) + np.linspace(0.0, 0.5, n)}
            samples |= {
                "progress": np.repeat(np.array(START)[:, None], n, axis=1),
                "deviation": np.full((self._n, n), 0.01),
            }
            samples |= self._shared | {"margins": np.array([0.01, 0.0, 1e13, 0.0])}
            samples |= {"tolerance": np.array([0.01]), "nothing": np.array([-7.0])} | sample_tables(kinds)
            self._kernels[key] = model.compile_law(motion_law(self._arm, kinds, has_deviation), samples)
        return self._kernels[key]
