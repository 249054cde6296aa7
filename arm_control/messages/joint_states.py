"""Joint states as they come in: matched by name, checked, repeated and stale ones told apart."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.control import Measurement
from arm_control.core import BEGINNING_NS, NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.gate import (
    BELIEVED,
    LONGEST_STEP,
    RETURNED,
    StateBounds,
    StateMemory,
    copy_memory,
    doubted_time,
)
from arm_control.maths import Array
from arm_control.messages.publisher_lock import SEVERAL_PUBLISHERS, UNKNOWN_PUBLISHER, publisher_of
from arm_control.model import RobotModel

TIME_WENT_BACK = "the stamps of the states went back"


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
        Why: stale, misnamed, of the wrong length, not finite, out of order, not believed or of a second publisher.
    is_fault : bool
        Whether an arm in motion must brake at once: the measurement is wrong, not the message.
    is_foreign : bool
        Whether it is of another publisher, while the states of this arm are heard: then none is missing.
    is_stale : bool
        Whether it is only too old: a brake can use it.
    doubt : int
        Age of the states before that are not trusted any more [ns].
    """

    error: InputError
    is_fault: bool = False
    is_foreign: bool = False
    is_stale: bool = False
    doubt: int = 0


Reading = Measurement | Repeated | Refused


class JointStateReader:
    """Reads ``JointState`` messages, live or out of a bag.

    Time starts over with a stamp of 0, as that of a simulation after its reset. Twenty older stamps in a row are a
    fault, and the next measurement says so. Whatever the stamps say, an arm moves no farther than in the time of the
    clock; only in lock step, where none counts, one whose time starts over may be anywhere. After an implausible state,
    all states are rejected until 0.1 s of mutually consistent ones has passed; the next accepted measurement then
    carries a fault. Without velocities in a message, those are the differences of positions behind a lag of
    :data:`LAG`. Positions of continuous joints are unwrapped.

    Parameters
    ----------
    max_age : float
        Age above which a message is refused [s], from the time stamps of the middleware; 0: never.
    drives_arm : bool
        Whether torque follows from the states: then they must be within :class:`StateBounds`, and all of them from one
        publisher, that of the first good one, until it has been silent for a second.
    clock_ns : callable
        Returns the time of the middleware's clock [ns].
    """

    PATIENCE = 20
    """Messages in a row after which older stamps are believed, as a fault."""
    LAG = 0.01
    """Lag of velocities that are differences of positions [s]."""
    SILENCE_NS = 1_000_000_000
    """Silence after which another publisher may take over [ns]."""

    def __init__(
        self,
        model: RobotModel,
        max_age: float,
        *,
        drives_arm: bool = False,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._model = model
        self._max_age = max_age
        self._clock_ns = clock_ns
        self._bounds = StateBounds(model) if drives_arm else None
        self._owner: Any = None
        self._heard_ns = 0
        self._last: Measurement | None = None
        self._judged_ns = self._least_delay_ns = 0
        self._older = 0
        self._names: list[str] | None = None
        self._index = np.zeros(0, dtype=int)

    def read(  # noqa: PLR0912 - one call for each state
        self, message: Any, info: dict[str, Any], *, is_braking: bool = False
    ) -> Reading:
        """Read a message.

        Parameters
        ----------
        info : dict
            Time stamps of the middleware [ns]; that of the source may be None: unknown.
        is_braking : bool
            Whether the arm is braked: then a state is used however old it looks.
        """
        stamp, last = message.header.stamp, self._last
        stamp_ns = int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)
        try:
            if self._max_age and not is_braking and (old := _stale(info, self._max_age, self._clock_ns())):
                return Refused(InputError(old), is_stale=True)
            gid = info.get("publisher_gid")
            if self._bounds is not None and gid != self._owner and (rival := self._second_publisher(info)):
                silence_ns = info["received_timestamp"] - self._heard_ns
                is_heard = not self._max_age or silence_ns <= self._max_age * NANOSECONDS
                return Refused(InputError(rival), is_foreign=is_heard)
            if message.name != self._names:
                self._learn_order(message.name)
            q = np.array(message.position, dtype=float)
            if len(q) != len(message.name) or not np.isfinite(q).all():
                q = self._checked(message.name, message.position, "position")
            q = q[self._index]
            if last is not None and stamp_ns == last.stamp_ns:
                return Repeated(stamp_ns)
            is_older = last is not None and stamp_ns < last.stamp_ns
            if is_older and stamp_ns:
                self._count_older(stamp_ns)
            is_restart = last is None or is_older
            if self._bounds is not None and self._bounds.wraps and (self._max_age or not is_restart):
                q = self._bounds.unwrapped(q)
            dt = 0.0 if last is None or is_restart else (stamp_ns - last.stamp_ns) / NANOSECONDS
            v = v_raw = np.array(message.velocity, dtype=float)
            if not len(v):
                v_raw = self._difference(q, dt)
                v = self._smoothed(v_raw, dt)
            else:
                if len(v) != len(message.name) or not np.isfinite(v).all():
                    v = self._checked(message.name, message.velocity, "velocity")
                v = v_raw = v[self._index]
            fault, age = TIME_WENT_BACK if is_older and stamp_ns else "", 0.0
            if self._bounds is not None:
                interval, self._judged_ns = (stamp_ns - self._judged_ns) / NANOSECONDS, stamp_ns
                is_usual = 0.0 < dt <= self._max_age or not self._max_age
                elapsed = dt if is_usual else self._elapsed(dt, stamp_ns, info)
                result, reason = self._bounds.judge(q, v_raw, elapsed, interval)
                if result not in (BELIEVED, RETURNED):
                    doubt = doubted_time(self._bounds.memory, result, elapsed)
                    return Refused(InputError(reason), is_fault=True, doubt=doubt)
                fault = f"the state has jumped ({reason})" if result == RETURNED else fault
                self._owner, self._heard_ns = gid, info["received_timestamp"]
                if is_restart or self._heard_ns - stamp_ns < self._least_delay_ns:
                    self._least_delay_ns = self._heard_ns - stamp_ns
                age = self._age(info, stamp_ns) if is_braking else 0.0
        except InputError as error:
            return Refused(error)
        self._older = 0
        self._last = Measurement(stamp_ns, q, v, dt, is_restart, fault, age)
        return self._last

    def _age(self, info: dict[str, Any], stamp_ns: int) -> float:
        """Age of a state that brakes the arm [s]: what the middleware says, but no more than it is late by its stamps.

        The clocks of two machines may differ; states that come as regularly as before are not late.
        """
        if not self._max_age:
            return 0.0
        late_ns, written_ns = self._heard_ns - stamp_ns - self._least_delay_ns, info["source_timestamp"]
        return max(0.0, (late_ns if written_ns is None else min(self._clock_ns() - written_ns, late_ns)) / NANOSECONDS)

    def _elapsed(self, dt: float, stamp_ns: int, info: dict[str, Any]) -> float:
        """Time in which the arm may have moved behind a gap or another jump of the stamps [s].

        It is ``dt`` of the stamps; no more than that of the clock behind a gap, and that of the clock where the stamps
        went back.
        """
        received_ns = info["received_timestamp"]
        ahead_ns = max(self._least_delay_ns - (received_ns - stamp_ns), 0)
        elapsed = dt - ahead_ns / NANOSECONDS if dt else (received_ns - self._heard_ns) / NANOSECONDS
        return max(elapsed, LONGEST_STEP)

    @property
    def bounds(self) -> StateBounds | None:
        """Bounds of a state that drives an arm."""
        return self._bounds

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """Place of each joint of the arm among the names of the last message, shape (nv,)."""
        return self._index

    @property
    def least_delay_ns(self) -> int:
        """Least time from a stamp until its state was received, by two clocks [ns]."""
        return self._least_delay_ns

    def resume(self, last: Measurement, memory: StateMemory, heard_ns: int, least_delay_ns: int) -> None:
        """Go on behind states that have been read elsewhere, of the same publisher and with the same names.

        Parameters
        ----------
        least_delay_ns : int
            What :attr:`least_delay_ns` is behind it.
        """
        assert self._bounds is not None
        copy_memory(self._bounds.memory, memory)
        self._last, self._judged_ns = last, last.stamp_ns
        self._heard_ns, self._least_delay_ns = heard_ns, least_delay_ns

    @property
    def is_silent(self) -> bool:
        """Whether no state was believed for a second, or none before."""
        return self._last is None or self._clock_ns() - self._heard_ns > self.SILENCE_NS

    def may_take(self, model: RobotModel) -> bool:
        """Whether the states to come may be of this arm: those of before are silent, or its joints are the same.

        In lock step, where states wait for their commands, they may be of any.
        """
        return not self._max_age or self.is_silent or set(model.joint_names) == set(self._model.joint_names)

    def release(self) -> None:
        """Let the next publisher take over."""
        self._owner = None

    def _learn_order(self, names: Sequence[str]) -> None:
        """Learn where the arm's joints stand among these; all later messages with the same names are read by it."""
        places = self._model.in_joint_order(names, range(len(names)))
        self._names = list(names)
        self._index = places.astype(int)

    def _checked(self, names: Sequence[str], values: Sequence[float], what: str) -> Array:
        """Return values in the order of the names; only those of the arm's joints must be finite.

        An InputError when there is not one for each name, or one of the arm's is not finite.
        """
        self._model.in_joint_order(names, values, what)
        return np.array(values, dtype=float)

    def _count_older(self, stamp_ns: int) -> None:
        """Refuse an older stamp, unless it is one of many in a row."""
        assert self._last is not None
        self._older += 1
        if self._older < self.PATIENCE:
            is_new = stamp_ns < BEGINNING_NS <= self._last.stamp_ns
            cause = "the plant has started over" if is_new else "two publishers?"
            raise InputError(
                f"out of order: stamp {stamp_ns / NANOSECONDS:.3f} s is older than the last,"
                f" {self._last.stamp_ns / NANOSECONDS:.3f} s; {cause}"
            )

    def _second_publisher(self, info: dict[str, Any]) -> str:
        """Say that a message is of another publisher than before, which is not silent, or unknown; else empty."""
        if info["publisher_gid"] is UNKNOWN_PUBLISHER:
            return SEVERAL_PUBLISHERS
        if self._owner is not None and info["received_timestamp"] - self._heard_ns <= self.SILENCE_NS:
            return f"second publisher of joint states: {publisher_of(info).hex()}"
        return ""

    def _difference(self, q: Array, dt: float) -> Array:
        """Difference of positions in time, for a driver that sends no velocity."""
        if self._last is None or dt <= 0.0:
            return np.zeros_like(q)
        with np.errstate(over="ignore"):
            v = (q - self._last.q) / dt
        if not np.isfinite(v).all():
            raise InputError(f"position is absurd: it differs by {np.abs(q - self._last.q).max():g} from the last")
        return v

    def _smoothed(self, v: Array, dt: float) -> Array:
        """Differences behind a lag of first order: by themselves they are steps of an encoder, times the gains."""
        last = np.zeros_like(v) if self._last is None or dt <= 0.0 else self._last.v
        return last + (1.0 - math.exp(-dt / self.LAG)) * (v - last)


def _stale(info: dict[str, Any], max_age: float, now_ns: int) -> str:
    """Say that a message is too old; empty when it is not."""
    if info["source_timestamp"] is None:
        return ""
    age = (now_ns - info["source_timestamp"]) / NANOSECONDS
    is_old = max_age and age > max_age
    return f"stale: written {age * 1e3:.1f} ms ago, allowed {max_age * 1e3:.1f} ms" if is_old else ""
