"""Joint states as they come in: matched by name, checked, repeated and stale ones told apart."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from arm_control.exceptions import InputError
from arm_control.model import RobotModel
from arm_control.nodes.conversions import NANOSECONDS, nanoseconds
from arm_control.spatial import Array


@dataclass(frozen=True)
class State:
    """A measured state in the model's joint order.

    Attributes
    ----------
    stamp_ns : int
        When it was measured [ns].
    q, v : ndarray, shape (nv,)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    dt : float
        Time since the state before [s]; 0 for the first one.
    """

    stamp_ns: int
    q: Array
    v: Array
    dt: float


class StateReader:
    """Turns ``JointState`` messages into states.

    Parameters
    ----------
    model : RobotModel
        The arm.
    max_age : float
        Age above which a message is refused [s], from the time stamps of the middleware; 0: never.

    Attributes
    ----------
    restarted : bool
        Whether the last state began a new run: the first state, or time had started over.
    repeated : bool
        Whether the last message repeated the stamp of the state before.
    """

    PATIENCE = 20

    def __init__(self, model: RobotModel, max_age: float) -> None:
        self._model, self._max_age = model, max_age
        self._last: State | None = None
        self._older = 0
        self.restarted = self.repeated = False

    def read(self, message: JointState, info: dict[str, Any]) -> State | None:
        """Return the state of a message, or None when it repeats the last one's stamp.

        Raises
        ------
        InputError
            When the message must not be used: stale, misnamed, wrong length, not finite, out of order.
        """
        self.repeated = False
        refuse_stale(info, self._max_age)
        q = self._model.in_joint_order(message.name, message.position)
        stamp_ns, last = nanoseconds(message.header.stamp), self._last
        if last is not None and stamp_ns == last.stamp_ns:
            self.repeated = True
            return None
        self.restarted = last is None or self._time_started_over(stamp_ns, last.stamp_ns)
        dt = 0.0 if last is None or self.restarted else (stamp_ns - last.stamp_ns) / NANOSECONDS
        v = self._velocity(message, q, dt)
        self._last = State(stamp_ns, q, v, dt)
        return self._last

    def _time_started_over(self, stamp_ns: int, last_ns: int) -> bool:
        """Zero, or many older stamps in a row, are a new run; a single older stamp is an error."""
        if stamp_ns > last_ns:
            self._older = 0
            return False
        self._older += 1
        if stamp_ns == 0 or self._older >= self.PATIENCE:
            self._older = 0
            return True
        raise InputError(f"stamp {stamp_ns / NANOSECONDS:.3f} s is older than the last, {last_ns / NANOSECONDS:.3f} s")

    def _velocity(self, message: JointState, q: Array, dt: float) -> Array:
        """Measured velocity, or the difference of positions for a driver that sends none."""
        if message.velocity:
            return self._model.in_joint_order(message.name, message.velocity, "velocity")
        if self._last is None or dt <= 0.0:
            return np.zeros_like(q)
        return (q - self._last.q) / dt


def refuse_stale(info: dict[str, Any], max_age: float) -> None:
    """Raise :class:`InputError` when a message lay around longer than ``max_age`` [s]; 0 allows any age."""
    age = (time.time_ns() - info["source_timestamp"]) / NANOSECONDS
    if max_age and age > max_age:
        raise InputError(f"stale: written {age * 1e3:.1f} ms ago, allowed {max_age * 1e3:.1f} ms")


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
        """Raise :class:`InputError` when a message comes from another publisher than the owner."""
        gid = bytes(info["publisher_gid"]["data"])
        if gid != self._owner and self.held:
            raise InputError(f"second publisher on the topic: {gid.hex()}")

    def take(self, info: dict[str, Any]) -> None:
        """Make the publisher of this message the owner."""
        self._owner, self._heard_at = bytes(info["publisher_gid"]["data"]), self._clock()

    def release(self) -> None:
        """Let the next publisher take over."""
        self._owner = None


class Rejections:
    """Counts what was refused, by cause, and logs each cause: the first time, then once a second."""

    PERIOD = 1.0

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._logged: dict[str, float] = {}
        self.counts: Counter[str] = Counter()

    def figures(self) -> dict[str, object]:
        """The counts, for ``/diagnostics``."""
        return {f"refused {cause}": count for cause, count in self.counts.items()}

    def add(self, what: str, error: Exception) -> None:
        """Count one refusal.

        Parameters
        ----------
        what : str
            What was refused, such as ``"joint_states"``.
        error : Exception
            Why; the words before its first colon name the cause.
        """
        cause, now = f"{what}: {str(error).split(':')[0]}", time.monotonic()
        self.counts[cause] += 1
        if now - self._logged.get(cause, -math.inf) >= self.PERIOD:
            self._logged[cause] = now
            self._logger.warning(f"{what} refused: {error} ({self.counts[cause]} so far)")
