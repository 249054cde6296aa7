"""Operational space control, avoidance and the limits of the gate in one built-in call.

    the law's kernel; the tick of avoidance; is its torque believable? then the kernel of the limits

These are the kernels of the separate calls, on memory of their own, one behind the other: so the bits are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from arm_control.compiler import (
    ArrayArgument,
    Binds,
    CallForm,
    Floats,
    ItemsArgument,
    KernelCall,
    NumberArgument,
    OwnWork,
    RunsKernel,
    TupleResult,
    compile_procedure,
    in_machine_code,
    procedure,
    split,
)
from arm_control.control.avoidance_law import Avoidance, output_shapes, result_form
from arm_control.control.compiled_step import GATE_RESULT, OSC_RESULT, PASSES, StepOutput, reference_argument
from arm_control.control.constrained_step import put
from arm_control.control.osc.compiled_osc import CompiledOsc, law_run
from arm_control.gate import LARGEST_SHARE, JointLimits, limit_samples, limits_law
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel
from arm_control.motion import Reference

CALL = "step"
"""Name of the built-in function."""


class AvoidingRecord(NamedTuple):
    """All that a step works with.

    Attributes
    ----------
    limits : ndarray, shape (n + 2,)
        ``tau_0``, ``dt`` and ``is_on`` of the limits.
    law : RunsKernel
        The law; its memory:
    q, v, h, M, g, tau : ndarray
    avoid : RunsKernel
        The tick of avoidance; ``tau_total`` is part of its outputs.
    largest : ndarray, shape (n,)
        Largest torques that the gate believes [N m or N].
    terms, avoided, passed : ndarray
        q, v, h and M; what avoidance has computed; what the limits have.
    n, n_terms, n_avoided : int
        Joints; sizes of ``terms`` and ``avoided``.
    """

    limits: Floats
    law: RunsKernel
    q: Floats
    v: Floats
    h: Floats
    M: Floats
    g: Floats
    tau: Floats
    avoid: RunsKernel
    avoid_inputs: Floats
    avoid_outputs: Floats
    tau_total: Floats
    largest: Floats
    limit: RunsKernel
    limit_inputs: Floats
    limit_outputs: Floats
    terms: Floats
    avoided: Floats
    passed: Floats
    n: int
    n_terms: int
    n_avoided: int


@procedure
def step_around(t: AvoidingRecord) -> float:
    """One step: inputs to outputs; returns 0 where they count."""
    n = t.n
    if t.law() != 0.0:
        return 1.0
    put(t.terms, 0, t.q, n)
    put(t.terms, n, t.v, n)
    put(t.terms, 2 * n, t.h, n)
    put(t.terms, 3 * n, t.M, n * n)
    put(t.avoid_inputs, 0, t.terms, t.n_terms)
    put(t.avoid_inputs, t.n_terms, t.tau, n)
    if t.avoid() != 0.0:
        return 1.0
    put(t.avoided, 0, t.avoid_outputs, t.n_avoided)
    for i in range(n):
        if not abs(t.tau_total[i]) <= t.largest[i]:
            return 1.0
    put(t.limit_inputs, 0, t.terms, t.n_terms)
    put(t.limit_inputs, t.n_terms, t.tau_total, n)
    put(t.limit_inputs, t.n_terms + n, t.g, n)
    put(t.limit_inputs, t.n_terms + 2 * n, t.limits, n + 2)
    if t.limit() != 0.0:
        return 1.0
    put(t.passed, 0, t.limit_outputs, n + 3)
    return 0.0


class AvoidingStep:
    """Operational space control, avoidance and the limits of a gate, for one arm."""

    def __init__(self, model: RobotModel, osc: CompiledOsc, avoidance: Avoidance, limits: JointLimits) -> None:
        self._call: KernelCall | None = None
        if osc.is_compiled:
            self._call = _call(model, osc, avoidance, limits)

    @in_machine_code(lambda step: step._call)
    def step(
        self,
        q: Array,
        v: Array,
        reference: Reference,
        tau_0: Array,
        dt: float,
        is_on: float,
        obstacles: Sequence[Obstacle],
        tau_dist: Array | None = None,
    ) -> StepOutput | None:
        """Joint torque for one state among obstacles, and what of it passes the gate.

        Returns
        -------
        StepOutput or None
            To the last bit what the law, avoidance and a gate that passes commands return; None where they must be
            asked: without machine code, for arrays that are not of finite floats, for obstacles that are not those of
            the last tick of avoidance, where more pairs are near than there is room for, and for a torque that the
            gate does not believe.
        """
        if self._call is None:
            return None
        output: StepOutput | None = self._call(q, v, reference, tau_0, dt, is_on, obstacles, tau_dist)
        return output


@cache
def _compiled() -> Binds[AvoidingRecord]:
    return compile_procedure(step_around, keeps_lock=True)


def _form(n: int) -> CallForm:
    q, v, tau_0, tau_dist = (ArrayArgument(name, (n,)) for name in ("q", "v", "tau_0", "tau_dist"))
    limits = tau_0, NumberArgument("dt"), NumberArgument("is_on")
    results = OSC_RESULT, GATE_RESULT, result_form("terms")
    return CallForm(
        CALL,
        (q, v, reference_argument(), *limits, ItemsArgument("current"), tau_dist),
        TupleResult(StepOutput, results),
        n_required=7,
        bound=("tool", "numbers"),
        takes_none=True,
    )


def _call(model: RobotModel, osc: CompiledOsc, avoidance: Avoidance, limits: JointLimits) -> KernelCall:
    """The step, on memory for all inputs, then all outputs; the law's own memory is among them."""
    law, n = osc.kernels[0], model.nv
    before, behind = {"tau_0": (n,), "dt": (1,), "is_on": (1,)}, {"terms": (3 * n + n * n,), **output_shapes(n)}
    inputs = before | {name: x.shape for name, x in law.inputs.items()}
    outputs = {name: x.shape for name, x in law.outputs.items()} | behind | {"tau_1": (n,), "cut": (3,)}
    memory = np.zeros(sum(map(math.prod, (*inputs.values(), *outputs.values()))))
    n_before, n_inputs = n + 2, sum(map(math.prod, inputs.values()))
    n_law = n_inputs - n_before + sum(x.size for x in law.outputs.values())
    ends = np.cumsum([n_before, n_law, 3 * n + n * n, len(avoidance.outputs)])
    at_limits, work, terms, avoided, passed = np.split(memory, ends)
    run, of_law = law_run(osc.kernels, work)
    x, y = of_law.inputs, of_law.outputs
    limit = OwnWork(model.compile_law(limits_law(limits.is_unlimited), limit_samples(n)))
    limit.inputs["numbers"][:] = limits.numbers
    record = AvoidingRecord(
        at_limits, run, x["q"], x["v"], y["h"], y["M"].reshape(-1), y["g"], y["tau"],
        avoidance.run, avoidance.inputs, avoidance.outputs, avoidance.outputs[2 * n : 3 * n],
        LARGEST_SHARE * model.tau_max,
        limit, limit.work, limit.work[-len(passed) :],
        terms, avoided, passed, n, len(terms), len(avoided),
    )  # fmt: skip
    bound = {**PASSES, "current": avoidance.current, "proximity": avoidance.proximity, "tool": law.inputs["tool"]}
    bound |= {"numbers": osc.page.numbers, "length": osc.parameters.characteristic_length}
    views = split(memory[:n_inputs], inputs), split(memory[n_inputs:], outputs)
    return KernelCall(_form(n), _compiled()(record), *views, bound)
