"""Messages about a scenario's obstacles, and when to publish them, on the time of the joint states. No ROS here.

Every present obstacle is published for each ``PERIOD_NS`` of that time, with its pose at that time, and ahead of it. So
a subscriber that acts on the stamps (:mod:`arm_control.messages.obstacle_tracker`) knows all obstacles whenever the
messages arrive; in lock step, in slow motion and during a pause the obstacles keep the time of the arm. The lifetime of
an obstacle ends when it vanishes; then it is also deleted.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.core import NANOSECONDS
from arm_control.maths import Hull, Obstacle
from arm_control.simulation.scene import World

PERIOD_NS = 20_000_000
"""Time between two poses of an obstacle [ns]."""
LEAD = 0.1
"""Time by which updates are ahead of the newest state [s]."""
MOST_POINTS, LEAST_POINTS = 2400, 150
"""Points of the updates in one message, and those that one without a hull counts for: 16 cones have 59,000 bytes."""
NAMESPACE = "scenario"
"""Namespace of the markers."""


class ObstacleUpdate(NamedTuple):
    """An update of one obstacle; its lifetime [s] is infinite where it holds until the next one."""

    number: int
    obstacle: Obstacle | None
    lifetime: float = float("inf")


class ObstacleSchedule:
    """The updates of a world's obstacles, state by state, ahead of the newest one by the time ``lead`` [s]."""

    def __init__(self, world: World, lead: float = LEAD) -> None:
        self._world = world
        self._lead_ns = round(lead * 1e9)
        self._state_ns = 0
        self._next_ns = 0
        self._present: set[int] = set()

    def updates(self, stamp_ns: int) -> list[tuple[int, list[ObstacleUpdate]]]:
        """Return the updates to publish with a state.

        A repeated state, as during a pause, is for late subscribers: all obstacles are published again. When time has
        started over, subscribers must notice that first: updates ahead of time follow with the next state.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].

        Returns
        -------
        list of (int, list of ObstacleUpdate)
            Stamps [ns], in order, each with its updates; many of one stamp come in parts.
        """
        lead_ns = self._lead_ns if stamp_ns >= self._state_ns else 0
        if not self._state_ns < stamp_ns < self._next_ns:
            self._next_ns = stamp_ns - stamp_ns % PERIOD_NS
        times = range(self._next_ns, stamp_ns + lead_ns + 1, PERIOD_NS)
        self._state_ns = stamp_ns
        self._next_ns += len(times) * PERIOD_NS
        stamps = [max(1, time_ns) for time_ns in times]  # stamp 0 would mean: now
        return [
            (stamp, part)
            for stamp in stamps
            for part in _parts(self._updates_at(stamp / NANOSECONDS, max(stamp, stamp_ns) / NANOSECONDS))
        ]

    def _updates_at(self, t: float, t_effective: float) -> list[ObstacleUpdate]:
        """Return the updates with poses at ``t`` that take effect, and begin their lifetime, at ``t_effective`` [s]."""
        present = {
            number: mover
            for number, mover in enumerate(self._world.movers)
            if mover.span.holds(t) and mover.span.holds(t_effective)
        }
        deleted = [ObstacleUpdate(number, None) for number in sorted(self._present - set(present))]
        self._present = set(present)
        return deleted + [
            ObstacleUpdate(number, mover.at(t), mover.span.end - t_effective) for number, mover in present.items()
        ]


def _parts(updates: list[ObstacleUpdate]) -> list[list[ObstacleUpdate]]:
    """Split updates into messages; none of them are one message, too."""
    parts: list[list[ObstacleUpdate]] = [[]]
    room = MOST_POINTS
    for update in updates:
        n = _points(update)
        if n > room:
            parts.append([])
            room = MOST_POINTS
        parts[-1].append(update)
        room -= n
    return parts


def _points(update: ObstacleUpdate) -> int:
    """How many points an update counts for."""
    shape = None if update.obstacle is None else update.obstacle.shape
    return max(LEAST_POINTS, 3 * len(shape.triangles)) if isinstance(shape, Hull) else LEAST_POINTS
