"""What is compiled of operational space control: the law's own text together with the model's terms.

There are two laws. The first is for regular states, in which no direction fades; the second one computes eigenvalues,
too. Each has an output ``regularity``, above zero exactly in regular states
(:func:`~arm_control.control.osc.task_inertia.regularity`), and to the last bit the same in both: so the state alone
says which of them counts, in whatever order they are asked. Where there are no regular states, there is only the second
law, and it counts in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundResult,
    CallForm,
    Function,
    Law,
    ObjectArgument,
    TupleArgument,
    TupleResult,
)
from arm_control.control.osc.null_space import smallest_regularity
from arm_control.control.osc.osc_controller import OperationalSpaceController, OscOutput
from arm_control.control.osc.osc_law import LawStructure
from arm_control.control.osc.task_inertia import fading_inertia
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import TERMS, TERMS_RESULT, State, Terms, Tree, input_sizes, tool_numbers
from arm_control.motion import Reference

REFERENCE = 24
"""Numbers of a reference: R_WT (9), p_WT (3), V_des (6), A_des (6)."""
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


def osc_law(tree: Tree, page: OperationalSpaceController, is_regular: bool) -> Law:
    """Return the model's terms and the torque as one law.

    Parameters
    ----------
    is_regular : bool
        Whether it is for states in which no direction fades.
    """
    name = f"operational space control{', regular' if is_regular else ''}"
    return Law(
        name,
        osc_function(tree, page, is_regular),
        osc_inputs(tree, page),
        osc_structure(page, is_regular),
        agreement=agreement_of(page.structure, tree.n),
    )


def osc_function(tree: Tree, page: OperationalSpaceController, is_regular: bool) -> Function:
    """Return the text of :func:`osc_law`: inputs are those of :func:`osc_inputs`.

    Outputs are the model's terms by name; ``tau`` (n,), ``parts`` (4, n), ``error`` (6,) as in
    :class:`~arm_control.control.osc.osc_controller.OscOutput`; and ``regularity`` where there are two laws.
    Parameters are those of :func:`osc_law`.
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


def osc_inputs(tree: Tree, page: OperationalSpaceController) -> dict[str, int]:
    """Return name and size of each input: ``q v tool reference tau_dist numbers``."""
    sizes = {name: input_sizes(tree.n)[name] for name in ("q", "v", "tool")}
    return sizes | {"reference": REFERENCE, "tau_dist": tree.n, "numbers": len(page.numbers)}


def osc_structure(page: OperationalSpaceController, is_regular: bool) -> list[object]:
    """Return all that the text is made from besides the arm, for the key of its kernel.

    Parameters
    ----------
    is_regular : bool
        Whether it is for states in which no direction fades.
    """
    structure = page.structure.regular if is_regular else page.structure
    return [page.law.__name__, [x.tolist() for x in page.limits], structure]


def osc_samples(tree: Tree, numbers: Array) -> dict[str, Array]:
    """Return one state and reference to compare a kernel on, a row for each input."""
    rng = np.random.default_rng(0)
    samples = {name: rng.uniform(-1.0, 1.0, (1, tree.n)) for name in ("q", "v", "tau_dist")}
    R_WT = rotation_from_vector(rng.uniform(-1.0, 1.0, 3))
    reference = np.concatenate([R_WT.ravel(), rng.uniform(-0.5, 0.5, REFERENCE - 9)])
    return samples | {"reference": reference[None], "tool": tool_numbers(tree)[None], "numbers": numbers[None]}


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
