"""The share of commands that a gate has accepted of late."""

from __future__ import annotations

from collections import deque

COUNTED = 100
"""Commands over which the share is taken."""


class SuccessRate:
    """Counts commands, and remembers which of the last 100 failed.

    Attributes
    ----------
    n : int
        Commands so far; one that is accepted is counted here.
    failures : deque of int
        Numbers of the commands that failed; :attr:`share` forgets the old ones.
    """

    def __init__(self) -> None:
        self.failures = deque[int](maxlen=COUNTED)
        self.n = 0

    def fail(self) -> None:
        """Count a command that was refused, or missed."""
        self.n += 1
        self.failures.append(self.n)

    def clear(self) -> None:
        """Start again."""
        self.failures.clear()
        self.n = 0

    @property
    def share(self) -> float:
        """Share of accepted commands among the last 100; 1 when there were none."""
        n, failures = min(self.n, COUNTED), self.failures
        while failures and failures[0] <= self.n - COUNTED:
            failures.popleft()
        return (n - len(failures)) / n if failures else 1.0
