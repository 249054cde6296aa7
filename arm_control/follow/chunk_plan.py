"""The plan of a chunk follower: control points of a spline from the motion under way to rest, within limits everywhere.

Each joint follows a uniform cubic B-spline with knots a time h apart. Between two knots it depends on four control
points, so points that act from the next knot on may be replaced at any time: position, velocity and acceleration stay
continuous whatever the new ones are. With the differences d, e, w of first, second and third order of its points c,

    (1)  |q'| <= max |d| / h,    |q''| <= max |e| / h^2,    |q'''| = |w| / h^3,    min c <= q <= max c

everywhere, not only at the knots: q' and q'' are splines with the control points d / h and e / h^2, and a spline lies
between the least and the largest of its control points. :func:`is_proved` checks (1) for each plan before it counts.

The points are those nearest to the intent u, the chunk at the middle of each point's influence, that cost little jerk:

    (2)  min  sum (c_i - u_i)^2 + (tau / h)^6 w_i^2

Its answer is a filter that runs backwards over u, which is known ahead, and then forwards from the points that stay,

    (3)  w_i = g_0 (u_i - y_i) + g_1 d_i - g_2 e_i       backwards, over y;      forwards over c, with y in place of u

whose poles z are those inside the unit circle of ``(2 - z - 1/z)^3 = -(h / tau)^6``. Together the two runs have no
delay and reproduce polynomials up to degree 5; behind a jump of u the error fades as that of a Butterworth filter of
third order, to 5 % within 6 tau. Where (3) exceeds a limit, tau grows by half, joint by joint, up to eight times; then
e is clamped. A clamped e leaves room to come back: with steps of at most J per knot,

    (4)  phi(x) = (n + 1) x - J n (n + 1) / 2,   n = floor(x / J)      change of d while e fades from x to 0

    (5)  -phi^-1(V + d) <= e <= phi^-1(V - d)                          the limit of speed
    (6)  e = -sign(d) phi^-1(|d|)                                      the brake: d and e reach 0 together, exactly

and near limits of position only what the brake can still stop is allowed. Behind the end of the chunk u stays where it
is for SETTLING knots; then the brake ends the plan at rest.

Sources: C. de Boor, "A practical guide to splines", 1978, chapters 9 to 11, for (1); M. Unser, A. Aldroubi, M. Eden,
"B-spline signal processing", 1993, for (2) and (3).
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, Ints, Rows, RunsKernel, nearest, procedure
from arm_control.maths import Array

LEVELS, GROWTH = 9, 1.5
"""Values of tau that are tried, and the factor from one to the next."""
HARDER = 2
"""Levels from one attempt to the next where the torque is too large."""
SETTLING = 15
"""Knots behind the end of a chunk before the brake."""
FROZEN = 4
"""Points of a plan that cannot change: those that act between the two knots around now."""
HALVINGS = 8
"""Halvings of an acceleration near a limit of position."""
ROUNDING = 1e-9
"""Excess over a limit that is rounding, as a share of it."""
TURN = 2.0 * pi
FARTHEST = 1e6
"""Position from which on a number is none [rad or m]."""
JERK, ACCELERATION, SPEED, LOW, HIGH = 0, 1, 2, 3, 4
"""Rows of ``limits``: for w, e, d [rad or m], and for positions."""
SPAN, N_POINTS, PATH, KNOWN, JOINT, LEVEL, N_CLAMPED, N_COUNTS = range(8)
"""Entries of ``counts``: the piece between knots that is under way; points of the chunk; control points up to the end
of the chunk, and of the chunk before; joint of a refusal; largest level; control points that were clamped."""
H, LONGEST, MAX_JUMP, WEIGHT, ERROR, SIZE = 0, 1, 2, 3, 4, 5
"""Entries of ``numbers``: time between knots and longest part of a chunk that is followed [s]; largest jump; weight of
the newest chunk; largest distance of a plan from its intent, and size of what is refused [rad or m]."""
ACCEPTED, NOT_FINITE, OUTSIDE, TORN, JUMPS, PAST, TOO_HEAVY, UNPROVED = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0
"""Results of a plan."""


class PlanMemory(NamedTuple):
    """What a plan of n joints is made in.

    Attributes
    ----------
    plan, draft : ndarray, shape (n, N)
        Control points of the plan that counts, and of the next one.
    intent, intent_draft, smooth : ndarray, shape (n, N)
        ``u`` of both, and ``y``, at each control point.
    chunk : ndarray, shape (k, n)
        Points of the chunk [rad or m].
    times : ndarray, shape (k,)
        Their times from the knot before now [s].
    limits : ndarray, shape (5, n)
        By the names of this module.
    gains : ndarray, shape (LEVELS, 3)
        ``g`` of (3) for each tau.
    ends : ndarray of int64, shape (n,)
        Control points of each joint until it rests.
    capacity : int
        N.
    """

    plan: Rows
    draft: Rows
    intent: Rows
    intent_draft: Rows
    smooth: Rows
    chunk: Rows
    times: Floats
    limits: Rows
    gains: Rows
    counts: Ints
    ends: Ints
    numbers: Floats
    capacity: int
    n: int


class TorqueMemory(NamedTuple):
    """What the torque of a plan is bounded with (:mod:`arm_control.follow.torque_bound`).

    Attributes
    ----------
    run : RunsKernel
        Computes ``tau`` and ``bend`` from the other arrays of shape (n,).
    q, v, a : ndarray, shape (n,)
        State at a knot.
    v_most, a_most, j_most : ndarray, shape (n,)
        Largest speed, acceleration and jerk up to the next knot.
    tau, bend : ndarray, shape (n,)
        Torque at the knot, and a bound of its second derivative up to the next one.
    before, largest : ndarray, shape (n,)
        Torque at the knot before, and the largest one that is allowed.
    """

    plan: PlanMemory
    run: RunsKernel
    q: Floats
    v: Floats
    a: Floats
    v_most: Floats
    a_most: Floats
    j_most: Floats
    tau: Floats
    bend: Floats
    before: Floats
    largest: Floats


def gains_of(tau: float) -> Array:
    """Return ``g`` of (3) for a tau, in knots, shape (3,)."""
    angles = np.pi * np.array([1.0, 3.0, 5.0]) / 3.0
    sums = 2.0 - np.exp(1j * angles) / tau**2  # z + 1/z
    roots = np.sqrt(sums**2 - 4.0)
    z = np.where(np.abs(sums - roots) < np.abs(sums + roots), sums - roots, sums + roots) / 2.0
    _, d1, d2, d3 = np.poly(z).real
    return np.array([1.0 + d1 + d2 + d3, d2 + 2.0 * d3 - 1.0, d3 + 1.0])


# -- limits


@procedure
def fading_from(room: float, J: float) -> float:
    """Return ``phi^-1(room)`` of (4)."""
    if room <= J:
        return room
    n = float(int((sqrt(1.0 + 8.0 * room / J) - 1.0) * 0.5))
    return (room + 0.5 * J * n * (n + 1.0)) / (n + 1.0)


@procedure
def braked(d: float, e: float, J: float, A: float) -> float:
    """Return the next e of the brake, (6)."""
    wanted = min(fading_from(abs(d), J), A)
    wanted = -wanted if d > 0.0 else wanted
    return max(min(wanted, e + J), e - J)


@procedure
def stops_within(limits: Rows, j: int, c: float, d: float, e: float) -> bool:
    """Whether the brake keeps a joint within its limits of position."""
    J = limits[JERK, j]
    A = limits[ACCELERATION, j]
    while c >= limits[LOW, j] and c <= limits[HIGH, j] and (d != 0.0 or e != 0.0):
        e = braked(d, e, J, A)
        d += e
        c += d
    return c >= limits[LOW, j] and c <= limits[HIGH, j]


@procedure
def is_far(limits: Rows, j: int, c: float, d: float, e: float) -> bool:
    """Whether a joint is so far from its limits of position that the brake need not be tried."""
    J = limits[JERK, j]
    A = limits[ACCELERATION, j]
    fastest = abs(d) + abs(e) * (abs(e) / J + 1.0)
    reach = fastest * ((2.0 * A + abs(e)) / J + fastest / A + 4.0)
    return c - reach > limits[LOW, j] and c + reach < limits[HIGH, j]


@procedure
def clamped(limits: Rows, j: int, c: float, d: float, e: float, wanted: float) -> float:
    """Return the e nearest to a wanted one that keeps all limits, now and later, (5)."""
    J = limits[JERK, j]
    A = limits[ACCELERATION, j]
    V = limits[SPEED, j]
    high = min(e + J, A)
    high = min(high, fading_from(V - d, J))
    low = max(e - J, -A)
    low = max(low, -fading_from(V + d, J))
    chosen = max(min(wanted, high), low)
    if is_far(limits, j, c + d + chosen, d + chosen, chosen):
        return chosen
    if stops_within(limits, j, c + d + chosen, d + chosen, chosen):
        return chosen
    safe = braked(d, e, J, A)
    for _ in range(HALVINGS):
        middle = 0.5 * (safe + chosen)
        if stops_within(limits, j, c + d + middle, d + middle, middle):
            safe = middle
        else:
            chosen = middle
    return safe


# -- one joint


@procedure
def smooth_backwards(m: PlanMemory, j: int, level: int) -> None:
    """Run (3) backwards over the intent of a joint."""
    y = m.intent_draft[j, m.counts[PATH] - 1]
    d = 0.0
    e = 0.0
    for k in range(m.counts[PATH] - FROZEN):
        i = m.counts[PATH] - 1 - k
        e += m.gains[level, 0] * (m.intent_draft[j, i] - y) + m.gains[level, 1] * d - m.gains[level, 2] * e
        d += e
        y += d
        m.smooth[j, i] = y


@procedure
def plan_joint(m: PlanMemory, j: int, level: int) -> int:
    """Plan a joint to rest with one tau; return how many of its control points had to be clamped."""
    smooth_backwards(m, j, level)
    c = m.draft[j, FROZEN - 1]
    d = c - m.draft[j, FROZEN - 2]
    e = d - (m.draft[j, FROZEN - 2] - m.draft[j, FROZEN - 3])
    n_clamped = 0
    end = m.counts[PATH] + SETTLING
    last = m.intent_draft[j, m.counts[PATH] - 1]
    for i in range(FROZEN, end):
        y = m.smooth[j, i] if i < m.counts[PATH] else last
        wanted = e + m.gains[level, 0] * (y - c) + m.gains[level, 1] * d - m.gains[level, 2] * e
        e = clamped(m.limits, j, c, d, e, wanted)
        n_clamped += 1 if e != wanted else 0
        d += e
        c += d
        m.draft[j, i] = c
    i = end
    while i < m.capacity and (d != 0.0 or e != 0.0):
        e = braked(d, e, m.limits[JERK, j], m.limits[ACCELERATION, j])
        d += e
        c += d
        m.draft[j, i] = c
        i += 1
    m.ends[j] = i
    for k in range(i, m.capacity):
        m.draft[j, k] = c
    return n_clamped


# -- chunks


@procedure
def fault_of(m: PlanMemory) -> float:
    """Return what is wrong with the points of a chunk; ``SIZE`` and ``JOINT`` say where."""
    for j in range(m.n):
        m.counts[JOINT] = j
        for k in range(m.counts[N_POINTS]):
            q = m.chunk[k, j]
            if not abs(q) < FARTHEST:
                return NOT_FINITE
            m.numbers[SIZE] = q
            if q < m.limits[LOW, j] - ROUNDING or q > m.limits[HIGH, j] + ROUNDING:
                return OUTSIDE
            if k > 0:
                step = abs(q - m.chunk[k - 1, j])
                m.numbers[SIZE] = step
                fastest = m.limits[SPEED, j] / m.numbers[H]
                if step > m.numbers[MAX_JUMP] + fastest * (m.times[k] - m.times[k - 1]):
                    return TORN
    return ACCEPTED


@procedure
def read_intent(m: PlanMemory, j: int) -> None:
    """Take the intent of a joint from the chunk: at each control point's middle, straight between two points."""
    k = 0
    t_0 = m.numbers[H] * (FROZEN - 2)
    q_0 = m.draft[j, FROZEN - 1]
    for i in range(FROZEN, m.counts[PATH]):
        t = m.numbers[H] * (i - 1)
        while m.times[k] < t and k < m.counts[N_POINTS] - 1:
            t_0 = m.times[k]
            q_0 = m.chunk[k, j]
            k += 1
        share = min((t - t_0) / (m.times[k] - t_0), 1.0)
        m.intent_draft[j, i] = q_0 + share * (m.chunk[k, j] - q_0)


