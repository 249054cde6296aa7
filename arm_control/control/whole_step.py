"""Operational space control with what is between it and the limits of the gate: the procedures of one call a tick.

The law has one kernel or two; the one that answered last is asked first. Its limits are part of them
(:mod:`arm_control.control.compiled_step`), and the program of the joints is behind them, unless avoidance or
constraints are in between: then

    the law's kernel; avoidance or constraints; are both torques believable? then the limits

These are the kernels of the separate calls, one behind the other: so the bits are the same. A state outside a
constraint is left to the gate: its torque counts as one that the gate does not believe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from arm_control.compiler import Floats, Ints, Kernel, OwnWork, RunsKernel, compile_procedure, procedure, split
from arm_control.constraints import MOST_OUTSIDE, ConstraintSet, JointProgram, keep_joints
from arm_control.control.avoidance_law import Avoidance, output_shapes
from arm_control.control.compiled_step import osc_laws, osc_samples
from arm_control.control.osc.osc_controller import OperationalSpaceController
from arm_control.gate import LARGEST_SHARE, JointLimits, is_changed, limit_run, program_of_joints
from arm_control.maths import Array
from arm_control.model import RobotModel

Between: TypeAlias = Avoidance | ConstraintSet
"""What may change the torque of a law before the limits of the gate."""


class StepMemory(NamedTuple):
    """All inputs, then all outputs, and views of them by name."""

    work: Array
    inputs: dict[str, Array]
    outputs: dict[str, Array]


def kernels_of(
    model: RobotModel,
    page: OperationalSpaceController,
    limits: JointLimits | None = None,
    between: Between | None = None,
) -> list[Kernel]:
    """Return the kernels of the law, for regular states first, if there are such states; with the limits if alone."""
    laws = osc_laws(model.tree, page, limits if between is None else None)
    samples = osc_samples(model.tree, page.numbers)
    return [model.compile_law(law, samples) for law in laws]


class LawRecord(NamedTuple):
    """The kernels of the law, on the same memory.

    Attributes
    ----------
    regular, fading : RunsKernel
        For regular states, and for all others; the same where there is only one.
    regularity : ndarray, shape (1,)
        Above zero in regular states; where there is only one kernel, always.
    is_fading : ndarray of int, shape (1,)
        Whether the second one answered last: it is asked first.
    """

    regular: RunsKernel
    fading: RunsKernel
    regularity: Floats
    is_fading: Ints


@procedure
def compute_law(t: LawRecord) -> float:
    """The law, by the kernel that answered last or by the other one; returns 0 where every input is finite."""
    if t.is_fading[0] == 0:
        result = t.regular()
        if t.regularity[0] > 0.0:
            return result
        t.is_fading[0] = 1
    result = t.fading()
    if t.regularity[0] > 0.0:
        t.is_fading[0] = 0
        return t.regular()
    return result


def law_run(kernels: Sequence[Kernel], work: Array | None = None) -> tuple[RunsKernel, StepMemory]:
    """Return what computes the law, and its memory; ``work`` by default is new."""
    regular = OwnWork(kernels[0], work)
    fading, y = OwnWork(kernels[-1], regular.work), regular.outputs
    regularity = y["regularity"].reshape(1) if "regularity" in y else np.ones(1)
    run = compile_procedure(compute_law, keeps_lock=True)(LawRecord(regular, fading, regularity, np.zeros(1, np.int64)))
    return run, StepMemory(regular.work, regular.inputs, regular.outputs)


class LimitInputs(NamedTuple):
    """What the limits take of a law.

    Attributes
    ----------
    q, v, h, M, tau, g, asked : ndarray
        In the law's memory, the torque and what else the limits take, in the order of their inputs; ``asked`` is
        ``tau_0``, ``dt``, ``is_on`` and the numbers of the limits.
    inputs : ndarray
        In the memory of the limits, or of the rows of the joints.
    n, n_asked : int
    """

    q: Floats
    v: Floats
    h: Floats
    M: Floats
    tau: Floats
    g: Floats
    asked: Floats
    inputs: Floats
    n: int
    n_asked: int


@procedure
def put_torque(t: LimitInputs) -> None:
    """Let the law's torque be that of the limits."""
    n = t.n
    put(t.inputs, 0, t.q, n)
    put(t.inputs, n, t.v, n)
    put(t.inputs, 2 * n, t.h, n)
    put(t.inputs, 3 * n, t.M, n * n)
    put(t.inputs, n * n + 3 * n, t.tau, n)
    put(t.inputs, n * n + 4 * n, t.g, n)
    put(t.inputs, n * n + 5 * n, t.asked, t.n_asked)


