"""What of a controller is exported, and what cannot be: its arm, gains, limits and posture, as pieces of C.

Its programs are law and limits, and limits by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision import N_SHAPE, PLACES, SEARCHED, order_obstacles, write_obstacle
from arm_control.compiler import Procedure, Program, c_parts, number
from arm_control.constraints import (
    N_STEPS_MAX,
    ConstraintTick,
    PairParts,
    PointParts,
    PointTick,
    constrain,
    keep_points,
    read_constraints,
)
from arm_control.control import GAINS, OperationalSpaceController, OscParameters, between_law_and_gate, osc_laws
from arm_control.controllers import OscLoopParameters
from arm_control.core import Spec, share_path
from arm_control.exceptions import ParameterError
from arm_control.export.tick_rules import (
    ASKED,
    BROKEN_CONSTRAINT,
    IMPOSSIBLE_STATE,
    NO_CAUSE,
    NO_COMMAND,
    NO_STATE,
    NO_TIME,
    LawMemory,
    TickMemory,
    answer,
    brake_for,
    enable_gate,
    longest_blind_step,
    new_tick_memory,
    take_reference,
    take_torque,
)
from arm_control.gate import (
    LARGEST_STIFFNESS,
    MODE_BRAKING,
    MODE_HOLDING,
    MODE_PASSING,
    GateParameters,
    JointLimits,
    joint_rows_law,
    limits_law,
    predict,
)
from arm_control.maths import CENTRE, EXTENT, TYPES, Array
from arm_control.model import RobotModel, tool_numbers
from arm_control.simulation import Scenario, arm_and_parameters, start_posture

REGULAR, ALL, LIMITS, JOINT_ROWS = "regular", "all", "limits", "joint_rows"
"""Names of the programs: for states in which no direction of the task fades, for all states; limits by themselves; rows
of the joints, of a torque that these change."""
OUTPUTS = ("R_WE", "p_WE", "V_WE", "J", "M", "g", "h", "tau", "parts", "error", "tau_1", "cut", "believable")
"""Outputs of the first two; where there are two, ``regularity`` follows."""
WIDTH = 120
"""Characters of a line."""
PLACE = re.compile(r"@([A-Z][A-Z_0-9]*)@")
"""A name that stands for a piece of text."""
LIMIT_ROWS = ("limit_stiffness", "velocity_gain", "speed_limit", "effort_limit", "lower", "upper")
"""Numbers of the gate for each joint, in the order of :attr:`JointLimits.numbers`, behind the first two."""

MODES = {
    "HOLDING": (MODE_HOLDING, "it holds the arm until there is a reference"),
    "PASSING": (MODE_PASSING, "the law's torque passes, within the limits"),
    "BRAKING": (MODE_BRAKING, "it brakes and holds the arm until @PREFIX@_enable()"),
}
"""Modes of the gate: their numbers in the rules, and comments."""
CAUSES = {
    "NO_CAUSE": (NO_CAUSE, "it does not brake", ""),
    "NO_COMMAND": (
        *(NO_COMMAND, "the law's torque was refused in max_missed ticks"),
        "the law's torque was refused too often",
    ),
    "NO_STATE": (
        *(NO_STATE, "more than max_missed states that are not finite, or a gap of as many periods"),
        "no state for too long",
    ),
    "IMPOSSIBLE_STATE": (
        *(IMPOSSIBLE_STATE, "a state that the arm cannot be in"),
        "a state that the arm cannot be in",
    ),
    "ASKED": (ASKED, "@PREFIX@_brake()", "asked to"),
    "NO_TIME": (
        *(NO_TIME, "a dt that is not above zero in more than max_missed ticks in a row"),
        "no time passes between the ticks",
    ),
    "BROKEN_CONSTRAINT": (
        *(BROKEN_CONSTRAINT, "the arm starts outside a constraint, or is far outside"),
        "the arm is outside a constraint",
    ),
    "NOT_READY": (
        *(BROKEN_CONSTRAINT + 1, "@PREFIX@_init() refused its parameters, or was not called"),
        "its parameters were refused, or it was not made ready",
    ),
}
"""Why a gate brakes: numbers as of the modes, comments, and sentences."""
HOOKS = {
    "LawMemory.run": "run_law",
    "LawMemory.limit": "limit_torque",
    "LawMemory.constrain": "constrain",
    "PointTick.state": "find_rows",
    "PointTick.points": "find_points",
    "PairCandidates.to_hull": "to_hull",
    "BlindMemory.terms": "predicted_terms",
    "BlindMemory.predict": "go_on",
}
"""C functions of the rules' records; their names have the controller's in front, and ``_of`` behind."""


def _of_candidates(pairs: str) -> dict[str, str]:
    """Places of the numbers of a law of distance, in C, for case j."""
    shape = {name: f"t->{pairs}.shape[{rows.start} + i][j]" for name, rows in PLACES.items()}
    ends = {"a": f"t->{pairs}.ends[i][j]", "b": f"t->{pairs}.ends[3 + i][j]", "radius": f"t->{pairs}.radius[i][j]"}
    return {**ends, **shape, **_distance(f"t->{pairs}.distance"), "between": "t->between[i][j]"}


def _distance(table: str) -> dict[str, str]:
    return {"rho": f"{table}[i][j]", "n": f"{table}[1 + i][j]", "p": f"{table}[4 + i][j]"}


def _of_arm(member: str, reach: int) -> dict[str, str]:
    """Places of what the law of near capsules has of the arm."""
    arm = f"SEARCH_OF(t, {member})->arm"
    shared = {"ends": f"(&{arm}.ends[0][0])[i]", "radii": f"{arm}.radius[i]"}
    return {**shared, "reach": f"SEARCH_OF(t, {member})->reach[{reach}]", "near": "t->near[i][j]"}


def _of_joints(rows: Program) -> dict[str, str]:
    """Places of the numbers of the rows of the joints."""
    of_law = {name: f"OWNER(t, joints)->memory.law.{name}[i]" for name in rows.inputs if name in LawMemory._fields}
    numbers = {"numbers": "((const double *)&OWNER(t, joints)->input.limits)[i]"}
    return {**of_law, **numbers, **{name: f"t->{name}[i]" for name in rows.outputs}}


_LINK = {x: f"t->ends[{3 * k} + i][j]" for k, x in enumerate("abcd")} | {"radius": "t->radius[i][j]", "size": "0.0"}
PAIR_LOOPS: dict[str, tuple[str, dict[str, str]]] = {
    "ArmCapsules.place": ("capsules", {"q": "t->q[i]", "ends": "(&t->ends[0][0])[i]"}),
    "ObstacleRows.find_near": (
        "near",
        {"centre": f"t->numbers[j][{CENTRE.start} + i]", "extent": f"t->numbers[j][{EXTENT.start}]"}
        | {**_of_arm("obstacles", 0), "nearest": "t->nearest[i][j]"},
    ),
    "LinkPairs.find_near": ("near", {"centre": "t->centre[i][j]", "extent": "EXTENTS[j]", **_of_arm("links", 1)}),
    "LinkPairs.measure": ("to_link", {**_LINK, **_distance("t->distance")}),
    **{f"PairCandidates.to_{x}": (f"to_{x}", _of_candidates("pairs")) for x in TYPES if x != "hull"},
    **{f"PairCandidates.search_{x}": (f"search_{x}", _of_candidates("searched")) for x in SEARCHED},
    "ConstraintTick.pairs": (
        "pair",
        {name: f"t->search.near.{name}[i][j]" for name in ("sign", "twist", "is_self")}
        | {**_distance("t->search.near.distance"), "motion": "t->pair_motion[i][j]", "other": "t->pair_other[i][j]"}
        | {"room": "ROOM_OF(t)[i]", "distances": "DISTANCES[i]"}
        | {name: f"t->pair_{name}[i][j]" for name in ("G", "need", "h")},
    ),
}
"""Functions of the search: the program of each case j, and places in C of its inputs and outputs; i counts numbers."""
PAIR_CONSTANTS = {
    "search.reach": float,
    **{f"search.arm.{name}": float for name in ("radius", "bias")},
    **{f"search.arm.{name}": int for name in ("moving", "link")},
    **{f"search.links.{name}": float for name in ("near", "radii", "bias")},
    **{f"search.links.{name}": int for name in ("row", "ball", "first", "second", "group")},
    "search.signs": float,
    "capsule_body": int,
}
"""Arrays of the search that are written once, and the types of their numbers."""
N_OBSTACLES = 32
"""Largest number of obstacles in C."""
OTHER_RANGES = {
    "gains.posture": ("N", -np.inf, "posture is not finite"),
    "limits.velocity_gain": ("N", 0.0, "velocity_gain is below zero"),
    "limits.lower": ("N", -np.inf, "a soft limit is not finite"),
    "limits.upper": ("N", -np.inf, "a soft limit is not finite"),
    "tool": ("@UPPER@_TOOL", -np.inf, "the tool is not finite"),
}
"""More parameters: how many numbers, their lower bound, and what is wrong otherwise."""
FILES = ("check", "main")
"""Names of other files beside a controller's own."""
MOST_MISSED = 1000
"""Largest ``max_missed`` that may be set in C, unless more was exported."""


