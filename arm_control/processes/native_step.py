"""A state, read, checked and answered without Python: what loops over topics and over datagrams share, as procedures.

They accept what :class:`~arm_control.messages.joint_states.JointStateReader` and
:mod:`arm_control.gate.state_bounds` accept without a second thought: the next state of the same
publisher, laid out as the last one, fresh, finite and believed. Anything else is a *reason* for Python to look at it,
and changes nothing.

Law and gate are one kernel (:mod:`arm_control.control.compiled_step`). A step has two halves. The first one computes,
and may find a reason, too. The second one, once the torque has been sent, takes note of the state, which is the last
one from now on.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import (
    CFunction,
    Floats,
    Ints,
    RunsKernel,
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
    Moments,
    NewState,
    StateMemory,
    believed_time,
    has_gap,
    has_long_gap,
    is_finite,
    note_moment,
    period_after,
    remember,
    unwrap,
    violated_bound,
)

ACCEPTED = 0
OTHER_LAYOUT, OTHER_PUBLISHER, STALE, OTHER_TIME, MISSING_STATES, NOT_FINITE, NOT_BELIEVED = 1, 2, 3, 4, 5, 6, 7
CLOSED, EXPIRED, NO_TORQUE, NOT_BELIEVABLE, NOT_SENT = 11, 12, 13, 14, 15
"""Accepted, or the reason why Python must look at a state."""
TAKEN, ANSWERED = -3, -2
"""No reasons: the loop goes on."""
OPEN, CLOSING = 1, 0
"""Modes: the loop may answer, or Python answers all states."""

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
RESULT_STAMP_NS, RESULT_DT_NS, RESULT_COUNT, RESULT_KERNEL, N_RESULT_HEAD = 0, 1, 2, 3, 4
"""Words of a result: stamp and time since the state before [ns], number of states answered, kind
of the kernel; then the kernel's work space."""
REGULAR, GENERAL = 0, 1
"""Kinds of kernels."""


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


class StepKernel(NamedTuple):
    """A kernel of law and gate.

    Attributes
    ----------
    work : ndarray of int64, shape (n_work,)
        Its work space, all inputs and then all outputs; these are floats.
    q, v, tau_0, dt, g, tau_1, regularity, believable : ndarray
        Inputs and outputs by name. The last two are above zero in regular states, and where the gate accepts the
        torque of the law.
    kind : int
        ``REGULAR`` or ``GENERAL``.
    """

    run: RunsKernel
    work: Ints
    inputs: Floats
    q: Floats
    v: Floats
    tau_0: Floats
    dt: Floats
    g: Floats
    tau_1: Floats
    regularity: Floats
    believable: Floats
    n_work: int
    n_inputs: int
    kind: int


class ControlStep(NamedTuple):
    """What a step works on.

    Attributes
    ----------
    kind : ndarray of int64, shape (1,)
        Kind of the kernel that has computed its torque.
    tau_0 : ndarray, shape (nv,)
        Last torque that has passed the gate [N m or N].
    moments : Moments
        The states before, for a brake without states; those of the process that answers all others.
    regular, general : StepKernel
        The kernel for states in which no direction fades, and the one for all others; the same where there is only one.
    """

    memory: AnsweredMemory
    following: NextState
    kind: Ints
    tau_0: Floats
    moments: Moments
    regular: StepKernel
    general: StepKernel
    result: Ints


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


@procedure
def compute_step(step: ControlStep, until_ns: int) -> int:
    """Law and gate in the state at hand, with inputs that hold before a stamp; return ACCEPTED, or a reason."""
    if step.following.stamp_ns[0] >= until_ns:
        return EXPIRED
    was_regular = step.result[RESULT_KERNEL] == REGULAR
    kernel = step.regular if was_regular else step.general
    if not is_kernel_of_state(step, kernel):
        kernel = step.general if was_regular else step.regular
        if not is_kernel_of_state(step, kernel):
            return NO_TORQUE
    step.kind[0] = kernel.kind
    return ACCEPTED if kernel.believable[0] > 0.0 else NOT_BELIEVABLE


@procedure
def is_kernel_of_state(step: ControlStep, kernel: StepKernel) -> bool:
    """Run a kernel in the state at hand; return whether it is the one for it."""
    for i in range(step.memory.n):
        kernel.q[i] = step.following.state.q[i]
        kernel.v[i] = step.following.state.v[i]
        kernel.tau_0[i] = step.tau_0[i]
    kernel.dt[0] = believed_time(step.following.times[DT], step.memory.times[GATE_PERIOD])
    is_finite = kernel.run() == 0.0
    is_regular = kernel.regularity[0] > 0.0
    return is_finite and (is_regular if kernel.kind == REGULAR else not is_regular)


@procedure
def kernel_of_state(step: ControlStep) -> StepKernel:
    """Return the kernel that has computed the torque of the state at hand."""
    return step.regular if step.kind[0] == REGULAR else step.general


@procedure
def finish_step(step: ControlStep, received_ns: int) -> None:
    """The state at hand has been answered: take note of it, of its torque and of all that was computed."""
    kernel = kernel_of_state(step)
    result = step.result
    result[RESULT_DT_NS] = step.following.stamp_ns[0] - step.memory.whole[STAMP_NS]
    remember_answered(step.memory, step.following, received_ns)
    step.memory.times[GATE_PERIOD] = kernel.dt[0]
    for i in range(step.memory.n):
        step.tau_0[i] = kernel.tau_1[i]
    note_moment(step.moments, received_ns, kernel.q, kernel.v, step.tau_0)
    result[RESULT_STAMP_NS] = step.memory.whole[STAMP_NS]
    result[RESULT_COUNT] = step.memory.whole[COUNT]
    result[RESULT_KERNEL] = kernel.kind
    for i in range(kernel.n_work):
        result[N_RESULT_HEAD + i] = kernel.work[i]