@procedure
def jump_of(m: PlanMemory, j: int) -> float:
    """Read the intent of a joint, and return how far it is from the plan under way: more than its speed explains."""
    read_intent(m, j)
    jump = abs(m.intent_draft[j, FROZEN] - m.plan[j, min(m.counts[SPAN] + FROZEN, m.capacity - 1)])
    time = m.times[0] / m.numbers[H] - (FROZEN - 2)
    if time > 0.0:
        jump = abs(m.chunk[0, j] - m.draft[j, FROZEN - 1]) - time * m.limits[SPEED, j]
    m.numbers[SIZE] = jump
    return jump


@procedure
def begin_draft(m: PlanMemory) -> float:
    """Begin the next plan with what stays of the present one, and the intent; return what is wrong."""
    fault = fault_of(m)
    if fault != ACCEPTED:
        return fault
    last = min(m.times[m.counts[N_POINTS] - 1], m.numbers[LONGEST])
    m.counts[PATH] = min(int(last / m.numbers[H] + 1.0 + ROUNDING) + 2, m.capacity)
    if m.counts[PATH] <= FROZEN + 1:
        return PAST
    m.numbers[ERROR] = 0.0
    for j in range(m.n):
        m.counts[JOINT] = j
        for i in range(FROZEN):
            m.draft[j, i] = m.plan[j, min(m.counts[SPAN] + i, m.capacity - 1)]
        if m.limits[HIGH, j] - m.limits[LOW, j] > FARTHEST:
            turn = TURN * nearest((m.chunk[0, j] - m.draft[j, FROZEN - 1]) / TURN)
            for k in range(m.counts[N_POINTS]):
                m.chunk[k, j] -= turn
        if jump_of(m, j) > m.numbers[MAX_JUMP]:
            return JUMPS
        for i in range(FROZEN, m.counts[PATH]):
            if m.counts[SPAN] + i < m.counts[KNOWN]:
                before = m.intent[j, m.counts[SPAN] + i]
                m.intent_draft[j, i] = before + m.numbers[WEIGHT] * (m.intent_draft[j, i] - before)
    return ACCEPTED


