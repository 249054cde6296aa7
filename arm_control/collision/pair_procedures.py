"""The near pairs of an arm in one state, as procedures: which pairs may be near, their distances, which of them count.

    place the capsules
    for each obstacle whose ball is near a capsule:
        take the capsules that are near it as candidates, a column each
    measure the candidates of one type of obstacle at once:
        to boxes, cylinders and cones from the ends of the segment, which is exact or a bound;
        where the bound is within reach, search the nearest point between them
    of the capsules of a link that are near the same obstacle, keep the nearest

and the same for pairs of links, of which one capsule is near the ball around the other one. Obstacles come type by
type, so that the candidates of a law are side by side. Near pairs are columns, too, in an order that depends on the
obstacles alone: a sum over them is the same to the last bit, however many candidates there are at a time.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import Floats, Ints, Rows, RunsKernel, RunsLoop, procedure

N_DISTANCE, N_TWIST, N_SHAPE, CENTRE_AT, TWIST_AT = 7, 6, 15, 9, 16
"""Numbers of a distance (rho, n, p), a twist, and an obstacle's pose and sizes; places of its origin and its twist."""


class ArmCapsules(NamedTuple):
    """Capsules of an arm.

    Attributes
    ----------
    q : ndarray, shape (nv,)
        Joint positions [rad or m].
    ends : ndarray, shape (6, C)
        Ends of the capsules in the world [m].
    radius : ndarray, shape (C,)
        [m].
    moving : ndarray of int, shape (C,)
        Numbers of the capsules that move.
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
    """Obstacles, a row each; see :class:`~arm_control.collision.pair_search.ObstacleTable`.

    Attributes
    ----------
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

    find_near: RunsLoop
    numbers: Rows
    kind: Ints
    order: Ints
    size: Ints
    near: Rows
    nearest: Rows


class PairColumns(NamedTuple):
    """Pairs of a capsule and an obstacle, a column each.

    Attributes
    ----------
    ends, radius, shape : ndarray, shape (6, K), (1, K), (N_SHAPE, K)
        Of the capsule, and of the obstacle.
    distance : ndarray, shape (N_DISTANCE, K)
        Rows rho, n, p.
    """

    ends: Rows
    radius: Rows
    shape: Rows
    distance: Rows


class PairCandidates(NamedTuple):
    """Pairs of a capsule and an obstacle that may be near.

    Attributes
    ----------
    to_sphere, to_box, to_turned, to_capsule : RunsLoop
        Compute the distances of ``pairs``; to a box or a solid of revolution only where the nearest point is an end of
        the segment, elsewhere a bound.
    to_hull : RunsKernel
        Computes those to hulls, of the first ``size`` pairs.
    between : ndarray, shape (1, K)
        Above zero where the nearest point is between the ends.
    searched : PairColumns
        Those of which that point is searched.
    column : ndarray of int, shape (K,)
        Where these are among ``pairs``.
    capsule, obstacle, place : ndarray of int, shape (K,)
        Numbers of both, and place of the pair among all pairs of obstacles of its type.
    size : ndarray of int, shape (1,)
        Number of pairs.
    """

    to_sphere: RunsLoop
    to_box: RunsLoop
    to_turned: RunsLoop
    to_capsule: RunsLoop
    to_hull: RunsKernel
    search_box: RunsLoop
    search_turned: RunsLoop
    pairs: PairColumns
    between: Rows
    searched: PairColumns
    column: Ints
    capsule: Ints
    obstacle: Ints
    place: Ints
    size: Ints
    capacity: int


class LinkPairs(NamedTuple):
    """Pairs of capsules of two links; those that may be near have a column each.

    Attributes
    ----------
    centre : ndarray, shape (3, C)
        Of the ball around each capsule [m].
    near : ndarray, shape (m + 1, C)
        Above zero for a moving capsule that is near the ball around another one; everywhere in the last row, that of
        capsules that do not move.
    row, ball : ndarray of int, shape (L,)
        Row and column of each pair there.
    pair : ndarray of int, shape (L,)
        Number of the pair in each column.
    ends, radius, distance : ndarray, shape (12, L), (1, L), (N_DISTANCE, L)
        Of both capsules; sum of their radii; rows rho, n, p.
    first, second, group : ndarray of int, shape (L,)
        Numbers of both capsules, and of the pair of links.
    radii, bias : ndarray, shape (L,)
        Sum of both radii, and as that of the arm's capsules [m].
    best : ndarray, shape (number of pairs of links,)
        Key of the nearest pair of capsules.
    n, n_groups : int
        Numbers of pairs of capsules, and of links.
    """

    find_near: RunsLoop
    centre: Rows
    near: Rows
    row: Ints
    ball: Ints
    measure: RunsLoop
    pair: Ints
    ends: Rows
    radius: Rows
    distance: Rows
    first: Ints
    second: Ints
    group: Ints
    radii: Floats
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


