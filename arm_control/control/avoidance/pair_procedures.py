"""The near pairs of an arm in one state, as procedures: which pairs may be near, their distances, which of them count.

    place the capsules
    for each obstacle whose ball is near a capsule:
        take the capsules that are near it as candidates, a column each
    measure the candidates of one type of obstacle at once
    of the capsules of a link that are near the same obstacle, keep the nearest

and the same for pairs of links. Obstacles come type by type, so that the candidates of a law are side by side. Near
pairs are columns, too, in an order that depends on the obstacles alone: a sum over them is the same to the last bit,
however many candidates there are at a time.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler.procedure import Floats, Ints, Rows, RunsColumns, RunsKernel, procedure

BLOCK = 8
"""Columns are computed in multiples of this."""
N_DISTANCE, N_TWIST, N_SHAPE, TWIST_AT = 7, 6, 16, 16
"""Numbers of a distance (rho, n, p), of a twist, and of an obstacle's shape; place of the twist behind them."""
SPHERE, BOX, TURNED = 0, 1, 2
"""Types of obstacles; the last one is a capsule."""
OBSTACLES, LINKS = 0, 1
"""Places of both reaches."""


class Arm(NamedTuple):
    """Capsules of an arm.

    Attributes
    ----------
    place : RunsKernel
        Computes ``ends`` from ``q``.
    q : ndarray, shape (nv,)
        Joint positions [rad or m].
    ends : ndarray, shape (6, C)
        Ends of the capsules in the world [m].
    radius : ndarray, shape (C,)
        [m].
    moving : ndarray of int, shape (C,)
        Numbers of the capsules that move.
    n_moving : int
        How many do.
    link : ndarray of int, shape (C,)
        Number of the link.
    bias : ndarray, shape (C,)
        Difference between capsules of a link that are equally near [m].
    """

    place: RunsKernel
    q: Floats
    ends: Rows
    radius: Floats
    moving: Ints
    n_moving: int
    link: Ints
    bias: Floats


class ObstacleRows(NamedTuple):
    """Obstacles, a row each; see :class:`~arm_control.control.avoidance.obstacle_table.ObstacleTable`.

    Attributes
    ----------
    find_near : RunsColumns
        Computes ``near`` and ``nearest``.
    numbers : ndarray, shape (capacity, N_NUMBERS)
        Numbers of the obstacles.
    kind : ndarray of int, shape (capacity,)
        Their types.
    order : ndarray of int, shape (capacity,)
        Rows by type.
    size : ndarray of int, shape (1,)
        Number of obstacles.
    near : ndarray, shape (m, capacity)
        Above zero for a moving capsule that is near the ball around an obstacle.
    nearest : ndarray, shape (1, capacity)
        The largest of them.
    """

    find_near: RunsColumns
    numbers: Rows
    kind: Ints
    order: Ints
    size: Ints
    near: Rows
    nearest: Rows


class Candidates(NamedTuple):
    """Pairs of a capsule and an obstacle, a column each.

    Attributes
    ----------
    to_sphere, to_box, to_turned, to_capsule : RunsColumns
        Compute ``distance``.
    bound_box, bound_turned : RunsColumns
        Compute a bound of rho from below.
    ends, radius, shape : ndarray, shape (6, K), (1, K), (N_SHAPE, K)
        Of the capsule, and of the obstacle.
    distance : ndarray, shape (N_DISTANCE, K)
        Rows rho, n, p.
    capsule, obstacle, place : ndarray of int, shape (K,)
        Numbers of both, and place of the pair among all pairs of obstacles of its type.
    capacity : int
        K.
    """

    to_sphere: RunsColumns
    to_box: RunsColumns
    to_turned: RunsColumns
    to_capsule: RunsColumns
    bound_box: RunsColumns
    bound_turned: RunsColumns
    ends: Rows
    radius: Rows
    shape: Rows
    distance: Rows
    capsule: Ints
    obstacle: Ints
    place: Ints
    capacity: int


class LinkPairs(NamedTuple):
    """Pairs of capsules of two links, a column each.

    Attributes
    ----------
    measure : RunsColumns
        Computes ``distance``.
    ends : ndarray, shape (12, L)
        Of both capsules.
    distance : ndarray, shape (N_DISTANCE, L)
    first, second, group : ndarray of int, shape (L,)
        Numbers of both capsules, and of the pair of links.
    bias : ndarray, shape (L,)
        As that of the arm's capsules [m].
    best : ndarray, shape (number of pairs of links,)
        Key of the nearest pair of capsules.
    n, n_groups : int
        Numbers of pairs of capsules, and of links.
    """

    measure: RunsColumns
    ends: Rows
    distance: Rows
    first: Ints
    second: Ints
    group: Ints
    bias: Floats
    best: Floats
    n: int
    n_groups: int


