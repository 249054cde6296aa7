"""The least change under rows: a strictly convex least-distance problem, solved in one procedure.

    minimise 1/2 |y|^2   subject to   G y >= h                                               y of d unknowns, m rows

An acceleration a_0 that is changed least in the metric of the mass matrix M = L L^T, so that C a >= b holds, is this
problem with y = L^T (a - a_0), G = C L^-T, h = b - C a_0.

**Scale.** A row is divided by its length: g_i = G_i / |G_i|, b_i = h_i / |G_i|, so that b_i - g_i y is the distance by
which y misses the row. Every decision is made on these distances:

    row i is violated    where   b_i - g_i y > TOLERANCE |y|                                                         (1)

**One solve** is the dual active set of D. Goldfarb, A. Idnani (1983). The active rows are the columns of
A^T = Q R, Q with orthonormal columns, R upper triangular. With the multipliers u of the active rows

    v = R^-T b_A,   y = Q v,   R u = v                                                                               (2)

y is the optimum for these rows alone, and u >= 0. While a row p is violated, it becomes active: with

    d = Q^T g_p,   z = g_p - Q d,   R r = d                                                                          (3)

a step of length t changes y by t z, u by -t r, the multiplier of p by t. The longest step that keeps u >= 0, and the
one that makes row p hold, are

    t_1 = min u_c / r_c over r_c > 0,   t_2 = (b_p - g_p y) / |z|^2, infinite where |z| <= DEPENDENT                 (4)

Where t_2 <= t_1, p joins the factor and (2) follows. Where t_1 is smaller, that row leaves, by Givens rotations, and
(3) is repeated. Where both are infinite, p and the rows with r_c < 0 contradict each other. |y| grows with every row
that joins, so that no set of active rows comes twice. z is orthogonalised again where it is shorter than half of what
it was before. Rows of low levels are served first, among those of one level the most violated one.

**Levels.** The highest level in a contradiction yields: its rows share a slack, and higher levels wait,

    minimise 1/2 |y|^2 + 1/2 (sigma / PRICE)^2   s. t.   g_i y + sigma >= b_i in this level, g_i y >= b_i below it   (5)

which is the same problem with one unknown more, sigma / PRICE. Its sigma is the least one, exactly, where the
multipliers u that it would have for a given sigma satisfy PRICE^2 sum u <= sigma. The rows with multipliers of the
order of the largest one hold with equality for every y with this sigma; that fixes the miss of their combinations, too:

    b_i is lowered to g_i y   for these rows, and for all missed rows in their span                                  (6)

Then all rows are asked again. Each round takes a dimension, so there are at most d, whatever the number of rows, and
at most d + 1 active rows in each; squared slacks, one for each missed row, have no such bound. The answer is unique:
among all y, the one with the least largest distance in the lowest level, then the least second largest one, and so on,
then the same in the next level, then the least |y|. It follows G and h continuously where no rank changes. A row
that contradicts no other one never yields.

**No memory.** Each solve begins without active rows, so that an answer depends on G and h alone, to the last bit.

**Bounds.** Numbers above LARGEST, or none, are not finite: their row is ignored, in level 0 the whole problem is. Where
the steps do not suffice, the answer is the last y on the way that came nearest to level 0: so it may be where rows of
several levels are within 1e-5 rad of a contradiction, the angle that PRICE can tell.

References
----------
D. Goldfarb, A. Idnani, "A numerically stable dual method for solving strictly convex quadratic programs", 1983.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Floats, Ints, Rows, compile_procedure, direct_call, procedure
from arm_control.exceptions import InputError
from arm_control.maths import Array

INFINITY = float("inf")
BLOCK = 8
"""Columns of G come in blocks of so many; unused ones are zero."""
TOLERANCE = 1e-11
"""Distance by which a row may be missed, relative to |y|."""
DEPENDENT = 1e-10
"""Sine of the angle up to which a row is a combination of the active ones."""
JOINS_AGAIN = 1e-6
"""Sine of the angle between a row and those before it from which on it joins again when a level yields."""
LARGEST, SMALLEST = 1e50, 1e-50
"""Larger numbers count as infinite; shorter rows as zero. So nothing in a solve overflows."""
ACTS = 1e-3
"""Share of the largest multiplier from which on a row counts as one that keeps the slack from becoming smaller."""
MARGIN = 1e-10
"""Room that a relaxed row is given, relative to |y| and the slack."""
NEGLIGIBLE = 1e-8
"""Entries of r above minus this take no part in a contradiction; sine up to which a row is in the span of others."""
NOISE = 1e-11
"""Entries of r below this share of the largest one count as zero."""
PRICE = 1e-5
"""Entry of the slack in the rows of a level that yields."""
MAX_STEPS = 25
"""Steps of a solve, for each column: rows that become active or leave; with them the answer is the best for level 0."""
N_ROWS, N_ACTIVE, STATUS, STEPS, IS_CAPPED, WORST, N_IGNORED, N_STEPS_MAX, SOFT, N_MARKED, N_COUNTS = range(11)
"""Places in ``counts``."""
HOLDS, RELAXED, BROKEN, NOT_FINITE = range(4)
"""Outcomes: all rows hold; some above level 0 do not; some of level 0 do not; one of those is not finite: y = 0."""
IS_HARD, IS_FIXED, IS_IGNORED = range(3)
"""Marks of rows; a fixed one has done what equation (6) says."""


class LeastDistance(NamedTuple):
    """The problem, its answer and the memory of a solve: what :func:`solve` works on, and other procedures fill.

    To be written before a solve: ``G`` (all of a row, whose entries behind d stay zero), ``h``, ``level`` and
    ``counts[N_ROWS]``, at most the capacity. The width is d, rounded up to whole blocks; behind
    the unknowns is the slack of a level.

    Attributes
    ----------
    G : ndarray, shape (width, capacity)
        A row in each column: so many rows are looked at at once.
    h : ndarray, shape (capacity,)
    level : ndarray of int, shape (capacity,)
        From 0 on; rows of a level yield before those of lower ones.
    counts : ndarray of int, shape (N_COUNTS,)
        Number of rows; results: number of active rows, outcome, steps, whether the steps did not suffice, the row that
        is missed by the largest distance or -1, number of ignored rows; the bound of the steps; two for the solve.
    y : ndarray, shape (width + 1,)
        Result: the first d entries.
    active : ndarray of int, shape (width + 1,)
        Result: the active rows, in no order.
    u : ndarray, shape (width + 1,)
        Result: their multipliers, y = G^T u.
    left : ndarray, shape (capacity,)
        Result: how much of each row does not hold, max(0, h - G y) where that is above (1).
    scale, b : ndarray, shape (capacity,)
        1 / |G_i|, 0 for a zero row; its distance from y = 0, as relaxed so far.
    mark : ndarray of int, shape (capacity,)
    miss : ndarray, shape (capacity,)
        The distance by which y misses each row.
    Q, R : ndarray, shape (width + 1, width + 1)
        The factor, equation (2): each row is a column.
    v, multiplier, g, d, z, r : ndarray, shape (width + 1,)
        Equations (2) to (4).
    best : ndarray, shape (width + 2,)
        The best y for level 0, and its largest distance there.
    former : ndarray of int, shape (width + 1,)
        Active rows before a level yields.
    """

    G: Rows
    h: Floats
    level: Ints
    counts: Ints
    y: Floats
    active: Ints
    u: Floats
    left: Floats
    scale: Floats
    b: Floats
    mark: Ints
    miss: Floats
    Q: Rows
    R: Rows
    v: Floats
    multiplier: Floats
    g: Floats
    d: Floats
    z: Floats
    r: Floats
    best: Floats
    former: Ints
    width: int


@procedure
def solve(s: LeastDistance) -> float:
    """Find y; returns the outcome, 0 where all rows hold."""
    clear(s)
    n_bad = n_not_finite(s)
    if n_bad == 0 and not is_any_positive(s):
        return float(HOLDS)  # y = 0 holds them all
    scale_rows(s)
    if n_bad > 0 and not ignore_rows(s):
        s.counts[STATUS] = NOT_FINITE
        return float(NOT_FINITE)
    s.best[s.width + 1] = INFINITY
    search(s)
    report(s)
    return float(s.counts[STATUS])


# -- the beginning


@procedure
def clear(s: LeastDistance) -> None:
    """Forget the answer of before."""
    for i in range(s.counts[N_MARKED]):
        s.left[i] = 0.0
        s.mark[i] = IS_HARD
    for j in range(s.width + 1):
        s.y[j] = 0.0
        s.u[j] = 0.0
    s.counts[N_MARKED] = 0
    s.counts[N_ACTIVE] = 0
    s.counts[STATUS] = HOLDS
    s.counts[STEPS] = 0
    s.counts[IS_CAPPED] = 0
    s.counts[WORST] = -1
    s.counts[N_IGNORED] = 0
    s.counts[SOFT] = -1


@procedure
def n_not_finite(s: LeastDistance) -> int:
    """Return above zero where rows may have numbers that are infinite or none."""
    n = 0
    for k in range(s.width // BLOCK):
        for i in range(s.counts[N_ROWS]):
            n += 0 if abs(s.h[i]) + size_of_row(s.G, i, BLOCK * k) <= LARGEST else 1
    return n


@procedure
def size_of_row(G: Rows, i: int, k: int) -> float:
    """Return the sum of the sizes of a row's entries in the block from k on."""
    return ((abs(G[k, i]) + abs(G[k + 1, i])) + (abs(G[k + 2, i]) + abs(G[k + 3, i]))) + (
        (abs(G[k + 4, i]) + abs(G[k + 5, i])) + (abs(G[k + 6, i]) + abs(G[k + 7, i]))
    )


