"""Programs and procedures as one module of WebAssembly, by LLVM; nothing else is needed, neither compiler nor linker.

LLVM's object file for wasm32 is a module already, but for its exports: memory, table and stack pointer are imports, and
so are the functions of C that it calls. It numbers functions as a module does; sections for linkers are left out.

No product is fused with a sum, here or for this machine (:func:`machine_module`), and neither sines nor arc tangents
are those of a library. So both have the same bits for the same numbers.

Source of the arc tangent: fdlibm, S. Moshier and K. C. Ng, 1993; its error is about one unit in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arm_control.compiler.llvm_code import called_code, placed_function
from arm_control.compiler.procedures import Procedure, procedure
from arm_control.compiler.program import Program
from arm_control.exceptions import ModelError

TRIPLE = "wasm32-unknown-unknown"
"""LLVM's name of the processor."""
PI, HALF_PI, QUARTER_PI = 3.141592653589793, 1.5707963267948966, 0.7853981633974483
PI_REST = 1.2246467991473532e-16
"""pi less its nearest number."""
STEEP = 0.41421356237309503
"""tan(pi / 8)."""


class PlacedProgram(NamedTuple):
    """A program that works on numbers in one block of memory.

    Attributes
    ----------
    inputs, outputs : tuple of int
        Place in the block of each entry of all inputs, and of all outputs.
    """

    program: Program
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@procedure
def arc_tangent(y: float, x: float) -> float:
    """Return the angle of a point, between -pi and pi, as ``math.atan2`` does."""
    a = abs(x)
    b = abs(y)
    angle = 0.0 if a == 0.0 and b == 0.0 else steepness(min(a, b), max(a, b))
    if b > a:
        angle = HALF_PI - (angle - 0.5 * PI_REST)
    if x < 0.0:
        angle = PI - (angle - PI_REST)
    return -angle if y < 0.0 else angle


@procedure
def steepness(rise: float, run: float) -> float:
    """Return the angle of a slope between 0 and 1."""
    is_steep = rise > STEEP * run
    t = (rise - run) / (rise + run) if is_steep else rise / run
    z = t * t
    w = z * z
    even = 0.0497687799461593236017 + w * 0.0162858201153657823623
    even = 0.0666107313738753120669 + w * even
    even = 0.0909088713343650656196 + w * even
    even = 0.142857142725034663711 + w * even
    even = z * (0.333333333333329318027 + w * even)
    odd = -0.0583357013379057348645 - w * 0.036531572744216915527
    odd = -0.0769187620504482999495 + w * odd
    odd = -0.111111104054623557880 + w * odd
    odd = w * (-0.199999999998764832476 + w * odd)
    change = t * (even + odd)
    return QUARTER_PI - ((change - 0.25 * PI_REST) - t) if is_steep else t - change


def web_module(programs: Mapping[str, PlacedProgram], procedures: Mapping[str, Procedure[..., Any]]) -> bytes:
    """Return a module with a function for each program, ``double NAME(ptr block)``, and for each procedure.

    Its imports are ``env.__linear_memory``, the table ``env.__indirect_function_table``, the global
    ``env.__stack_pointer``, and functions of C, as far as they are needed.
    """
    return _with_exports(_object(programs, procedures, TRIPLE), [*programs, *procedures])


def machine_module(programs: Mapping[str, PlacedProgram]) -> bytes:
    """Return an object file for this machine with the same functions, which compute the same bits."""
    return _object(programs, {}, "")


def _object(programs: Mapping[str, PlacedProgram], procedures: Mapping[str, Procedure[..., Any]], triple: str) -> bytes:
    from arm_control.compiler.llvm_compiler import compile_linked  # noqa: PLC0415  llvmlite may be missing
    from arm_control.compiler.llvm_procedure import procedure_code  # noqa: PLC0415

    lines = called_code([placed.program for placed in programs.values()], 1, has_fma=False)
    for name, placed in programs.items():
        lines += placed_function(placed.program, name, placed.inputs, placed.outputs)
    code = "\n".join(lines).replace(" contract ", " ")
    texts = [procedure_code(entry, name) for name, entry in {"atan2": arc_tangent, **procedures}.items()]
    return compile_linked(code, texts, triple)


# -- the form of a module


CUSTOM, EXPORTS, FUNCTION_SYMBOLS, DATA_SYMBOL, SYMBOL_TABLE = 0, 7, (0, 2, 4, 5), 1, 8
"""Sections, kinds of symbols, and the part of the section for linkers that lists these."""
UNDEFINED, HAS_NAME = 0x10, 0x40
"""Flags of symbols."""


class _Bytes:
    """Reads numbers and names one behind the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self) -> int:
        """A number in groups of seven bits, the lowest first."""
        value, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
        return value

    def part(self) -> bytes:
        return self.take(self.number())


def _number(value: int) -> bytes:
    head = bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
    return head + _number(value >> 7) if value > 0x7F else head


def _part(data: bytes) -> bytes:
    return _number(len(data)) + data


def _with_exports(data: bytes, names: list[str]) -> bytes:
    """An object file as a module that exports functions."""
    sections = [(kind, part) for kind, part in _sections(data) if kind != CUSTOM]
    places = dict(symbol for kind, part in _sections(data) if kind == CUSTOM for symbol in _functions(part))
    exports = b"".join(_part(name.encode()) + b"\0" + _number(places[name]) for name in names)
    before = [section for section in sections if section[0] < EXPORTS]
    after = [section for section in sections if section[0] > EXPORTS]
    whole = [*before, (EXPORTS, _number(len(names)) + exports), *after]
    return data[:8] + b"".join(bytes([kind]) + _part(part) for kind, part in whole)


def _sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    source = _Bytes(data[8:])
    while source:
        yield source.take(1)[0], source.part()


def _functions(section: bytes) -> Iterator[tuple[str, int]]:
    """Names and numbers of the functions that the section for linkers lists."""
    source = _Bytes(section)
    if source.part() != b"linking":
        return
    source.number()  # the version
    while source:
        kind, part = source.take(1)[0], _Bytes(source.part())
        for _ in range(part.number() if kind == SYMBOL_TABLE else 0):
            of, flags = part.take(1)[0], part.number()
            if of == DATA_SYMBOL:
                raise ModelError("a module of WebAssembly with data of its own is not made")
            number = part.number()
            if of in FUNCTION_SYMBOLS and (not flags & UNDEFINED or flags & HAS_NAME):
                name = part.part().decode()
                if of == 0:
                    yield name, number
