"""A state, read and checked without Python: procedures.

They accept what :class:`~arm_control.messages.joint_states.JointStateReader` and
:class:`~arm_control.control.state_bounds.StateBounds` accept without a second thought: the next state of the same
publisher, laid out as the last one, fresh, finite and believed. Anything else is a *reason* for Python to look at it,
and changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler.machine_operations import (
    CFunction,
    address_of,
    exp,
    float_at,
    int32_at,
    int_at,
    nearest,
    same_bits,
)
from arm_control.compiler.procedure import Floats, Ints, procedure
from arm_control.control.loop import GAP, LONGER, SHORTER
from arm_control.control.state_bounds import ACCELERATION, DEVIATION, MEMORY

ACCEPTED = 0
OTHER_LAYOUT, OTHER_PUBLISHER, STALE, OTHER_TIME, MISSING_STATES, NOT_FINITE, NOT_BELIEVED = 1, 2, 3, 4, 5, 6, 7
"""Results of :func:`check_state` and :func:`read_state`: accepted, or the reason why Python must look at it."""

DATA, LENGTH = 0, 1
"""Words of a serialized message, ``rcutils_uint8_array_t``: address of its bytes, and their number."""
WRITTEN_NS, RECEIVED_NS, PUBLISHER = 0, 1, 5
"""Words of ``rmw_message_info_t``: two times [ns], and the first of the two with the publisher's identity."""
STAMP = 4
"""Bytes before the stamp of a ``JointState``, two numbers of 32 bits: seconds, nanoseconds."""
SECOND = 1_000_000_000
"""Nanoseconds."""
REAL_TIME, MONOTONIC = 0, 1
"""Numbers of clocks of the system: that of the middleware, and one for durations."""
LARGEST = 1.7976931348623157e308
"""The largest number; an infinite one is larger."""

STAMP_NS, HEARD_NS, COUNT, SKIPPED = 0, 1, 2, 3
"""Integers of :class:`StateMemory`."""
UNCHANGED, PERIOD, GATE_PERIOD = 0, 1, 2
"""Floats of :class:`StateMemory`."""


class SystemClock(NamedTuple):
    """The clocks of the system.

    Attributes
    ----------
    read : CFunction
        ``clock_gettime``.
    time : ndarray of int64, shape (2,)
        Its result: seconds, nanoseconds.
    """

    read: CFunction
    time: Ints


class StateSource(NamedTuple):
    """What the next state must look like.

    Attributes
    ----------
    length, n_words : int
        Bytes of the message, and 64-bit words that cover them; the last word ends with the message.
    mask, common : ndarray of int64, shape (n_words,)
        Ones in the bits that all messages of this layout share; these bits.
    q_at, v_at : ndarray of int64, shape (nv,)
        Offset of each joint's position and velocity in the message.
    owner : ndarray of int64, shape (2,)
        Identity of the publisher.
    max_age : float
        Age above which a state is stale [s]; infinite: never.
    clock : SystemClock
        The system's clocks.
    """

    length: int
    n_words: int
    mask: Ints
    common: Ints
    q_at: Ints
    v_at: Ints
    owner: Ints
    max_age: float
    clock: SystemClock


class StateMemory(NamedTuple):
    """What is known of the states before: see :mod:`arm_control.control.state_bounds`.

    Attributes
    ----------
    whole : ndarray of int64, shape (4,)
        Stamp of the last state [ns], the time it was received [ns], numbers of states answered and missing.
    times : ndarray, shape (3,)
        How long states have not changed; usual time between two; that of the gate's last tick [s].
    q_0, v_0, e_0 : ndarray, shape (nv,)
        Last positions and velocities, and their deviation.
    fastest, low, high : ndarray, shape (nv,)
        Bounds (1) and (2).
    max_missed : float
        Periods without a state after which Python must decide; infinite: none.
    n : int
        Number of joints.
    """

    whole: Ints
    times: Floats
    q_0: Floats
    v_0: Floats
    e_0: Floats
    low: Floats
    high: Floats
    fastest: Floats
    max_missed: float
    n: int


class NewState(NamedTuple):
    """A state, and what the memory becomes where it is answered.

    Attributes
    ----------
    stamp_ns : ndarray of int64, shape (1,)
        Its stamp [ns].
    times : ndarray, shape (3,)
        Time since the state before [s]; how long states have not changed; usual time between two [s].
    q, v, e : ndarray, shape (nv,)
        Positions, velocities, and their deviation.
    """

    stamp_ns: Ints
    times: Floats
    q: Floats
    v: Floats
    e: Floats


DT, NOW_UNCHANGED, NOW_PERIOD = 0, 1, 2
"""Floats of :class:`NewState`."""