class ExportedController(NamedTuple):
    """Operational space control behind a gate, for one arm.

    Attributes
    ----------
    name : str
        Beginning of all names in C.
    start : ndarray, shape (nq,)
        Posture in which an example begins [rad or m].
    period : float
        Time between two ticks for which gains are proposed [s].
    driver_adds_gravity : bool
        Whether the driver adds the weight of the arm, so that it gets torque without that.
    """

    name: str
    model: RobotModel
    law: OscParameters
    gate: GateParameters
    start: Array
    period: float
    driver_adds_gravity: bool = False


def exported_controller(scenario: Scenario, name: str = "", *, driver_adds_gravity: bool = False) -> ExportedController:
    """Return the controller of a scenario as it is exported.

    A ParameterError when it is another controller, has parts that stay in Python, a joint mimics another one, or a
    parameter is not allowed.
    """
    model, parameters = arm_and_parameters(scenario)
    if type(parameters) is not OscLoopParameters:
        raise ParameterError(f"{scenario.name}: {scenario.controller} cannot be exported, only osc")
    if parts := between_law_and_gate(parameters):
        raise ParameterError(f"{scenario.name}: {', '.join(parts)} cannot be exported: leave that out")
    if mimics := sorted({*model.urdf.movable_joints} - {*model.joint_names}):
        raise ParameterError(
            f"{scenario.name}: mimic joints cannot be exported: {', '.join(mimics)}: no driver knows that they follow"
        )
    if model.backend != "llvm":
        raise ParameterError(f"{scenario.name}: machine code is not made here ({'; '.join(model.backend_reasons)})")
    position = scenario.nodes.get("simulator", {}).get("initial_position")
    start = start_posture(model) if position is None else np.array(position, dtype=float)
    law = parameters.control.law
    if name and name != identifier(name):
        raise ParameterError(f"'{name}' is no name in C; '{identifier(name)}' would be one")
    if name in FILES:
        raise ParameterError(f"'{name}' is the name of another file that is exported: choose another one")
    if not law.posture:
        law = law.replace(posture=tuple(start.tolist()))
    name = name or identifier(f"{Path(scenario.robot.split()[0]).stem}_osc")
    period = 1.0 / parameters.control.rate
    return ExportedController(name, model, law, parameters.gate, start, period, driver_adds_gravity)