class CloseSearch(NamedTuple):
    """An arm, and what it may be near.

    Attributes
    ----------
    reach : ndarray, shape (2,)
        Distances that count as near: of obstacles, of links [m]; 0 for the second leaves links out.
    signs : ndarray, shape (C + L, n_bodies)
        ``sign`` of each capsule's pairs with obstacles, then of each pair of links.
    """

    reach: Floats
    signs: Rows
    n_bodies: int
    n_capsules: int
    arm: ArmCapsules
    obstacles: ObstacleRows
    candidates: PairCandidates
    links: LinkPairs
    near: NearPairs


BLOCK = 8
"""Columns are computed in multiples of this."""
SPHERE, BOX, TURNED, CAPSULE, HULL = 0, 1, 2, 3, 4
"""Types of obstacles."""
OBSTACLES, LINKS = 0, 1
"""Places of both reaches."""


@procedure
def whole_blocks(n: int) -> int:
    """Return the number of columns that are computed for n."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


@procedure
def write_obstacle(t: ObstacleRows, k: int, kind: int, x: Floats) -> None:
    """Write the numbers of obstacle k: R_WO, its origin, its sizes and its twist, shape (21,)."""
    t.kind[k] = kind
    for i in range(N_SHAPE):
        t.numbers[k, i] = x[i]
    t.numbers[k, N_SHAPE] = x[12] + x[13] + x[14]  # a ball around a shape of any type
    t.numbers[k, TWIST_AT] = x[15] - x[19] * x[11] + x[20] * x[10]
    t.numbers[k, TWIST_AT + 1] = x[16] - x[20] * x[9] + x[18] * x[11]
    t.numbers[k, TWIST_AT + 2] = x[17] - x[18] * x[10] + x[19] * x[9]
    for i in range(3):
        t.numbers[k, TWIST_AT + 3 + i] = x[18 + i]


@procedure
def order_obstacles(t: ObstacleRows, n: int) -> None:
    """Let the first n rows be the obstacles: bring them in the order of their types."""
    t.size[0] = n
    m = 0
    for kind in range(HULL):
        for k in range(n):
            if t.kind[k] == kind:
                t.order[m] = k
                m += 1


@procedure
def find_pairs(s: CloseSearch) -> float:
    """Find the near pairs in the arm's state; return their number."""
    s.near.size[0] = 0
    s.arm.place()
    find_near_obstacles(s)
    if s.reach[LINKS] > 0.0:
        find_near_links(s)
    return float(s.near.size[0])


@procedure
def find_near_obstacles(s: CloseSearch) -> None:
    """Collect candidates, and measure them type by type."""
    n = s.obstacles.size[0]
    m = s.arm.n_moving
    if n == 0 or m == 0:
        return
    s.obstacles.find_near(whole_blocks(n))
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
            for c in range(m):  # no branch: the processor could not foretell which capsules are near
                s.candidates.capsule[n_candidates] = s.arm.moving[c]
                s.candidates.obstacle[n_candidates] = k
                s.candidates.place[n_candidates] = place + c
                n_candidates += 1 if s.obstacles.near[c, k] > 0.0 else 0
        place += m
    measure_candidates(s, kind, n_candidates)


@procedure
def measure_candidates(s: CloseSearch, kind: int, n: int) -> None:
    """Measure n candidates, all of one type, and keep those that are near and count."""
    if n == 0:
        return
    write_columns(s, n)
    if kind == SPHERE:
        s.candidates.to_sphere(whole_blocks(n))
    elif kind == BOX:
        s.candidates.to_box(whole_blocks(n))
        search_nearest(s, kind, n)
    elif kind == TURNED:
        s.candidates.to_turned(whole_blocks(n))
        search_nearest(s, kind, n)
    elif kind == CAPSULE:
        s.candidates.to_capsule(whole_blocks(n))
    else:
        s.candidates.size[0] = n
        s.candidates.to_hull()
    begin = 0
    for j in range(n):
        if s.candidates.obstacle[j] != s.candidates.obstacle[begin]:
            begin = j
        is_near = s.candidates.pairs.distance[0, j] < s.reach[OBSTACLES]
        if is_near and is_best(s, j, begin, n):
            add_near(
                s,
                s.candidates.pairs.distance,
                j,
                s.candidates.capsule[j],
                s.candidates.obstacle[j],
                s.candidates.capsule[j],
                s.candidates.place[j],
            )


@procedure
def write_columns(s: CloseSearch, n: int) -> None:
    """Write the numbers of n candidates to their columns."""
    for j in range(n):
        capsule = s.candidates.capsule[j]
        obstacle = s.candidates.obstacle[j]
        for i in range(6):
            s.candidates.pairs.ends[i, j] = s.arm.ends[i, capsule]
        for i in range(N_SHAPE):
            s.candidates.pairs.shape[i, j] = s.obstacles.numbers[obstacle, i]
        s.candidates.pairs.radius[0, j] = s.arm.radius[capsule]


