"""Bounds of a measured state: what an arm cannot do is not believed.

A state (q, v) that comes a time dt after the state (q_0, v_0) is believed when, for every joint,

    (0)  q <- q + 2 pi k,   k = nearest((q_0 - q) / 2 pi)        of a continuous joint: drivers wrap its position
    (1)  q_min - r <= q <= q_max + r,   r = max(q_max - q_min, 1);   |q| <= 10^4 where there are no limits
    (2)  |v| <= 10 v_max,   |v - v_0| <= 2 v_max + a dt + d / (2 dt)
    (3)  |q - q_0| <= 10 v_max dt + d
    (4)  |e| <= d + a dt^2 / 2,   e = e_0 T / (T + dt) + (q - q_0 - (v + v_0) dt / 2)
    (5)  |v| t <= d / 3 where neither q nor v have changed for a time t

(1) and the first part of (2) bound a state by itself; the others by the last state and the time between: neither
velocities nor positions jump, and velocities are what positions change by, over the last tenth of a second. (4) finds
velocities that are not those of the positions; behind a gap of more than T its deviation is forgotten. (5) finds states
that are frozen, with new stamps, in a third of the time. The margins are wide: a state that is refused is a state that
is missing; an arm that is pushed or overshoots, coarse encoders and filtered velocities stay inside them.

A state that violates (1) or (2) says nothing of the next one. After one that violates another bound, all states are
refused until 20 of them, over 0.1 s or more, have followed from each other by the same bounds: the arm is where they
say, and the gate must brake.

    q, v, q_0, v_0       positions and velocities of joints, before      [rad, rad/s; m, m/s if prismatic]
    e, e_0               deviation of positions and velocities, before   [rad]
    q_min, q_max, v_max  limits of the URDF                              [rad, rad, rad/s]
    dt                   time between the two states                     [s]
    d, a, T              0.015 rad, 100 rad/s^2, 0.1 s                   [rad; rad/s^2; s]

The rules are procedures (:mod:`arm_control.compiler.procedures`): nodes call them as machine code, the loops without
Python contain them, an exported controller has them in C.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, Ints, compile_procedure, direct_call, nearest, procedure
from arm_control.gate.torque_rules import LARGEST
from arm_control.maths import Array
from arm_control.model import RobotModel

SPEED = 10.0
"""Largest speed in limits of speed, (2) and (3)."""
REVERSAL = 2.0
"""Largest change of speed in limits of speed, (2)."""
DEVIATION = 0.015
"""``d`` [rad or m]."""
ACCELERATION = 100.0
"""``a`` [rad/s^2 or m/s^2]."""
MEMORY = 0.1
"""``T`` [s]."""
FROZEN = DEVIATION / 3.0
"""Largest way of an arm that counts as frozen, (5) [rad or m]."""
SMALLEST_RANGE = 1.0
"""Least ``r`` [rad or m]."""
LARGEST_POSITION = 1e4
"""Largest position of a joint without limits [rad or m]."""
TURN = 2.0 * math.pi
"""After which a continuous joint is where it was [rad]."""
AGREEING, AGREEING_TIME = 20, 0.1
"""States that must follow from each other after one that is not believed, and the time that they must last [s]."""

BELIEVED = 0
"""Result of :func:`judge_state` and :func:`violated_bound`; the others are the equations that are violated."""
OUTSIDE, TOO_FAST, JUMPED, DISAGREES, IS_FROZEN = 1, 2, 3, 4, 5
DOUBTED, RETURNED, NOT_FINITE = 6, 7, 8
"""More results: in doubt since a state before; believed again after a doubt, the gate must brake; not a number."""


class StateRanges(NamedTuple):
    """Bounds of an arm.

    Attributes
    ----------
    low, high, fastest : ndarray, shape (n,)
        Bounds (1) and (2), the latter without v_0.
    turn : ndarray, shape (n,)
        ``2 pi`` for a continuous joint, else 0.
    """

    low: Floats
    high: Floats
    fastest: Floats
    turn: Floats
    n: int


class KnownState(NamedTuple):
    """A state with which the next one is compared.

    Attributes
    ----------
    q, v, e : ndarray, shape (n,)
        Positions, velocities, and their deviation.
    unchanged : ndarray, shape (1,)
        Time for which positions and velocities have not changed [s].
    """

    q: Floats
    v: Floats
    e: Floats
    unchanged: Floats


class NewState(NamedTuple):
    """A state that is judged.

    Attributes
    ----------
    q, v, e : ndarray, shape (n,)
        Positions, velocities; their deviation, which is computed.
    unchanged : ndarray, shape (1,)
        How long positions and velocities have not changed [s]; computed.
    joint : ndarray of int64, shape (1,)
        The joint of the bound that is violated.
    """

    q: Floats
    v: Floats
    e: Floats
    unchanged: Floats
    joint: Ints


class StateMemory(NamedTuple):
    """What is known of the states before.

    Attributes
    ----------
    doubted : KnownState
        The last state since the last one that was believed.
    counts : ndarray of int64, shape (4,)
        Whether a state was believed; the violation that has begun the doubt, 0 without one; its joint; states that have
        followed from each other since then.
    times : ndarray, shape (2,)
        For how long they have [s]; deviation ``e`` of the joint in doubt [rad or m].
    """

    ranges: StateRanges
    believed: KnownState
    doubted: KnownState
    counts: Ints
    times: Floats


IS_KNOWN, VIOLATION, JOINT, N_AGREEING = 0, 1, 2, 3
"""Entries of ``counts``."""
AGREED, DEVIATED = 0, 1
"""Entries of ``times``."""


@procedure
def is_finite(state: NewState, n: int) -> bool:
    """Whether all positions and velocities are finite."""
    are_all = True
    for i in range(n):
        are_all = are_all and abs(state.q[i]) <= LARGEST and abs(state.v[i]) <= LARGEST
    return are_all


@procedure
def unwrap(memory: StateMemory, state: NewState) -> None:
    """Bring the positions of continuous joints near those of the last state, equation (0)."""
    if memory.counts[IS_KNOWN] == 0:
        return
    for i in range(memory.ranges.n):
        turn = memory.ranges.turn[i]
        near = memory.doubted.q[i] if memory.counts[N_AGREEING] > 0 else memory.believed.q[i]
        if turn > 0.0 and abs(state.q[i]) <= LARGEST_POSITION:
            state.q[i] = state.q[i] + turn * nearest((near - state.q[i]) / turn)


@procedure
def violated_bound(ranges: StateRanges, last: KnownState, state: NewState, dt: float) -> int:
    """Return the first of equations (1) to (5) that a state violates, or BELIEVED; where dt is 0, of (1) and (2)."""
    keep = MEMORY / (MEMORY + dt)
    half = 0.5 * dt
    tolerance = DEVIATION + 0.5 * ACCELERATION * dt * dt
    speed = 0.0
    has_changed = dt <= 0.0
    for i in range(ranges.n):
        q = state.q[i]
        v = state.v[i]
        state.joint[0] = i
        state.e[i] = 0.0
        if not (ranges.low[i] <= q <= ranges.high[i]):
            return OUTSIDE  # (1)
        if not (-ranges.fastest[i] <= v <= ranges.fastest[i]):
            return TOO_FAST  # (2)
        if dt > 0.0:
            if abs(v - last.v[i]) > REVERSAL / SPEED * ranges.fastest[i] + ACCELERATION * dt + 0.5 * DEVIATION / dt:
                return TOO_FAST  # (2)
            change = q - last.q[i]
            state.e[i] = last.e[i] * keep + (change - half * (v + last.v[i]))
            if abs(change) - ranges.fastest[i] * dt - DEVIATION > 0.0:
                return JUMPED  # (3)
            if abs(state.e[i]) - tolerance > 0.0:
                return DISAGREES  # (4)
            has_changed = has_changed or q != last.q[i] or v != last.v[i]
            state.e[i] = state.e[i] if dt <= MEMORY else 0.0
        speed = max(speed, abs(v))
    state.unchanged[0] = 0.0 if has_changed else last.unchanged[0] + dt
    return BELIEVED if speed * state.unchanged[0] <= FROZEN else IS_FROZEN  # (5)


@procedure
def is_wrong_alone(violation: int) -> bool:
    """Whether a state is wrong by itself, so that those before and behind it may be right."""
    return violation == OUTSIDE or violation == TOO_FAST  # noqa: PLR1714 - a procedure has no tuples


@procedure
def remember(known: KnownState, state: NewState, n: int) -> None:
    """Compare the next state with this one."""
    for i in range(n):
        known.q[i] = state.q[i]
        known.v[i] = state.v[i]
        known.e[i] = state.e[i]
    known.unchanged[0] = state.unchanged[0]


@procedure
def judge_state(memory: StateMemory, state: NewState, dt: float, interval: float) -> int:
    """Judge a state, and remember it; return BELIEVED, RETURNED, or why it is not believed.

    ``dt`` is the time since the last state that was believed, 0 for a new run; ``interval`` that since the last state.
    """
    n = memory.ranges.n
    if not is_finite(state, n):
        return NOT_FINITE
    if memory.counts[VIOLATION] == 0:
        violation = violated_bound(memory.ranges, memory.believed, state, dt if memory.counts[IS_KNOWN] > 0 else 0.0)
        if violation == BELIEVED:
            remember(memory.believed, state, n)
            memory.counts[IS_KNOWN] = 1
            return BELIEVED
        memory.counts[JOINT] = state.joint[0]
        if is_wrong_alone(violation):
            return violation
        memory.counts[VIOLATION] = violation
        memory.times[DEVIATED] = state.e[state.joint[0]]
        memory.counts[N_AGREEING] = 0
        follow_doubted(memory, state, interval)
        return violation
    return RETURNED if follow_doubted(memory, state, interval) else DOUBTED


@procedure
def follow_doubted(memory: StateMemory, state: NewState, interval: float) -> bool:
    """Compare a state with those since the doubt began; return whether enough have followed from each other."""
    n = memory.ranges.n
    is_first = memory.counts[N_AGREEING] == 0
    if not is_first and interval <= 0.0:
        memory.counts[N_AGREEING] = 0
        return False
    if violated_bound(memory.ranges, memory.doubted, state, 0.0 if is_first else interval) != BELIEVED:
        memory.counts[N_AGREEING] = 0
        return False
    remember(memory.doubted, state, n)
    memory.times[AGREED] = 0.0 if is_first else memory.times[AGREED] + interval
    memory.counts[N_AGREEING] += 1
    if memory.counts[N_AGREEING] < AGREEING or memory.times[AGREED] < AGREEING_TIME - 1e-9:
        return False
    memory.counts[VIOLATION] = 0
    memory.counts[N_AGREEING] = 0
    violated_bound(memory.ranges, memory.doubted, state, 0.0)
    remember(memory.believed, state, n)
    return True


class _Judged(NamedTuple):
    """Record of the procedures that Python calls."""

    memory: StateMemory
    state: NewState
    times: Floats


@procedure
def _judge(judged: _Judged) -> float:
    return float(judge_state(judged.memory, judged.state, judged.times[0], judged.times[1]))


@procedure
def _unwrap(judged: _Judged) -> float:
    unwrap(judged.memory, judged.state)
    return 0.0


class StateBounds:
    """The bounds of one arm; only one thread at a time may use them."""

    def __init__(self, model: RobotModel) -> None:
        joints = model.urdf.robot.joint_map
        self._names = model.joint_names
        self._units = ["m" if joints[name].type == "prismatic" else "rad" for name in self._names]
        self.memory = new_memory(model)
        self.wraps = bool(self.memory.ranges.turn.any())
        self._judged = _Judged(self.memory, new_state(model.nv), np.zeros(2))
        self._procedures = [compile_procedure(entry)(self._judged) for entry in (_judge, _unwrap)]
        self._judge, self._unwrap = map(direct_call, self._procedures)
        self._reason = "not believed, nor are those since"  # of a doubt that began elsewhere

    def unwrapped(self, q: Array) -> Array:
        """Return positions of continuous joints near those of the last state, equation (0), shape (nv,) [rad or m]."""
        if not self.wraps:
            return q
        self._judged.state.q[:] = q
        self._unwrap()
        return self._judged.state.q.copy()

    def judge(self, q: Array, v: Array, dt: float, interval: float) -> tuple[int, str]:
        """Judge a state, and remember it.

        Parameters
        ----------
        q, v : ndarray, shape (nv,)
            Joint positions, unwrapped [rad or m], and velocities [rad/s or m/s].
        dt : float
            Time since the last state that was believed [s]; 0: a new run begins, without (3) to (5).
        interval : float
            Time since the last state that was judged [s].

        Returns
        -------
        int, str
            Result of :func:`judge_state`; why the state, or one before it, is not believed, empty where it is.
        """
        memory, state, times = self._judged
        state.q[:], state.v[:], times[0], times[1] = q, v, dt, interval
        result = int(self._judge())
        if result == BELIEVED:
            return result, ""
        if result not in (DOUBTED, RETURNED, NOT_FINITE):
            self._reason = self._describe(result, int(memory.counts[JOINT]), dt)
        return result, "not believed: a number is not finite" if result == NOT_FINITE else self._reason

    def _describe(self, violation: int, i: int, dt: float) -> str:
        """The violation as text, with the equation's numbers."""
        memory, state, _ = self._judged
        if violation == IS_FROZEN:
            unchanged = memory.believed.unchanged[0] + dt
            return f"not believed: positions and velocities have not changed for {1e3 * unchanged:.3g} ms"
        fastest, unit = memory.ranges.fastest[i], self._units[i]
        what, deviation, allowed = {
            OUTSIDE: (f"position {state.q[i]:g} is far outside its limits", 0.0, 0.0),
            TOO_FAST: (f"velocity {state.v[i]:g} is far above its limit", 0.0, 0.0),
            JUMPED: ("position has jumped", state.q[i] - memory.believed.q[i], fastest * dt + DEVIATION),
            DISAGREES: (
                "positions and velocities disagree",
                memory.times[DEVIATED],
                DEVIATION + 0.5 * ACCELERATION * dt * dt,
            ),
        }[violation]
        excess = f" by {abs(deviation):.4g} {unit}, allowed {allowed:.4g} {unit}" if allowed else ""
        return f"not believed: {what}{excess}, joint '{self._names[i]}'"


