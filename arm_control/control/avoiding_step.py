"""Operational space control, avoidance and the limits of the gate in one built-in call.

    the law's kernel; the tick of avoidance; is its torque believable? then the kernel of the limits

These are the kernels of the separate calls, on memory of their own, one behind the other: so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundProcedure,
    CallForm,
    Floats,
    Ints,
    ItemsArgument,
    Kernel,
    NumberArgument,
    RecordCall,
    RunsKernel,
    TupleResult,
    compile_call,
    own_work,
    place_builtin,
    procedure,
)
from arm_control.control.avoidance_call import AvoidanceParts, output_shapes, result_form
from arm_control.control.avoidance_law import Avoidance, AvoidanceOutput
from arm_control.control.compiled_step import GATE_RESULT, PASSES, StepOutput
from arm_control.control.osc.compiled_osc import CompiledOsc
from arm_control.control.osc.law_kernels import OSC_RESULT, reference_argument
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
    inputs : ndarray, shape (n + 2 + k,)
        ``tau_0``, ``dt`` and ``is_on`` of the limits, then the inputs of the law.
    outputs : ndarray
        Those of the law, then what follows from ``terms`` on.
    regular, fading : RunsKernel
        The law for regular states, and for all others; the same where there is only one. They share their memory:
    q, v, h, M, g, tau : ndarray
    regularity : ndarray, shape (1,)
        Above zero in regular states; where there is only one law, always.
    is_fading : ndarray of int, shape (1,)
        Whether the second law answered last: it is asked first.
    avoid : RunsKernel
        The tick of avoidance; its memory:
    avoid_inputs, avoid_outputs, tau_total : ndarray
        The last one is part of the second.
    largest : ndarray, shape (n,)
        Largest torques that the gate believes [N m or N].
    limit : RunsKernel
        The limits of the gate; its memory:
    limit_inputs, limit_outputs : ndarray
    terms, avoided, passed : ndarray
        q, v, h and M; what avoidance has computed; what the limits have.
    n, n_terms, n_avoided : int
        Joints; sizes of ``terms`` and ``avoided``.
    """

    inputs: Floats
    outputs: Floats
    regular: RunsKernel
    fading: RunsKernel
    q: Floats
    v: Floats
    h: Floats
    M: Floats
    g: Floats
    tau: Floats
    regularity: Floats
    is_fading: Ints
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
    if compute_law(t) != 0.0:
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
    put(t.limit_inputs, t.n_terms + 2 * n, t.inputs, n + 2)
    if t.limit() != 0.0:
        return 1.0
    put(t.passed, 0, t.limit_outputs, n + 3)
    return 0.0


@procedure
def compute_law(t: AvoidingRecord) -> float:
    """The law, by the kernel that answered last or by the other one; returns 0 where every input is finite."""
    result = 0.0
    if t.is_fading[0] == 0:
        result = t.regular()
        if not t.regularity[0] > 0.0:
            t.is_fading[0] = 1
            result = t.fading()
    else:
        result = t.fading()
        if t.regularity[0] > 0.0:
            t.is_fading[0] = 0
            result = t.regular()
    return result


@procedure
def put(target: Floats, first: int, source: Floats, n: int) -> None:
    """Copy n numbers to a place."""
    for i in range(n):
        target[first + i] = source[i]


