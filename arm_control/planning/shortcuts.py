"""Shorter paths: shortcuts that are proved free.

    corners     of all straight motions between two corners of a path that are proved free, those that together lead
                from its start to its end on the shortest way
    random      a straight motion between two random places of the path, where it is proved free and shorter

Source for random shortcuts: R. Geraerts, M. H. Overmars, "Creating high-quality paths for motion planning", 2007.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from arm_control.collision import Validity
from arm_control.core import exclusive
from arm_control.planning.plans import Effort, Plan, Way, proved_shares

WINDOW = 12
"""Corners that are tried from one corner on."""
ROUNDS, BATCH = 20, 16
"""Rounds of random shortcuts, and how many are tried at once."""
LOOKS = 60
"""Largest number of places of a shortcut that are looked at for its proof."""
GAIN = 1e-6
"""Smallest gain of a shortcut [rad or m]."""


@exclusive
def shorten(validity: Validity, plan: Plan, seed: int = 0) -> Plan:
    """Return the plan with a shorter path; times of a scene that moves stay, so that no joint becomes faster.

    Without a path it comes back as it is.
    """
    if not plan.is_found:
        return plan
    begin = time.perf_counter()
    rng, way, n_motions = np.random.default_rng(seed), Way(plan.path, plan.times), 0
    way, n = _join_corners(validity, way)
    n_motions += n
    for _ in range(ROUNDS if len(way.path) > 2 else 0):
        way = _random_shortcut(validity, way, rng)
        n_motions += BATCH
    way, n = _join_corners(validity, way)
    n_motions += n + len(way.path) - 1
    is_open = proved_shares(validity, *way) < 1.0  # ways out of capsules; rounding where two pieces of a motion meet
    if not validity.free_by_shapes(way.path[:-1][is_open], way.path[1:][is_open]).all():
        return plan
    old = plan.effort
    effort = Effort(old.rounds, old.motions + n_motions, old.seconds + time.perf_counter() - begin)
    return replace(plan, path=way.path, times=way.times, effort=effort)


def _join_corners(validity: Validity, way: Way) -> tuple[Way, int]:
    """The shortest way along corners of a path; and the number of motions checked."""
    path, times = way
    m = len(path)
    if m == 2:
        return way, 0
    pairs = np.array([(i, j) for i in range(m) for j in range(i + 2, min(i + WINDOW, m))])
    first, last = pairs.T
    free = validity.motions(path[first], path[last], times[first], times[last], most_looks=LOOKS).is_free
    ways = [(i, i + 1) for i in range(m - 1)] + [(int(i), int(j)) for i, j in pairs[free]]
    cost, before = np.full(m, np.inf), np.zeros(m, int)
    cost[0] = 0.0
    for i, j in sorted(ways):
        there = cost[i] + np.linalg.norm(path[j] - path[i])
        if there < cost[j]:
            cost[j], before[j] = there, i
    corners = [m - 1]
    while corners[-1]:
        corners.append(int(before[corners[-1]]))
    return Way(path[corners[::-1]], times[corners[::-1]]), len(pairs)


def _random_shortcut(validity: Validity, old: Way, rng: np.random.Generator) -> Way:
    """The way with the best of some random shortcuts."""
    path, times = old
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(lengths)])
    places = np.sort(rng.uniform(0.0, way[-1], (BATCH, 2)), axis=1)
    segments = np.clip(np.searchsorted(way, places, side="right") - 1, 0, len(path) - 2)
    shares = (places - way[segments]) / np.maximum(lengths[segments], GAIN)
    ends = path[segments] + shares[..., None] * (path[segments + 1] - path[segments])
    stamps = times[segments] + shares * (times[segments + 1] - times[segments])
    gains = places[:, 1] - places[:, 0] - np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    free = validity.motions(ends[:, 0], ends[:, 1], stamps[:, 0], stamps[:, 1], most_looks=LOOKS).is_free
    best = int(np.argmax(np.where(free, gains, 0.0)))
    if not (free[best] and gains[best] > GAIN):
        return old
    i, j = segments[best]
    return Way(
        np.concatenate([path[: i + 1], ends[best], path[j + 1 :]]),
        np.concatenate([times[: i + 1], stamps[best], times[j + 1 :]]),
    )
