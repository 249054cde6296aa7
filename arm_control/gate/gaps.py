"""Gaps between states: after too long a gap, the last torque fits no state any more."""

from __future__ import annotations

from arm_control.compiler import procedure

GAP = 1.5
"""A state is missing where the time between two states is longer than so many periods."""
SHORTER, LONGER = 0.99, 1.01
"""Least and largest factor of the period from a state to the next: it stays near the median of those times, and a burst
of queued states does not make the next normal interval look like a gap."""


@procedure
def period_after(period: float, dt: float) -> float:
    """Return the usual time between two states after ``dt`` seconds without one [s]; 0: unknown."""
    if not dt > 0.0:
        return period
    return min(max(dt, SHORTER * period), LONGER * period) if period > 0.0 else dt


@procedure
def has_gap(period: float, dt: float) -> bool:
    """Whether states are missing; ``period`` is that before them [s]."""
    return period > 0.0 and dt > GAP * period


@procedure
def has_long_gap(period: float, dt: float, n_most: float) -> bool:
    """Whether states are missing, for more than ``n_most`` periods: the gate must brake."""
    return has_gap(period, dt) and dt > n_most * period


_period_after, _has_gap = period_after.function, has_gap.function  # called for each state


class GapWatch:
    """Notices missing states.

    Parameters
    ----------
    max_missed : int or None
        Periods without a state after which the gate must brake; None: never, the states wait for their commands.

    Attributes
    ----------
    skipped : int
        States that were missing so far.
    period : float
        Usual time between two states [s]; 0: unknown.
    """

    def __init__(self, max_missed: int | None) -> None:
        self.max_missed = max_missed
        self.period = 0.0
        self.skipped = 0

    def restart(self) -> None:
        """Time has started over: the period is unknown."""
        self.period = 0.0

    def fault(self, dt: float) -> str:
        """Return why the gate must brake after ``dt`` seconds without a state; empty when it need not."""
        if dt == self.period:  # as from a simulator
            return ""
        period, self.period = self.period, _period_after(self.period, dt)
        if not _has_gap(period, dt):
            return ""
        self.skipped += round(dt / period) - 1
        return self._fault(period, dt)

    def clock_fault(self, dt: float) -> str:
        """The same by a clock, which says that nothing has come for ``dt`` seconds; nothing is noted."""
        return self._fault(self.period, dt)

    def _fault(self, period: float, dt: float) -> str:
        is_long = self.max_missed is not None and has_long_gap.function(period, dt, self.max_missed)
        return f"no state for {dt * 1e3:.0f} ms" if is_long else ""