@procedure
def plan_joints(m: PlanMemory, first_level: int) -> None:
    """Plan all joints, each with the least tau from a level on that needs no clamping; with the largest one at last."""
    m.counts[LEVEL] = first_level
    m.counts[N_CLAMPED] = 0
    for j in range(m.n):
        level = first_level
        n_clamped = plan_joint(m, j, level)
        while n_clamped > 0 and level < LEVELS - 1:
            level += 1
            n_clamped = plan_joint(m, j, level)
        m.counts[LEVEL] = max(m.counts[LEVEL], level)
        m.counts[N_CLAMPED] += n_clamped


@procedure
def is_proved(m: PlanMemory) -> bool:
    """Whether the draft keeps (1) everywhere, and ends at rest."""
    slack = 1.0 + ROUNDING
    for j in range(m.n):
        if m.ends[j] > m.capacity - FROZEN:
            return False
        for i in range(FROZEN, m.ends[j] + FROZEN):
            c = m.draft[j, i]
            d = c - m.draft[j, i - 1]
            d_0 = m.draft[j, i - 1] - m.draft[j, i - 2]
            w = d - d_0 - (d_0 - (m.draft[j, i - 2] - m.draft[j, i - 3]))
            is_inside = c >= m.limits[LOW, j] - ROUNDING and c <= m.limits[HIGH, j] + ROUNDING
            is_slow = abs(d) <= slack * m.limits[SPEED, j] and abs(d - d_0) <= slack * m.limits[ACCELERATION, j]
            if not (is_inside and is_slow and abs(w) <= slack * m.limits[JERK, j]):
                m.counts[JOINT] = j
                return False
    return True


