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

from arm_control.collision.pair_records import N_DISTANCE, N_SHAPE, N_TWIST, TWIST_AT, CloseSearch, PairColumns
from arm_control.compiler import Rows, procedure

BLOCK = 8
"""Columns are computed in multiples of this."""
SPHERE, BOX, TURNED = 0, 1, 2
"""Types of obstacles; the last one is a capsule."""
OBSTACLES, LINKS = 0, 1
"""Places of both reaches."""


@procedure
def whole_blocks(n: int) -> int:
    """Return the number of columns that are computed for n."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


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
    else:
        s.candidates.to_capsule(whole_blocks(n))
    begin = 0
    for j in range(n):
        if s.candidates.obstacle[j] != s.candidates.obstacle[begin]:
            begin = j
        if s.candidates.pairs.distance[0, j] < s.reach[OBSTACLES] and is_best(s, j, begin, n):
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
        j = s.links.pair[k]
        for i in range(6):
            s.links.ends[i, k] = s.arm.ends[i, s.links.first[j]]
            s.links.ends[6 + i, k] = s.arm.ends[i, s.links.second[j]]
        s.links.radius[0, k] = s.links.radii[j]
    if n > 0:
        s.links.measure(whole_blocks(n))
    return n


@procedure
def add_near(s: CloseSearch, distance: Rows, j: int, capsule: int, other: int, sign: int, place: int) -> None:
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
