"""The constraints of one arm in a tick: rows, near pairs and the least change of the torque in one compiled procedure.

The equations are those of :mod:`arm_control.constraints.barriers`. Rows of torque and joints come with the state; those
of points are columns, each with its kind, its numbers and its point, as those of near pairs are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision import (
    NORMAL,
    POINT,
    RHO,
    ArmShape,
    CloseSearch,
    Proximity,
    find_pairs,
    joint_axes,
    search_programs,
    whole_blocks,
)
from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundProcedure,
    CallForm,
    Floats,
    Ints,
    KernelCall,
    Law,
    Loop,
    LoopKernel,
    NumberArgument,
    OwnWork,
    Program,
    Rows,
    RunsKernel,
    RunsLoop,
    TupleArgument,
    compile_procedure,
    in_machine_code,
    procedure,
)
from arm_control.constraints.barriers import (
    RATE_SHARE,
    TICKS,
    ConstraintRow,
    Room,
    affordable_jerk,
    change_ahead,
    common_stop,
    norm,
    reduced_row,
    torque_left,
)
from arm_control.constraints.constraint import ARM, HAND, NONE, Constraint, Point, motion_at, vector
from arm_control.constraints.joint_program import add_change, write_joint_rows
from arm_control.constraints.joint_rows import LimitNumbers, acceleration_bounds, rows_of_joints
from arm_control.constraints.kinds.clearance import ClearanceConstraint, pair_row
from arm_control.constraints.least_change import IS_CAPPED, N_ACTIVE, N_ROWS, LeastDistance, new_least_distance, solve
from arm_control.exceptions import FrameNotFound, InputError, ParameterError
from arm_control.maths import (
    Array,
    Cholesky,
    Obstacle,
    Pose,
    Scalar,
    cholesky,
    clamp,
    cross,
    lower_triangle,
    maximum,
    mirrored,
    select,
)
from arm_control.model import TOOL, RobotModel, State, Terms, Tree, axis, drawn_range, tool_numbers

FAR = 1e12
"""A bound that is larger counts as this."""
FLOOR = 0.02
"""Time in which a motor reaches its speed limit against the floor of joint inertia, equation (8) [s]."""
K_P = 50.0
"""``k_p``: speed towards zero per distance left [1/s]."""
BACK = 0.1
"""``v_back``: speed at which what is outside comes back, at most [m/s or rad/s]."""


OUTSIDE = {"m": 1e-3, "rad": 2e-3}
"""How far outside a constraint an arm may start, by its unit."""
BRAKED = {"m": 0.02, "rad": 0.1}
"""How far outside a constraint an arm in motion is braked, by its unit."""
PAIR_OUTSIDE, PAIR_BRAKED = OUTSIDE["m"], BRAKED["m"]
N_NEAR, MOST_OUTSIDE, IS_BROKEN, N_FOUND = range(4)
"""Places in ``found``: number of near pairs; the row that is farthest outside, points first, -1 for none; 1 where that
brakes an arm in motion."""
TURN = 0.1
"""Way within which a joint is to be stopped, however far its limits are: then rows have turned, (11) [rad or m]."""
N_POSTURES, UNMOVED = 30, 1e-6
"""Random postures, and the length of a row in all of them, below which nothing moves it."""


def floor_of_inertia(tau_max: Array, v_max: Array) -> Array:
    """Return the floor of joint inertia of equation (8), shape (nv,) [kg m^2 or kg]."""
    return FLOOR * tau_max / v_max


class PointTick(NamedTuple):
    """What a tick works with, but for near pairs; n joints, N columns of points. Exported C has such a record, too.

    Attributes
    ----------
    state : RunsKernel
        The law :func:`_state`; ``G``, ``need`` and ``T`` are outputs.
    points : RunsKernel
        The rows of all points, :func:`point_row`.
    G, need : ndarray, shape (4 n * n,), (4 n,)
        Rows of (9) of torque and joints, and what they have to reach.
    T : ndarray, shape (n * n,)
        Torque per y, (9).
    change : ndarray, shape (n,)
        What the bounds of turning change of the torque asked for, (12) [N m or N].
    level : ndarray of int, shape (N,)
        Level of each point.
    outside, broken : ndarray, shape (N,)
        How far outside each point may be at the start and in motion, in the unit of its row.
    tau, tau_1 : ndarray, shape (n,)
        Torque asked for, and what comes of it [N m or N].
    found : ndarray of int, shape (N_FOUND,)
        Result.
    """

    state: RunsKernel
    points: RunsKernel
    G: Floats
    need: Floats
    T: Floats
    change: Floats
    point_G: Rows
    point_need: Rows
    point_h: Rows
    level: Ints
    outside: Floats
    broken: Floats
    program: LeastDistance
    tau: Floats
    tau_1: Floats
    found: Ints
    n: int
    n_points: int


class PointColumns(NamedTuple):
    """What the rows of points are computed from.

    Attributes
    ----------
    run : RunsLoop
        Law of each point; ``place`` and ``motion`` are inputs.
    motions : ndarray, shape (12 * (n_bodies + 1),)
        Twist of each body and its derivative; the last one is the world.
    balls : ndarray, shape (n_place * n_balls,)
        Place and direction of each ball in the world, and what :func:`_mobility` has where that counts.
    ball, body : ndarray of int, shape (N,)
        Of each point: its ball, and the body that carries it.
    """

    run: RunsLoop
    motions: Floats
    balls: Floats
    place: Rows
    motion: Rows
    ball: Ints
    body: Ints
    n_points: int
    n_place: int


class ConstraintTick(NamedTuple):
    """All that a tick works with.

    Attributes
    ----------
    motions : ndarray
        As :class:`PointColumns` says.
    pairs : RunsLoop
        Law of each near pair; ``pair_motion`` to ``pair_h`` are arrays of it.
    capsule_body : ndarray of int, shape (C,)
        The body of each capsule; the number of bodies for the world.
    pair_level, world : int
        Level of the pairs, below zero where there are none; number of bodies.
    """

    rows: PointTick
    q: Floats
    motions: Floats
    search: CloseSearch
    pairs: RunsLoop
    pair_motion: Rows
    pair_other: Rows
    pair_G: Rows
    pair_need: Rows
    pair_h: Rows
    capsule_body: Ints
    pair_level: int
    world: int


@procedure
def constrain(t: ConstraintTick) -> float:
    """One tick; returns 0 where it counts: all numbers are finite, and there is room for all near pairs."""
    rows = t.rows
    if not begin_rows(rows):
        return 1.0
    n_pairs = 0
    if t.pair_level >= 0:
        n_pairs = find_pair_rows(t)
        if n_pairs > t.search.near.capacity:
            return 1.0
        rows.found[N_NEAR] = n_pairs
    find_outside_pair(t, n_pairs, find_outside(rows))
    if not (is_idle(rows) and are_pairs_idle(t, n_pairs)):
        write_rows(rows)
        write_pair_rows(t, n_pairs)
        change_torque(rows)
    return 0.0


@procedure
def keep_points(t: PointTick) -> float:
    """One tick without near pairs; returns as :func:`constrain`."""
    if not begin_rows(t):
        return 1.0
    find_outside(t)
    if not is_idle(t):
        write_rows(t)
        change_torque(t)
    return 0.0


@procedure
def begin_rows(t: PointTick) -> bool:
    """Compute the rows of torque, joints and points; returns whether all numbers are finite."""
    for i in range(t.n):
        t.tau_1[i] = t.tau[i]
    t.program.counts[N_ACTIVE] = 0
    t.found[N_NEAR] = 0
    t.found[MOST_OUTSIDE] = -1
    t.found[IS_BROKEN] = 0
    if t.state() != 0.0:
        return False
    for i in range(t.n):
        t.tau_1[i] += t.change[i]
    t.points()
    return True


@procedure
def find_outside(t: PointTick) -> float:
    """Note the point that is farthest outside, beyond what a start may be; returns how far."""
    most = 0.0
    for j in range(t.n_points):
        if -t.point_h[0, j] - t.outside[j] > most:
            most = -t.point_h[0, j] - t.outside[j]
            t.found[MOST_OUTSIDE] = j
            t.found[IS_BROKEN] = 1 if -t.point_h[0, j] > t.broken[j] else 0
    return most


@procedure
def is_idle(t: PointTick) -> bool:
    """Whether all rows hold as it is."""
    n = 0
    for i in range(4 * t.n):
        n += 1 if t.need[i] > 0.0 else 0
    for j in range(t.n_points):
        n += 1 if t.point_need[0, j] > 0.0 else 0
    return n == 0


@procedure
def write_rows(t: PointTick) -> None:
    """Write the rows into the program: torque, joints, points."""
    write_joint_rows(t.program, t.G, t.need, t.n)
    m = 4 * t.n
    for j in range(t.n_points):
        t.program.h[m + j] = t.point_need[0, j]
        t.program.level[m + j] = t.level[j]
        for k in range(t.n):
            t.program.G[k, m + j] = t.point_G[k, j]
    t.program.counts[N_ROWS] = m + t.n_points


@procedure
def change_torque(t: PointTick) -> None:
    """Change the torque least for the rows in the program."""
    solve(t.program)
    add_change(t.program, t.T, t.tau_1, t.n)


@procedure
def find_point_rows(t: PointColumns) -> float:
    """Compute the rows of the points; returns 0."""
    if t.n_points == 0:
        return 0.0
    for j in range(t.n_points):
        for i in range(t.n_place):
            t.place[i, j] = t.balls[t.n_place * t.ball[j] + i]
        for i in range(12):
            t.motion[i, j] = t.motions[12 * t.body[j] + i]
    t.run(whole_blocks(t.n_points))
    return 0.0


@procedure
def find_pair_rows(t: ConstraintTick) -> int:
    """Find the near pairs and compute their rows; return their number."""
    for i in range(t.rows.n):
        t.search.arm.q[i] = t.q[i]
    n_pairs = int(find_pairs(t.search))
    if n_pairs == 0 or n_pairs > t.search.near.capacity:
        return n_pairs
    for j in range(n_pairs):
        other = t.search.near.other[j]
        first = 12 * t.capsule_body[t.search.near.capsule[j]]
        second = 12 * (t.capsule_body[-1 - other] if other < 0 else t.world)
        for i in range(12):
            t.pair_motion[i, j] = t.motions[first + i]
            t.pair_other[i, j] = t.motions[second + i]
    t.pairs(whole_blocks(n_pairs))
    return n_pairs


@procedure
def find_outside_pair(t: ConstraintTick, n_pairs: int, most: float) -> None:
    """Note the pair that is farthest outside, if it is farther than a distance."""
    for j in range(n_pairs):
        if -t.pair_h[0, j] - PAIR_OUTSIDE > most:
            most = -t.pair_h[0, j] - PAIR_OUTSIDE
            t.rows.found[MOST_OUTSIDE] = t.rows.n_points + j
            t.rows.found[IS_BROKEN] = 1 if -t.pair_h[0, j] > PAIR_BRAKED else 0


@procedure
def are_pairs_idle(t: ConstraintTick, n_pairs: int) -> bool:
    """Whether the rows of all near pairs hold as it is."""
    n = 0
    for j in range(n_pairs):
        n += 1 if t.pair_need[0, j] > 0.0 else 0
    return n == 0


@procedure
def write_pair_rows(t: ConstraintTick, n_pairs: int) -> None:
    """Write the rows of near pairs into the program, behind the others."""
    program = t.rows.program
    m = program.counts[N_ROWS]
    for j in range(n_pairs):
        program.h[m + j] = t.pair_need[0, j]
        program.level[m + j] = t.pair_level
        for k in range(t.rows.n):
            program.G[k, m + j] = t.pair_G[k, j]
    program.counts[N_ROWS] = m + n_pairs


class Violation(NamedTuple):
    """A constraint and how far it is from holding.

    Attributes
    ----------
    name, what : str
        The constraint, and which part of the arm.
    h : float
        Below zero where it does not hold, in its unit.
    left : float
        The distance, angle or speed that is left.
    """

    name: str
    what: str
    h: float
    unit: str
    left: float

    def __str__(self) -> str:
        """For messages."""
        return f"constraint '{self.name}' ({self.what}) is violated by {in_words(-self.left, self.unit)}"

    @classmethod
    def of(cls, constraint: Constraint, what: str, h: float) -> Violation:
        """Return that of a constraint with this value."""
        return cls(constraint.name, what, h, constraint.unit, constraint.left(h))


def in_words(left: float, unit: str) -> str:
    """Return what is left of a constraint in mm, degrees, or its own unit."""
    scale, unit = {"m": (1e3, "mm"), "rad": (math.degrees(1.0), "degrees")}.get(unit, (1.0, unit))
    return f"{round(scale * left, 4) + 0.0:.3g} {unit}"


class Ball(NamedTuple):
    """A ball fixed to a link, None for the hand: its centre in the link's frame, and its radius [m]."""

    link: str | None
    centre: tuple[float, ...]
    radius: float


