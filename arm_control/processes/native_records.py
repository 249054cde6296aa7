"""What native loops work on: their records, made of an arm's bounds and kernels; and their results, read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Kernel, OwnWork, split
from arm_control.control import Measurement
from arm_control.core import NANOSECONDS
from arm_control.gate import Moments, StateMemory, new_state
from arm_control.maths import Array, Pose
from arm_control.model import TERMS, Terms
from arm_control.processes.mailbox import NOTHING, Mailbox
from arm_control.processes.native_loop import N_HEAD, Middleware, NativeLoop, Turn
from arm_control.processes.native_state import N_WHOLE, AnsweredMemory, NextState, StateSource, SystemClock
from arm_control.processes.native_step import (
    GENERAL,
    N_RESULT_HEAD,
    REGULAR,
    RESULT_DT_NS,
    RESULT_KERNEL,
    RESULT_STAMP_NS,
    ControlStep,
    StepKernel,
)

N_DURATIONS = 1024
"""Durations that are kept."""
Integers = npt.NDArray[np.int64]


class Kernels(NamedTuple):
    """Law and gate on work spaces of the loop.

    Attributes
    ----------
    regular, general : OwnWork
        The kernel for regular states, and that for all; the same where there is only one.
    """

    regular: OwnWork
    general: OwnWork

    @classmethod
    def of(cls, kernels: Sequence[Kernel]) -> Kernels:
        """Return the kernels of :func:`arm_control.control.compiled_step.step_kernels` on work spaces of their own."""
        works = [OwnWork(kernel) for kernel in kernels]
        return cls(works[0], works[-1])

    @property
    def n_inputs(self) -> int:
        """Number of inputs, the same of both."""
        return sum(values.size for values in self.regular.inputs.values())


class StepResult(NamedTuple):
    """What the loop has done with a state: arrays of its own.

    Attributes
    ----------
    tau, parts, error : ndarray
        As in :class:`~arm_control.control.osc.osc_controller.OscOutput`.
    tau_1 : ndarray, shape (nv,)
        Torque that has passed the gate [N m or N].
    cut : ndarray, shape (3,)
        Above zero: limited, saturated, rate limited.
    """

    measurement: Measurement
    X_WT: Pose
    terms: Terms
    tau: Array
    parts: Array
    error: Array
    tau_1: Array
    cut: Array


def read_result(words: Integers, kernels: Kernels) -> StepResult:
    """Return a result of the loop.

    Parameters
    ----------
    words : ndarray of int64
        Letter of the loop.
    """
    kernel = kernels.regular if words[RESULT_KERNEL] == REGULAR else kernels.general
    work = words[N_RESULT_HEAD : N_RESULT_HEAD + len(kernel.work)].copy().view(np.float64)
    n = kernels.n_inputs
    x = split(work[:n], {name: values.shape for name, values in kernel.inputs.items()})
    y = split(work[n:], {name: values.shape for name, values in kernel.outputs.items()})
    measurement = Measurement(int(words[RESULT_STAMP_NS]), x["q"], x["v"], int(words[RESULT_DT_NS]) / NANOSECONDS)
    terms = Terms(x["q"], x["v"], Pose(y["R_WE"], y["p_WE"]), *(y[name] for name in TERMS[2:]))
    X_WT = Pose(x["reference"][:9].reshape(3, 3), x["reference"][9:12])
    return StepResult(measurement, X_WT, terms, y["tau"], y["parts"], y["error"], y["tau_1"], y["cut"])


def new_step(states: StateMemory, moments: Moments, kernels: Kernels, max_missed: int | None) -> ControlStep:
    """Return a step that has seen no state.

    Parameters
    ----------
    states : StateMemory
        Bounds of a state, and the states before; its own.
    max_missed : int or None
        Periods without a state after which Python must decide; None: none.
    """
    n = states.ranges.n
    missed = np.inf if max_missed is None else float(max_missed)
    memory = AnsweredMemory(np.zeros(N_WHOLE, dtype=np.int64), np.zeros(2), states, missed, n)
    following = NextState(np.zeros(1, dtype=np.int64), np.zeros(2), new_state(n))
    largest = max(len(kernel.work) for kernel in kernels)
    return ControlStep(
        memory,
        following,
        np.zeros(1, dtype=np.int64),
        np.zeros(n),
        moments,
        _step_kernel(kernels.regular, REGULAR),
        _step_kernel(kernels.general, REGULAR if kernels.general is kernels.regular else GENERAL),
        np.zeros(N_RESULT_HEAD + largest, dtype=np.int64),
    )


def new_loop(step: ControlStep, middleware: Middleware, source: StateSource) -> NativeLoop:
    """Return a loop over topics; it is Python's turn.

    Parameters
    ----------
    source : StateSource
        What a state looks like.
    """
    orders = Mailbox.of_size(N_HEAD + step.regular.n_inputs)
    order = np.zeros_like(orders.words)
    return NativeLoop(
        middleware,
        source,
        step,
        orders,
        order,
        np.zeros_like(order),
        order[N_HEAD:].view(np.float64),
        np.array([NOTHING]),
        Mailbox.of_size(len(step.result)),
        np.zeros(N_DURATIONS, dtype=np.int64),
        N_DURATIONS,
        Turn(np.ones(1, dtype=np.int64)),
        np.zeros(1, dtype=np.int64),
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


def unknown_source(n: int, max_age: float, clock: SystemClock) -> StateSource:
    """Return a source that no message fits.

    Parameters
    ----------
    max_age : float
        Age above which a state is stale [s]; 0: never.
    """
    none, places, owner = (np.zeros(size, dtype=np.int64) for size in (1, n, 2))
    return StateSource(-1, 0, none, none, places, places, owner, max_age or np.inf, clock)
