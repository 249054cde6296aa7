"""An arm as one module of WebAssembly: model, law, gate and forward dynamics, and the memory that they work on.

The gate is the procedure of an exported controller (:func:`arm_control.export.tick_rules.answer`). Model, law and
limits are the programs of :func:`~arm_control.export.c_pieces.step_programs`, avoidance comes between them where it is
asked for:

    run_step:   regular(x), or all(x) where a direction fades; then avoid(x) and limits(x)

The arm itself is a step of :mod:`arm_control.simulation.rigid_body`, semi-implicit.

The memory has records and arrays of Python, as procedures and programs read them. A record has slots of 64 bits
(:mod:`arm_control.compiler.procedures`), with addresses of 32 bits in them; a function is its place in the module's
table, from 1 on, and what it takes. Every program takes the begin of the memory: the places of its inputs and outputs
are those of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import Floats, Ints, PlacedProgram, Procedure, Program, RunsKernel, procedure, web_module
from arm_control.constraints import floor_of_inertia
from arm_control.control import AvoidanceParameters, OperationalSpaceController, avoidance_numbers
from arm_control.exceptions import ParameterError
from arm_control.export.c_pieces import ALL, JOINT_ROWS, LIMITS, REGULAR, ExportedController, step_programs
from arm_control.export.page_laws import avoided_links, ball_law, fading_law, frames_law, motion_terms
from arm_control.export.tick_rules import (
    ASKED,
    CAUSE,
    TickMemory,
    answer,
    brake_for,
    enable_gate,
    new_tick_memory,
    take_reference,
)
from arm_control.gate import MODE, JointLimits, predict
from arm_control.maths import Array
from arm_control.model import tool_numbers
from arm_control.simulation import StepLaw

BEGIN = 1 << 16
"""Address of the first array [bytes]; below it is the stack."""
WORD = 8
"""Bytes of a number."""
Record = tuple[Any, ...]
DAMPING = 0.1
"""Viscous damping of the joints of the simulated arm [N m s/rad]."""
HIDDEN = 5.0
"""Height of the ball before it is asked for [m]."""
BALL_RADIUS = 0.08
"""Of the ball that is avoided [m]."""
AVOIDS, FADES = 0, 1
"""Entries of ``options``."""
ENTRIES = {"MODE": MODE, "CAUSE": CAUSE, "ASKED": ASKED, "AVOIDS": AVOIDS, "FADES": FADES}
"""Entries and numbers that the page knows by name."""
AVOID = "avoid"
PROCEDURES: dict[str, Procedure[..., Any]] = {
    "answer": answer,
    "enable_gate": enable_gate,
    "brake_for": brake_for,
    "take_reference": take_reference,
    "predict": predict,
}
"""Procedures of the module, beside :func:`run_step`."""


class WebMemory:
    """Memory that grows while records and arrays are placed in it; arrays keep the values that they have then.

    Attributes
    ----------
    data : bytearray
        The memory from :data:`BEGIN` on.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self._addresses: dict[int, int] = {}
        self._kept: list[Array] = []

    def address(self, array: Array) -> int:
        """Return where an array is; a new one is placed."""
        key = array.__array_interface__["data"][0]
        if key not in self._addresses:
            self._addresses[key] = BEGIN + len(self.data)
            self._kept.append(array)
            self.data += np.ascontiguousarray(array).tobytes()
        return self._addresses[key]

    def record(self, record: Record, functions: Mapping[str, tuple[int, int]]) -> int:
        """Place a record, and return its address; ``functions`` have their places in the table, and their arguments."""
        slots: list[int] = []
        for name, value in _fields(record):
            if isinstance(value, tuple):
                slots.append(self.record(value, functions))
            elif isinstance(value, np.ndarray):
                slots += [self.address(value), *(x // value.itemsize for x in value.strides[:-1])]
            elif isinstance(value, float):
                slots.append(int(np.float64(value).view(np.int64)))
            else:
                slots += [value] if isinstance(value, int) else functions[name]
        return self.address(np.array(slots, dtype=np.int64))

    def placed(self, program: Program, arrays: Mapping[str, Array]) -> PlacedProgram:
        """Return a program that works on arrays by the names of its inputs and outputs."""
        sizes = {name: math.prod(shape) for name, shape in program.outputs.items()}
        return PlacedProgram(program, self._entries(program.inputs, arrays), self._entries(sizes, arrays))

    def _entries(self, sizes: Mapping[str, int], arrays: Mapping[str, Array]) -> tuple[int, ...]:
        for name, size in sizes.items():
            if arrays[name].size != size:
                raise ValueError(f"'{name}' has {arrays[name].size} numbers, the program {size}")
        firsts = {name: (self.address(arrays[name]) - BEGIN) // WORD for name in sizes}
        return tuple(k for name, size in sizes.items() for k in range(firsts[name], firsts[name] + size))

    def places(self, arrays: Mapping[str, Array]) -> dict[str, tuple[int, int, bool]]:
        """Return address, size and whether they are whole numbers, of arrays by name."""
        return {name: (self.address(x), x.size, x.dtype.kind == "i") for name, x in arrays.items()}


def arrays_of(record: Record, prefix: str = "") -> dict[str, Array]:
    """Return the arrays of a record and of those in it, by names as ``gate.tau``."""
    arrays: dict[str, Array] = {}
    for name, value in _fields(record):
        if isinstance(value, tuple):
            arrays |= arrays_of(value, f"{prefix}{name}.")
        elif isinstance(value, np.ndarray):
            arrays[prefix + name] = value
    return arrays


def _fields(record: Record) -> Iterator[tuple[str, Any]]:
    return zip(record._fields, record, strict=True)  # type: ignore[attr-defined]


# -- the arm


class StepChoice(NamedTuple):
    """What :func:`run_step` works on.

    Attributes
    ----------
    regular, whole, avoid, limit : RunsKernel
        The programs; where there are no regular states, ``regular`` is ``whole``.
    regularity : ndarray, shape (1,)
        Above zero where ``regular`` counts.
    options : ndarray of int64, shape (2,)
        Whether the arm avoids the ball; whether directions fade at a singularity.
    """

    regular: RunsKernel
    whole: RunsKernel
    avoid: RunsKernel
    limit: RunsKernel
    regularity: Floats
    options: Ints


@procedure
def run_step(step: StepChoice) -> float:
    """Model, law, avoidance and limits in one state; return 0."""
    step.regular()
    if step.options[FADES] == 1 and not step.regularity[0] > 0.0:
        step.whole()
    if step.options[AVOIDS] == 1:
        step.avoid()
        step.limit()
    return 0.0


class WebArm(NamedTuple):
    """A module, and the memory that it begins with.

    Attributes
    ----------
    functions : list of str
        The functions in its table, from 1 on.
    places : dict
        Address, size and kind of each array (:meth:`WebMemory.places`).
    record : int
        Address of the controller's record, which procedures take.
    """

    module: bytes
    memory: bytes
    programs: dict[str, PlacedProgram]
    functions: list[str]
    places: dict[str, tuple[int, int, bool]]
    record: int


def web_arm(controller: ExportedController) -> WebArm:
    """Return an arm, its controller and its gate for a browser, at rest in the controller's start posture."""
    if controller.gate.constraints:
        raise ParameterError(f"{controller.name}: a page keeps no constraints: leave them out")
    unset = float  # functions of the module take its place
    tick = new_tick_memory(controller.model, controller.gate, controller.period)
    page = OperationalSpaceController(controller.model, controller.law)
    arrays, memory = _arrays(controller, page, tick), WebMemory()
    places = memory.places(arrays)
    programs = {
        name: memory.placed(program, arrays | own) for name, program, own in _programs(controller, page, tick, arrays)
    }
    functions = [*programs, "run_step", "predict"]
    table = {name: k for k, name in enumerate(functions, 1)}
    choice = StepChoice(unset, unset, unset, unset, arrays["regularity"], arrays["options"])
    fields = {"regular": REGULAR if REGULAR in programs else ALL, "whole": ALL, "limit": LIMITS, "terms": "terms"}
    fields |= {"constrain": LIMITS, "rows": JOINT_ROWS}  # the first is never called
    fields["avoid"] = AVOID if AVOID in programs else LIMITS
    called = {field: (table[name], BEGIN) for field, name in fields.items()}
    called["predict"] = table["predict"], memory.record(tick.blind.prediction, {})
    called["run"] = table["run_step"], memory.record(choice, called)
    record = memory.record(tick, called)
    module = web_module(programs, {**PROCEDURES, "run_step": run_step})
    return WebArm(module, bytes(memory.data), programs, functions, places, record)


def _arrays(controller: ExportedController, page: OperationalSpaceController, tick: TickMemory) -> dict[str, Array]:
    """All arrays by the names that programs and the page have for them, and with the values at the start."""
    model, n, m = controller.model, controller.model.nv, len(page.structure.rows)
    limits, X = JointLimits(model, controller.gate, controller.gate.rate_limit), model.pose(controller.start)
    numbers, _, damping = avoidance_numbers(AvoidanceParameters())
    inputs = {
        "reference": np.concatenate([X.R.ravel(), X.p, np.zeros(12)]),
        "tool": tool_numbers(model.tree),
        "tau_dist": np.zeros(n),
        "numbers": page.numbers,
        "limits": limits.numbers,
        "ball": np.array([0.0, 0.0, HIDDEN, BALL_RADIUS]),
        "avoidance": np.array(numbers),
        "damping": np.array([damping]),
        "floor": floor_of_inertia(model.tau_max, model.v_max),
        "V_max": np.array(page.speed_limits),
        "options": np.array([0, 1], dtype=np.int64),
    }
    plant = {
        "x": np.concatenate([controller.start, np.zeros(n)]),
        "load": np.zeros(n),
        "tau_max": model.tau_max,
        "b": np.full(n, DAMPING),
        "step": np.array([controller.period]),
    }
    sizes = {"R_WE": 9, "p_WE": 3, "V_WE": 6, "J": 6 * n, "parts": 4 * n, "error": 6, "tau_avoid": n}
    sizes |= {"sigma": m, "shares": m, "directions": m * m, "frames": 12 * len(model.frames)}
    outputs = {name: np.zeros(size) for name, size in sizes.items()}
    flags = {"regularity": np.ones(1), "share": np.ones(1), "distance": np.full(1, HIDDEN)}
    return {**arrays_of(tick), **arrays_of(tick.law), **inputs, **plant, **outputs, **flags}


def _programs(
    controller: ExportedController, page: OperationalSpaceController, tick: TickMemory, arrays: Mapping[str, Array]
) -> Iterator[tuple[str, Program, dict[str, Array]]]:
    """Each program with its name, and with arrays that have other names there."""
    model, prediction, x = controller.model, tick.blind.prediction, arrays["x"]
    steps = step_programs(model, controller.law, JointLimits(model, controller.gate, controller.gate.rate_limit))
    joints, numbers = tick.joints, {"numbers": arrays["limits"]}
    rows = {**numbers, **arrays_of(joints)}
    for name, program in steps.items():
        yield name, program, {LIMITS: numbers, JOINT_ROWS: rows}.get(name, {})
    yield "terms", motion_terms(model).program(), arrays_of(prediction)
    yield "fading", fading_law(model, page).program(), {}
    yield "frames", frames_law(model).program(), {"q": x[: model.nv]}
    yield "move", StepLaw(model.tree, "semi_implicit").law().program(), {"tau": tick.gate.tau, "dt": arrays["step"]}
    if avoided_links(model):
        yield AVOID, ball_law(model, arrays["avoidance"].size).program(), {}
