"""A state, read and checked without Python: procedures.

They accept what :class:`~arm_control.messages.joint_states.JointStateReader` and
:mod:`arm_control.gate.state_bounds` accept without a second thought: the next state of the same
publisher, laid out as the last one, fresh, finite and believed. Anything else is a *reason* for Python to look at it,
and changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import (
    CFunction,
    Floats,
    Ints,
    address_of,
    float_at,
    int32_at,
    int_at,
    nearest,
    procedure,
    same_bits,
)
from arm_control.gate import (
    BELIEVED,
    NewState,
    StateMemory,
    has_gap,
    has_long_gap,
    is_finite,
    period_after,
    remember,
    unwrap,
    violated_bound,
)

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

STAMP_NS, HEARD_NS, COUNT, SKIPPED, LEAST_DELAY_NS, N_WHOLE = 0, 1, 2, 3, 4, 5
"""Integers of :class:`AnsweredMemory`."""
PERIOD, GATE_PERIOD = 0, 1
"""Floats of :class:`AnsweredMemory`."""


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


class AnsweredMemory(NamedTuple):
    """What is known of the states that were answered.

    Attributes
    ----------
    whole : ndarray of int64, shape (N_WHOLE,)
        Stamp of the last state [ns], the time it was received [ns], numbers of states answered and missing, least time
        from a stamp until its state was received [ns].
    times : ndarray, shape (2,)
        Usual time between two; that of the gate's last tick [s].
    max_missed : float
        Periods without a state after which Python must decide; infinite: none.
    """

    whole: Ints
    times: Floats
    states: StateMemory
    max_missed: float
    n: int


class NextState(NamedTuple):
    """A state, and what the memory becomes where it is answered.

    Attributes
    ----------
    times : ndarray, shape (2,)
        Time since the state before [s]; usual time between two [s].
    """

    stamp_ns: Ints
    times: Floats
    state: NewState


DT, NOW_PERIOD = 0, 1
"""Floats of :class:`NextState`."""


@procedure
def read_state(source: StateSource, message: Ints, info: Ints, memory: AnsweredMemory, following: NextState) -> int:
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
        following.state.q[i] = float_at(data + source.q_at[i])
        following.state.v[i] = float_at(data + source.v_at[i])
    return check_state(memory, following, int32_at(data + STAMP) * SECOND + nanoseconds)


@procedure
def check_state(memory: AnsweredMemory, following: NextState, stamp_ns: int) -> int:
    """Check a state whose positions and velocities have been read: its time, then the numbers; results as above."""
    if stamp_ns <= memory.whole[STAMP_NS]:
        return OTHER_TIME
    dt = (stamp_ns - memory.whole[STAMP_NS]) / SECOND
    period = memory.times[PERIOD]
    if has_long_gap(period, dt, memory.max_missed):
        return MISSING_STATES
    if not is_finite(following.state, memory.n):
        return NOT_FINITE
    following.stamp_ns[0] = stamp_ns
    following.times[DT] = dt
    following.times[NOW_PERIOD] = period_after(period, dt)
    unwrap(memory.states, following.state)
    violation = violated_bound(memory.states.ranges, memory.states.believed, following.state, dt)
    return ACCEPTED if violation == BELIEVED else NOT_BELIEVED


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
def remember_answered(memory: AnsweredMemory, following: NextState, received_ns: int) -> None:
    """The state has been answered: the next one is compared with it."""
    memory.whole[STAMP_NS] = following.stamp_ns[0]
    memory.whole[HEARD_NS] = received_ns
    memory.whole[LEAST_DELAY_NS] = min(memory.whole[LEAST_DELAY_NS], received_ns - following.stamp_ns[0])
    memory.whole[COUNT] += 1
    if has_gap(memory.times[PERIOD], following.times[DT]):
        memory.whole[SKIPPED] += nearest(following.times[DT] / memory.times[PERIOD]) - 1
    memory.times[PERIOD] = following.times[NOW_PERIOD]
    remember(memory.states.believed, following.state, memory.n)