@procedure
def search_nearest(s: CloseSearch, kind: int, n: int) -> None:
    """Search the nearest point of those of n candidates that may be near, where it is between the ends."""
    n_searched = 0
    for j in range(n):
        s.candidates.column[n_searched] = j
        is_near = s.candidates.pairs.distance[0, j] < s.reach[OBSTACLES]
        n_searched += 1 if s.candidates.between[0, j] > 0.0 and is_near else 0
    if n_searched == 0:
        return
    for k in range(n_searched):
        copy_pair(s.candidates.pairs, s.candidates.column[k], s.candidates.searched, k)
    if kind == BOX:
        s.candidates.search_box(whole_blocks(n_searched))
    else:
        s.candidates.search_turned(whole_blocks(n_searched))
    for k in range(n_searched):
        for i in range(N_DISTANCE):
            s.candidates.pairs.distance[i, s.candidates.column[k]] = s.candidates.searched.distance[i, k]


@procedure
def copy_pair(columns: PairColumns, j: int, others: PairColumns, k: int) -> None:
    """Copy column j to column k of others."""
    for i in range(6):
        others.ends[i, k] = columns.ends[i, j]
    for i in range(N_SHAPE):
        others.shape[i, k] = columns.shape[i, j]
    others.radius[0, k] = columns.radius[0, j]


@procedure
def is_best(s: CloseSearch, j: int, begin: int, n: int) -> bool:
    """Whether no other capsule of the link is nearer to the obstacle, whose candidates begin there."""
    capsule = s.candidates.capsule[j]
    key = s.candidates.pairs.distance[0, j] + s.arm.bias[capsule]
    for i in range(begin, n):
        if s.candidates.obstacle[i] != s.candidates.obstacle[j]:
            break
        other = s.candidates.capsule[i]
        if s.arm.link[other] == s.arm.link[capsule] and s.candidates.pairs.distance[0, i] + s.arm.bias[other] < key:
            return False
    return True


@procedure
def find_near_links(s: CloseSearch) -> None:
    """Measure all pairs of links, and keep those that are near and count."""
    n = measure_links(s)
    if n == 0:
        return
    nearest = s.links.distance[0, 0]
    for k in range(n):
        nearest = min(nearest, s.links.distance[0, k])
    if nearest >= s.reach[LINKS]:
        return
    for g in range(s.links.n_groups):
        s.links.best[g] = s.reach[LINKS] + 1.0
    for k in range(n):
        j = s.links.pair[k]
        g = s.links.group[j]
        s.links.best[g] = min(s.links.best[g], s.links.distance[0, k] + s.links.bias[j])
    for k in range(n):
        j = s.links.pair[k]
        rho = s.links.distance[0, k]
        if rho < s.reach[LINKS] and rho + s.links.bias[j] <= s.links.best[s.links.group[j]]:
            add_near(s, s.links.distance, k, s.links.first[j], -1 - s.links.second[j], s.n_capsules + j, j)


@procedure
def measure_links(s: CloseSearch) -> int:
    """Measure the pairs of which one capsule is near the ball around the other one, and return their number."""
    if s.links.n == 0:
        return 0
    for i in range(3):
        for c in range(s.n_capsules):
            s.links.centre[i, c] = 0.5 * (s.arm.ends[i, c] + s.arm.ends[3 + i, c])
    s.links.find_near(whole_blocks(s.n_capsules))
    n = 0
    for j in range(s.links.n):
        s.links.pair[n] = j
        n += 1 if s.links.near[s.links.row[j], s.links.ball[j]] > 0.0 else 0
    for k in range(n):
        write_link_pair(s, s.links.pair[k], k)
    if n > 0:
        s.links.measure(whole_blocks(n))
    return n


@procedure
def write_link_pair(s: CloseSearch, j: int, k: int) -> None:
    """Write pair j of links to column k."""
    for i in range(6):
        s.links.ends[i, k] = s.arm.ends[i, s.links.first[j]]
        s.links.ends[6 + i, k] = s.arm.ends[i, s.links.second[j]]
    s.links.radius[0, k] = s.links.radii[j]


class Postures(NamedTuple):
    """Joint positions of n postures, shape (n, nv), and the distance of each pair of links there, shape (n, L) [m]."""

    search: CloseSearch
    q: Rows
    distance: Rows
    n: int
    n_joints: int


@procedure
def measure_postures(x: Postures) -> float:
    """Measure all pairs of links in each posture; return how many there are."""
    s = x.search
    for p in range(x.n):
        for i in range(x.n_joints):
            s.arm.q[i] = x.q[p, i]
        s.arm.place()
        for j in range(s.links.n):
            write_link_pair(s, j, j)
        s.links.measure(whole_blocks(s.links.n))
        for j in range(s.links.n):
            x.distance[p, j] = s.links.distance[0, j]
    return float(x.n)


@procedure
def add_near(s: CloseSearch, distance: Rows, j: int, capsule: int, other: int, sign: int, place: int) -> None:
    """Write column j of the distances to the near pairs, with a row of the signs; ``other``: row of an obstacle."""
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
    s.near.is_self[0, n] = 1.0
    s.near.other[n] = other
    if other >= 0:
        for i in range(N_TWIST):
            s.near.twist[i, n] = s.obstacles.numbers[other, TWIST_AT + i]
        s.near.is_self[0, n] = 0.0
    s.near.capsule[n] = capsule
    s.near.place[n] = place