class NearPairs(NamedTuple):
    """Pairs that are near and count, a column each.

    Attributes
    ----------
    distance, twist, is_self : ndarray, shape (N_DISTANCE, N), (6, N), (1, N)
        Rows rho, n, p; twist of the obstacle; 1 for two links.
    sign : ndarray, shape (n_bodies, N)
        1 where a body carries the first link, -1 where it carries the second one, 0 for neither or both.
    capsule, other : ndarray of int, shape (N,)
        The capsule, and the number of the obstacle, or -1 less that of the second capsule.
    place : ndarray of int, shape (N,)
        Place of the pair among all pairs of its type.
    size : ndarray of int, shape (1,)
        Number of near pairs; those beyond the capacity are left out.
    capacity : int
        N.
    """

    distance: Rows
    twist: Rows
    is_self: Rows
    sign: Rows
    capsule: Ints
    other: Ints
    place: Ints
    size: Ints
    capacity: int


class Search(NamedTuple):
    """An arm, and what it may be near.

    Attributes
    ----------
    reach : ndarray, shape (2,)
        Distances that count as near: of obstacles, of links [m]; 0 for the second leaves links out.
    signs : ndarray, shape (C + L, n_bodies)
        ``sign`` of each capsule's pairs with obstacles, then of each pair of links.
    n_bodies, n_capsules : int
    arm, obstacles, candidates, links, near
        The parts.
    """

    reach: Floats
    signs: Rows
    n_bodies: int
    n_capsules: int
    arm: Arm
    obstacles: ObstacleRows
    candidates: Candidates
    links: LinkPairs
    near: NearPairs


@procedure
def find_pairs(s: Search) -> float:
    """Find the near pairs in the arm's state; return their number."""
    s.near.size[0] = 0
    s.arm.place()
    find_near_obstacles(s)
    if s.reach[LINKS] > 0.0:
        find_near_links(s)
    return float(s.near.size[0])


