"""What a scenario tells of its obstacles, and when, on the time of the joint states. No ROS here.

Each obstacle that is there is told for every ``PERIOD_NS`` of that time, with its pose of then, and ahead of it. So
whoever acts by the stamps (:mod:`arm_control.messages.obstacle_tracker`)
knows where everything is, whenever the messages come; in
lock step, in slow motion and while paused the obstacles do what the arm's time does. One that is to vanish says so by
its lifetime, and is deleted when it has.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.control.avoidance.proximity import Obstacle
from arm_control.core.time import NANOSECONDS
from arm_control.simulation.world import World

PERIOD_NS = 20_000_000
LEAD = 0.1
"""How far ahead of the newest state is told [s]."""
NAMESPACE = "scenario"
"""Of the markers."""


class Told(NamedTuple):
    """An obstacle by its number; None where it is gone. It holds for so long [s]; infinite: for ever."""

    number: int
    obstacle: Obstacle | None
    lifetime: float = float("inf")


class Scenery:
    """A world's obstacles as they are told, state by state.

    Parameters
    ----------
    world : World
        The obstacles.
    lead : float
        How far ahead of the newest state is told [s].
    """

    def __init__(self, world: World, lead: float = LEAD) -> None:
        self._world, self._lead_ns = world, round(lead * 1e9)
        self._state_ns, self._next_ns = 0, 0
        self._shown: set[int] = set()

    def due(self, stamp_ns: int) -> list[tuple[int, list[Told]]]:
        """What is to be told in a state with this stamp, for which times, in their order [ns].

        A state that comes again, as while paused, is for somebody who came late: everything is told again. When time
        has started over, others have to see that first: what is ahead follows with the next state.
        """
        lead_ns = self._lead_ns if stamp_ns >= self._state_ns else 0
        if not self._state_ns < stamp_ns < self._next_ns:
            self._next_ns = stamp_ns - stamp_ns % PERIOD_NS
        times = range(self._next_ns, stamp_ns + lead_ns + 1, PERIOD_NS)
        self._state_ns, self._next_ns = stamp_ns, self._next_ns + len(times) * PERIOD_NS
        stamps = [max(1, time_ns) for time_ns in times]  # an empty stamp would mean: now
        return [(stamp, self._told(stamp / NANOSECONDS, max(stamp, stamp_ns) / NANOSECONDS)) for stamp in stamps]

    def _told(self, t: float, acts: float) -> list[Told]:
        """What is to be told of a time [s]; its lifetime begins when it acts: then, or with the state that is later."""
        there = {i: m for i, m in enumerate(self._world.movers) if m.span.holds(t) and m.span.holds(acts)}
        gone = [Told(i, None) for i in sorted(self._shown - set(there))]
        self._shown = set(there)
        return gone + [Told(i, mover.at(t), mover.span.end - acts) for i, mover in there.items()]
