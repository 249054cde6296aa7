"""What a scenario tells of its obstacles, and when, on the time of the joint states. No ROS here.

Every ``PERIOD_NS`` of that time each obstacle that is there is told again, with its pose of then and the state's stamp:
so somebody who comes later hears of it too, and velocities are differences over a known time. In lock step, in slow
motion and while paused the obstacles do what the arm's time does. One that is to vanish says so by its lifetime, and
is deleted when it has.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.controllers.proximity import Obstacle
from arm_control.world import World

PERIOD_NS = 20_000_000
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
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._last_ns = -PERIOD_NS
        self._shown: set[int] = set()

    def due(self, stamp_ns: int) -> list[Told] | None:
        """What is to be told at a state's stamp [ns]; None where nothing is yet."""
        if self._last_ns < stamp_ns < self._last_ns + PERIOD_NS:  # a state that comes again is answered again
            return None
        self._last_ns = stamp_ns
        return self.told(stamp_ns)

    def told(self, stamp_ns: int) -> list[Told]:
        """Return what is to be told at a time [ns]."""
        t = stamp_ns / 1_000_000_000
        there = {i: mover for i, mover in enumerate(self._world.movers) if mover.span.holds(t)}
        gone = [Told(i, None) for i in sorted(self._shown - set(there))]
        self._shown = set(there)
        return gone + [Told(i, mover.at(t), mover.span.end - t) for i, mover in there.items()]
