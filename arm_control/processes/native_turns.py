"""States that Python and a loop without it answer in turns: what each must know of those that the other has answered.

Before its turn a loop takes over what a controller process knows of the states before; behind its turn the process
takes that over from the loop. So the torque for a sequence of states is the same, to the last bit, whoever answers
which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Kernel, OwnWork, split
from arm_control.control import ControlLoop, LawOutput, Measurement, OscOutput, TickResult, step_kernels
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.gate import GateOutput, GateState, Moments, StateMemory, copy_memory, new_memory, new_state
from arm_control.maths import Array, Pose
from arm_control.messages import JointStateReader
from arm_control.model import TERMS, RobotModel, Terms
from arm_control.processes.native_step import (
    COUNT,
    GATE_PERIOD,
    GENERAL,
    HEARD_NS,
    LEAST_DELAY_NS,
    N_RESULT_HEAD,
    N_WHOLE,
    PERIOD,
    REGULAR,
    RESULT_DT_NS,
    RESULT_KERNEL,
    RESULT_STAMP_NS,
    SKIPPED,
    STAMP_NS,
    AnsweredMemory,
    ControlStep,
    NextState,
    StepKernel,
)

Integers = npt.NDArray[np.int64]


class AnsweredStates(NamedTuple):
    """States that a loop has answered without Python.

    Attributes
    ----------
    n : int
        How many, since the last time; at least one.
    """

    n: int
    result: TickResult
    states: StateMemory
    heard_ns: int
    least_delay_ns: int


class NativeTurns:
    """The step of a loop without Python, and what it shares with a control loop.

    Parameters
    ----------
    kernels : sequence of Kernel
        Law and gate of this controller (:func:`step_kernels_of`).

    Attributes
    ----------
    n_taken_over : int
        States that have been answered without Python, as far as the control loop knows.
    """

    def __init__(
        self,
        model: RobotModel,
        loop: ControlLoop,
        controller: OscController,
        moments: Moments,
        kernels: Sequence[Kernel],
    ) -> None:
        self._model, self._loop, self._controller = model, loop, controller
        self._works = [OwnWork(kernel) for kernel in kernels]
        self.step = _new_step(new_memory(model), moments, self._works, loop.gaps.max_missed)
        self.n_taken_over = 0

    def inputs(self, words: Array) -> dict[str, Array]:
        """Return the kernel's inputs, by name, as parts of an array; those that stay the same are written into it."""
        inputs = split(words, {name: (len(values),) for name, values in self._works[0].inputs.items()})
        inputs["tool"][:] = self._model.tool
        inputs["limits"][:] = self._loop.gate.limits.numbers
        inputs["is_on"][:] = self._loop.gate.parameters.joint_limits
        return inputs

    def write_inputs(self, inputs: Mapping[str, Array], stamp_ns: int) -> int | None:
        """Write the inputs that hold behind a state; return the first stamp at which they do not any more [ns].

        None where the gate does not pass commands, a gate behind the controller holds it, or the reference moves.

        Parameters
        ----------
        inputs : mapping of str to ndarray
            What :meth:`inputs` has returned.
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

    def is_ordinary(self, result: TickResult) -> bool:
        """Whether the next states may be answered without Python: the law's torque passes, and periods are known."""
        loop = self._loop
        is_fine = result.gate.is_passing and result.refused is None and result.law.refused is None
        is_fine = is_fine and not loop.is_carrying
        return is_fine and loop.gate.period > 0.0 and loop.gaps.period > 0.0 and result.measurement.dt > 0.0

    def hand_over(self, last: TickResult, reader: JointStateReader, received_ns: int) -> None:
        """Let the step know of the states that Python has answered."""
        assert reader.bounds is not None
        memory, loop = self.step.memory, self._loop
        memory.whole[STAMP_NS], memory.whole[HEARD_NS] = last.measurement.stamp_ns, received_ns
        memory.whole[LEAST_DELAY_NS] = reader.least_delay_ns
        memory.times[[PERIOD, GATE_PERIOD]] = loop.gaps.period, loop.gate.period
        copy_memory(memory.states, reader.bounds.memory)
        self.step.tau_0[:] = last.gate.tau

    def take_over(self) -> AnsweredStates | None:
        """Let the control loop know of the states that the step has answered; return them, or None without any."""
        memory, loop = self.step.memory, self._loop
        n = int(memory.whole[COUNT]) - self.n_taken_over
        if n == 0:
            return None
        self.n_taken_over += n
        result = self.tick_result(self.step.result)
        loop.gate.take(result.gate, float(memory.times[GATE_PERIOD]), n)
        loop.gaps.period = float(memory.times[PERIOD])
        loop.gaps.skipped += int(memory.whole[SKIPPED])
        memory.whole[SKIPPED] = 0
        return AnsweredStates(n, result, memory.states, *memory.whole[[HEARD_NS, LEAST_DELAY_NS]].tolist())

    def tick_result(self, words: Integers) -> TickResult:
        """Return what the step has done with a state."""
        work = self._works[0 if words[RESULT_KERNEL] == REGULAR else -1]
        numbers = words[N_RESULT_HEAD : N_RESULT_HEAD + len(work.work)].copy().view(np.float64)
        n_inputs, page = self.step.regular.n_inputs, self._controller.page
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
    return step_kernels(model, controller.page, loop.gate.limits)


def _new_step(states: StateMemory, moments: Moments, works: Sequence[OwnWork], max_missed: int | None) -> ControlStep:
    """A step that has seen no state; Python decides after ``max_missed`` periods without one."""
    n = states.ranges.n
    missed = np.inf if max_missed is None else float(max_missed)
    memory = AnsweredMemory(np.zeros(N_WHOLE, dtype=np.int64), np.zeros(2), states, missed, n)
    following = NextState(np.zeros(1, dtype=np.int64), np.zeros(2), new_state(n))
    largest = max(len(kernel.work) for kernel in works)
    return ControlStep(
        memory,
        following,
        np.zeros(1, dtype=np.int64),
        np.zeros(n),
        moments,
        _step_kernel(works[0], REGULAR),
        _step_kernel(works[-1], GENERAL if len(works) > 1 else REGULAR),
        np.zeros(N_RESULT_HEAD + largest, dtype=np.int64),
    )


def _step_kernel(kernel: OwnWork, kind: int) -> StepKernel:
    x, y = kernel.inputs, kernel.outputs
    n_inputs = sum(values.size for values in x.values())
    return StepKernel(
        kernel,
        kernel.work.view(np.int64),
        kernel.work[:n_inputs],
        x["q"],
        x["v"],
        x["tau_0"],
        x["dt"],
        y["g"],
        y["tau_1"],
        y.get("regularity", np.ones(1)).reshape(1),
        y["believable"].reshape(1),
        len(kernel.work),
        n_inputs,
        kind,
    )
