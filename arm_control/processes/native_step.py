"""A state, checked and answered without Python: what loops over topics and over datagrams share, as procedures.

They need nothing of Python and do not hold its lock. They answer the *ordinary* state: the next one of the same
sender, in time, finite and believed (:mod:`arm_control.gate.state_bounds`), while the gate passes commands and the
reference stands still. For any other one there is a *reason* without side effects, and Python processes the same bytes.
Each loop reads and writes bytes of its own (:mod:`arm_control.processes.native_controller`,
:mod:`arm_control.processes.native_datagrams`).

Law and gate are one kernel (:mod:`arm_control.control.compiled_step`). A step has two halves. The first one computes,
and may find a reason, too. The second one, once the torque has been sent, takes note of the state, which is the last
one from now on.

States that Python and a loop without it answer in turns: before its turn a loop takes over what a controller process
knows of the states before; behind its turn the process takes that over from the loop. So the torque for a sequence of
states is the same, to the last bit, whoever answers which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import (
    CFunction,
    Floats,
    Ints,
    Kernel,
    RunsKernel,
    address_of,
    nearest,
    procedure,
    split,
)
from arm_control.control import (
    ControlLoop,
    LawOutput,
    Measurement,
    OscOutput,
    StepMemory,
    TickResult,
    kernels_of,
    step_run,
)
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.gate import (
    BELIEVED,
    LARGEST,
    GateOutput,
    GateState,
    Moments,
    NewState,
    StateMemory,
    believed_time,
    copy_memory,
    has_gap,
    has_long_gap,
    is_finite,
    new_memory,
    new_state,
    note_moment,
    period_after,
    period_of_ticks,
    remember,
    unwrap,
    violated_bound,
)
from arm_control.maths import Array, Pose
from arm_control.model import TERMS, RobotModel, Terms
from arm_control.processes.controller_process import AnsweredStates, ControllerProcess
from arm_control.processes.datagrams import DatagramProcess

ACCEPTED = 0
OTHER_LAYOUT, OTHER_PUBLISHER, STALE, OTHER_TIME, MISSING_STATES, NOT_FINITE, NOT_BELIEVED = 1, 2, 3, 4, 5, 6, 7
CLOSED, EXPIRED, NO_TORQUE, NOT_BELIEVABLE, NOT_SENT = 11, 12, 13, 14, 15
"""Accepted, or the reason why Python must look at a state."""
TAKEN, ANSWERED = -3, -2
"""No reasons: the loop goes on."""
MODE, UNTIL_NS = 0, 1
"""First words of an order: whether the loop may answer; first stamp that Python answers [ns]."""
OPEN, CLOSING = 1, 0
"""Modes: the loop may answer, or Python answers all states."""

WORD = 8
"""Bytes of a number."""
SECOND = 1_000_000_000
"""Nanoseconds."""
REAL_TIME, MONOTONIC = 0, 1
"""Numbers of clocks of the system: that of the middleware, and one for durations."""

STAMP_NS, HEARD_NS, COUNT, SKIPPED, LEAST_DELAY_NS, N_WHOLE = 0, 1, 2, 3, 4, 5
"""Integers of :class:`AnsweredMemory`."""
PERIOD, GATE_PERIOD, LEFT = 0, 1, 2
"""Floats of :class:`AnsweredMemory`."""
RESULT_STAMP_NS, RESULT_DT_NS, RESULT_COUNT, N_RESULT_HEAD = 0, 1, 2, 3
"""Words of a result: stamp and time since the state before [ns], number of states answered; then the kernel's work
space."""


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


class AnsweredMemory(NamedTuple):
    """What is known of the states that were answered.

    Attributes
    ----------
    whole : ndarray of int64, shape (N_WHOLE,)
        Stamp of the last state [ns], the time it was received [ns], numbers of states answered and missing, least time
        from a stamp until its state was received [ns].
    times : ndarray, shape (3,)
        Usual time between two, and that of the gate's ticks; what the clock has left over behind the last one [s].
    max_missed : float
        Periods without a state after which Python must decide; infinite: states wait for their commands, and no clock
        counts.
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
    times : ndarray, shape (3,)
        Time since the state before; usual time between two; time by the clock since the state before, with what that
        has left over [s].
    """

    stamp_ns: Ints
    times: Floats
    state: NewState


DT, NOW_PERIOD, BY_CLOCK = 0, 1, 2
"""Floats of :class:`NextState`."""


class StepKernel(NamedTuple):
    """Law and gate.

    Attributes
    ----------
    work : ndarray of int64, shape (n_work,)
        Its work space, all inputs and then all outputs; these are floats.
    q, v, tau_0, dt, g, tau_1, believable : ndarray
        Inputs and outputs by name. The last one is above zero where the gate accepts the torque of the law.
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
    believable: Floats
    n_work: int
    n_inputs: int


