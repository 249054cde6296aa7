"""Rounds of RRT-Connect (:mod:`arm_control.planning.rrt.connect`): procedures."""

from __future__ import annotations

from math import sqrt

from arm_control.collision import check_motions, covered, is_contact, is_free
from arm_control.compiler import procedure
from arm_control.planning.rrt.proofs import FIRST, KEPT, SECOND, motion_length, prove
from arm_control.planning.rrt.trees import (
    INFINITY,
    N_MOTIONS,
    N_ROUNDS,
    N_SAMPLES,
    NEXT_SAMPLE,
    NOT_BEGUN,
    ROOM,
    PathTree,
    TreeSearch,
    add_share,
    nearest_node,
    node_at,
    write_motion,
)

GOES_ON, FOUND, START_IN_CONTACT, GOALS_IN_CONTACT = 0, 1, 2, 3
"""Results."""


@procedure
def search(s: TreeSearch) -> float:
    """The straight motions at first, then rounds: until a path is found, samples are used or memory is full."""
    if s.counters[N_ROUNDS] == NOT_BEGUN:
        s.counters[N_ROUNDS] = 0
        return _begin(s)
    while s.counters[NEXT_SAMPLE] + 2 * s.n_samples <= s.counters[N_SAMPLES] and _has_room(s):
        s.counters[N_ROUNDS] += 1
        if _grow(s):
            return FOUND
    return GOES_ON


@procedure
def _has_room(s: TreeSearch) -> bool:
    """Whether both trees have memory for another round."""
    return max(s.first.size[0], s.second.size[0]) + ROOM <= s.capacity


@procedure
def _begin(s: TreeSearch) -> float:
    """Check the roots, and try the straight motions between them."""
    result = _check_roots(s)
    if result != GOES_ON:
        return result
    m = 0
    for goal in range(s.second.size[0]):
        if s.second.penalty[goal] == 0.0:
            _write_link(s, m, 0, goal, FIRST)
            s.lists.length[m] = m
            m += 1
    return FOUND if _try_links(s, m) else GOES_ON


@procedure
def _check_roots(s: TreeSearch) -> int:
    """Check the start and the goals for contact, and cut off goals that have one."""
    n_goals = s.second.size[0]
    write_motion(s, 0, s.first, 0, s.first, 0)
    for goal in range(n_goals):
        write_motion(s, goal + 1, s.second, goal, s.second, goal)
    check_motions(s.motions, n_goals + 1, s.looks)
    if not is_free(s.motions, 0):
        return START_IN_CONTACT
    result = GOALS_IN_CONTACT
    for goal in range(n_goals):
        if is_free(s.motions, goal + 1):
            result = GOES_ON
        else:
            s.second.penalty[goal] = INFINITY
    return result


@procedure
def _grow(s: TreeSearch) -> bool:
    """One round; equations of :mod:`arm_control.planning.rrt.connect`."""
    n = s.n_samples
    for k in range(n):
        _aim(s, s.first, k)  # (1)
        _aim(s, s.second, n + k)
    check_motions(s.motions, 2 * n, s.looks)
    s.counters[N_MOTIONS] += 2 * n
    n_first = 0
    n_second = 0
    for k in range(n):
        if _add_end(s, s.first, s.lists.origin[k], k, n_first):  # (2)
            n_first += 1
    for k in range(n, 2 * n):
        if _add_end(s, s.second, s.lists.origin[k], k, n + n_second):
            n_second += 1
    m = _link_nearest(s, FIRST, 0, n_first, 0)  # (3)
    m = _link_nearest(s, SECOND, n, n_second, m)
    return _try_links(s, m)  # (4)


@procedure
def _aim(s: TreeSearch, tree: PathTree, k: int) -> None:
    """Let motion k go from the node nearest to the next sample towards it."""
    sample = s.samples[s.counters[NEXT_SAMPLE]]
    s.counters[NEXT_SAMPLE] += 1
    node = nearest_node(s, tree, sample)
    share = min(1.0, s.step / max(sqrt(s.distances[node]), s.least_step))
    for j in range(s.n):
        x = tree.q[j, node]
        s.motions.a[j, k] = x
        s.motions.b[j, k] = min(max(x + share * (sample[j] - x), s.low[j]), s.high[j])
    s.motions.times[0, k] = 0.0
    s.motions.times[1, k] = 0.0
    s.lists.origin[k] = node


@procedure
def _add_end(s: TreeSearch, tree: PathTree, parent: int, k: int, place: int) -> bool:
    """Add the end of motion k, or of its free part, and note it at a place; returns whether it is far enough."""
    share = 1.0
    if is_contact(s.motions, k):
        share = KEPT * covered(s.motions, k)
    if share * motion_length(s, k) <= s.least_step:
        return False
    is_proved = 1 if is_contact(s.motions, k) or is_free(s.motions, k) else 0
    s.lists.fresh[place] = add_share(s, tree, parent, k, share, is_proved)
    return True


@procedure
def _link_nearest(s: TreeSearch, side: int, first: int, n_fresh: int, m: int) -> int:
    """Write links from the new nodes that are nearest to the other tree; returns their number and m together."""
    lists = s.lists
    tree = s.first if side == FIRST else s.second
    other = s.second if side == FIRST else s.first
    for i in range(first, first + n_fresh):
        node_at(s, tree, lists.fresh[i], s.begin)
        lists.goal[i] = nearest_node(s, other, s.begin)
        lists.gap[i] = s.distances[lists.goal[i]]
    for _ in range(min(n_fresh, s.n_connections)):
        best = first
        for i in range(first, first + n_fresh):
            if lists.gap[i] < lists.gap[best]:
                best = i
        lists.length[m] = lists.gap[best]
        lists.gap[best] = INFINITY
        if side == FIRST:
            _write_link(s, m, lists.fresh[best], lists.goal[best], FIRST)
        else:
            _write_link(s, m, lists.goal[best], lists.fresh[best], SECOND)
        m += 1
    return m


@procedure
def _write_link(s: TreeSearch, k: int, in_first: int, in_second: int, owner: int) -> None:
    """Let link k, and its motion, go from one tree to the other."""
    s.lists.in_first[k] = in_first
    s.lists.in_second[k] = in_second
    s.lists.owner[k] = owner
    if owner == FIRST:
        write_motion(s, k, s.first, in_first, s.second, in_second)
    else:
        write_motion(s, k, s.second, in_second, s.first, in_first)


@procedure
def _try_links(s: TreeSearch, m: int) -> bool:
    """Check links, and prove the shortest ones first; what is free of the others stays as a node."""
    if m == 0:
        return False
    check_motions(s.motions, m, s.looks)
    s.counters[N_MOTIONS] += m
    lists = s.lists
    for k in range(m):
        lists.is_free[k] = 1 if is_free(s.motions, k) else 0
        if is_contact(s.motions, k):
            lists.length[k] = INFINITY
            share = KEPT * covered(s.motions, k)
            if share * motion_length(s, k) > s.least_step:
                if lists.owner[k] == FIRST:
                    add_share(s, s.first, lists.in_first[k], k, share, 1)
                else:
                    add_share(s, s.second, lists.in_second[k], k, share, 1)
    for _ in range(m):
        best = 0
        for k in range(m):
            if lists.length[k] < lists.length[best]:
                best = k
        if lists.length[best] == INFINITY:
            return False
        lists.length[best] = INFINITY
        in_first = lists.in_first[best]
        in_second = lists.in_second[best]
        is_alive = s.first.penalty[in_first] + s.second.penalty[in_second] == 0.0
        if is_alive and prove(s, in_first, in_second, lists.is_free[best] == 1):
            return True
    return False
