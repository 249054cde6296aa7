"""The one publisher that a topic is read from, and the count of refused messages."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from arm_control.core import printable
from arm_control.exceptions import InputError, cause_of

ONLY_PUBLISHER = {"data": bytes([1]) * 16}
"""Instead of a GID where the middleware gives none: that of the only publisher of a topic."""
UNKNOWN_PUBLISHER = {"data": b""}
"""The same for one of several publishers."""
SEVERAL_PUBLISHERS = "several publishers on the topic, and this release of ROS does not tell them apart"


def publisher_of(info: dict[str, Any]) -> bytes:
    """Return the GID of the publisher of a message; empty when it is not known."""
    return bytes(info["publisher_gid"]["data"]) if "publisher_gid" in info else b""


class PublisherLock:
    """The publisher of the first good command on a topic is the only one listened to.

    Until the lock is released, or the owner has been silent for ``silence`` [s] on the steady clock; in lock
    step, where no clock counts, it is infinite.
    """

    SILENCE = 1.0

    def __init__(self, silence: float = SILENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._silence, self._clock = silence, clock
        self._owner: bytes | None = None
        self._heard_at = 0.0

    @property
    def held(self) -> bool:
        """Whether a publisher owns the topic, and is not silent."""
        return self._owner is not None and self._clock() - self._heard_at <= self._silence

    def check(self, info: dict[str, Any]) -> None:
        """Raise :class:`InputError` for a message of another publisher than the owner, or of an unknown one."""
        gid = publisher_of(info)
        if not gid:
            raise InputError(SEVERAL_PUBLISHERS)
        if gid != self._owner and self.held:
            raise InputError(f"second publisher on the topic: {gid.hex()}")

    def take(self, info: dict[str, Any]) -> None:
        """Make the publisher of this message the owner."""
        self._owner, self._heard_at = publisher_of(info), self._clock()

    def release(self) -> None:
        """Let the next publisher take over."""
        self._owner = None


class Rejections:
    """Counts what was refused, by cause, and logs each cause: the first time, after a second, then ever more rarely.

    Causes may hold names from outside: their control characters are escaped, and there is an end to them. Those after
    the first ``MOST`` count as one.
    """

    FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
    MOST = 32
    LONGEST = 1000

    def __init__(self, logger: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger, self._clock = logger, clock
        self._due: dict[str, tuple[float, float]] = {}  # time of the next line, and the wait behind it
        self.counts: Counter[str] = Counter()

    def figures(self) -> dict[str, object]:
        """The counts, for ``/diagnostics``."""
        return {f"refused {cause}": count for cause, count in self.counts.items()}

    def add(self, what: str, error: Exception) -> None:
        """Count one refusal."""
        cause, now = printable(f"{what}: {cause_of(error)}")[: self.LONGEST], self._clock()
        if cause not in self.counts and len(self.counts) >= self.MOST:
            cause = "for other causes"
        self.counts[cause] += 1
        due, wait = self._due.get(cause, (-math.inf, self.FIRST_WAIT))
        if now >= due:
            self._due[cause] = now + wait, min(2.0 * wait, self.LONGEST_WAIT)
            reason = printable(str(error))[: self.LONGEST]
            self._logger.warning(f"{what} refused: {reason} ({self.counts[cause]} so far)")