@procedure
def find_near_obstacles(s: Search) -> None:
    """Collect candidates, and measure them type by type."""
    n = s.obstacles.size[0]
    m = s.arm.n_moving
    if n == 0 or m == 0:
        return
    s.obstacles.find_near((n + BLOCK - 1) // BLOCK * BLOCK)
    n_candidates = 0
    kind = 0
    place = 0
    for i in range(n):
        k = s.obstacles.order[i]
        if s.obstacles.kind[k] != kind:
            measure_candidates(s, kind, n_candidates)
            n_candidates = 0
            kind = s.obstacles.kind[k]
            place = 0
        if s.obstacles.nearest[0, k] > 0.0:
            if n_candidates + m > s.candidates.capacity:
                measure_candidates(s, kind, n_candidates)
                n_candidates = 0
            for c in range(m):
                if s.obstacles.near[c, k] > 0.0:
                    add_candidate(s, n_candidates, k, s.arm.moving[c], place + c)
                    n_candidates += 1
        place += m
    measure_candidates(s, kind, n_candidates)


@procedure
def add_candidate(s: Search, column: int, obstacle: int, capsule: int, place: int) -> None:
    """Write the numbers of a pair to its column."""
    for i in range(6):
        s.candidates.ends[i, column] = s.arm.ends[i, capsule]
    for i in range(N_SHAPE):
        s.candidates.shape[i, column] = s.obstacles.numbers[obstacle, i]
    s.candidates.radius[0, column] = s.arm.radius[capsule]
    s.candidates.capsule[column] = capsule
    s.candidates.obstacle[column] = obstacle
    s.candidates.place[column] = place


@procedure
def measure_candidates(s: Search, kind: int, n_candidates: int) -> None:
    """Measure candidates, all of one type, and keep those that are near and count."""
    n = n_candidates
    if n > BLOCK and BOX <= kind <= TURNED:
        n = drop_far_candidates(s, kind, n)
    if n == 0:
        return
    columns = (n + BLOCK - 1) // BLOCK * BLOCK
    if kind == SPHERE:
        s.candidates.to_sphere(columns)
    elif kind == BOX:
        s.candidates.to_box(columns)
    elif kind == TURNED:
        s.candidates.to_turned(columns)
    else:
        s.candidates.to_capsule(columns)
    begin = 0
    for j in range(n):
        if s.candidates.obstacle[j] != s.candidates.obstacle[begin]:
            begin = j
        if s.candidates.distance[0, j] < s.reach[OBSTACLES] and is_best(s, j, begin, n):
            add_near(
                s,
                s.candidates.distance,
                j,
                s.candidates.capsule[j],
                s.candidates.obstacle[j],
                s.candidates.capsule[j],
                s.candidates.place[j],
            )


@procedure
def drop_far_candidates(s: Search, kind: int, n: int) -> int:
    """Keep the candidates whose bound is within reach, at the beginning; return their number."""
    columns = (n + BLOCK - 1) // BLOCK * BLOCK
    if kind == BOX:
        s.candidates.bound_box(columns)
    else:
        s.candidates.bound_turned(columns)
    n_kept = 0
    for j in range(n):
        if s.candidates.distance[0, j] < s.reach[OBSTACLES]:
            if n_kept < j:
                move_candidate(s, j, n_kept)
            n_kept += 1
    return n_kept


@procedure
def move_candidate(s: Search, j: int, to: int) -> None:
    """Copy column j to another one."""
    for i in range(6):
        s.candidates.ends[i, to] = s.candidates.ends[i, j]
    for i in range(N_SHAPE):
        s.candidates.shape[i, to] = s.candidates.shape[i, j]
    s.candidates.radius[0, to] = s.candidates.radius[0, j]
    s.candidates.capsule[to] = s.candidates.capsule[j]
    s.candidates.obstacle[to] = s.candidates.obstacle[j]
    s.candidates.place[to] = s.candidates.place[j]


@procedure
def is_best(s: Search, j: int, begin: int, n: int) -> bool:
    """Whether no other capsule of the link is nearer to the obstacle, whose candidates begin there."""
    capsule = s.candidates.capsule[j]
    key = s.candidates.distance[0, j] + s.arm.bias[capsule]
    for i in range(begin, n):
        if s.candidates.obstacle[i] != s.candidates.obstacle[j]:
            break
        other = s.candidates.capsule[i]
        if s.arm.link[other] == s.arm.link[capsule] and s.candidates.distance[0, i] + s.arm.bias[other] < key:
            return False
    return True


@procedure
def find_near_links(s: Search) -> None:
    """Measure all pairs of links, and keep those that are near and count."""
    n = s.links.n
    if n == 0:
        return
    for j in range(n):
        first = s.links.first[j]
        second = s.links.second[j]
        for i in range(6):
            s.links.ends[i, j] = s.arm.ends[i, first]
            s.links.ends[6 + i, j] = s.arm.ends[i, second]
    s.links.measure((n + BLOCK - 1) // BLOCK * BLOCK)
    nearest = s.links.distance[0, 0]
    for j in range(n):
        nearest = min(nearest, s.links.distance[0, j])
    if nearest >= s.reach[LINKS]:
        return
    for g in range(s.links.n_groups):
        s.links.best[g] = s.reach[LINKS] + 1.0
    for j in range(n):
        g = s.links.group[j]
        s.links.best[g] = min(s.links.best[g], s.links.distance[0, j] + s.links.bias[j])
    for j in range(n):
        rho = s.links.distance[0, j]
        if rho < s.reach[LINKS] and rho + s.links.bias[j] <= s.links.best[s.links.group[j]]:
            add_near(s, s.links.distance, j, s.links.first[j], -1 - s.links.second[j], s.n_capsules + j, j)


@procedure
def add_near(s: Search, distance: Rows, j: int, capsule: int, other: int, sign: int, place: int) -> None:
    """Write column j of the distances to the near pairs, with a row of the signs."""
    n = s.near.size[0]
    s.near.size[0] = n + 1
    if n >= s.near.capacity:
        return
    for i in range(N_DISTANCE):
        s.near.distance[i, n] = distance[i, j]
    for i in range(s.n_bodies):
        s.near.sign[i, n] = s.signs[sign, i]
    for i in range(N_TWIST):
        s.near.twist[i, n] = 0.0
    if other >= 0:
        for i in range(N_TWIST):
            s.near.twist[i, n] = s.obstacles.numbers[other, TWIST_AT + i]
    s.near.is_self[0, n] = 0.0 if other >= 0 else 1.0
    s.near.capsule[n] = capsule
    s.near.other[n] = other
    s.near.place[n] = place