class LimitedLaw(NamedTuple):
    """A law with its limits, whose outputs are ``tau_1`` and ``cut``, and the program for what these change."""

    law: RunsKernel
    tau_1: Floats
    cut: Floats
    limits: LimitInputs
    joints: JointProgram


@procedure
def compute_limited(t: LimitedLaw) -> float:
    """One step of a law with its limits; returns 0 where the outputs count."""
    if t.law() != 0.0:
        return 1.0
    if is_changed(t.cut):
        put_torque(t.limits)
        keep_joints(t.joints, t.tau_1)
    return 0.0


class WholeStep(NamedTuple):
    """All that a step works with.

    Attributes
    ----------
    law : RunsKernel
        The law; its memory, beside that of ``limits``:
    J, tool, numbers : ndarray
        ``numbers`` are those of the limits.
    limit : RunsKernel
        The limits; their memory, beside ``limits.inputs``:
    limit_outputs : ndarray
    between : RunsKernel
        Avoidance or constraints; its memory:
    between_inputs, between_outputs, tau_kept, outside : ndarray
        ``tau_kept`` is the torque that is left; ``outside`` is below zero where no constraint is broken.
    largest : ndarray, shape (n,)
        Largest torques that the gate believes [N m or N].
    terms, results, passed : ndarray
        q, v, h and M; what is between has computed; both empty for constraints; ``tau_1``, ``cut``, ``believable``.
    n_between : int
        Inputs that both ``between`` and ``limits`` begin with, behind which avoidance has the Jacobian.
    """

    law: RunsKernel
    limits: LimitInputs
    J: Floats
    tool: Floats
    numbers: Floats
    limit: RunsKernel
    limit_outputs: Floats
    between: RunsKernel
    between_inputs: Floats
    between_outputs: Floats
    tau_kept: Floats
    outside: Ints
    largest: Floats
    terms: Floats
    results: Floats
    passed: Floats
    n_between: int
    n_jacobian: int
    n_tool: int
    n_numbers: int
    n_terms: int
    n_results: int


@procedure
def compute_step(t: WholeStep) -> float:
    """One step: inputs to outputs; returns 0 where they count."""
    if t.law() != 0.0:
        return 1.0
    put_torque(t.limits)
    n = t.limits.n
    x = t.limits.inputs
    y = t.between_inputs
    put(y, 0, x, t.n_between)
    put(y, t.n_between, t.J, t.n_jacobian)
    put(y, t.n_between + n, t.tool, t.n_tool)
    put(y, t.n_between + n + t.n_tool, t.numbers, t.n_numbers)
    if t.between() != 0.0:
        return 1.0
    put(t.terms, 0, x, t.n_terms)
    put(t.results, 0, t.between_outputs, t.n_results)
    put(x, n * n + 3 * n, t.tau_kept, n)
    is_fine = t.outside[0] < 0 and is_believable(t, t.limits.tau) and is_believable(t, t.tau_kept)
    t.passed[n + 3] = 1.0 if is_fine else 0.0
    if is_fine:
        if t.limit() != 0.0:
            return 1.0
        put(t.passed, 0, t.limit_outputs, n + 3)
    return 0.0