@procedure
def square_of_row(G: Rows, i: int, k: int) -> float:
    """Return the sum of the squares of a row's entries in a block."""
    return (
        (G[k, i] * G[k, i] + G[k + 1, i] * G[k + 1, i]) + (G[k + 2, i] * G[k + 2, i] + G[k + 3, i] * G[k + 3, i])
    ) + (
        (G[k + 4, i] * G[k + 4, i] + G[k + 5, i] * G[k + 5, i])
        + (G[k + 6, i] * G[k + 6, i] + G[k + 7, i] * G[k + 7, i])
    )


@procedure
def part_of_row(G: Rows, i: int, y: Floats, k: int) -> float:
    """Return G_i y of a block."""
    return ((G[k, i] * y[k] + G[k + 1, i] * y[k + 1]) + (G[k + 2, i] * y[k + 2] + G[k + 3, i] * y[k + 3])) + (
        (G[k + 4, i] * y[k + 4] + G[k + 5, i] * y[k + 5]) + (G[k + 6, i] * y[k + 6] + G[k + 7, i] * y[k + 7])
    )


@procedure
def row_dot(s: LeastDistance, i: int) -> float:
    """Return G_i y."""
    total = part_of_row(s.G, i, s.y, 0)
    for k in range(1, s.width // BLOCK):
        total += part_of_row(s.G, i, s.y, BLOCK * k)
    return total


@procedure
def is_any_positive(s: LeastDistance) -> bool:
    """Whether y = 0 misses a row."""
    n = 0
    for i in range(s.counts[N_ROWS]):
        n += 1 if s.h[i] > 0.0 else 0
    return n > 0


@procedure
def scale_rows(s: LeastDistance) -> None:
    """Compute scale and distance of each row; a row of no length is left out, and reported where h > 0."""
    for i in range(s.counts[N_ROWS]):
        s.scale[i] = square_of_row(s.G, i, 0)
    for k in range(1, s.width // BLOCK):
        for i in range(s.counts[N_ROWS]):
            s.scale[i] += square_of_row(s.G, i, BLOCK * k)
    n_broken = 0
    for i in range(s.counts[N_ROWS]):
        length = sqrt(s.scale[i])
        is_zero = length < SMALLEST
        n_broken += 1 if is_zero and s.h[i] > 0.0 else 0
        s.scale[i] = 0.0 if is_zero else 1.0 / length
        s.b[i] = -1.0 if is_zero else s.h[i] * s.scale[i]
    if n_broken > 0:
        s.counts[N_MARKED] = s.counts[N_ROWS]


@procedure
def ignore_rows(s: LeastDistance) -> bool:
    """Leave out the rows with numbers that are infinite or none; returns whether none of them is of level 0."""
    s.counts[N_MARKED] = s.counts[N_ROWS]
    is_possible = True
    for i in range(s.counts[N_ROWS]):
        is_finite = abs(s.h[i]) <= LARGEST
        for j in range(s.width):
            is_finite = is_finite and abs(s.G[j, i]) <= LARGEST
        if not is_finite:
            s.mark[i] = IS_IGNORED
            s.scale[i] = 0.0
            s.counts[N_IGNORED] += 1
            is_possible = is_possible and s.level[i] > 0
    return is_possible


@procedure
def join_again(s: LeastDistance) -> None:
    """Let the active rows of before join again, as far as they take part now, and find y."""
    n = s.counts[N_ACTIVE]
    for c in range(n):
        s.former[c] = s.active[c]
    s.counts[N_ACTIVE] = 0
    for c in range(n):
        i = s.former[c]
        if takes_part(s, i):
            take_row(s, i)
            length = project(s)
            if length > JOINS_AGAIN:
                join(s, i, length)
    drop_negative(s)


# -- rows


@procedure
def part_of_dot(a: Floats, b: Floats, k: int) -> float:
    """Return a . b of a block."""
    return ((a[k] * b[k] + a[k + 1] * b[k + 1]) + (a[k + 2] * b[k + 2] + a[k + 3] * b[k + 3])) + (
        (a[k + 4] * b[k + 4] + a[k + 5] * b[k + 5]) + (a[k + 6] * b[k + 6] + a[k + 7] * b[k + 7])
    )


@procedure
def dot(a: Floats, b: Floats, width: int) -> float:
    """Return a . b of the unknowns."""
    total = part_of_dot(a, b, 0)
    for k in range(1, width // BLOCK):
        total += part_of_dot(a, b, BLOCK * k)
    return total


@procedure
def takes_part(s: LeastDistance, i: int) -> bool:
    """Whether a row counts now: while a level is relaxed, those of higher ones do not."""
    soft = s.counts[SOFT]
    return s.scale[i] > 0.0 and (soft < 0 or s.level[i] <= soft)


@procedure
def yields(s: LeastDistance, i: int) -> bool:
    """Whether the slack acts in a row."""
    return s.level[i] == s.counts[SOFT] and s.mark[i] == IS_HARD


@procedure
def take_row(s: LeastDistance, i: int) -> None:
    """Write g_i."""
    for j in range(s.width):
        s.g[j] = s.G[j, i] * s.scale[i]
    s.g[s.width] = PRICE if yields(s, i) else 0.0


@procedure
def distance(s: LeastDistance, i: int) -> float:
    """Return the distance by which y misses a row."""
    return s.b[i] - s.scale[i] * row_dot(s, i)


@procedure
def comes_before(s: LeastDistance, i: int, miss: float, other: int, largest: float) -> bool:
    """Whether a violated row is served before another one, -1 for none."""
    if other < 0 or s.level[i] < s.level[other]:
        return True
    return s.level[i] == s.level[other] and miss > largest


@procedure
def find_misses(s: LeastDistance) -> None:
    """Compute the distance by which y misses each row."""
    for i in range(s.counts[N_ROWS]):
        s.miss[i] = part_of_row(s.G, i, s.y, 0)
    for k in range(1, s.width // BLOCK):
        for i in range(s.counts[N_ROWS]):
            s.miss[i] += part_of_row(s.G, i, s.y, BLOCK * k)
    for i in range(s.counts[N_ROWS]):
        s.miss[i] = s.b[i] - s.scale[i] * s.miss[i]


@procedure
def find_violated(s: LeastDistance) -> int:
    """Return the most violated row of the lowest level that has one, equation (1), or -1; keep the best y."""
    give = PRICE * s.y[s.width]
    tolerance = TOLERANCE * (sqrt(dot(s.y, s.y, s.width)) + give)
    found = -1
    largest = 0.0
    at_level_0 = 0.0
    find_misses(s)
    for i in range(s.counts[N_ROWS]):
        miss = s.miss[i]
        if miss > tolerance:
            if s.level[i] == 0:
                at_level_0 = max(at_level_0, miss)
            if yields(s, i):
                miss -= give
            if miss > tolerance and takes_part(s, i) and comes_before(s, i, miss, found, largest):
                found = i
                largest = miss
    if at_level_0 <= s.best[s.width + 1]:
        s.best[s.width + 1] = at_level_0
        for j in range(s.width + 1):
            s.best[j] = s.y[j]
    return found


# -- the factor


@procedure
def project(s: LeastDistance) -> float:
    """Compute d and z of g, equation (3); returns |z|."""
    n = s.counts[N_ACTIVE]
    for j in range(s.width + 1):
        s.z[j] = s.g[j]
        s.d[j] = 0.0
    before = 1.0
    now = length_of(s.z, s.width)
    for turn in range(2):
        if turn == 0 or now < 0.5 * before:
            before = now
            for c in range(n):
                s.r[c] = whole_dot(s.Q[c], s.z, s.width)
            for c in range(n):
                s.d[c] += s.r[c]
                for j in range(s.width + 1):
                    s.z[j] -= s.r[c] * s.Q[c, j]
            now = length_of(s.z, s.width)
    return now


@procedure
def whole_dot(a: Floats, b: Floats, width: int) -> float:
    """Return a . b with the slack."""
    return dot(a, b, width) + a[width] * b[width]


@procedure
def length_of(a: Floats, width: int) -> float:
    """Return |a| with the slack."""
    return sqrt(whole_dot(a, a, width))


@procedure
def solve_upper(s: LeastDistance, right: Floats, x: Floats) -> None:
    """Solve R x = right."""
    n = s.counts[N_ACTIVE]
    for k in range(n):
        c = n - 1 - k
        t = right[c]
        for e in range(c + 1, n):
            t -= s.R[e, c] * x[e]
        x[c] = t / s.R[c, c]


@procedure
def set_v(s: LeastDistance, c: int) -> None:
    """Compute an entry of v from those before it, equation (2)."""
    t = s.b[s.active[c]]
    for e in range(c):
        t -= s.R[c, e] * s.v[e]
    s.v[c] = t / s.R[c, c]


@procedure
def join(s: LeastDistance, i: int, length: float) -> None:
    """Add a row, whose d and z are known, to the factor."""
    n = s.counts[N_ACTIVE]
    for j in range(s.width + 1):
        s.Q[n, j] = s.z[j] / length
    for c in range(n):
        s.R[n, c] = s.d[c]
    s.R[n, n] = length
    s.active[n] = i
    s.counts[N_ACTIVE] = n + 1
    set_v(s, n)


@procedure
def leave(s: LeastDistance, c: int) -> None:
    """Take a row out of the factor: its column goes, and rotations make R triangular again."""
    n = s.counts[N_ACTIVE] - 1
    s.counts[N_ACTIVE] = n
    for k in range(c, n):
        s.active[k] = s.active[k + 1]
        s.multiplier[k] = s.multiplier[k + 1]
        for e in range(k + 2):
            s.R[k, e] = s.R[k + 1, e]
    for k in range(c, n):
        radius = sqrt(s.R[k, k] * s.R[k, k] + s.R[k, k + 1] * s.R[k, k + 1])
        cosine = s.R[k, k] / radius
        sine = s.R[k, k + 1] / radius
        for e in range(k, n):
            x = s.R[e, k]
            w = s.R[e, k + 1]
            s.R[e, k] = cosine * x + sine * w
            s.R[e, k + 1] = cosine * w - sine * x
        for j in range(s.width + 1):
            x = s.Q[k, j]
            w = s.Q[k + 1, j]
            s.Q[k, j] = cosine * x + sine * w
            s.Q[k + 1, j] = cosine * w - sine * x
    for k in range(c, n):
        set_v(s, k)


@procedure
def set_y(s: LeastDistance) -> None:
    """Compute y and the multipliers, equation (2)."""
    for j in range(s.width + 1):
        s.y[j] = 0.0
    for c in range(s.counts[N_ACTIVE]):
        for j in range(s.width + 1):
            s.y[j] += s.v[c] * s.Q[c, j]
    solve_upper(s, s.v, s.multiplier)


@procedure
def drop_negative(s: LeastDistance) -> bool:
    """Let rows leave until no multiplier is negative; returns whether one has left."""
    has_left = False
    set_y(s)
    while True:
        worst = -1
        least = 0.0
        for c in range(s.counts[N_ACTIVE]):
            if s.multiplier[c] < least:
                least = s.multiplier[c]
                worst = c
        if worst < 0:
            return has_left
        has_left = True
        leave(s, worst)
        set_y(s)


# -- the search


@procedure
def search(s: LeastDistance) -> None:
    """Let violated rows become active, and levels yield, until all rows hold or the steps are used up."""
    while True:
        i = find_violated(s)
        if i < 0 and not drop_negative(s):
            if s.counts[SOFT] < 0:
                return
            fix_level(s)
        elif s.counts[STEPS] >= s.counts[N_STEPS_MAX]:
            s.counts[IS_CAPPED] = 1
            return
        elif i >= 0 and activate(s, i):
            resolve(s, i)


@procedure
def activate(s: LeastDistance, i: int) -> bool:
    """Make a violated row active, equations (3) and (4); returns whether it contradicts the others."""
    take_row(s, i)
    miss = distance(s, i) - s.g[s.width] * s.y[s.width]
    while s.counts[STEPS] < s.counts[N_STEPS_MAX]:
        s.counts[STEPS] += 1
        length = project(s)
        solve_upper(s, s.d, s.r)
        largest = 0.0
        for c in range(s.counts[N_ACTIVE]):
            largest = max(largest, abs(s.r[c]))
        t_1 = INFINITY
        first = -1
        for c in range(s.counts[N_ACTIVE]):
            if s.r[c] > NOISE * largest and s.multiplier[c] < t_1 * s.r[c]:
                t_1 = s.multiplier[c] / s.r[c]
                first = c
        is_independent = length > DEPENDENT
        if first < 0 and not is_independent:
            return True
        if is_independent and miss <= t_1 * length * length:
            join(s, i, length)
            set_y(s)
            return False
        for c in range(s.counts[N_ACTIVE]):
            s.multiplier[c] -= t_1 * s.r[c]
        if is_independent:
            miss -= t_1 * length * length
        leave(s, first)
    return False


# -- levels


@procedure
def resolve(s: LeastDistance, i: int) -> None:
    """Let the highest level yield that takes part in a contradiction; a row that contradicts fixed ones gives way."""
    level = s.level[i] if s.mark[i] == IS_HARD and not yields(s, i) else -1
    for c in range(s.counts[N_ACTIVE]):
        k = s.active[c]
        if s.r[c] < -NEGLIGIBLE and s.mark[k] == IS_HARD and not yields(s, k):
            level = max(level, s.level[k])
    s.counts[STEPS] += 1
    if level < 0:
        fix_row(s, i)
    else:
        s.counts[SOFT] = level
    join_again(s)


@procedure
def fix_level(s: LeastDistance) -> None:
    """Fix what the least slack of a level leaves no freedom, equation (6), and go on with all rows."""
    largest = 0.0
    for c in range(s.counts[N_ACTIVE]):
        if yields(s, s.active[c]):
            largest = max(largest, s.multiplier[c])
    n = s.counts[N_ACTIVE]
    for k in range(n):
        c = n - 1 - k
        if s.multiplier[c] < ACTS * largest:
            leave(s, c)
    for c in range(s.counts[N_ACTIVE]):
        fix_row(s, s.active[c])
    for i in range(s.counts[N_ROWS]):
        if s.mark[i] == IS_HARD and distance(s, i) > 0.0:
            take_row(s, i)
            if project(s) <= NEGLIGIBLE:
                fix_row(s, i)
    s.counts[SOFT] = -1
    s.counts[STEPS] += 1
    join_again(s)


@procedure
def fix_row(s: LeastDistance, i: int) -> None:
    """Ask no more of a row than what y reaches, for good; where y reaches it, all of it stays asked."""
    room = MARGIN * (sqrt(dot(s.y, s.y, s.width)) + PRICE * s.y[s.width])
    if distance(s, i) > room:
        s.b[i] -= distance(s, i) + room
    s.mark[i] = IS_FIXED
    s.counts[N_MARKED] = s.counts[N_ROWS]


# -- the answer


@procedure
def report(s: LeastDistance) -> None:
    """Write multipliers, and what does not hold."""
    if s.counts[IS_CAPPED] == 1:
        for j in range(s.width + 1):
            s.y[j] = s.best[j]
    else:
        for c in range(s.counts[N_ACTIVE]):
            s.u[c] = s.multiplier[c] * s.scale[s.active[c]]
    if s.counts[N_MARKED] > 0 or s.counts[IS_CAPPED] == 1:
        find_left(s)


@procedure
def find_left(s: LeastDistance) -> None:
    """Write how much of each row does not hold, and which one is missed by the largest distance."""
    tolerance = 2.0 * TOLERANCE * sqrt(dot(s.y, s.y, s.width))
    s.counts[N_MARKED] = s.counts[N_ROWS]
    largest = 0.0
    for i in range(s.counts[N_ROWS]):
        if s.mark[i] != IS_IGNORED:
            left = s.h[i] - row_dot(s, i)
            miss = left * s.scale[i] if s.scale[i] > 0.0 else left
            if miss > tolerance:
                s.left[i] = left
                if s.level[i] == 0:
                    s.counts[STATUS] = BROKEN
                if s.counts[STATUS] == HOLDS:
                    s.counts[STATUS] = RELAXED
                if miss > largest:
                    largest = miss
                    s.counts[WORST] = i


# -- from Python


class LeastChange(NamedTuple):
    """The least change that makes rows hold.

    Attributes
    ----------
    y : ndarray, shape (d,)
    active : ndarray of int, shape (k,)
        Rows that hold with equality and act.
    u : ndarray, shape (k,)
        Their multipliers, y = G^T u; 0 where the steps did not suffice.
    left : ndarray, shape (m,)
        How much of each row does not hold, in its unit.
    status : int
        :data:`HOLDS`, :data:`RELAXED`, :data:`BROKEN` or :data:`NOT_FINITE`.
    steps : int
    capped : bool
        Whether the steps did not suffice: then y is the best point for level 0 on the way.
    worst : int
        ConstraintRow that is missed by the largest distance; -1: all hold.
    """

    y: Array
    active: npt.NDArray[np.int64]
    u: Array
    left: Array
    status: int
    steps: int
    capped: bool
    worst: int


class Solver:
    """Memory for problems of one size.

    Parameters
    ----------
    d : int
        Number of unknowns.
    capacity : int
        Largest number of rows.

    Attributes
    ----------
    record : LeastDistance
        For procedures, which write G, h, level and the number of rows, and call :func:`solve`.
    run : callable
        Solves what is written in the record; returns the outcome.

    Examples
    --------
    >>> solver = Solver(2, capacity=4)
    >>> solver.solve([[1.0, 0.0], [0.0, -2.0]], [1.0, 1.0]).y.tolist()
    [1.0, -0.5]
    """

    def __init__(self, d: int, capacity: int) -> None:
        if d < 1:
            raise InputError(f"{d} unknowns; at least one is needed")
        self.d, self.record = d, new_least_distance(d, capacity)
        self._bound = compile_procedure(solve, keeps_lock=True)(self.record)
        self.run = direct_call(self._bound)

    def solve(self, G: npt.ArrayLike, h: npt.ArrayLike, levels: npt.ArrayLike | None = None) -> LeastChange:
        """Return the shortest y with G y >= h; where rows contradict each other, those of the highest level yield, (5).

        Parameters
        ----------
        G : array_like, shape (m, d)
        h : array_like, shape (m,)
        levels : array_like of int, shape (m,), optional
            From 0 on; by default all rows are of level 0.
        """
        s, rows, right = self.record, np.asarray(G, float), np.asarray(h, float)
        m = len(right)
        if rows.shape != (m, self.d) or m > len(s.h):
            raise InputError(f"G of shape {rows.shape}, h of {m} rows; allowed: {self.d} columns, {len(s.h)} rows")
        s.G[: self.d, :m], s.h[:m], s.level[:m], s.counts[N_ROWS] = rows.T, right, 0 if levels is None else levels, m
        self.run()
        return self.answer()

    def answer(self) -> LeastChange:
        """Return a copy of the last answer."""
        s, counts = self.record, self.record.counts.tolist()
        n, m = counts[N_ACTIVE], counts[N_ROWS]
        return LeastChange(
            s.y[: self.d].copy(), s.active[:n].copy(), s.u[:n].copy(), s.left[:m].copy(),
            counts[STATUS], counts[STEPS], counts[IS_CAPPED] == 1, counts[WORST],
        )  # fmt: skip


def new_least_distance(d: int, capacity: int) -> LeastDistance:
    """Return memory for so many unknowns, and a number of rows at most."""
    width = BLOCK * -(-d // BLOCK)
    size = width + 1
    G, Q, R = np.zeros((width, capacity)), np.zeros((size, size)), np.zeros((size, size))
    h, left, scale, b, miss = np.zeros((5, capacity))
    level, mark = np.zeros((2, capacity), np.int64)
    y, u, v, multiplier, g, d_, z, r = np.zeros((8, size))
    active, former, counts = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(N_COUNTS, np.int64)
    counts[N_STEPS_MAX] = MAX_STEPS * width
    return LeastDistance(
        G, h, level, counts, y, active, u, left, scale, b, mark, miss,
        Q, R, v, multiplier, g, d_, z, r, np.zeros(size + 1), former, width,
    )  # fmt: skip