def identifier(name: str) -> str:
    """Return a name of C that is like another name.

    Examples
    --------
    >>> identifier("my-arm 2"), identifier("7dof")
    ('my_arm_2', 'arm_7dof')
    """
    word = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "arm"
    return f"arm_{word}" if word[0].isdigit() else word


def step_programs(model: RobotModel, law: OscParameters, limits: JointLimits) -> dict[str, Program]:
    """Return the programs by their names; without ``regular`` where there are no regular states.

    The numbers of the gate's limits are inputs, but for joints without limits of position.
    """
    laws = osc_laws(model.tree, OperationalSpaceController(model, law), limits)
    outputs = (*OUTPUTS, "regularity") if len(laws) == 2 else OUTPUTS
    programs = [_with_outputs(law.program(), outputs) for law in laws]
    names = (REGULAR, ALL)[-len(laws) :]
    return {
        **dict(zip(names, programs, strict=True)),
        LIMITS: limits_law(limits.is_unlimited).program(),
        JOINT_ROWS: joint_rows_law(limits.is_unlimited).program(),
    }


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


def pieces_of(
    controller: ExportedController,
    limits: JointLimits,
    programs: Mapping[str, Program],
    kept: PointParts | None,
    near: PairParts | None,
) -> dict[str, str]:
    """Return the text for each name; ``kept`` and ``near`` are the constraints, if there are any."""
    name, model, gate = controller.name, controller.model, controller.gate
    step, cut, rows = programs.get(REGULAR, programs[ALL]), programs[LIMITS], programs[JOINT_ROWS]
    texts = {**_names(), **_bounds()}
    program = new_tick_memory(model, gate, controller.period).joints.program
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
        "LIMITS_RECORDS": "\n\n".join(
            f"typedef struct {{\n{fields(sizes)}\n}} limits_{kind};"
            for kind, sizes in (("input", cut.inputs), ("output", _sizes(cut)))
        ),
        "COPY_STEP_INPUT": _copies("c->input", "law", step.inputs),
        "COPY_STEP_OUTPUT": _copies("law", "c->output", step.outputs),
        "COPY_LIMITS_INPUT": _copies("x", "law", cut.inputs),
        "COPY_LIMITS_OUTPUT": _copies("law", "y", cut.outputs),
        "JOINT_ROWS": _loop(name, "JointProgram.rows", rows, JOINT_ROWS, _of_joints(rows)),
        "DEFAULTS": _defaults(controller, limits),
        "PROGRAM_START": f"    m->joints.program.width = {program.width};\n"
        f"    m->joints.program.counts[N_STEPS_MAX] = {program.counts[N_STEPS_MAX]};",
        "MAX_MISSED": str(gate.max_missed),
        "MOST_MISSED": str(max(MOST_MISSED, gate.max_missed)),
        "START": numbers(controller.start),
        "NAMED_GAINS": "\n".join(f'  {{"{gain}", &{name}_gains::{gain}}},' for gain in GAINS),
        **_rules(controller, kept, near),
        **_constraint_pieces(kept, near, name, gate.constraints),
        **{key: text.replace("@PREFIX@", name).replace("@UPPER@", name.upper()) for key, text in texts.items()},
    }


