"""When obstacles touch links that are fixed to the world.

No motion of the arm changes that, and a base stands on something by design. So it is no part of the checks of motions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from arm_control.collision.arm_shape import ArmShape
from arm_control.collision.obstacle_rows import NUMBER, SPEED, TIMES
from arm_control.collision.pair_texts import signed_distance
from arm_control.collision.ranges import LATEST, check_range
from arm_control.maths import Array, Pose
from arm_control.model import LinkCapsule

SHORTEST = 1e-9
"""Distance that counts as contact [m]."""
MOST_LOOKS = 10_000
"""Moments at which one pair is looked at; what is as near then as to need more counts as contact."""


class FixedContact(NamedTuple):
    """An obstacle at a link that is fixed to the world.

    Attributes
    ----------
    t : float
        The first moment of contact [s].
    link : str
        Name of the link.
    obstacle : int
        Number of the obstacle.
    """

    t: float
    link: str
    obstacle: int


def fixed_contacts(
    shape: ArmShape, tables: Mapping[str, Array], t_begin: float, t_end: float, margin: float
) -> tuple[FixedContact, ...]:
    """First contacts of links that are fixed to the world with each obstacle in a time, the earliest first.

    Parameters
    ----------
    shape : ArmShape
    tables : mapping of str to ndarray
        Obstacles by kind.
    t_begin, t_end : float
        Begin and end of the time [s].
    margin : float
        Smallest distance that is no contact [m].

    Raises
    ------
    InputError
        When a time is not finite, or too late.
    """
    check_range([t_begin, t_end], LATEST, "times")
    first: dict[tuple[str, int], float] = {}
    for link in (link for link in shape.links if link.body < 0):
        for kind, table in tables.items():
            for row in table:
                t = _first_moment(link.whole.capsules, kind, row, (t_begin, t_end), margin)
                pair = link.link, int(row[NUMBER])
                first[pair] = min(first.get(pair, math.inf), t)
    return tuple(sorted(FixedContact(t, *pair) for pair, t in first.items() if t <= t_end))


def _first_moment(
    capsules: tuple[LinkCapsule, ...], kind: str, row: Array, within: tuple[float, float], margin: float
) -> float:
    """First moment at which an obstacle is at capsules in the world: by steps of distance over speed; inf for none."""
    _, begin, end = (float(x) for x in row[TIMES])
    t, t_end = max(within[0], begin), min(within[1], end)
    for _ in range(MOST_LOOKS):
        if t > t_end:
            return math.inf
        distance = float(signed_distance(kind, row, t, Pose.identity(), capsules)) - margin
        if distance <= SHORTEST:
            break
        if not row[SPEED]:
            return math.inf
        t += distance / float(row[SPEED])
    return t
