"""Records of a search for near pairs: an arm, what it may be near, and columns of pairs.

:mod:`~arm_control.collision.pair_procedures` works on them,
:class:`~arm_control.collision.pair_search.PairSearch` makes them.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import Floats, Ints, Rows, RunsColumns, RunsKernel

N_DISTANCE, N_TWIST, N_SHAPE, TWIST_AT = 7, 6, 15, 16
"""Numbers of a distance (rho, n, p), of a twist, of an obstacle's pose and sizes; place of the twist behind them."""


class ArmCapsules(NamedTuple):
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
    """Obstacles, a row each; see :class:`~arm_control.collision.obstacle_table.ObstacleTable`.

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
    to_sphere, to_box, to_turned, to_capsule : RunsColumns
        Compute the distances of ``pairs``; to a box or a solid of revolution only where the nearest point is an end of
        the segment, elsewhere a bound.
    search_box, search_turned : RunsColumns
        Compute those of ``searched``.
    pairs : PairColumns
        All of one type.
    between : ndarray, shape (1, K)
        Above zero where the nearest point is between the ends.
    searched : PairColumns
        Those of which that point is searched.
    column : ndarray of int, shape (K,)
        Where these are among ``pairs``.
    capsule, obstacle, place : ndarray of int, shape (K,)
        Numbers of both, and place of the pair among all pairs of obstacles of its type.
    capacity : int
        K.
    """

    to_sphere: RunsColumns
    to_box: RunsColumns
    to_turned: RunsColumns
    to_capsule: RunsColumns
    search_box: RunsColumns
    search_turned: RunsColumns
    pairs: PairColumns
    between: Rows
    searched: PairColumns
    column: Ints
    capsule: Ints
    obstacle: Ints
    place: Ints
    capacity: int


class LinkPairs(NamedTuple):
    """Pairs of capsules of two links; those that may be near have a column each.

    Attributes
    ----------
    find_near : RunsColumns
        Computes ``near``.
    centre : ndarray, shape (3, C)
        Of the ball around each capsule [m].
    near : ndarray, shape (m + 1, C)
        Above zero for a moving capsule that is near the ball around another one; everywhere in the last row, that of
        capsules that do not move.
    row, ball : ndarray of int, shape (L,)
        Row and column of each pair there.
    measure : RunsColumns
        Computes ``distance``.
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

    find_near: RunsColumns
    centre: Rows
    near: Rows
    row: Ints
    ball: Ints
    measure: RunsColumns
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


class CloseSearch(NamedTuple):
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
    arm: ArmCapsules
    obstacles: ObstacleRows
    candidates: PairCandidates
    links: LinkPairs
    near: NearPairs
