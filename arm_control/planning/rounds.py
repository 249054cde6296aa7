"""Rounds of RRT-Connect (:mod:`arm_control.planning.connect`), and proofs of candidate paths: procedures.

A candidate path through two trees is proved free motion by motion, or cut where it is not. A motion is proved once: its
node remembers it. Few motions are split into pieces, which share the lanes.
"""

from __future__ import annotations

from math import sqrt

from arm_control.collision import check_motions, covered, is_contact, is_free
from arm_control.compiler import procedure
from arm_control.planning.plans import NEARLY, PROOF_LOOKS
from arm_control.planning.trees import (
    INFINITY,
    N_MOTIONS,
    N_ROUNDS,
    N_SAMPLES,
    NEXT_SAMPLE,
    NOBODY,
    NOT_BEGUN,
    PATH_LENGTH,
    ROOM,
    PathTree,
    TreeSearch,
    add_share,
    cut,
    nearest_node,
    node_at,
    write_motion,
)

MOST_AT_ONCE, FEW, PIECES = 64, 8, 8
"""Largest number of motions that are proved in one call; where they are a few only, the pieces of each one."""
FIRST, SECOND, BETWEEN = 0, 1, 2
"""Tree of a motion to its node; or the motion between the trees."""
KEPT = 0.99
"""Share of the free part of a motion at whose end a node is put: proofs take distance."""


@procedure
def prove(s: TreeSearch, in_first: int, in_second: int, is_proved: bool) -> bool:
    """Prove the path through two nodes and the motion between them, and write it down; or cut what is not free.

    ``is_proved`` says whether the motion between them has been proved.
    """
    is_open = not is_proved
    most = MOST_AT_ONCE
    while True:
        m = _list_motions(s, in_first, FIRST, 0, most)
        m = _list_motions(s, in_second, SECOND, m, most)
        if is_open and m < most:
            s.lists.side[m] = BETWEEN
            m += 1
        if m == 0:
            _write_path(s, in_first, in_second)
            return True
        pieces = PIECES if m <= FEW else 1
        _write_motions(s, m, pieces, in_first, in_second)
        check_motions(s.motions, m * pieces, PROOF_LOOKS)
        s.counters[N_MOTIONS] += m * pieces
        if s.lists.side[m - 1] == BETWEEN and _free_share(s, (m - 1) * pieces, pieces) == 1.0:
            is_open = False
        if not _settle(s, m, pieces):
            return False
        most = FEW


@procedure
def _list_motions(s: TreeSearch, node: int, side: int, m: int, most: int) -> int:
    """List the motions between a node and its root that are not proved; returns their number and m together."""
    tree = s.first if side == FIRST else s.second
    while tree.parent[node] != NOBODY and m < most:
        if tree.is_proved[node] == 0:
            s.lists.side[m] = side
            s.lists.target[m] = node
            m += 1
        node = tree.parent[node]
    return m


@procedure
def _write_motions(s: TreeSearch, m: int, pieces: int, in_first: int, in_second: int) -> None:
    """Write the motions of the list, in pieces."""
    for k in range(m):
        if s.lists.side[k] == BETWEEN:
            _write_pieces(s, k * pieces, pieces, s.first, in_first, s.second, in_second)
        else:
            tree = _tree_of(s, k)
            node = s.lists.target[k]
            _write_pieces(s, k * pieces, pieces, tree, tree.parent[node], tree, node)


@procedure
def _settle(s: TreeSearch, m: int, pieces: int) -> bool:
    """Note what is proved, and cut what is not free; returns whether all may be free."""
    is_well = True
    for k in range(m):
        share = _free_share(s, k * pieces, pieces)
        is_in_tree = s.lists.side[k] != BETWEEN
        if share < 1.0 and (pieces > 1 or is_contact(s.motions, k)):
            is_well = False
            if is_in_tree:
                _shorten(s, _tree_of(s, k), s.lists.target[k], share)
        elif share == 1.0 and is_in_tree:
            tree = _tree_of(s, k)
            tree.is_proved[s.lists.target[k]] = 1
    return is_well


@procedure
def _tree_of(s: TreeSearch, k: int) -> PathTree:
    """Tree of motion k of the list."""
    return s.first if s.lists.side[k] == FIRST else s.second


@procedure
def _write_pieces(s: TreeSearch, k: int, pieces: int, of_a: PathTree, a: int, of_b: PathTree, b: int) -> None:
    """Let motion k and those behind it go from one node to another together."""
    motions = s.motions
    for i in range(pieces):
        write_motion(s, k + i, of_a, a, of_b, b)
        if pieces > 1:
            low = i / pieces
            high = (i + 1) / pieces
            for j in range(s.n):
                step = of_b.q[j, b] - of_a.q[j, a]
                if i > 0:
                    motions.a[j, k + i] = of_a.q[j, a] + low * step
                if i < pieces - 1:
                    motions.b[j, k + i] = of_a.q[j, a] + high * step
            motions.times[0, k + i] = of_a.t[a] + low * (of_b.t[b] - of_a.t[a])
            motions.times[1, k + i] = of_a.t[a] + high * (of_b.t[b] - of_a.t[a])


@procedure
def _free_share(s: TreeSearch, k: int, pieces: int) -> float:
    """Share of what motion k and those behind it make up that is proved free; 1: all of it."""
    for i in range(pieces):
        if not is_free(s.motions, k + i):
            return (i + covered(s.motions, k + i)) / pieces if i + covered(s.motions, k + i) < pieces else NEARLY
    return 1.0


@procedure
def _shorten(s: TreeSearch, tree: PathTree, node: int, share: float) -> None:
    """Cut off a node, and put another one where the motion from its parent is free."""
    cut(tree, node)
    parent = tree.parent[node]
    write_motion(s, 0, tree, parent, tree, node)
    if KEPT * share * motion_length(s, 0) > s.least_step:
        add_share(s, tree, parent, 0, KEPT * share, 1)


@procedure
def motion_length(s: TreeSearch, k: int) -> float:
    """Weighted length of motion k."""
    squares = 0.0
    for j in range(s.n):
        step = s.weights[j] * (s.motions.b[j, k] - s.motions.a[j, k])
        squares += step * step
    return sqrt(squares)


@procedure
def _write_path(s: TreeSearch, in_first: int, in_second: int) -> None:
    """Write down the path through two nodes."""
    length = 0
    node = in_first
    while node != NOBODY:
        length += 1
        node = s.first.parent[node]
    row = length - 1
    node = in_first
    while node != NOBODY:
        _write_node(s, row, s.first, node)
        row -= 1
        node = s.first.parent[node]
    node = in_second
    while node != NOBODY:
        _write_node(s, length, s.second, node)
        length += 1
        node = s.second.parent[node]
    s.counters[PATH_LENGTH] = length


@procedure
def _write_node(s: TreeSearch, row: int, tree: PathTree, node: int) -> None:
    for j in range(s.n):
        s.path[row, j] = tree.q[j, node]
    s.times[row] = tree.t[node]


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
    """One round; equations of :mod:`arm_control.planning.connect`."""
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