@procedure
def read_state(source: StateSource, message: Ints, info: Ints, memory: StateMemory, state: NewState) -> int:
    """Read and check a ``JointState``; return ACCEPTED, or the reason why Python must look at it."""
    data = message[DATA]
    if message[LENGTH] != source.length or not has_layout(source, data):
        return OTHER_LAYOUT
    if info[PUBLISHER] != source.owner[0] or info[PUBLISHER + 1] != source.owner[1]:
        return OTHER_PUBLISHER
    if (clock_ns(source.clock, REAL_TIME) - info[WRITTEN_NS]) / SECOND > source.max_age:
        return STALE
    nanoseconds = int32_at(data + STAMP + 4)
    if nanoseconds < 0 or nanoseconds >= SECOND:
        return OTHER_TIME
    for i in range(memory.n):
        state.q[i] = float_at(data + source.q_at[i])
        state.v[i] = float_at(data + source.v_at[i])
    return check_state(memory, state, int32_at(data + STAMP) * SECOND + nanoseconds)


@procedure
def check_state(memory: StateMemory, state: NewState, stamp_ns: int) -> int:
    """Check a state whose positions and velocities have been read: its time, then the numbers; results as above."""
    if stamp_ns <= memory.whole[STAMP_NS]:
        return OTHER_TIME
    dt = (stamp_ns - memory.whole[STAMP_NS]) / SECOND
    period = memory.times[PERIOD]
    if dt > GAP * period and dt > memory.max_missed * period:
        return MISSING_STATES
    if not is_finite(state, memory.n):
        return NOT_FINITE
    state.stamp_ns[0] = stamp_ns
    state.times[DT] = dt
    state.times[NOW_PERIOD] = min(max(dt, SHORTER * period), LONGER * period)
    return ACCEPTED if is_believed(memory, state, dt) else NOT_BELIEVED


@procedure
def has_layout(source: StateSource, data: int) -> bool:
    """Whether all bytes but stamp, numbers and padding are those of the last message."""
    for i in range(source.n_words):
        at = min(8 * i, source.length - 8)
        if same_bits(int_at(data + at), source.mask[i]) != source.common[i]:
            return False
    return True


@procedure
def clock_ns(clock: SystemClock, number: int) -> int:
    """Time of one of the clocks [ns]."""
    clock.read(number, address_of(clock.time))
    return clock.time[0] * SECOND + clock.time[1]


@procedure
def is_finite(state: NewState, n: int) -> bool:
    """Whether all positions and velocities are finite."""
    are_all = True
    for i in range(n):
        are_all = are_all and abs(state.q[i]) <= LARGEST and abs(state.v[i]) <= LARGEST
    return are_all


@procedure
def is_believed(memory: StateMemory, state: NewState, dt: float) -> bool:
    """Equations (1) to (5) of :mod:`arm_control.control.state_bounds`."""
    decay = exp(-dt / MEMORY)
    half = 0.5 * dt
    tolerance = DEVIATION + 0.5 * ACCELERATION * dt * dt
    speed = 0.0
    has_changed = False
    for i in range(memory.n):
        q = state.q[i]
        v = state.v[i]
        if not (memory.low[i] <= q <= memory.high[i]):  # (1)
            return False
        if not (-memory.fastest[i] <= v <= memory.fastest[i]):  # (2)
            return False
        change = q - memory.q_0[i]
        if abs(change) - memory.fastest[i] * dt - DEVIATION > 0.0:  # (3)
            return False
        state.e[i] = memory.e_0[i] * decay + (change - half * (v + memory.v_0[i]))
        if abs(state.e[i]) - tolerance > 0.0:  # (4)
            return False
        has_changed = has_changed or q != memory.q_0[i] or v != memory.v_0[i]
        speed = max(speed, abs(v))
    state.times[NOW_UNCHANGED] = 0.0 if has_changed else memory.times[UNCHANGED] + dt
    return has_changed or speed * state.times[NOW_UNCHANGED] <= DEVIATION / 3.0  # (5)


@procedure
def remember(memory: StateMemory, state: NewState, received_ns: int) -> None:
    """The state has been answered: the next one is compared with it."""
    memory.whole[STAMP_NS] = state.stamp_ns[0]
    memory.whole[HEARD_NS] = received_ns
    memory.whole[COUNT] += 1
    if state.times[DT] > GAP * memory.times[PERIOD]:
        memory.whole[SKIPPED] += nearest(state.times[DT] / memory.times[PERIOD]) - 1
    memory.times[UNCHANGED] = state.times[NOW_UNCHANGED]
    memory.times[PERIOD] = state.times[NOW_PERIOD]
    for i in range(memory.n):
        memory.q_0[i] = state.q[i]
        memory.v_0[i] = state.v[i]
        memory.e_0[i] = state.e[i]
