"""Joint states as they come in: matched by name, checked, repeated and stale ones told apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arm_control.control.controllers import Measurement
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel


class Repeated(NamedTuple):
    """A message with the stamp of the measurement before.

    Attributes
    ----------
    stamp_ns : int
        That stamp [ns].
    """

    stamp_ns: int


class Refused(NamedTuple):
    """A message that must not be used.

    Attributes
    ----------
    error : InputError
        Why: stale, misnamed, of the wrong length, not finite or out of order.
    """

    error: InputError


Reading = Measurement | Repeated | Refused


class JointStateReader:
    """Reads ``JointState`` messages, live or out of a bag.

    Parameters
    ----------
    model : RobotModel
        The arm.
    max_age : float
        Age above which a message is refused [s], from the time stamps of the middleware; 0: never.
    """

    PATIENCE = 20
    """Older stamps in a row after which time has started over."""

    def __init__(self, model: RobotModel, max_age: float) -> None:
        self._model = model
        self._max_age = max_age
        self._last: Measurement | None = None
        self._older = 0
        self._names: list[str] | None = None
        self._index = np.zeros(0, dtype=int)

    def read(self, message: Any, info: dict[str, Any]) -> Reading:
        """Read a message.

        Parameters
        ----------
        message : JointState
            The message; its fields are read by name.
        info : dict
            Time stamps of the middleware [ns].
        """
        stamp, last = message.header.stamp, self._last
        stamp_ns = int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)
        try:
            if self._max_age:
                refuse_stale(info, self._max_age)
            if message.name != self._names:
                self._learn_order(message.name)
            q = np.array(message.position, dtype=float)
            if len(q) != len(message.name) or not np.isfinite(q).all():
                q = self._checked(message.name, message.position, "position")
            q = q[self._index]
            if last is not None and stamp_ns == last.stamp_ns:
                return Repeated(stamp_ns)
            is_restart = last is None or (stamp_ns < last.stamp_ns and self._has_time_started_over(stamp_ns, last))
            dt = 0.0 if last is None or is_restart else (stamp_ns - last.stamp_ns) / NANOSECONDS
            v = np.array(message.velocity, dtype=float)
            if not len(v):
                v = self._difference(q, dt)
            else:
                if len(v) != len(message.name) or not np.isfinite(v).all():
                    v = self._checked(message.name, message.velocity, "velocity")
                v = v[self._index]
        except InputError as error:
            return Refused(error)
        self._older = 0
        self._last = Measurement(stamp_ns, q, v, dt, is_restart)
        return self._last

    def _learn_order(self, names: Sequence[str]) -> None:
        """Learn where the arm's joints stand among these; all later messages with the same names are read by it."""
        places = self._model.in_joint_order(names, range(len(names)))
        self._names = list(names)
        self._index = places.astype(int)

    def _checked(self, names: Sequence[str], values: Sequence[float], what: str) -> Array:
        """Return values in the order of the names; only those of the arm's joints must be finite.

        Raises
        ------
        InputError
            When there is not one for each name, or one of the arm's is not finite.
        """
        self._model.in_joint_order(names, values, what)
        return np.array(values, dtype=float)

    def _has_time_started_over(self, stamp_ns: int, last: Measurement) -> bool:
        """Zero, or many older stamps in a row, are a new run; a single older stamp is an error."""
        self._older += 1
        if stamp_ns == 0 or self._older >= self.PATIENCE:
            return True
        raise InputError(
            f"out of order: stamp {stamp_ns / NANOSECONDS:.3f} s is older than the last,"
            f" {last.stamp_ns / NANOSECONDS:.3f} s; two publishers?"
        )

    def _difference(self, q: Array, dt: float) -> Array:
        """Velocity from the difference of positions, for a driver that sends none."""
        if self._last is None or dt <= 0.0:
            return np.zeros_like(q)
        return (q - self._last.q) / dt


def refuse_stale(info: dict[str, Any], max_age: float) -> None:
    """Refuse an old message.

    Parameters
    ----------
    info : dict
        Time stamps of the middleware [ns].
    max_age : float
        Largest age [s]; 0 allows any.

    Raises
    ------
    InputError
        When the message is older.
    """
    age = (time.time_ns() - info["source_timestamp"]) / NANOSECONDS
    if max_age and age > max_age:
        raise InputError(f"stale: written {age * 1e3:.1f} ms ago, allowed {max_age * 1e3:.1f} ms")
