"""The step of a loop without Python, from a state that has been read to a torque: procedures.

Law and gate are one kernel (:mod:`arm_control.control.compiled_step`). A step has two halves. The first one computes,
and may find a *reason* to leave the state to Python; nothing has changed then. The second one, once the torque has been
sent, takes note of the state, which is the last one from now on.
"""

from __future__ import annotations

from typing import NamedTuple

from arm_control.compiler import Floats, Ints, RunsKernel, procedure
from arm_control.gate import Moments, believed_time, note_moment
from arm_control.processes.native_state import (
    ACCEPTED,
    COUNT,
    DT,
    GATE_PERIOD,
    STAMP_NS,
    AnsweredMemory,
    NextState,
    remember_answered,
)

CLOSED, EXPIRED, NO_TORQUE, NOT_BELIEVABLE, NOT_SENT = 11, 12, 13, 14, 15
"""More reasons."""
TAKEN, ANSWERED = -3, -2
"""No reasons: the loop goes on."""
OPEN, CLOSING = 1, 0
"""Modes: the loop may answer, or Python answers all states."""

RESULT_STAMP_NS, RESULT_DT_NS, RESULT_COUNT, RESULT_KERNEL, N_RESULT_HEAD = 0, 1, 2, 3, 4
"""Words of a result: stamp and time since the state before [ns], number of states answered, kind
of the kernel; then the kernel's work space."""
REGULAR, GENERAL = 0, 1
"""Kinds of kernels."""


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
    result : ndarray of int64
        What was done with the last state.
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
def compute_step(step: ControlStep) -> int:
    """Law and gate in the state at hand; return ACCEPTED, or the reason why Python must look at it."""
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