def new_memory(model: RobotModel) -> StateMemory:
    """Return the memory of an arm whose states are unknown."""
    n, joints = model.nv, model.urdf.robot.joint_map
    r = np.maximum(model.q_max - model.q_min, SMALLEST_RANGE)
    low = np.where(np.isfinite(model.q_min), model.q_min - r, -LARGEST_POSITION)
    high = np.where(np.isfinite(model.q_max), model.q_max + r, LARGEST_POSITION)
    turn = np.array([TURN if joints[name].type == "continuous" else 0.0 for name in model.joint_names])
    ranges = StateRanges(low, high, SPEED * model.v_max, turn, n)
    believed, doubted = (_new_known(n) for _ in range(2))
    return StateMemory(ranges, believed, doubted, np.zeros(4, dtype=np.int64), np.zeros(2))


def new_state(n: int) -> NewState:
    """Return a state of n joints, to be filled in."""
    q, v, e = np.zeros((3, n))
    return NewState(q, v, e, np.zeros(1), np.zeros(1, dtype=np.int64))


def _new_known(n: int) -> KnownState:
    q, v, e = np.zeros((3, n))
    return KnownState(q, v, e, np.zeros(1))


def copy_memory(target: StateMemory, source: StateMemory) -> None:
    """Let one memory know the states that another one knows."""
    for known, other in ((target.believed, source.believed), (target.doubted, source.doubted)):
        for array, values in zip(known, other, strict=True):
            array[:] = values
    target.counts[:], target.times[:] = source.counts, source.times


def describe_outside(model: RobotModel, q: Array) -> str:
    """Return the joints that are outside their limits, with these; empty when none is.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> describe_outside(RobotModel.from_urdf(urdf_path("ur5")), np.array([0.0, 0.0, 3.2, 0.0, 0.0, 0.0]))
    'elbow_joint at 3.2000, allowed -3.1416 to 3.1416'
    """
    joints = zip(model.joint_names, q, model.q_min, model.q_max, strict=True)
    outside = [(name, x, low, high) for name, x, low, high in joints if not low <= x <= high]
    return "; ".join(f"{name} at {x:.4f}, allowed {low:.4f} to {high:.4f}" for name, x, low, high in outside)
