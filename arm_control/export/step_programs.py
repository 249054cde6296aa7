"""Programs of an exported controller: model, law and limits of the torque in one, and the limits by themselves."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from arm_control.compiler import Program
from arm_control.control import OperationalSpaceController, OscParameters, step_laws
from arm_control.gate import JointLimits, limits_law
from arm_control.model import RobotModel

REGULAR, ALL, LIMITS = "regular", "all", "limits"
"""Names of the programs: for states in which no direction of the task fades, for all states; limits by themselves."""
OUTPUTS = ("R_WE", "p_WE", "V_WE", "J", "M", "g", "h", "tau", "parts", "error", "tau_1", "cut", "believable")
"""Outputs of the first two; where there are two, ``regularity`` follows."""


def step_programs(model: RobotModel, law: OscParameters, limits: JointLimits) -> dict[str, Program]:
    """Return the programs by their names; without ``regular`` where there are no regular states.

    Parameters
    ----------
    law : OscParameters
        Structure of the law; its gains are inputs.
    limits : JointLimits
        Limits of the gate; its numbers are inputs, but for joints without limits of position.
    """
    laws = step_laws(model.tree, OperationalSpaceController(model, law), limits)
    outputs = (*OUTPUTS, "regularity") if len(laws) == 2 else OUTPUTS
    programs = [_with_outputs(law.program(), outputs) for law in laws]
    names = (REGULAR, ALL)[-len(laws) :]
    return {**dict(zip(names, programs, strict=True)), LIMITS: limits_law(limits.is_unlimited).program()}


def _with_outputs(program: Program, names: Iterable[str]) -> Program:
    """The program with some of its outputs, in this order."""
    sizes = [int(np.prod(shape)) for shape in program.outputs.values()]
    ends = dict(zip(program.outputs, accumulate(sizes), strict=True))
    outputs = {name: program.outputs[name] for name in names}
    results = [
        result
        for name, shape in outputs.items()
        for result in program.results[ends[name] - int(np.prod(shape)) : ends[name]]
    ]
    return Program(program.inputs, outputs, program.lines, tuple(results))
