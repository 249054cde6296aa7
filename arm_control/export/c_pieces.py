"""What stands for the names in the sources of an exported controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from arm_control.compiler.program import Program
from arm_control.control import effort_gate, loop, state_bounds, state_prediction
from arm_control.control.effort_gate import GateParameters
from arm_control.control.joint_limits import JointLimits
from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.control.state_bounds import StateBounds
from arm_control.core.parameters import Spec
from arm_control.export.c_text import comment, fields, number, numbers, text_of, wrapped
from arm_control.export.exported_controller import ExportedController
from arm_control.export.step_programs import ALL, LIMITS, REGULAR
from arm_control.maths.poses import Array
from arm_control.model.quantities import tool_numbers

GAINS = (
    *("kp_linear", "kp_angular", "kv_linear", "kv_angular", "speed_limit_linear", "speed_limit_angular"),
    *("acceleration_limit_linear", "acceleration_limit_angular", "joint_speed_share", "characteristic_length"),
    *("singular_value", "kp_posture", "kv_posture", "kp_joint_limits", "joint_limit_zone", "joint_limit_weight"),
)
"""Numbers of the law in the order of :meth:`OscParameters.numbers`; postures follow."""
LIMIT_ROWS = ("limit_stiffness", "velocity_gain", "speed_limit", "effort_limit", "lower", "upper")
"""Numbers of the gate for each joint, in the order of :attr:`JointLimits.numbers`, behind the first two."""

MOST_MISSED = 1000
"""Largest ``max_missed`` that may be set in C, unless more was exported."""


def pieces_of(controller: ExportedController, limits: JointLimits, programs: Mapping[str, Program]) -> dict[str, str]:
    """Return the text for each name.

    Parameters
    ----------
    controller : ExportedController
        The controller.
    limits : JointLimits
        Its limits.
    programs : mapping of str to Program
        Those of :func:`~arm_control.export.step_programs.step_programs`.
    """
    name, model, gate = controller.name, controller.model, controller.gate
    step = programs.get(REGULAR, programs[ALL])
    return {
        "PREFIX": name,
        "UPPER": name.upper(),
        "TITLE": comment(name),
        "N": str(model.nv),
        "RATE": str(round(1.0 / controller.period)),
        "PERIOD": number(controller.period),
        "JOINT_LIST": ",\n *     ".join(["", *map(comment, model.joint_names)])[1:],
        "JOINT_WORDS": ", ".join(f"`{comment(name)}`" for name in model.joint_names),
        "BASE_WORD": comment(model.base),
        "END_WORD": comment(model.tip),
        "JOINT_NAMES": wrapped(map(text_of, model.joint_names)),
        "BASE": text_of(model.base),
        "END_EFFECTOR": text_of(model.tip),
        "HAS_REGULAR": str(int(REGULAR in programs)),
        "STEP_INPUT": fields(step.inputs),
        "STEP_INPUTS": str(sum(step.inputs.values())),
        "STEP_OUTPUT": fields(_sizes(step)),
        "LIMITS_INPUT": fields(programs[LIMITS].inputs),
        "LIMITS_OUTPUT": fields(_sizes(programs[LIMITS])),
        "GAINS": _gains(controller.law, model.joint_names),
        "LIMITS": _limits(limits),
        "TOOL": numbers(tool_numbers(model.tree)),
        "BRAKE_DAMPING": number(gate.brake_damping),
        "MAX_MISSED": str(gate.max_missed),
        "MOST_MISSED": str(max(MOST_MISSED, gate.max_missed)),
        "JOINT_LIMITS": str(int(gate.joint_limits)),
        "DRIVER_ADDS_GRAVITY": str(int(controller.driver_adds_gravity)),
        "START": numbers(controller.start),
        "NAMED_GAINS": "\n".join(f'  {{"{gain}", &{name}_gains::{gain}}},' for gain in GAINS),
        **_rules(StateBounds(model)),
        **_bounds(),
    }


def _sizes(program: Program) -> dict[str, int]:
    return {name: int(np.prod(shape)) for name, shape in program.outputs.items()}


def _rules(bounds: StateBounds) -> dict[str, str]:
    """Numbers of the rules, which are those of the modules that run in Python."""
    lowest, highest, fastest = bounds.limits
    return {
        "AT_REST": number(state_prediction.AT_REST),
        **{name: number(getattr(effort_gate, name)) for name in ("LONGEST_DT", "GROWTH")},
        **{name: number(getattr(loop, name)) for name in ("GAP", "SHORTER", "LONGER")},
        **{name: number(getattr(state_bounds, name)) for name in ("DEVIATION", "ACCELERATION", "MEMORY")},
        "LOWEST": numbers(lowest),
        "HIGHEST": numbers(highest),
        "FASTEST": numbers(fastest),
    }


def _bounds() -> dict[str, str]:
    """Bounds of gains and limits, which are those of the parameters in Python."""
    specs = {name: OscParameters.spec(name) if name in OscParameters.types() else Spec("damping") for name in GAINS}
    gate = {"RATE": "rate_limit", "LIMIT_DAMPING": "limit_damping", "STIFFNESS": "limit_stiffness"}
    ranges = {name: GateParameters.spec(field) for name, field in {**gate, "BRAKE": "brake_damping"}.items()}
    ranges["DAMPING"] = OscParameters.spec("damping_ratio")
    return {
        "N_GAINS": str(len(GAINS)),
        "LEAST_GAINS": numbers(_lower(spec) for spec in specs.values()),
        "LARGEST_GAINS": numbers(_upper(spec) for spec in specs.values()),
        "GAIN_FAULTS": "\n".join(f'    "{name} is out of bounds: {spec}",' for name, spec in specs.items()),
        **{f"LEAST_{name}": number(_lower(spec)) for name, spec in ranges.items()},
        **{f"LARGEST_{name}": number(_upper(spec)) for name, spec in ranges.items()},
        **{f"{name}_TEXT": str(spec) for name, spec in ranges.items()},
    }


def _lower(spec: Spec) -> float:
    return -np.inf if spec.lower is None else spec.lower


def _upper(spec: Spec) -> float:
    return np.inf if spec.upper is None else spec.upper


def _gains(law: OscParameters, joint_names: Iterable[str]) -> str:
    names = tuple(joint_names)
    values = law.numbers(names)
    posture, pulled = np.split(values[len(GAINS) :], 2)
    return _entries(zip(GAINS, values, strict=False), {"posture": posture, "pulled": pulled})


def _limits(limits: JointLimits) -> str:
    rows = dict(zip(LIMIT_ROWS, limits.numbers[2:].reshape(len(LIMIT_ROWS), -1), strict=True))
    return _entries(zip(("rate_limit", "limit_damping"), limits.numbers, strict=False), rows)


def _entries(values: Iterable[tuple[str, float]], rows: Mapping[str, Array]) -> str:
    """Entries of a structure: numbers, then arrays."""
    lines = [f"        .{name} = {number(value)}," for name, value in values]
    return "\n".join([*lines, *(f"        .{name} = {{{numbers(row)}}}," for name, row in rows.items())])