@procedure
def is_believable(t: WholeStep, tau: Floats) -> bool:
    """Whether the gate believes a torque."""
    n = 0
    for i in range(t.limits.n):
        n += 1 if abs(tau[i]) <= t.largest[i] else 0
    return n == t.limits.n


@procedure
def put(target: Floats, first: int, source: Floats, n: int) -> None:
    """Copy n numbers to a place."""
    for i in range(n):
        target[first + i] = source[i]


def step_run(
    model: RobotModel, kernels: Sequence[Kernel], limits: JointLimits, between: Between | None
) -> tuple[RunsKernel, StepMemory]:
    """Return what computes the law, what is between, and the limits; and its memory.

    Parameters
    ----------
    kernels : sequence of Kernel
        Those of :func:`kernels_of`.
    """
    (x_law, y_law), n = kernels[0].shapes, model.nv
    asked = {"tau_0": (n,), "dt": (1,), "is_on": (1,), "limits": limits.numbers.shape}
    if between is None:
        law, memory = law_run(kernels)
        end, tau_1, cut = sum(map(math.prod, x_law.values())), memory.outputs["tau_1"], memory.outputs["cut"]
        at_asked = memory.work[end - sum(map(math.prod, asked.values())) : end]
        joints, inputs = program_of_joints(model, limits)
        limited = LimitedLaw(law, tau_1, cut, _limit_inputs(memory, at_asked, inputs), joints)
        return compile_procedure(compute_limited, keeps_lock=True)(limited), memory
    more = {"terms": (3 * n + n * n,), **output_shapes(n)} if isinstance(between, Avoidance) else {}
    passed = {"tau_1": (n,), "cut": (3,), "believable": (1,)}
    parts = asked, {**x_law, **y_law}, more, passed
    ends = np.cumsum([sum(map(math.prod, part.values())) for part in parts])
    work = np.zeros(ends[-1])
    at_asked, at_law, at_more, at_passed = np.split(work, ends[:-1])
    law, memory = law_run(kernels, at_law)
    x = split(at_asked, asked) | memory.inputs
    y = memory.outputs | split(at_more, more) | split(at_passed, passed)
    outside, sizes = np.array([-1]), (n * n + 4 * n, 6 * n, 0, 0)
    run: RunsKernel
    if isinstance(between, Avoidance):
        run, inputs, outputs, tau_kept = between.run, between.inputs, between.outputs, between.outputs[2 * n : 3 * n]
    else:
        run, inputs, tau_kept, found = between.parts
        outputs, outside = tau_kept, found[MOST_OUTSIDE : MOST_OUTSIDE + 1]
        sizes = n * n + 6 * n + 1, 0, len(x["tool"]), len(limits.numbers)
    terms = at_more[: 3 * n + n * n]
    results, made = at_more[len(terms) :], limit_run(model, limits)
    assert made is not None
    limit, (limit_inputs, limit_outputs) = made[0], made[1].parts
    record = WholeStep(
        law, _limit_inputs(memory, at_asked, limit_inputs), y["J"].reshape(-1), x["tool"], x["limits"],
        limit, limit_outputs, run, inputs, outputs, tau_kept, outside, LARGEST_SHARE * model.tau_max,
        terms, results, at_passed, *sizes, len(terms), len(results),
    )  # fmt: skip
    return compile_procedure(compute_step, keeps_lock=True)(record), StepMemory(work, x, y)


def _limit_inputs(memory: StepMemory, asked: Array, inputs: Array) -> LimitInputs:
    """The record for a law's memory; ``asked`` and ``inputs`` are as it says."""
    x, y = memory.inputs, memory.outputs
    law = x["q"], x["v"], y["h"], y["M"].reshape(-1), y["tau"], y["g"], asked
    return LimitInputs(*law, inputs, len(x["q"]), len(asked))