class ControlStep(NamedTuple):
    """What a step works on.

    Attributes
    ----------
    tau_0 : ndarray, shape (nv,)
        Last torque that has passed the gate [N m or N].
    moments : Moments
        The states before, for a brake without states; those of the process that answers all others.
    """

    memory: AnsweredMemory
    following: NextState
    tau_0: Floats
    moments: Moments
    kernel: StepKernel
    result: Ints


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
def compute_step(step: ControlStep, until_ns: int, received_ns: int) -> int:
    """Law and gate in the state at hand, with inputs that hold before a stamp; return ACCEPTED, or a reason."""
    if step.following.stamp_ns[0] >= until_ns:
        return EXPIRED
    kernel = step.kernel
    for i in range(step.memory.n):
        kernel.q[i] = step.following.state.q[i]
        kernel.v[i] = step.following.state.v[i]
        kernel.tau_0[i] = step.tau_0[i]
    by_clock = time_by_clock(step.memory, received_ns)
    step.following.times[BY_CLOCK] = by_clock
    kernel.dt[0] = believed_time(min(step.following.times[DT], by_clock), step.memory.times[GATE_PERIOD])
    if kernel.run() != 0.0:
        return NO_TORQUE
    return ACCEPTED if kernel.believable[0] > 0.0 else NOT_BELIEVABLE


@procedure
def time_by_clock(memory: AnsweredMemory, received_ns: int) -> float:
    """Return the time since the state before by the clock, with what it has left over [s]."""
    if memory.max_missed > LARGEST:
        return LARGEST
    return memory.times[LEFT] + (received_ns - memory.whole[HEARD_NS]) / SECOND


@procedure
def finish_step(step: ControlStep, received_ns: int) -> None:
    """The state at hand has been answered: take note of it, of its torque and of all that was computed."""
    kernel = step.kernel
    result = step.result
    result[RESULT_DT_NS] = step.following.stamp_ns[0] - step.memory.whole[STAMP_NS]
    remember_answered(step.memory, step.following, received_ns)
    period = step.memory.times[GATE_PERIOD]
    step.memory.times[LEFT] = believed_time(step.following.times[BY_CLOCK], period) - kernel.dt[0]
    step.memory.times[GATE_PERIOD] = period_of_ticks(kernel.dt[0], period)
    for i in range(step.memory.n):
        step.tau_0[i] = kernel.tau_1[i]
    note_moment(step.moments, received_ns, kernel.q, kernel.v, step.tau_0)
    result[RESULT_STAMP_NS] = step.memory.whole[STAMP_NS]
    result[RESULT_COUNT] = step.memory.whole[COUNT]
    for i in range(kernel.n_work):
        result[N_RESULT_HEAD + i] = kernel.work[i]


# -- turns with Python


Integers = npt.NDArray[np.int64]