class PointColumn(NamedTuple):
    """A row of a constraint: which ball, and which of the constraint's lists of numbers."""

    constraint: Constraint
    ball: Ball
    side: int

    @property
    def label(self) -> str:
        """What it is about."""
        return f"{self.ball.link or HAND} {self.constraint.sides[self.side]}".strip()


class ConstraintSet:
    """The constraints of one arm, and the torque that keeps them.

    Parameters
    ----------
    constraints : sequence of Constraint
        What has to hold, beside the limits of the joints; at most one of them is a clearance.
    limits : ndarray, shape (2 + 6 nv,)
        Numbers of the joints' limits, as ``JointLimits.numbers`` has them.
    is_unlimited : ndarray of bool, shape (nv,)
        Joints without limits of position.

    Raises
    ------
    ParameterError
        When numbers of a constraint cannot be used, or there are two clearances.
    FrameNotFound, ModelError
        When a link is not there, or the shape of the arm is needed and not complete.
    """

    def __init__(
        self, model: RobotModel, constraints: Sequence[Constraint], limits: Array, is_unlimited: Array
    ) -> None:
        self._n, self._model, self._is_unlimited, self._limits = model.nv, model, is_unlimited, limits
        self._has_pairs = any(c.sees_obstacles for c in constraints)
        self._has_shape = self._has_pairs or any(c.of == ARM for c in constraints)
        self._shape = shape = ArmShape(model) if self._has_shape else ArmShape(model, (), is_partial=True)
        self._proximity = Proximity(model, None if self._has_pairs else (), shape)
        self._search = self._proximity.new_search()
        link = self._search.record.arm.link
        link[:] = np.arange(len(link))  # a row for each capsule, not for the nearest one of a link only
        bodies = [body if body >= 0 else len(model.tree.bodies) for body in shape.bodies]
        self._capsule_body = np.array([*bodies, 0], np.int64)
        pair_law = _pair_law(self._proximity.joint_coupling)
        self._pair_law = _compile_loop(model, pair_law, "room", "distances")
        columns = self._all_columns(constraints)
        self._balls = tuple(dict.fromkeys(column.ball for column in columns))
        self._kinds = tuple(dict.fromkeys(type(column.constraint) for column in columns))
        self._make_laws()
        self._take(constraints, columns)

    def _all_columns(self, constraints: Sequence[Constraint]) -> list[PointColumn]:
        """Rows of points of these constraints, among them such that nothing moves."""
        clearances = [c.name for c in constraints if c.sees_obstacles]
        if len(clearances) > 1:
            raise ParameterError(f"two clearances: '{clearances[0]}' and '{clearances[1]}'; one may be there")
        return [column for c in constraints for column in point_columns(self._model, self._shape, c)]

    def _make_laws(self) -> None:
        """Make laws and memory for balls and kinds, without constraints."""
        model, coupling = self._model, self._proximity.joint_coupling
        sees_inertia = any(kind.sees_inertia for kind in self._kinds)
        law = _state_law(model, self._balls, self._is_unlimited, sees_inertia)
        kernel = model.compile_law(law, _state_samples(model, law, self._limits))
        self._laws = law, _point_law(self._kinds, coupling)
        self._point_law = _compile_loop(model, self._laws[1], "room")
        self._state, self._tau_1, self._found = OwnWork(kernel), np.zeros(model.nv), np.zeros(N_FOUND, np.int64)
        self._clearance: ClearanceConstraint | None = None
        self._columns: list[PointColumn] = []
        self._points = _point_arrays(model, [], self._balls, self._kinds)
        self._run = compile_procedure(constrain, keeps_lock=True)(self._record())
        bound = {"tool": kernel.inputs["tool"], "limits": self._limits}
        self._call = KernelCall(_form(model.nv), self._run, self._state.inputs, {"tau_1": self._tau_1}, bound)

    def change(self, constraints: Sequence[Constraint]) -> None:
        """Let these take the place of the constraints, from the next tick on.

        Raises
        ------
        ParameterError
            Before anything has changed, when one has a kind, link or point that none had at first: the laws are
            compiled for those. Others as for a new set.
        """
        columns = self._all_columns(constraints)
        known = {*self._balls, *self._kinds}
        new = [c.constraint.name for c in columns if not {c.ball, type(c.constraint)} <= known]
        new += [c.name for c in constraints if c.sees_obstacles > self._has_pairs or (c.of == ARM) > self._has_shape]
        if new:
            raise ParameterError(f"constraint '{new[0]}' has a kind, link or point that no constraint had at the start")
        self._take(constraints, columns)

    def _take(self, constraints: Sequence[Constraint], columns: list[PointColumn]) -> None:
        """Let constraints count, with these rows of points but for those that nothing moves."""
        self.constraints = tuple(constraints)
        self._clearance = next((c for c in constraints if isinstance(c, ClearanceConstraint)), None)
        if self._clearance is not None:
            self._search.reach[:] = self._clearance.reach
        vars(self).pop("limit", None)  # the built-in function, whose body in Python knows this object as it was
        self._set_columns(columns)
        if any(c.of == ARM for c in constraints):
            self._set_columns(self._movable())

    def _set_columns(self, columns: list[PointColumn]) -> None:
        """Make memory for these rows of points."""
        self._columns, self._points = columns, _point_arrays(self._model, columns, self._balls, self._kinds)
        self.set_numbers()
        self._run.replace(self._record())

    def _movable(self) -> list[PointColumn]:
        """The rows of what the arm can move in some of :data:`N_POSTURES` postures; the rest depends on nobody."""
        model, rng = self._model, np.random.default_rng(0)
        low, high = drawn_range(model.q_min, model.q_max)
        size = np.zeros(len(self._columns))
        for q in rng.uniform(low, high, (N_POSTURES, model.nq)):
            terms = model.evaluate(q, np.zeros(model.nv))
            self._limited(terms, terms.g, terms.g, 0.0)
            size = np.maximum(size, np.abs(self._points["G"][:, : len(size)]).max(axis=0))
        pairs = zip(self._columns, size, strict=True)
        return [column for column, length in pairs if length > UNMOVED or column.constraint.is_speed]

    @property
    def sees_obstacles(self) -> bool:
        """Whether obstacles count."""
        return self._clearance is not None

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be the obstacles, from the next tick on."""
        if self._clearance is not None:
            self._search.place(obstacles)
            if self._search.record is not self._run.record.search:
                self._run.replace(self._record())

    def set_numbers(self) -> None:
        """Read the numbers of all constraints anew."""
        for j, column in enumerate(self._columns):
            numbers = column.constraint.numbers[column.side]
            self._points["numbers"][: len(numbers), j] = numbers

    @property
    def parts(self) -> tuple[BoundProcedure[ConstraintTick], Array, Array, Array]:
        """A tick, its inputs ``q v h M tau g tau_0 dt known tool limits``; ``tau_1`` and ``found`` of its record."""
        return self._run, self._state.work, self._tau_1, self._found

    @property
    def point_parts(self) -> PointParts:
        """What a tick without near pairs is made of, for other languages."""
        state, point = (law.program() for law in self._laws)
        rows, n_rows = self._run.record.rows, 4 * self._n + len(self._columns)
        return PointParts(rows._replace(program=new_least_distance(self._n, n_rows)), state, point, self._points)

    def pair_parts(self, n_obstacles: int) -> PairParts | None:
        """What a tick with so many obstacles at most has beside the points; None without a clearance."""
        if self._clearance is None:
            return None
        tick, search = self._run.record, self._search.fixed(n_obstacles)
        N, n_rows = search.near.capacity, 4 * self._n + len(self._columns)
        G, need, h, motion, other = (np.zeros((k, N)) for k in (self._n, 1, 1, 12, 12))
        tick = tick._replace(
            rows=tick.rows._replace(program=new_least_distance(self._n, n_rows + N)), search=search,
            pair_G=G, pair_need=need, pair_h=h, pair_motion=motion, pair_other=other,
        )  # fmt: skip
        programs = {**search_programs(self._shape), "pair": _pair_law(self._proximity.joint_coupling).program()}
        return PairParts(tick, programs, np.array(self._clearance.numbers[0]), self._search.extents)

    @in_machine_code(lambda rows: rows._call)
    def limit(self, terms: Terms, tau: Array, tau_0: Array, dt: float, tau_known: Array | None = None) -> Array:
        """Return the torque with the least change of acceleration for which all constraints hold, shape (nv,).

        Parameters
        ----------
        tau, tau_0 : ndarray, shape (nv,)
            Torque that is asked for, and the last one [N m or N].
        dt : float
            Time since then [s].
        tau_known : ndarray, shape (nv,), optional
            What is known to act beside the model, on the side of the bias [N m or N].

        Raises
        ------
        InputError
            When the state or a torque has no finite numbers.
        """
        return self._limited(terms, tau, tau_0, dt, tau_known)

    def _limited(self, *arguments: Any) -> Array:
        limited: Array | None = self._call(*arguments)
        while limited is None and self._search.make_room():
            self._run.replace(self._record())
            limited = self._call(*arguments)
        if limited is None:
            raise InputError("the constraints cannot be computed: the state or the torque has no finite numbers")
        return limited

    @property
    def h(self) -> Array:
        """The constraints in the last state, those of near pairs last, shape (k,)."""
        return np.concatenate([self._points["h"][0, : len(self._columns)], self._run.record.pair_h[0, : self._n_near]])

    @property
    def _n_near(self) -> int:
        return int(self._found[N_NEAR])

    @property
    def labels(self) -> list[tuple[str, str]]:
        """The constraint of each entry of :attr:`h`, and what of the arm it is about."""
        return [(column.constraint.name, column.label) for column in self._columns] + [
            (self._pair_name, self._pair_label(j)) for j in range(self._n_near)
        ]

    @property
    def least(self) -> dict[str, Violation]:
        """Where each constraint holds least in the last state; a clearance is there when something is near."""
        by_name = {c.name: c for c in self.constraints}
        least: dict[str, Violation] = {}
        for (name, what), h in zip(self.labels, self.h.tolist(), strict=True):
            if name not in least or h < least[name].h:
                least[name] = Violation.of(by_name[name], what, h)
        return least

    @property
    def margins(self) -> dict[str, float]:
        """The least value of each constraint in the last state; a clearance is there when something is near."""
        return {name: x.h for name, x in self.least.items()}

    @property
    def acting(self) -> list[int]:
        """Entries of :attr:`h` that have changed the last torque; below zero: limits of torque and joints."""
        rows = self._run.record.rows.program.active[: int(self._run.record.rows.program.counts[N_ACTIVE])]
        return [int(row) - 4 * self._n for row in rows.tolist()]

    @property
    def is_capped(self) -> bool:
        """Whether the steps of the last solve did not suffice."""
        return bool(self._run.record.rows.program.counts[IS_CAPPED])

    @property
    def active(self) -> tuple[str, ...]:
        """What has changed the last torque: names of constraints, ``torque limits``, ``joint limits``."""
        n, names = self._n, [column.constraint.name for column in self._columns]
        of_row = (
            (names[i] if i < len(names) else self._pair_name)
            if i >= 0
            else ("joint limits" if i >= -2 * n else "torque limits")
            for i in self.acting
        )
        turns = ["joint limits"] * bool(self._state.outputs["change"].any())
        return tuple(dict.fromkeys([*of_row, *turns]))

    @property
    def worst(self) -> Violation | None:
        """The constraint that holds least in the last state; None where there is none, or nothing is near."""
        h = self.h
        return self._violation(int(np.argmin(h))) if len(h) else None

    @property
    def outside(self) -> Violation | None:
        """The constraint that is broken by most in the last state; None where all hold but for :data:`OUTSIDE`."""
        j = int(self._found[MOST_OUTSIDE])
        return None if j < 0 else self._violation(j)

    @property
    def is_broken(self) -> bool:
        """Whether :attr:`outside` brakes an arm in motion."""
        return bool(self._found[IS_BROKEN])

    def _violation(self, j: int) -> Violation:
        """That of an entry of :attr:`h`."""
        if j < len(self._columns):
            column = self._columns[j]
            return Violation.of(column.constraint, column.label, float(self._points["h"][0, j]))
        assert self._clearance is not None
        k = j - len(self._columns)
        return Violation.of(self._clearance, self._pair_label(k), float(self._run.record.pair_h[0, k]))

    @property
    def _pair_name(self) -> str:
        return "" if self._clearance is None else self._clearance.name

    def _pair_label(self, j: int) -> str:
        near, capsules = self._search.record.near, self._proximity.capsules
        other = int(near.other[j])
        what = capsules[-1 - other].link if other < 0 else f"obstacle {other}"
        return f"{capsules[int(near.capsule[j])].link} at {what}"

    def _record(self) -> ConstraintTick:
        """All that a tick works with, and memory for pairs."""
        n, near, at, state = self._n, self._search.record.near, self._points, self._state.outputs
        N, room, motions = near.capacity, state["room"], state["motions"].reshape(-1)
        G, need, h, motion, other = (np.zeros((k, N)) for k in (n, 1, 1, 12, 12))
        pair = {"rho": near.distance[RHO], "n": near.distance[NORMAL], "p": near.distance[POINT], "sign": near.sign}
        pair |= {"twist": near.twist, "is_self": near.is_self, "motion": motion, "other": other}
        distances = np.array([0.0, 0.0] if self._clearance is None else self._clearance.numbers[0])
        pairs = self._pair_law.bind({**pair, "room": room, "distances": distances, "G": G, "need": need, "h": h})
        program = new_least_distance(n, 4 * n + len(self._columns) + N)
        columns = PointColumns(
            self._point_law.bind({**at, "room": room}), motions, state["balls"].reshape(-1),
            at["place"], at["motion"], at["ball"], at["body"], len(self._columns), len(at["place"]),
        )  # fmt: skip
        points = compile_procedure(find_point_rows, keeps_lock=True)(columns)
        rows = PointTick(
            self._state, points, state["G"].reshape(-1), state["need"], state["T"].reshape(-1), state["change"],
            at["G"], at["need"], at["h"], at["level"], at["outside"], at["broken"],
            program, self._state.inputs["tau"], self._tau_1, self._found, n, len(self._columns),
        )  # fmt: skip
        return ConstraintTick(
            rows, self._state.inputs["q"], motions,
            self._search.record, pairs, motion, other, G, need, h, self._capsule_body,
            -1 if self._clearance is None else int(self._clearance.level), len(state["motions"]) - 1,
        )  # fmt: skip


class PointParts(NamedTuple):
    """What a tick without near pairs is made of.

    Attributes
    ----------
    state, point : Program
        The laws :func:`_state` and :func:`point_row`, reduced.
    columns : dict of str to ndarray
        Numbers of each point in a column, by the names of the second law's inputs; ``ball`` and ``body`` are its
        places among the outputs of the first; ``outside`` and ``broken`` are of :data:`OUTSIDE`, :data:`BRAKED`.
    """

    rows: PointTick
    state: Program
    point: Program
    columns: Mapping[str, Array]


class PairParts(NamedTuple):
    """What a tick with near pairs has beside :class:`PointParts`.

    Attributes
    ----------
    tick : ConstraintTick
        Its memory, with room for all near pairs.
    programs : dict of str to Program
        The laws of the search, and ``pair``: the row of a near pair.
    distances : ndarray, shape (2,)
        From obstacles, and between links [m].
    extents : ndarray
        Radius of a ball around each capsule [m].
    """

    tick: ConstraintTick
    programs: Mapping[str, Program]
    distances: Array
    extents: Array


def _form(n: int) -> CallForm:
    """Form of :meth:`ConstraintSet.limit` as a built-in call."""
    q, v, g, h, tau, tau_0, known = (ArrayArgument(x, (n,)) for x in ("q", "v", "g", "h", "tau", "tau_0", "known"))
    parts = {"q": q, "v": v, "M": ArrayArgument("M", (n, n)), "g": g, "h": h}
    terms = TupleArgument(Terms, tuple(parts.get(name) for name in Terms._fields))
    arguments = (terms, tau, tau_0, NumberArgument("dt"), known)
    return CallForm("limit", arguments, ArrayResult("tau_1"), 4, ("tool", "limits"), takes_none=True)


def point_columns(model: RobotModel, shape: ArmShape, c: Constraint) -> list[PointColumn]:
    """The rows of a constraint."""
    if isinstance(c, ClearanceConstraint):
        return []
    sides = range(len(c.numbers))
    if c.of == ARM:
        moving = [x for x, body in zip(shape.capsules, shape.bodies, strict=True) if body >= 0]
        ends = [(x.link, x.radius, tuple(end.tolist())) for x in moving for end in (x.a, x.b)]
        balls = [Ball(link, end, radius) for link, radius, end in dict.fromkeys(ends)]
    elif c.of != HAND and c.of not in model.frames:
        raise FrameNotFound(c.of, model.frames)
    else:
        balls = [Ball(None if c.of == HAND else c.of, tuple(vector("points", point)), 0.0) for point in c.points]
    return [PointColumn(c, ball, side) for ball in balls for side in sides]


# -- the state


def _state_law(model: RobotModel, balls: Sequence[Ball], is_unlimited: Array, sees_inertia: bool) -> Law:
    """What all rows have of a state, and the rows of torque and joints."""
    n = model.nv
    sizes = {"q": n, "v": n, "h": n, "M": n * n, "tau": n, "g": n, "tau_0": n, "dt": 1, "known": n, "tool": TOOL}
    of_rows = partial(_state, is_unlimited=is_unlimited, sees_inertia=sees_inertia)
    function = partial(of_rows, tree=model.tree, balls=tuple(balls))
    structure = [[list(ball) for ball in balls], is_unlimited.tolist(), *[True] * sees_inertia]
    return Law("constraints", function, {**sizes, "limits": 2 + 6 * n}, structure)


def _state(
    x: Mapping[str, Array], tree: Tree, balls: Sequence[Ball], is_unlimited: Array, sees_inertia: bool = False
) -> dict[str, Any]:
    """The law, over any scalar."""
    n, none = tree.n, np.zeros(0)
    limits, dt = LimitNumbers.of(x["limits"], is_unlimited), x["dt"][0]
    M, h = x["M"].reshape(n, n), x["h"] + x["known"]
    terms = Terms(x["q"], x["v"], Pose(none, none), none, none, none, M, x["g"], h)
    L_inv = cholesky(terms.M + np.diag(floor_of_inertia(limits.tau_max, limits.v_max))).inverse()  # (8)
    T, a_0, a_1, G, need, _ = rows_of_joints(terms, x["tau"], x["tau_0"], dt, limits, L_inv)  # (5), (7)
    turning = limits._replace(q_soft=np.array([x["q"] - TURN, x["q"] + TURN]))
    y = _turning_change(a_0, L_inv, acceleration_bounds(terms, dt, turning, 1.0 / RATE_SHARE))  # (12)
    need = need - G @ y
    k_v = 1.0 / maximum(1.0 / limits.limit_damping, TICKS * dt)
    gains = [limits.rate_limit, dt, K_P, k_v, BACK]
    state, below = State(tree, x), np.tril_indices(n)
    places = [_place(state, ball) for ball in balls] or [[0.0] * 6]
    if sees_inertia:
        of_arm, C = cholesky(state.M), state.C
        places = [[*place, *_mobility(state, ball, of_arm, C)] for place, ball in zip(places, balls, strict=True)]
    stop = common_stop(terms.M @ x["v"], torque_left(limits.tau_max, x["g"]), limits.rate_limit, K_P)
    asked = a_0 + L_inv.T @ y
    room = [x["v"], limits.v_max, joint_axes(state).ravel(), L_inv[below], asked, a_1, np.array([*stop, *gains])]
    return {
        "G": G,  # (9)
        "change": T @ y,
        "need": np.array([clamp(b, -FAR, FAR) for b in need]),
        "T": T,
        "room": np.concatenate(room),
        "motions": np.array([*_motions(state), [0.0] * 12]),
        "balls": np.array(places),
    }


def _turning_change(a_0: Array, L_inv: Array, bounds: Array) -> Array:
    """Equation (12): y, shape (n,)."""
    y = np.zeros(len(a_0), dtype=object)
    for i in reversed(range(len(a_0))):
        a = a_0[i] + L_inv[i + 1 :, i] @ y[i + 1 :]
        y[i] = (clamp(a, bounds[0, i], bounds[1, i]) - a) / L_inv[i, i]
    return y


def _motions(state: State) -> list[list[Any]]:
    """Twist of each body about the origin of the world, and its derivative where no joint accelerates."""
    motions = []
    for X, V, A in zip(state.X_W, state.V, state.A_rest, strict=True):
        V_W, A_W = V.in_parent(X), A.in_parent(X)
        motions.append([*V_W.v, *V_W.w, *(A_W.v + state.tree.gravity), *A_W.w])
    return motions


def _place(state: State, ball: Ball) -> list[Any]:
    """Place of a ball in the world, and its centre as a vector there."""
    X, centre = state.X_WF(ball.link), np.array(ball.centre)
    direction = X.R @ centre
    return [*(X.p + direction), *direction]


def _mobility(state: State, ball: Ball, M: Cholesky, C: Array) -> list[Any]:
    """Upper triangles of ``Lambda^-1 = J Y``, ``Y = M^-1 J^T``, and its rate ``D + D^T``, ``D = (Jdot - Y^T C) Y``."""
    tree, centre = state.tree, np.array(ball.centre)
    body = (tree.tip if ball.link is None else tree.frames[ball.link]).body
    p, J = state.p_WP(ball.link, centre), state.J_WP(ball.link, centre)[:3]
    V = [V.in_parent(X) for V, X in zip(state.V, state.X_W, strict=True)]
    v, J_dot = V[body].v + cross(V[body].w, p), 0.0 * J
    for i in tree.path(body):
        S = axis(tree.bodies[i]).in_parent(state.X_W[i])
        S_dot = V[i].cross(S)
        J_dot[:, tree.bodies[i].coordinate] += S_dot.v + cross(S_dot.w, p) + cross(S.w, v)
    Y = np.array([M.solve(row) for row in J]).T
    D, above = (J_dot - Y.T @ C) @ Y, np.triu_indices(3)
    return [*(J @ Y)[above], *(D + D.T)[above]]


def _state_samples(model: RobotModel, law: Law, limits: Array) -> dict[str, Array]:
    """A state to compare a new kernel on."""
    rng, n = np.random.default_rng(0), model.nv
    samples = {name: rng.uniform(-0.5, 0.5, (1, size)) for name, size in law.inputs.items()}
    samples |= {"tool": tool_numbers(model.tree)[None], "M": (np.eye(n) + 0.1).reshape(1, -1)}
    return samples | {"dt": np.full((1, 1), 1e-3), "limits": limits[None]}


# -- points and pairs


class Shared(NamedTuple):
    """What rows of points and pairs have of a state; the names of its parts are those of :class:`Room`."""

    v: Array
    v_max: Array
    axes: Array
    room: Room

    @classmethod
    def of(cls, numbers: Array, n: int, n_bodies: int) -> Shared:
        """Return the parts of ``room`` of :func:`_state`."""
        sizes = np.cumsum([n, n, 6 * n_bodies, n * (n + 1) // 2, n, n])
        v, v_max, axes, L_inv, a_0, a_1, scalars = np.split(numbers, sizes)
        return cls(v, v_max, axes.reshape(6, -1), Room(lower_triangle(L_inv, n), a_0, a_1, *scalars))


def n_shared(n: int, n_bodies: int) -> int:
    """Size of ``room`` of :func:`_state`."""
    return 4 * n + 6 * n_bodies + n * (n + 1) // 2 + 8


def point_sizes(n_bodies: int, kinds: Sequence[type[Constraint]]) -> dict[str, int]:
    """Size of each input of a point."""
    place = PLACE + 2 * UPPER if any(kind.sees_inertia for kind in kinds) else PLACE
    own = {"radius": 1, "numbers": N_NUMBERS, "kind": max(1, len(kinds))}
    return {"place": place, "motion": 12, "sign": n_bodies, **own}


def point_row(
    x: Mapping[str, Array], kinds: Sequence[type[Constraint]], joint_coupling: Array
) -> tuple[ConstraintRow, Scalar]:
    """Return the row of one point, over any scalar, and 1 where it is that of a speed; ``kind`` has 1 for its kind."""
    n_bodies, n = joint_coupling.shape
    shared = Shared.of(x["room"], n, n_bodies)
    axes = shared.axes
    _, w, _, alpha = x["motion"].reshape(4, 3)
    p, direction = x["place"][:3], x["place"][3:PLACE]
    v, a = motion_at(x["motion"], p)

    def gradient(f: Array, m: Array) -> Array:
        return (x["sign"] * (f @ axes[:3] + (cross(p, f) + m) @ axes[3:])) @ joint_coupling

    ahead = NONE
    if any(kind.is_speed for kind in kinds):
        J = np.array([gradient(e, NONE) for e in np.eye(3)])
        a_p = a + J @ shared.room.a_1
        size = norm(a_p)
        ahead = change_ahead(a_p, size, affordable_jerk(a_p / size @ J, shared.room))
    point = Point(p, v, direction, w, x["radius"][0], ahead, *map(_symmetric, x["place"][PLACE:].reshape(-1, UPPER)))
    chosen: list[Any] = [*[0.0] * 9, 1.0, 0.0]
    for is_this, kind in zip(x["kind"], kinds, strict=False):  # one place at least, of no kind
        g = kind.gradient(x["numbers"], point)
        of_kind = [g.h, *g.f, *g.m, g.bend, g.is_ahead, g.length, float(kind.is_speed)]
        chosen = [select(is_this, new, old) for new, old in zip(of_kind, chosen, strict=True)]
    h, f, m = chosen[0], np.array(chosen[1:4]), np.array(chosen[4:7])
    bend, is_ahead, length, is_speed = chosen[7:]
    row = ConstraintRow(h, gradient(f, m), f @ a + m @ alpha + bend, f @ v + m @ w, is_ahead, length)
    return row, is_speed


def _symmetric(entries: Array) -> Array:
    """The matrix with this upper triangle, shape (3, 3)."""
    A = np.zeros((3, 3), dtype=object)
    A[np.triu_indices(3)] = entries
    return mirrored(A)


def _point_law(kinds: Sequence[type[Constraint]], joint_coupling: Array) -> Law:
    """:func:`point_row` of one point, reduced."""
    n_bodies, n = joint_coupling.shape
    sizes = point_sizes(n_bodies, kinds)

    def function(x: Mapping[str, Array]) -> dict[str, Any]:
        room = Shared.of(x["room"], n, n_bodies).room
        row, is_speed = point_row(x, kinds, joint_coupling)
        G, need = reduced_row(row, room)
        _, need_of_speed = reduced_row(row._replace(h_dot=None), room)
        need = clamp(select(is_speed, need_of_speed, need), -FAR, FAR)
        return {"G": G, "need": np.array([need]), "h": np.array([row.h])}

    structure = [[kind.__name__ for kind in kinds], joint_coupling.tolist()]
    return Law("points of constraints", function, {**sizes, "room": n_shared(n, n_bodies)}, structure)


def _pair_law(joint_coupling: Array) -> Law:
    """:func:`~arm_control.constraints.kinds.clearance.pair_row` of one near pair, reduced."""
    n_bodies, n = joint_coupling.shape
    sizes = {"rho": 1, "n": 3, "p": 3, "sign": n_bodies, "twist": 6, "is_self": 1, "motion": 12, "other": 12}

    def function(x: Mapping[str, Array]) -> dict[str, Any]:
        shared = Shared.of(x["room"], n, n_bodies)
        row = pair_row(x, shared.v, shared.v_max, shared.axes, joint_coupling)
        G, need = reduced_row(row, shared.room)
        return {"G": G, "need": np.array([clamp(need, -FAR, FAR)]), "h": np.array([row.h])}

    sizes |= {"room": n_shared(n, n_bodies), "distances": 2}
    return Law("clearance", function, sizes, joint_coupling.tolist())


def _compile_loop(model: RobotModel, law: Law, *shared: str) -> LoopKernel:
    """Compile a law of columns, and compare it on random ones."""
    rng = np.random.default_rng(0)
    samples = {key: rng.uniform(0.1, 1.0, size if key in shared else (size, 16)) for key, size in law.inputs.items()}
    return model.compile_law(Loop(law, "columns", shared), samples)


N_NUMBERS = 8
"""Largest number of numbers of a row."""
PLACE, UPPER = 6, 6
"""Numbers of a point's place and direction, and of the upper triangle of a matrix."""


