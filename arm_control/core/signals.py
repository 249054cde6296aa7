"""Signals that ask a process to end, for loops that end themselves."""

from __future__ import annotations

import signal


class StopRequest:
    """Remembers that SIGINT or SIGTERM came, from when it is made on.

    Attributes
    ----------
    requested : bool
        Whether one came.
    """

    def __init__(self) -> None:
        self.requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self.requested = True
