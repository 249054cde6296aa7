"""Joint states as they come in: matched by name, checked, repeated and stale ones told apart."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from arm_control.control.controllers import Measurement
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.messages.fields import nanoseconds
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

    def read(self, message: Any, info: dict[str, Any]) -> Reading:
        """Read a message.

        Parameters
        ----------
        message : JointState
            The message; its fields are read by name.
        info : dict
            Time stamps of the middleware [ns].
        """
        try:
            return self._read(message, info)
        except InputError as error:
            return Refused(error)

    def _read(self, message: Any, info: dict[str, Any]) -> Measurement | Repeated:
        refuse_stale(info, self._max_age)
        q = self._model.in_joint_order(message.name, message.position)
        stamp_ns = nanoseconds(message.header.stamp)
        last = self._last
        if last is not None and stamp_ns == last.stamp_ns:
            return Repeated(stamp_ns)
        is_restart = last is None or self._has_time_started_over(stamp_ns, last.stamp_ns)
        dt = 0.0 if last is None or is_restart else (stamp_ns - last.stamp_ns) / NANOSECONDS
        v = self._velocity(message, q, dt)
        self._last = Measurement(stamp_ns, q, v, dt, is_restart)
        return self._last

    def _has_time_started_over(self, stamp_ns: int, last_ns: int) -> bool:
        """Zero, or many older stamps in a row, are a new run; a single older stamp is an error."""
        if stamp_ns > last_ns:
            self._older = 0
            return False
        self._older += 1
        if stamp_ns == 0 or self._older >= self.PATIENCE:
            self._older = 0
            return True
        stamp, last = stamp_ns / NANOSECONDS, last_ns / NANOSECONDS
        raise InputError(f"out of order: stamp {stamp:.3f} s is older than the last, {last:.3f} s; two publishers?")

    def _velocity(self, message: Any, q: Array, dt: float) -> Array:
        """Measured velocity, or the difference of positions for a driver that sends none."""
        if len(message.velocity):
            return self._model.in_joint_order(message.name, message.velocity, "velocity")
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