def _point_arrays(
    model: RobotModel, columns: Sequence[PointColumn], balls: Sequence[Ball], kinds: Sequence[type[Constraint]]
) -> dict[str, Array]:
    """Memory of the points, by name."""
    tree, n = model.tree, model.nv
    n_bodies, N = len(tree.bodies), max(8, whole_blocks(len(columns)))
    sizes = point_sizes(n_bodies, kinds)
    at: dict[str, Array] = {name: np.zeros((size, N)) for name, size in {**sizes, "G": n, "need": 1, "h": 1}.items()}
    at |= {name: np.zeros(N, np.int64) for name in ("ball", "body", "level")}
    at |= {name: np.zeros(N) for name in ("outside", "broken")}
    for j, column in enumerate(columns):
        frame = tree.tip if column.ball.link is None else tree.frames[column.ball.link]
        at["sign"][tree.path(frame.body), j], at["radius"][0, j] = 1.0, column.ball.radius
        at["kind"][kinds.index(type(column.constraint)), j] = 1.0
        at["ball"][j], at["body"][j] = balls.index(column.ball), frame.body if frame.body >= 0 else n_bodies
        at["level"][j] = column.constraint.level
        at["outside"][j], at["broken"][j] = (x.get(column.constraint.unit, np.inf) for x in (OUTSIDE, BRAKED))
    return at
