"""Candidate paths through two trees: proved free motion by motion, or cut where they are not; procedures.

A motion is proved once: its node remembers it. A motion that takes many looks is split into pieces, which share the
lanes.
"""

from __future__ import annotations

from math import sqrt

from arm_control.compiler.procedure import procedure
from arm_control.planning.rrt.trees import N_MOTIONS, NOBODY, PATH_LENGTH, Search, Tree, add_share, cut, write_motion
from arm_control.planning.validity.motion_columns import check_motions, covered, is_contact, is_free

PROOF_LOOKS, PIECES = 64, 32
"""Largest number of places of one motion that are looked at for its proof; pieces of a motion that takes more."""
MOST_AT_ONCE = 64
"""Largest number of motions that are proved in one call."""
FIRST, SECOND, BETWEEN = 0, 1, 2
"""Tree of a motion to its node; or the motion between the trees."""
KEPT = 0.99
"""Share of the free part of a motion at whose end a node is put: proofs take distance."""


@procedure
def prove(s: Search, in_first: int, in_second: int, is_proved: bool) -> bool:
    """Prove the path through two nodes and the motion between them, and write it down; or cut what is not free.

    ``is_proved`` says whether the motion between them has been proved.
    """
    is_open = not is_proved
    while True:
        m = _list_motions(s, in_first, FIRST, 0)
        m = _list_motions(s, in_second, SECOND, m)
        if is_open and m < MOST_AT_ONCE:
            write_motion(s, m, s.first, in_first, s.second, in_second)
            s.lists.side[m] = BETWEEN
            m += 1
        if m == 0:
            _write_path(s, in_first, in_second)
            return True
        check_motions(s.motions, m, PROOF_LOOKS)
        s.counters[N_MOTIONS] += m
        if not _settle_motions(s, m):
            return False
        for k in range(m):
            if s.lists.side[k] != BETWEEN:
                if not _prove_node(s, s.first if s.lists.side[k] == FIRST else s.second, s.lists.target[k]):
                    return False
            elif is_open:
                if s.lists.target[k] == NOBODY:
                    write_motion(s, 0, s.first, in_first, s.second, in_second)
                    if _share_of_pieces(s) < 1.0:
                        return False
                is_open = False


@procedure
def _list_motions(s: Search, node: int, side: int, m: int) -> int:
    """Write down the motions between a node and its root that are not proved; returns their number and m together."""
    tree = s.first if side == FIRST else s.second
    while tree.parent[node] != NOBODY and m < MOST_AT_ONCE:
        if tree.is_proved[node] == 0:
            write_motion(s, m, tree, tree.parent[node], tree, node)
            s.lists.side[m] = side
            s.lists.target[m] = node
            m += 1
        node = tree.parent[node]
    return m


@procedure
def _settle_motions(s: Search, m: int) -> bool:
    """Note which of the first m motions are proved, and cut what is not free; returns whether there is no contact."""
    is_well = True
    for k in range(m):
        if is_contact(s.motions, k):
            is_well = False
            if s.lists.side[k] != BETWEEN:
                _shorten(
                    s, s.first if s.lists.side[k] == FIRST else s.second, s.lists.target[k], k, covered(s.motions, k)
                )
        elif s.lists.side[k] == BETWEEN:
            s.lists.target[k] = 0 if is_free(s.motions, k) else NOBODY
        elif is_free(s.motions, k):
            tree = s.first if s.lists.side[k] == FIRST else s.second
            tree.is_proved[s.lists.target[k]] = 1
    return is_well


@procedure
def _shorten(s: Search, tree: Tree, node: int, k: int, share: float) -> None:
    """Cut off a node, and put another one where motion k, from its parent, is free."""
    cut(tree, node)
    if KEPT * share * motion_length(s, k) > s.least_step:
        add_share(s, tree, tree.parent[node], k, KEPT * share, 1)


@procedure
def _prove_node(s: Search, tree: Tree, node: int) -> bool:
    """Prove the motion to a node in pieces, if it is not proved; or cut it off."""
    if tree.is_proved[node] == 1:
        return True
    write_motion(s, 0, tree, tree.parent[node], tree, node)
    share = _share_of_pieces(s)
    if share < 1.0:
        write_motion(s, 0, tree, tree.parent[node], tree, node)
        _shorten(s, tree, node, 0, share)
        return False
    tree.is_proved[node] = 1
    return True


@procedure
def _share_of_pieces(s: Search) -> float:
    """Share of motion 0 that is proved free, in pieces; 1: all of it."""
    motions = s.motions
    for j in range(s.n):
        s.begin[j] = motions.a[j, 0]
        s.end[j] = motions.b[j, 0]
    t_begin = motions.times[0, 0]
    t_end = motions.times[1, 0]
    for i in range(PIECES):
        low = i / PIECES
        high = (i + 1) / PIECES
        for j in range(s.n):
            motions.a[j, i] = s.begin[j] + low * (s.end[j] - s.begin[j])
            motions.b[j, i] = s.begin[j] + high * (s.end[j] - s.begin[j])
        motions.times[0, i] = t_begin + low * (t_end - t_begin)
        motions.times[1, i] = t_begin + high * (t_end - t_begin)
    for j in range(s.n):
        motions.b[j, PIECES - 1] = s.end[j]
    motions.times[1, PIECES - 1] = t_end
    check_motions(motions, PIECES, PROOF_LOOKS)
    s.counters[N_MOTIONS] += PIECES
    for i in range(PIECES):
        if not is_free(motions, i):
            return i / PIECES
    return 1.0


@procedure
def motion_length(s: Search, k: int) -> float:
    """Weighted length of motion k."""
    squares = 0.0
    for j in range(s.n):
        step = s.weights[j] * (s.motions.b[j, k] - s.motions.a[j, k])
        squares += step * step
    return sqrt(squares)


@procedure
def _write_path(s: Search, in_first: int, in_second: int) -> None:
    """Write down the path through two nodes; what does not fit is left out, which its length shows."""
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
def _write_node(s: Search, row: int, tree: Tree, node: int) -> None:
    for j in range(s.n):
        s.path[row, j] = tree.q[j, node]
    s.times[row] = tree.t[node]