class AvoidingStep:
    """Operational space control, avoidance and the limits of a gate, for one arm.

    Parameters
    ----------
    model : RobotModel
        The arm.
    osc : CompiledOsc
        The law, without limits.
    avoidance : Avoidance
        Avoidance of obstacles; its parameters may change.
    limits : JointLimits
        The limits of the gate.
    """

    def __init__(self, model: RobotModel, osc: CompiledOsc, avoidance: Avoidance, limits: JointLimits) -> None:
        law, parts = osc.kernels[0], avoidance.parts
        inputs = {"tau_0": model.nv, "dt": 1, "is_on": 1} | {name: x.size for name, x in law.inputs.items()}
        outputs = {name: x.shape for name, x in law.outputs.items()}
        run = _compiled(tuple(inputs.items()), tuple(outputs.items()))(_record(model, osc.kernels, parts, limits))
        bound = {**PASSES, "current": parts.current, "reader": parts.reader}
        bound |= {"tool": law.inputs["tool"], "numbers": osc.page.numbers}
        bound |= {"length": osc.parameters.characteristic_length}

        def make(slow: Callable[..., object], doc: str) -> Callable[..., object] | None:
            maker = run.calls.get(CALL)
            return None if maker is None else maker.bind(slow, bound, doc)

        place_builtin(self, AvoidingStep, CALL, make)

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

        Parameters
        ----------
        q, v, reference, tau_0, dt, is_on, tau_dist
            As for :meth:`~arm_control.control.osc.compiled_osc.CompiledOsc.step`.
        obstacles : sequence of Obstacle
            The obstacles in this state.

        Returns
        -------
        StepOutput or None
            To the last bit what the law, avoidance and a gate that passes commands return; None where they must be
            asked: without machine code, for arrays that are not of finite floats, for obstacles that are not those of
            the last tick of avoidance, where more pairs are near than there is room for, and for a torque that the
            gate does not believe.
        """
        return None


@cache
def _compiled(
    inputs: tuple[tuple[str, int], ...], law_outputs: tuple[tuple[str, tuple[int, ...]], ...]
) -> Callable[[AvoidingRecord], BoundProcedure[AvoidingRecord]]:
    """The step with its built-in call, for inputs and outputs of the law of these sizes and shapes."""
    n = dict(inputs)["q"]
    q, v, tau_0, tau_dist = (ArrayArgument(name, (n,)) for name in ("q", "v", "tau_0", "tau_dist"))
    limits = tau_0, NumberArgument("dt"), NumberArgument("is_on")
    results = OSC_RESULT, GATE_RESULT, result_form(AvoidanceOutput, ArrayResult("terms"))
    form = CallForm(
        CALL,
        (q, v, reference_argument(), *limits, ItemsArgument("current"), tau_dist),
        TupleResult(StepOutput, results),
        n_required=7,
        bound=("tool", "numbers"),
        takes_none=True,
    )
    outputs = {**dict(law_outputs), "terms": (3 * n + n * n,), **output_shapes(n), "tau_1": (n,), "cut": (3,)}
    return compile_call(step_around, RecordCall(form, dict(inputs), outputs))


def _record(model: RobotModel, law: Sequence[Kernel], parts: AvoidanceParts, limits: JointLimits) -> AvoidingRecord:
    """Memory of a step: all inputs, then all outputs, the law's work space among them."""
    n = model.nv
    n_before, n_terms, n_inputs = n + 2, 3 * n + n * n, sum(x.size for x in law[0].inputs.values())
    n_law = n_inputs + sum(x.size for x in law[0].outputs.values())
    ends = np.cumsum([n_before, n_law, n_terms, len(parts.outputs), n + 3])
    memory = np.zeros(ends[-1])
    _, work, terms, avoided, passed = np.split(memory, ends[:-1])
    regular, fading = own_work(law[0], work), own_work(law[-1], work)
    x, y = regular.inputs, regular.outputs
    limit = own_work(model.compile_law(limits_law(limits.is_unlimited), limit_samples(n)))
    limit.inputs["numbers"][:] = limits.numbers
    return AvoidingRecord(
        memory[: n_before + n_inputs], memory[n_before + n_inputs :],
        regular, fading, x["q"], x["v"], y["h"], y["M"].reshape(-1), y["g"], y["tau"],
        y["regularity"].reshape(1) if "regularity" in y else np.ones(1), np.zeros(1, np.int64),
        parts.run, parts.inputs, parts.outputs, parts.outputs[2 * n : 3 * n], LARGEST_SHARE * model.tau_max,
        limit, limit.work, limit.work[-len(passed) :],
        terms, avoided, passed, n, n_terms, len(avoided),
    )  # fmt: skip