def _sizes(program: Program) -> dict[str, int]:
    return {name: int(np.prod(shape)) for name, shape in program.outputs.items()}


def _copies(target: str, source: str, names: Iterable[str]) -> str:
    """Copies of the arrays that the rules and a program have by the same names."""
    pairs = [
        [f"{place}{'->' if place == 'law' else '.'}{name}" for place in (target, source)]
        for name in names
        if name in LawMemory._fields
    ]
    return "\n".join(f"    memcpy({to}, {what}, sizeof {to});" for to, what in pairs)


def _constraint_pieces(kept: PointParts | None, near: PairParts | None, name: str, file: str) -> dict[str, str]:
    """The constraints: their memory, the numbers of each point, and the functions that the rules call."""
    nothing = dict.fromkeys(("CONSTRAINT_RECORDS", "CONSTRAINT_MEMORY", "CONSTRAINT_START", "OBSTACLES"), "")
    if kept is None:
        function = f"static double {name}_constrain_of({name}_LawMemory *law)\n{{\n    (void)law;\n    return 0.0;\n}}"
        return {**nothing, "CONSTRAIN": function}
    point, n = kept.point.inputs, kept.rows.n_points
    own = [x for x in point if x not in ("place", "motion", "room")]
    x = kept.columns
    table = [
        f"    {{{', '.join(f'{{{numbers(x[key][:, j])}}}' for key in own)},\n"
        f"     {number(x['outside'][j])}, {number(x['broken'][j])}, {x['ball'][j]}, {x['body'][j]}, {x['level'][j]}}},"
        for j in range(n)
    ] or ["    {.ball = 0},"]
    sizes = {"ROWS_INPUT": kept.state.inputs, "POINT_INPUT": point, "POINT_OUTPUT": _sizes(kept.point)}
    pieces = {key: fields(value) for key, value in sizes.items()}
    pieces |= {"OF_POINT": fields({key: point[key] for key in own}), "POINTS": "\n".join(table), "PREFIX": name}
    pieces |= {"COPY_ROWS_INPUT": _copies("x", "law", kept.state.inputs), "N_POINTS": str(n)}
    pieces["N_PLACE"] = str(point["place"])
    pieces["COPY_OF_POINT"] = "\n".join(f"        memcpy(x.{key}, POINTS[j].{key}, sizeof x.{key});" for key in own)
    record = "PointTick points" if near is None else "ConstraintTick tick"
    made = {
        **nothing,
        "CONSTRAINT_RECORDS": f"typedef struct {{\n{fields(_sizes(kept.state))}\n}} {name}_rows;\n",
        "CONSTRAINT_MEMORY": f"    {name}_rows rows;\n    {name}_{record};",
        "CONSTRAINT_START": f"    start_constraints(c, {int(read_constraints(file).allow_recovery)});",
    }
    if near is None:
        pieces |= {"PLACE_OF_POINTS": "points", "COPY_MOTIONS": "", "KEEP": f"    {name}_keep_points(t);"}
        return {**made, "CONSTRAIN": filled("constraints.c", pieces)}
    pieces |= {"PLACE_OF_POINTS": "tick.rows", **KEEP_PAIRS, **_pair_pieces(near, name)}
    pieces["KEEP"] = KEEP_PAIRS["KEEP"].format(name=name)
    made["CONSTRAINT_START"] += "\n    start_pairs(c);"
    functions = filled("constraints.c", pieces) + "\n" + filled("pairs.c", pieces)
    return {**made, "CONSTRAIN": functions, "OBSTACLES": filled("obstacles.h", pieces)}


