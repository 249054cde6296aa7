"""Joint states as they come in: matched by name, checked, repeated and stale ones told apart. No ROS here."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.messages.fields import nanoseconds
from arm_control.model import RobotModel


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

    def read(self, message: Any, info: dict[str, Any]) -> State | None:
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
    """Raise :class:`InputError` when a message lay around longer than ``max_age`` [s]; 0 allows any age."""
    age = (time.time_ns() - info["source_timestamp"]) / NANOSECONDS
    if max_age and age > max_age:
        raise InputError(f"stale: written {age * 1e3:.1f} ms ago, allowed {max_age * 1e3:.1f} ms")