@procedure
def accept(m: PlanMemory) -> None:
    """Let the draft take the place of the plan."""
    m.counts[KNOWN] = m.counts[PATH]
    for j in range(m.n):
        for i in range(m.capacity):
            m.plan[j, i] = m.draft[j, i]
        for i in range(FROZEN, m.counts[PATH]):
            m.intent[j, i] = m.intent_draft[j, i]
            m.numbers[ERROR] = max(m.numbers[ERROR], abs(m.draft[j, i] - m.intent_draft[j, i]))


@procedure
def join_chunk(m: PlanMemory) -> float:
    """Plan a chunk from the motion under way on; return :data:`ACCEPTED`, or why the present plan goes on."""
    fault = begin_draft(m)
    if fault != ACCEPTED:
        return fault
    plan_joints(m, 0)
    if not is_proved(m):
        return UNPROVED
    accept(m)
    return ACCEPTED


@procedure
def look_at_piece(t: TorqueMemory, i: int) -> None:
    """Take the state at a knot of the draft, and what it does at most up to the next knot."""
    h = t.plan.numbers[H]
    draft = t.plan.draft
    for j in range(t.plan.n):
        d_1 = draft[j, i + 1] - draft[j, i]
        d_2 = draft[j, i + 2] - draft[j, i + 1]
        d_3 = draft[j, i + 3] - draft[j, i + 2]
        t.q[j] = (draft[j, i] + 4.0 * draft[j, i + 1] + draft[j, i + 2]) / 6.0
        t.v[j] = (d_1 + d_2) / (2.0 * h)
        t.a[j] = (d_2 - d_1) / (h * h)
        fastest = max(abs(d_1), abs(d_2))
        t.v_most[j] = max(fastest, abs(d_3)) / h
        t.a_most[j] = max(abs(d_2 - d_1), abs(d_3 - d_2)) / (h * h)
        t.j_most[j] = abs(d_3 - d_2 - (d_2 - d_1)) / (h * h * h)


