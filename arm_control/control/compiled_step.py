"""What is compiled of operational space control: the law with the model's terms, alone or with the gate's limits.

There are two laws. The first is for regular states, in which no direction fades; the second one computes eigenvalues,
too. Each has an output ``regularity``, above zero exactly in regular states
(:func:`~arm_control.control.osc.task_inertia.regularity`), and to the last bit the same in both: so the state alone
says which of them counts, in whatever order they are asked. Where there are no regular states, there is only the second
law, and it counts in all.

With the limits it is one law, ``control step``: from a state to the torque within limits of effort and rate, and
whether those of joints change it, which :mod:`arm_control.control.whole_step` does.

It is the law's own text, then the text of the limits on what comes of it. Between the two every number is as one that
was written to memory and read again (:func:`~arm_control.maths.scalars.stored`), so the bits are those of the separate
calls.

Inputs, in this order (``osc_laws(...)[0].inputs`` has their sizes):

    q, v             joint positions, velocities                       (n,)
    tool             what is at the tip; see quantities.tool_numbers   (22,)
    reference        R_WT row by row, p_WT, V_des, A_des               (24,)
    tau_dist         known torque of a disturbance                     (n,)
    numbers          gains: OperationalSpaceController.numbers         gains, then contact
    tau_0            last torque that passed                           (n,)
    dt               time since then, bounded as the gate bounds it    (1,)
    is_on            1: limits of position and speed count; 0: not     (1,)
    limits           JointLimits.numbers                               (2 + 6 n,)

Outputs, in this order:

    R_WE ... h       the model's terms: names are model.methods.TERMS
    tau              torque of the law                                 (n,)
    parts, error     its terms, the pose error                         (4, n), (6,)
    regularity       of two laws: above zero, and only there, the first counts, else the second   ()
    tau_1            torque within (6) of gate.joint_limits            (n,)
    cut              above zero: limited, saturated, rate limited      (3,)
    believable       above zero: ``tau`` is a torque that the gate believes; else ``tau_1`` does not count   ()

The machine code of one is ``double compute(double *work)`` at ``kernel.address``: ``work`` holds all inputs, then all
outputs; it returns 0 where every input is finite, else not a number. ``kernels_of`` in
:mod:`arm_control.control.whole_step` makes the kernels, ``scalar_code(law.program(), name)`` of
:mod:`arm_control.compiler.llvm_code` is their text for LLVM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundResult,
    CallForm,
    Function,
    ItemsArgument,
    Law,
    NumberArgument,
    NumberResult,
    ObjectArgument,
    TupleArgument,
    TupleResult,
)
from arm_control.constraints import LimitNumbers
from arm_control.control.avoidance_law import AvoidanceOutput, result_form
from arm_control.control.osc.null_space import smallest_regularity
from arm_control.control.osc.osc_controller import OperationalSpaceController, OscOutput
from arm_control.control.osc.osc_law import LawStructure
from arm_control.control.osc.task_inertia import fading_inertia
from arm_control.core import Parameters
from arm_control.gate import (
    LARGEST_SHARE,
    GateOutput,
    GateParameters,
    GateState,
    JointLimits,
    limit_by_name,
    limit_samples,
)
from arm_control.maths import Array, Pose, Scalar, rotation_from_vector, select, stored
from arm_control.model import TERMS, TERMS_RESULT, RobotModel, State, Terms, Tree, input_sizes, tool_numbers
from arm_control.motion import Reference

REFERENCE = 24
"""Numbers of a reference: R_WT (9), p_WT (3), V_des (6), A_des (6)."""
SAMPLES = 2
"""States on which a new kernel is compared: one that is not limited, one that is."""
OSC_RESULT = TupleResult(
    OscOutput, (ArrayResult("tau"), ArrayResult("parts"), ArrayResult("error"), TERMS_RESULT, BoundResult("length"))
)


def cases(structure: LawStructure, n: int) -> tuple[bool, ...]:
    """Return whether each kernel is for regular states: the quick one first, if there are such states at all."""
    if structure.inertia is not fading_inertia:
        return (False,)
    return (True, False) if len(structure.rows) <= n else (False,)


def has_twin(structure: LawStructure, n: int) -> bool:
    """Whether there are two laws; parameters of :func:`cases`."""
    return len(cases(structure, n)) > 1


def osc_laws(tree: Tree, page: OperationalSpaceController, limits: JointLimits | None = None) -> list[Law]:
    """Return the laws: the one for regular states first, where there are such states; the last one is for all.

    Parameters
    ----------
    limits : JointLimits, optional
        Limits of the gate to compute, too: which joints have none of position is part of the law, their numbers are
        inputs.
    """
    return [_law(tree, page, limits, is_regular) for is_regular in cases(page.structure, tree.n)]


def _law(tree: Tree, page: OperationalSpaceController, limits: JointLimits | None, is_regular: bool) -> Law:
    n, structure = tree.n, page.structure.regular if is_regular else page.structure
    name, function = "operational space control", osc_function(tree, page, is_regular)
    sizes = {name: input_sizes(n)[name] for name in ("q", "v", "tool")}
    sizes |= {"reference": REFERENCE, "tau_dist": n, "numbers": len(page.numbers)}
    made_from = [page.law.__name__, [x.tolist() for x in page.limits], structure]
    if limits is not None:
        name, function = "control step", _with_limits(function, limits.is_unlimited)
        sizes |= {"tau_0": n, "dt": 1, "is_on": 1, "limits": 2 + 6 * n}
        made_from.append(limits.is_unlimited.tolist())
    kind = ", regular" if is_regular else ""
    return Law(f"{name}{kind}", function, sizes, made_from, agreement=agreement_of(page.structure, n))


def osc_samples(tree: Tree, numbers: Array) -> dict[str, Array]:
    """Return states to compare a kernel on, a row each for every input."""
    rng, n = np.random.default_rng(0), tree.n
    samples = {name: rng.uniform(-1.0, 1.0, n) for name in ("q", "v", "tau_dist")}
    R_WT = rotation_from_vector(rng.uniform(-1.0, 1.0, 3))
    samples["reference"] = np.concatenate([R_WT.ravel(), rng.uniform(-0.5, 0.5, REFERENCE - 9)])
    samples |= {"tool": tool_numbers(tree), "numbers": numbers}
    limits = limit_samples(n)
    own = {"is_on": np.array([[0.0], [1.0]]), "limits": limits["numbers"][:SAMPLES]}
    own |= {name: limits[name][:SAMPLES] for name in ("tau_0", "dt")}
    return {name: np.tile(x, (SAMPLES, 1)) for name, x in samples.items()} | own


def osc_function(tree: Tree, page: OperationalSpaceController, is_regular: bool) -> Function:
    """Return the text of the law without limits.

    Outputs are the model's terms by name; ``tau`` (n,), ``parts`` (4, n), ``error`` (6,) as in
    :class:`~arm_control.control.osc.osc_controller.OscOutput`; and ``regularity`` where there are two laws.

    Parameters
    ----------
    is_regular : bool
        Whether it is for states in which no direction fades.
    """
    structure = page.structure.regular if is_regular else page.structure

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        state = State(tree, {name: x[name] for name in ("q", "v", "tool")})
        s = {name: getattr(state, name) for name in TERMS}
        t = Terms(x["q"], x["v"], Pose(s["R_WE"], s["p_WE"]), *(s[name] for name in TERMS[2:]))
        r = x["reference"]
        reference = Reference(Pose(r[:9].reshape(3, 3), r[9:12]), r[12:18], r[18:])
        result = page.torque(t, reference, x["tau_dist"], x["numbers"], structure)
        parts = np.array([result.task, result.posture, result.disturbance, t.h])
        outputs = {**s, "tau": result.tau, "parts": parts, "error": result.error}
        if not has_twin(page.structure, tree.n):
            return outputs
        levels = result.J_sharp.levels
        if not is_regular and len(levels) > 1:  # what a task leaves free depends on how it fades
            levels = page.torque(t, reference, x["tau_dist"], x["numbers"], structure.regular).J_sharp.levels
        return {**outputs, "regularity": smallest_regularity(levels, page.gains(x["numbers"]))}

    return compute


def agreement_of(structure: LawStructure, n: int) -> float:
    """Return the largest relative difference of a kernel from the page.

    With more rows than joints the task is singular in every state: eigenvalues that are zero but for rounding count
    with their square roots.
    """
    return 1e-6 if len(structure.rows) > n else Law.agreement


def reference_argument() -> ObjectArgument:
    """Return the form of a reference as an argument."""
    X_WT = TupleArgument(Pose, (ArrayArgument("reference", (3, 3)), ArrayArgument("reference", (3,), 9)))
    V_des, A_des = ArrayArgument("reference", (6,), 12), ArrayArgument("reference", (6,), 18)
    return ObjectArgument(Reference, (("X_WT", X_WT), ("V_des", V_des), ("A_des", A_des)))


def tick_form(n: int) -> CallForm:
    """Return the form of :meth:`~arm_control.control.osc.compiled_osc.CompiledOsc.tick` for n joints."""
    q, v, tau_dist = (ArrayArgument(name, (n,)) for name in ("q", "v", "tau_dist"))
    return CallForm(
        "tick",
        (q, v, reference_argument(), tau_dist),
        OSC_RESULT,
        n_required=3,
        bound=("tool", "numbers"),
        takes_none=True,
    )


# -- with the limits of the gate


class StepOutput(NamedTuple):
    """What law, gate and avoidance make of a state; None for avoidance where there is none."""

    law: OscOutput
    gate: GateOutput
    avoidance: AvoidanceOutput | None = None


PASSES = {"state": GateState.PASSING, "reason": "", "success_rate": 1.0}
"""What a gate says that passes its commands, and has passed all of late."""
_LIMITED, _SATURATED, _RATE_LIMITED = (NumberResult("cut", k, is_flag=True) for k in range(3))
_STATE, _REASON, _RATE = (BoundResult(name) for name in PASSES)
GATE_RESULT = TupleResult(
    GateOutput, (ArrayResult("tau_1"), _STATE, _REASON, _SATURATED, _RATE_LIMITED, _LIMITED, _RATE)
)
AVOIDANCE = "avoid_obstacles"
BETWEEN_LAW_AND_GATE = (
    "impedance",
    "force_axes",
    AVOIDANCE,
    "disturbance_observer",
    "adaptive_torque",
    "inertia_floor",
)
"""Parameters that put something before the gate of operational space control, unless they are false, 0 or empty."""


def between_law_and_gate(parameters: Parameters) -> list[str]:
    """Return the names of what is between operational space control and its gate, and which Python alone can do."""
    values = parameters.values()
    return [name for name in BETWEEN_LAW_AND_GATE if values[name]]


def step_limits(model: RobotModel, gate: GateParameters, parameters: Parameters) -> JointLimits | None:
    """Return the limits of the gate for a law that computes them, too; None where it cannot compute what is between.

    It can compute either avoidance or constraints.
    """
    parts = between_law_and_gate(parameters)
    is_possible = not parts or (parts == [AVOIDANCE] and not gate.constraints)
    return JointLimits(model, gate, gate.rate_limit) if is_possible else None


def step_form(n: int, *, avoids: bool) -> CallForm:
    """Return the form of :meth:`~arm_control.control.osc.compiled_osc.CompiledOsc.step` for n joints.

    Parameters
    ----------
    avoids : bool
        Whether obstacles are avoided between law and limits.
    """
    q, v, tau_0, tau_dist = (ArrayArgument(name, (n,)) for name in ("q", "v", "tau_0", "tau_dist"))
    obstacles = ItemsArgument("current") if avoids else None
    avoidance = result_form("terms") if avoids else BoundResult("avoidance")
    return CallForm(
        "step",
        (q, v, reference_argument(), tau_0, NumberArgument("dt"), NumberArgument("is_on"), obstacles, tau_dist),
        TupleResult(StepOutput, (OSC_RESULT, GATE_RESULT, avoidance)),
        n_required=7 if avoids else 6,
        bound=("tool", "numbers", "limits"),
        certificate="believable",
        takes_none=True,
    )


def _with_limits(law: Function, is_unlimited: Array) -> Function:
    """The text: the law, then the limits."""

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        answer, like = law(x), x["q"][0]
        seen = {**x, **answer}
        given = {name: stored(seen[name], like) for name in ("q", "v", "M", "g", "h", "tau")}
        given |= {"M": given["M"].ravel(), "numbers": x["limits"]}
        limited = limit_by_name(is_unlimited, {**x, **given})
        tau_max = LimitNumbers.of(x["limits"], is_unlimited).tau_max
        return {**answer, **limited, "believable": _believable(given["tau"], tau_max)}

    return compute


def _believable(tau: Array, tau_max: Array) -> Scalar:
    """Above zero where every joint's torque is a number, and below the largest one that the gate believes."""
    return 0.5 - select(LARGEST_SHARE * tau_max - np.abs(tau), 0.0, 1.0).sum()