KEEP_PAIRS = {
    "COPY_MOTIONS": "    memcpy(c->tick.motions, c->rows.motions, sizeof c->tick.motions);\n",
    "KEEP": "    memcpy(c->tick.q, law->q, sizeof law->q);\n    {name}_constrain(&c->tick);",
}
"""Copies and calls of a tick with near pairs."""


def _pair_pieces(near: PairParts, name: str) -> dict[str, str]:
    """The search for near pairs: its laws, its numbers, and its loops."""
    functions = [f"void {name}_step_{law}(const double *input, double *output);" for law in near.programs]
    return {
        "LAWS": "\n".join(functions),
        "LOOPS": "\n\n".join(_loop(name, place, near.programs[law], law, x) for place, (law, x) in PAIR_LOOPS.items()),
        "COLUMNS": str(near.tick.search.links.centre.shape[1]),
        "EXTENTS": numbers(near.extents),
        "DISTANCES": numbers(near.distances),
        "PAIR_CONSTANTS": "\n".join(_pair_constants(near.tick)),
        "N_SHAPE": str(N_SHAPE),
        "N_OBSTACLES": str(N_OBSTACLES),
        "UPPER": name.upper(),
    }


def _loop(name: str, place: str, program: Program, law: str, places: Mapping[str, str]) -> str:
    """A function of a record of the search: a law for all cases, or for one."""
    record, field = place.split(".")
    is_loop = place not in ("ArmCapsules.place", "JointProgram.rows")
    lines = ["for (int64_t j = 0; j < n; j++) {"] if is_loop else ["{"]
    for array, sizes in (("x", dict(program.inputs)), ("y", _sizes(program))):
        first = 0
        for key, size in sizes.items():
            if key in places:
                number_, there = f"{array}[{first} + i]", places[key]
                copied = f"{number_} = {there};" if array == "x" else f"{there} = {number_};"
                lines += [f"    for (int i = 0; i < {size}; i++)", f"        {copied}"]
            first += size
        lines += [f"    {name}_step_{law}(x, y);"] if array == "x" else ["}", "return 0.0;"]
    head = f"static double {name}_{record}_{field}_of({name}_{record} *t{', int64_t n' * is_loop})"
    memory = f"double x[{sum(program.inputs.values())}], y[{sum(_sizes(program).values())}];"
    return "\n".join([head, "{", *(f"    {line}" for line in [memory, *lines]), "}"])


