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

from arm_control.compiler import Kernel, split
from arm_control.control import ControlLoop, LawOutput, OscOutput, TickResult, step_kernels
from arm_control.controllers import OscController
from arm_control.gate import GateOutput, GateState, Moments, StateMemory, copy_memory, new_memory
from arm_control.maths import Array
from arm_control.messages import JointStateReader
from arm_control.model import RobotModel
from arm_control.processes.native_records import Integers, Kernels, new_step, read_result
from arm_control.processes.native_state import (
    COUNT,
    GATE_PERIOD,
    HEARD_NS,
    LEAST_DELAY_NS,
    PERIOD,
    SKIPPED,
    STAMP_NS,
)
from arm_control.processes.native_step import ControlStep


class AnsweredStates(NamedTuple):
    """States that a loop has answered without Python.

    Attributes
    ----------
    n : int
        How many, since the last time; at least one.
    states : StateMemory
        What the bounds of a state know of them.
    heard_ns : int
        When the last one was received [ns].
    least_delay_ns : int
        Least time from a stamp until its state was received [ns].
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
        self.kernels = Kernels.of(kernels)
        self.step: ControlStep = new_step(new_memory(model), moments, self.kernels, loop.gaps.max_missed)
        self.n_taken_over = 0

    def inputs(self, words: Array) -> dict[str, Array]:
        """Return the kernel's inputs, by name, as parts of an array; those that stay the same are written into it."""
        inputs = split(words, {name: (len(values),) for name, values in self.kernels.regular.inputs.items()})
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
        stamp_ns : int
            Stamp of that state, which has been answered [ns].
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
        """Whether the next states may be answered without Python: the law's torque passes, and periods are known.

        Parameters
        ----------
        result : TickResult
            What Python has done with the last state.
        """
        loop = self._loop
        is_fine = result.gate.is_passing and result.refused is None and result.law.refused is None
        is_fine = is_fine and not loop.is_carrying
        return is_fine and loop.gate.period > 0.0 and loop.gaps.period > 0.0 and result.measurement.dt > 0.0

    def hand_over(self, last: TickResult, reader: JointStateReader, received_ns: int) -> None:
        """Let the step know of the states that Python has answered.

        Parameters
        ----------
        received_ns : int
            When the last one was received [ns].
        """
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
        step = read_result(words, self.kernels)
        limited, saturated, rate_limited = (step.cut > 0.0).tolist()
        rate = self._loop.gate.success_rate
        gate = GateOutput(step.tau_1, GateState.PASSING, "", saturated, rate_limited, limited, rate)
        output = OscOutput(
            step.tau, step.parts, step.error, step.terms, self._controller.page.parameters.characteristic_length
        )
        figures = partial(self._controller.figures_of, output)
        law = LawOutput(step.terms, step.tau, lambda: output.terms, step.X_WT, figures)
        return TickResult(step.measurement, law, None, step.tau, gate, None)


def step_kernels_of(model: RobotModel, loop: ControlLoop, controller: OscController) -> list[Kernel]:
    """Return law and gate of a control loop as kernels."""
    return step_kernels(model, controller.page, loop.gate.limits)
