"""Candidate paths through two trees: proved free motion by motion, or cut where they are not; procedures.

A motion is proved once: its node remembers it. Few motions are split into pieces, which share the lanes.
"""

from __future__ import annotations

from math import sqrt

from arm_control.collision import check_motions, covered, is_contact, is_free
from arm_control.compiler import procedure
from arm_control.planning.rrt.trees import (
    N_MOTIONS,
    NOBODY,
    PATH_LENGTH,
    PathTree,
    TreeSearch,
    add_share,
    cut,
    write_motion,
)

PROOF_LOOKS = 64
"""Largest number of places of one motion that are looked at for its proof."""
MOST_AT_ONCE, FEW, PIECES = 64, 8, 8
"""Largest number of motions that are proved in one call; where they are a few only, the pieces of each one."""
FIRST, SECOND, BETWEEN = 0, 1, 2
"""Tree of a motion to its node; or the motion between the trees."""
NEARLY = 1.0 - 1e-9
"""Largest free share of a motion that is not free."""
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