def _pair_constants(tick: ConstraintTick) -> Iterator[str]:
    """What the search is written with once: whole numbers of its records, and :data:`PAIR_CONSTANTS`."""
    for place, value in _whole_numbers("tick", tick):
        yield f"    c->{place} = {value};"
    for place, kind in PAIR_CONSTANTS.items():
        values, word = attrgetter(place)(tick).ravel().tolist(), place.replace(".", "_")
        text = numbers(values) if kind is float else wrapped(map(str, values))
        yield f"    static const {'double' if kind is float else 'int64_t'} {word}[] = {{\n        {text}}};"
        yield f"    memcpy(c->tick.{place}, {word}, sizeof {word});"


def _whole_numbers(place: str, record: Any) -> Iterator[tuple[str, int]]:
    """Fields of a record, and of those in it, that are whole numbers."""
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, int):
            yield f"{place}.{name}", value
        elif isinstance(value, tuple):
            yield from _whole_numbers(f"{place}.{name}", value)


def _rules(controller: ExportedController, kept: PointParts | None, near: PairParts | None) -> dict[str, str]:
    """The rules as C, and the ranges of the arm."""
    memory = new_tick_memory(controller.model, controller.gate, controller.period)
    prefix, ranges = f"{controller.name}_", memory.states.ranges
    hooks = {name: f"{prefix}{function}_of" for name, function in HOOKS.items()}
    hooks |= {place: f"{prefix}{place.replace('.', '_')}_of" for place in (*PAIR_LOOPS, "JointProgram.rows")}
    entries: list[Procedure[..., Any]] = [answer, enable_gate, brake_for, take_reference, take_torque]
    entries += [longest_blind_step, predict]
    if kept is not None:  # records of one kind have one size
        program = (kept.rows if near is None else near.tick.rows).program
        memory = memory._replace(joints=memory.joints._replace(program=program))
    records: dict[type, tuple[object, ...]] = {TickMemory: memory}
    if near is not None:
        records[ConstraintTick] = near.tick
        entries += [constrain, write_obstacle, order_obstacles]
    elif kept is not None:
        records[PointTick] = kept.rows
        entries.append(keep_points)
    parts = c_parts(entries, records, hooks, prefix)
    return {
        "RECORDS": parts.records,
        "CONSTANTS": parts.constants,
        "PROTOTYPES": parts.prototypes,
        "FUNCTIONS": parts.functions,
        "STATE_RANGES": "\n".join(
            [
                *(f"    .{name} = {{{numbers(x)}}}," for name, x in zip(ranges._fields, ranges[:-1], strict=False)),
                "    .n = N,",
            ]
        ),
    }


def _names() -> dict[str, str]:
    """Names of modes and causes, and the sentences of these."""
    rows = {"MODES": MODES, "CAUSES": {name: row[:2] for name, row in CAUSES.items()}}
    texts = {
        key: "\n".join(f"    @UPPER@_{name} = {k}, /* {x} */" for name, (k, x) in rows[key].items()) for key in rows
    }
    sentences = [f'        [@UPPER@_{name}] = "{sentence}",' for name, (_, _, sentence) in CAUSES.items()]
    return {**texts, "SENTENCES": "\n".join(sentences)}