@procedure
def torque_is_proved(t: TorqueMemory) -> bool:
    """Whether the torque of the draft keeps its bounds, at the knots and between them: (2) of the bound."""
    n = t.plan.n
    eighth = t.plan.numbers[H] * t.plan.numbers[H] / 8.0
    end = FROZEN
    for j in range(n):
        end = max(end, t.plan.ends[j])
        t.before[j] = 0.0
    for i in range(end - 2):
        look_at_piece(t, i)
        if t.run() != 0.0:
            return False
        for j in range(n):
            if abs(t.tau[j]) + eighth * max(t.before[j], t.bend[j]) > t.largest[j]:
                t.plan.counts[JOINT] = j
                t.plan.numbers[SIZE] = abs(t.tau[j]) + eighth * max(t.before[j], t.bend[j])
                return False
            t.before[j] = t.bend[j]
    return True


@procedure
def join_within_torque(t: TorqueMemory) -> float:
    """Do as :func:`join_chunk`, with a plan so smooth that its torque keeps the bounds."""
    fault = begin_draft(t.plan)
    if fault != ACCEPTED:
        return fault
    level = 0
    while level < LEVELS:
        plan_joints(t.plan, level)
        if not is_proved(t.plan):
            return UNPROVED
        if torque_is_proved(t):
            accept(t.plan)
            return ACCEPTED
        level += HARDER
    return TOO_HEAVY


# -- the reference


class SplineMemory(NamedTuple):
    """A plan to be read at a time.

    Attributes
    ----------
    plan : ndarray, shape (n, N)
        Its control points.
    t, h : ndarray, shape (1,); float
        Time from its first knot, and from a knot to the next [s].
    q, v, a : ndarray, shape (n,)
        The reference at that time.
    last : int
        Last piece between knots.
    """

    plan: Rows
    t: Floats
    q: Floats
    v: Floats
    a: Floats
    h: float
    last: int
    n: int


@procedure
def read_spline(m: SplineMemory) -> float:
    """Compute position, velocity and acceleration; return 0."""
    x = max(m.t[0] / m.h, 0.0)
    k = int(min(x, float(m.last)))
    s = x - float(k)
    r = 1.0 - s
    for j in range(m.n):
        c_0 = m.plan[j, k]
        c_1 = m.plan[j, k + 1]
        c_2 = m.plan[j, k + 2]
        c_3 = m.plan[j, k + 3]
        d_1 = c_1 - c_0
        d_2 = c_2 - c_1
        d_3 = c_3 - c_2
        m.q[j] = c_1 + (r * r * r * (c_0 - c_1) + (1.0 + 3.0 * s + 3.0 * s * s - 3.0 * s * s * s) * d_2) / 6.0
        m.q[j] += s * s * s / 6.0 * (c_3 - c_1)
        m.v[j] = (r * r * d_1 + (1.0 + 2.0 * s * r) * d_2 + s * s * d_3) / (2.0 * m.h)
        m.a[j] = (r * (d_2 - d_1) + s * (d_3 - d_2)) / (m.h * m.h)
    return 0.0