class NativeTurns:
    """The step of a loop without Python, and the process that answers all other states.

    Parameters
    ----------
    moments : Moments
        Where the process notes states for a brake without them.
    kernels : sequence of Kernel
        Law and gate of this controller (:func:`step_kernels_of`).

    Attributes
    ----------
    n_taken_over : int
        States that have been answered without Python, as far as the process knows.
    """

    def __init__(
        self,
        model: RobotModel,
        process: ControllerProcess | DatagramProcess,
        controller: OscController,
        moments: Moments,
        kernels: Sequence[Kernel],
    ) -> None:
        self._model, self._process, self._controller = model, process, controller
        self._loop = loop = process.loop
        self._left = process.last
        run, self._work = step_run(model, kernels, loop.gate.limits, loop.gate.constraints)
        self.step = _new_step(new_memory(model), moments, run, self._work, loop.gaps.max_missed)
        self.n_taken_over = 0

    def inputs(self, words: Array) -> dict[str, Array]:
        """Return the kernel's inputs, by name, as parts of an array; those that stay the same are written into it."""
        inputs = split(words, {name: (len(values),) for name, values in self._work.inputs.items()})
        inputs["tool"][:] = self._model.tool
        inputs["limits"][:] = self._loop.gate.limits.numbers
        inputs["is_on"][:] = self._loop.gate.joint_limits
        return inputs

    def write_inputs(self, inputs: Mapping[str, Array], stamp_ns: int) -> int | None:
        """Write the inputs that hold behind a state; return the first stamp at which they do not any more [ns].

        None where the gate does not pass commands, a gate behind the controller holds it, or the reference moves.
        """
        loop, steady = self._loop, self._controller.steady_reference(stamp_ns)
        is_held = loop.gates_behind is not None and bool(loop.gates_behind.held_by)
        if steady is None or is_held or loop.gate.state is not GateState.PASSING:
            return None
        reference, until_ns = steady
        tau_dist = None if loop.disturbance.is_over else loop.disturbance.at(stamp_ns)
        X_WT = reference.X_WT
        inputs["reference"][:] = np.concatenate([X_WT.R.ravel(), X_WT.p, reference.V_des, reference.A_des])
        inputs["tau_dist"][:] = 0.0 if tau_dist is None else tau_dist
        inputs["numbers"][:] = self._controller.page.numbers
        return until_ns if tau_dist is None else min(until_ns, loop.disturbance.until_ns)

    def ordinary(self) -> TickResult | None:
        """Return the last answer, if the next states may be answered without Python; else None.

        They may where the law's torque has passed and periods are known, but not right behind what was left to Python
        and refused: it may be of anybody.
        """
        loop, last = self._loop, self._process.last
        if last is None or last is self._left:
            return None
        is_fine = last.gate.is_passing and last.refused is None and last.law.refused is None
        is_fine = is_fine and not loop.is_carrying
        is_timed = loop.gate.period > 0.0 and loop.gaps.period > 0.0 and last.measurement.dt > 0.0
        return last if is_fine and is_timed else None

    def hand_over(self, last: TickResult, received_ns: int) -> None:
        """Let the step know of the states that Python has answered."""
        reader = self._process.reader
        assert reader.bounds is not None
        memory, loop = self.step.memory, self._loop
        memory.whole[STAMP_NS], memory.whole[HEARD_NS] = last.measurement.stamp_ns, received_ns
        memory.whole[LEAST_DELAY_NS] = reader.least_delay_ns
        memory.times[:] = loop.gaps.period, loop.gate.period, loop.gate.left
        copy_memory(memory.states, reader.bounds.memory)
        self.step.tau_0[:] = last.gate.tau

    def leave(self) -> None:
        """Leave the state at hand to the process, which knows of those before (:meth:`take_over`)."""
        self._left = self._process.last

    def take_over(self) -> None:
        """Let the process know of the states that the step has answered."""
        memory, loop = self.step.memory, self._loop
        n = int(memory.whole[COUNT]) - self.n_taken_over
        if n == 0:
            return
        self.n_taken_over += n
        result = self.tick_result(self.step.result)
        period, gate_period, left = memory.times.tolist()
        loop.gate.take(result.gate, gate_period, n)
        loop.gaps.period, loop.gate.period, loop.gate.left = period, gate_period, left
        loop.gaps.skipped += int(memory.whole[SKIPPED])
        memory.whole[SKIPPED] = 0
        times_ns = memory.whole[[HEARD_NS, LEAST_DELAY_NS]].tolist()
        self._process.resume(AnsweredStates(n, result, memory.states, *times_ns))

    def tick_result(self, words: Integers) -> TickResult:
        """Return what the step has done with a state."""
        work = self._work
        numbers = words[N_RESULT_HEAD : N_RESULT_HEAD + len(work.work)].copy().view(np.float64)
        n_inputs, page = self.step.kernel.n_inputs, self._controller.page
        x = split(numbers[:n_inputs], {name: values.shape for name, values in work.inputs.items()})
        y = split(numbers[n_inputs:], {name: values.shape for name, values in work.outputs.items()})
        measurement = Measurement(int(words[RESULT_STAMP_NS]), x["q"], x["v"], int(words[RESULT_DT_NS]) / NANOSECONDS)
        terms = Terms(x["q"], x["v"], Pose(y["R_WE"], y["p_WE"]), *(y[name] for name in TERMS[2:]))
        output = OscOutput(y["tau"], y["parts"], y["error"], terms, page.parameters.characteristic_length)
        X_WT = Pose(x["reference"][:9].reshape(3, 3), x["reference"][9:12])
        figures = partial(self._controller.figures_of, output)
        law = LawOutput(terms, output.tau, lambda: output.terms, X_WT, figures)
        limited, saturated, rate_limited = (y["cut"] > 0.0).tolist()
        rate = self._loop.gate.success_rate
        gate = GateOutput(y["tau_1"], GateState.PASSING, "", saturated, rate_limited, limited, rate)
        return TickResult(measurement, law, None, output.tau, gate, None)


def step_kernels_of(model: RobotModel, loop: ControlLoop, controller: OscController) -> list[Kernel]:
    """Return law and gate of a control loop as kernels."""
    return kernels_of(model, controller.page, loop.gate.limits, loop.gate.constraints)


def _new_step(
    states: StateMemory, moments: Moments, run: RunsKernel, work: StepMemory, max_missed: int | None
) -> ControlStep:
    """A step that has seen no state; Python decides after ``max_missed`` periods without one."""
    n = states.ranges.n
    missed = np.inf if max_missed is None else float(max_missed)
    memory = AnsweredMemory(np.zeros(N_WHOLE, dtype=np.int64), np.zeros(3), states, missed, n)
    following = NextState(np.zeros(1, dtype=np.int64), np.zeros(3), new_state(n))
    x, y, words = work.inputs, work.outputs, work.work
    n_inputs = sum(values.size for values in x.values())
    kernel = StepKernel(
        run,
        words.view(np.int64),
        words[:n_inputs],
        x["q"],
        x["v"],
        x["tau_0"],
        x["dt"],
        y["g"],
        y["tau_1"],
        y["believable"].reshape(1),
        len(words),
        n_inputs,
    )
    result = np.zeros(N_RESULT_HEAD + len(words), dtype=np.int64)
    return ControlStep(memory, following, np.zeros(n), moments, kernel, result)