def _bounds() -> dict[str, str]:
    """Bounds of the parameters, which are those in Python."""
    gains = {
        f"gains.{name}": OscParameters.spec(name) if name in OscParameters.types() else Spec("damping")
        for name in GAINS
    }
    gate = {
        place: GateParameters.spec(place.rpartition(".")[2])
        for place in ("limits.rate_limit", "limits.limit_damping", "brake_damping")
    }
    rows = [
        (place, "1", _lower(spec), _upper(spec), f"{place.rpartition('.')[2]} is out of bounds: {spec}")
        for place, spec in {**gains, **gate}.items()
    ]
    rows += [(place, size, low, np.inf, fault) for place, (size, low, fault) in OTHER_RANGES.items()]
    damping = OscParameters.spec("damping_ratio")
    return {
        "RANGES": "\n".join(map(_range, rows)),
        "LEAST_DAMPING": number(_lower(damping)),
        "LARGEST_DAMPING": number(_upper(damping)),
        "LEAST_STIFFNESS": number(_lower(GateParameters.spec("limit_stiffness"))),
        "LARGEST_STIFFNESS": number(LARGEST_STIFFNESS),
    }


def _range(row: tuple[str, str, float, float, str]) -> str:
    place, size, low, high, fault = row
    structure = f"offsetof(@PREFIX@_parameters, {place})"
    return f'    {{{structure}, {size}, {number(low)}, {number(high)},\n     "{fault}"}},'


def _lower(spec: Spec) -> float:
    return -np.inf if spec.lower is None else spec.lower


def _upper(spec: Spec) -> float:
    return np.inf if spec.upper is None else spec.upper


def _defaults(controller: ExportedController, limits: JointLimits) -> str:
    gate = controller.gate
    values = {
        "gains": f"{{\n{_gains(controller.law, controller.model.joint_names)}\n    }}",
        "limits": f"{{\n{_limits(limits)}\n    }}",
        "tool": f"{{{numbers(tool_numbers(controller.model.tree))}}}",
        "brake_damping": number(gate.brake_damping),
        "max_missed": str(gate.max_missed),
        "joint_limits": str(int(gate.joint_limits)),
        "driver_adds_gravity": str(int(controller.driver_adds_gravity)),
    }
    return "\n".join(f"    .{name} = {value}," for name, value in values.items())


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


def numbers(values: Iterable[float]) -> str:
    """Return numbers with commas between them, in as many lines as they need."""
    return wrapped([number(value) for value in values])


def wrapped(words: Iterable[str]) -> str:
    """Return words with commas between them, in as many lines as they need."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > WIDTH - 14:
            lines.append("")
        lines[-1] += f"{word}, "
    return "\n        ".join(line.rstrip() for line in lines).rstrip(",")


def text_of(word: str) -> str:
    """Return a string of C; bytes that are neither letters nor digits are written as numbers.

    Examples
    --------
    >>> print(text_of("tool0"), text_of('"').count("042"))
    "tool0" 1
    """
    return f'"{"".join(map(_letter, word.encode()))}"'


def _letter(byte: int) -> str:
    letter = chr(byte)
    return letter if letter.isascii() and (letter.isalnum() or letter in "_-. ") else f"\\{byte:03o}"


def comment(word: str) -> str:
    """Return a word that cannot end a comment of C."""
    return re.sub(r"[^\w .:+-]", "_", word)


def fields(shapes: Mapping[str, int]) -> str:
    """Return fields of a structure: arrays of numbers by their names and sizes."""
    return "\n".join(f"    double {name}[{size}];" for name, size in shapes.items())


def filled(template: str, pieces: Mapping[str, str]) -> str:
    """Return a text that comes with the package, below ``export/``, with a piece for each ``@NAME@`` in it."""
    text = share_path("export", f"{template}.in").read_text(encoding="utf-8")
    return PLACE.sub(lambda place: pieces[place[1]], text)
