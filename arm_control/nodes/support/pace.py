"""When the next step of a simulation is due, by the steady clock."""

from __future__ import annotations

import time


class Pace:
    """Steps of simulated time against wall time.

    Attributes
    ----------
    dropped : int
        Steps that were too far behind to be made up for: simulated time went slower instead.
    """

    BACKLOG = 5
    """Steps that may wait to be made up for; what is further behind is dropped."""

    def __init__(self) -> None:
        self.dropped = 0
        self.restart()

    def restart(self) -> None:
        """Nothing is due now."""
        self._since = time.perf_counter()

    def take(self, timestep: float) -> bool:
        """Whether a step of so much wall time [s] is due; it counts as made then."""
        due = int((time.perf_counter() - self._since) / timestep)
        if due > self.BACKLOG:
            self.dropped += due - self.BACKLOG
            self._since += (due - self.BACKLOG) * timestep
        if due > 0:
            self._since += timestep
        return due > 0
