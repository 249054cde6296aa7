"""A program as LLVM's intermediate language, for one state, or what loops over many are made of.

One state: ``double NAME(ptr work)``. The work space holds all inputs, then all outputs; it returns 0 where every input
is finite, else nan.

Many states (:mod:`arm_control.compiler.llvm_loops`) are computed several at a time, one in each lane of the vector
registers. Results are turned in the registers, so that a row is written as it lies in memory.

For a linker, and any processor that LLVM knows, a program is ``void NAME(const double *inputs, double *outputs)``. All
inputs lie side by side, in the program's order, and so do all outputs. Such a function has no state, allocates nothing,
and needs nothing but ``libm``.

Sines of a vector: the angle less the nearest multiple of pi/2, in three parts, of which the products with the first two
are exact, then the polynomials of fdlibm (S. Moshier; K. C. Ng, 1993), about one unit in the last place. An angle
beyond 1e5 rad goes to the C library instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from arm_control.compiler.llvm_writer import Writer, finite
from arm_control.compiler.program import FoldedProgram, Operation, Program

LANES = 8
_SINES = ("sin", "cos")
_PACKED = (*_SINES, "exp")
"""Functions of which one state computes up to LANES at once."""
_INTRINSICS = ("sqrt", "roundeven", "arithmetic.fence")
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
Entry: TypeAlias = Callable[[int], str]
"""Returns one of the entries of all inputs, by its number: of a list, or loaded when it is asked for."""


def scalar_code(program: Program, name: str) -> str:
    """Intermediate code for one state."""
    n_inputs = sum(program.inputs.values())
    compute = placed_function(program, name, range(n_inputs), range(n_inputs, n_inputs + len(program.results)))
    return "\n".join([*called_code([program], 1), *compute])


def placed_function(program: Program, name: str, inputs: Iterable[int], outputs: Iterable[int]) -> list[str]:
    """``double NAME(ptr work)`` for one state, with the place in ``work`` of each entry of all inputs and outputs."""
    code = Writer(1)
    entries = [code.load("%w", str(i)) for i in inputs]
    for place, result in zip(outputs, body(code, program, entries.__getitem__), strict=True):
        code.line(f"store double {result}, ptr {code.address('%w', str(place))}, align 8")
    code.line(f"ret double {finite(code, entries)}")
    return [f"define double @{name}(ptr %w) {{", *code.lines, "}"]


def body(code: Writer, program: Program, entry: Entry) -> list[str]:
    """Write the program's lines; returns the names of its results.

    Lines are sorted by how many sines and exponentials lie one behind the other in them, so that those of one depth are
    computed at once.
    """
    values = [""] * len(program.lines)
    depths = _depths(program)
    for depth in range(max(depths, default=0) + 1):
        here = [number for number, d in enumerate(depths) if d == depth]
        _sines(code, program, [number for number in here if program.lines[number].name in _SINES], values)
        if code.width == 1:
            _packed_exponentials(code, program, [n for n in here if program.lines[n].name == "exp"], values)
        for number in here:
            if not values[number]:
                values[number] = _line(code, program.lines[number], values, entry)
    return [values[result] for result in program.results]


def called_code(programs: Iterable[Program | FoldedProgram], width: int, has_fma: bool = True) -> list[str]:
    """What the lines of :func:`body` call; of one state its functions compute :data:`LANES` at once."""
    lanes = LANES if width == 1 else width
    has_exp = any(program.uses("exp") for program in programs)
    exponential = exponential_function(lanes, has_fma) if has_exp else []
    return [*_declarations(width), *sine_function(lanes, has_fma), *exponential]


def _depths(program: Program) -> list[int]:
    depths: list[int] = []
    for line in program.lines:
        depths.append(max((depths[k] for k in line.operands), default=0) + (line.name in _PACKED))
    return depths


def _line(code: Writer, line: Operation, values: list[str], entry: Entry) -> str:  # noqa: PLR0911
    name, a = line.name, line.a
    if name == "constant":
        return code.constant(a)
    if name == "input":
        return entry(int(a))
    x = [values[k] for k in line.operands]
    if name == "neg":
        return code.op(f"fneg {code.type} {x[0]}")
    if name == "sqrt":
        return code.op(f"call {code.type} @llvm.sqrt.{code.suffix}({code.type} {x[0]})")
    if name == "round":
        return code.op(f"call {code.type} @llvm.roundeven.{code.suffix}({code.type} {x[0]})")
    if name == "stored":
        return code.op(f"call {code.type} @llvm.arithmetic.fence.{code.suffix}({code.type} {x[0]})")
    if name == "exp":
        return code.op(f"call {code.type} @exponential({code.type} {x[0]})")
    if name == "atan2":
        return code.each_lane("atan2", *x)
    if name in ("max", "select"):
        above, chosen, other = (x[1], x[0], x[1]) if name == "max" else (code.constant(0.0), x[1], x[2])
        flag = code.op(f"fcmp ogt {code.type} {x[0]}, {above}")
        return code.op(f"select {code.flags} {flag}, {code.type} {chosen}, {code.type} {other}")
    return code.op(f"{_ARITHMETIC[name]} contract {code.type} {x[0]}, {x[1]}")


def _sines(code: Writer, program: Program, sine_lines: list[int], values: list[str]) -> None:
    """Sine and cosine of every angle these lines ask for."""
    angles = list(dict.fromkeys(int(program.lines[number].a) for number in sine_lines))
    pairs = {}
    if code.width > 1:
        for angle in angles:
            pairs[angle] = _call_sines(code, code.width, values[angle])
    else:
        for first in range(0, len(angles), LANES):
            pairs.update(_packed_sines(code, angles[first : first + LANES], values))
    for number in sine_lines:
        line = program.lines[number]
        values[number] = pairs[int(line.a)][line.name == "cos"]


def _packed_sines(code: Writer, angles: list[int], values: list[str]) -> dict[int, tuple[str, str]]:
    """Sines and cosines of up to LANES scalars, a lane each."""
    both = _call_sines(code, LANES, _pack(code, [values[angle] for angle in angles]))
    lanes = [_unpack(code, vector, len(angles)) for vector in both]
    return {angle: (s, c) for angle, s, c in zip(angles, *lanes, strict=True)}


def _packed_exponentials(code: Writer, program: Program, lines: list[int], values: list[str]) -> None:
    """Exponentials of these lines, of scalars."""
    T = f"<{LANES} x double>"
    for first in range(0, len(lines), LANES):
        here = lines[first : first + LANES]
        packed = _pack(code, [values[int(program.lines[number].a)] for number in here])
        result = code.op(f"call {T} @exponential({T} {packed})")
        for number, value in zip(here, _unpack(code, result, len(here)), strict=True):
            values[number] = value


def _pack(code: Writer, scalars: list[str]) -> str:
    vector = "zeroinitializer"
    for lane, scalar in enumerate(scalars):
        vector = code.op(f"insertelement <{LANES} x double> {vector}, double {scalar}, i64 {lane}")
    return vector


def _unpack(code: Writer, vector: str, n: int) -> list[str]:
    return [code.op(f"extractelement <{LANES} x double> {vector}, i64 {lane}") for lane in range(n)]


def _call_sines(code: Writer, width: int, vector: str) -> tuple[str, str]:
    T = f"<{width} x double>"
    both = code.op(f"call {{{T}, {T}}} @sines({T} {vector})")
    return code.op(f"extractvalue {{{T}, {T}}} {both}, 0"), code.op(f"extractvalue {{{T}, {T}}} {both}, 1")


def store_rows(code: Writer, results: list[str], rows: list[str], base: str) -> None:
    """Write a row for each lane, so far from the base: squares of width x width are transposed in registers."""
    if code.width == 1:
        for k, result in enumerate(results):
            code.line(f"store double {result}, ptr {code.address(base, str(k))}, align 8")
        return
    width, n = code.width, len(results)
    firsts = list(range(0, n - width + 1, width))
    if n >= width and n % width:
        firsts.append(n - width)  # the last square may overlap the one before it
    for first in firsts:
        for lane, vector in enumerate(_transposed(code, results[first : first + width])):
            place = code.address(base, code.op(f"add i64 {rows[lane]}, {first}"))
            code.line(f"store {code.type} {vector}, ptr {place}, align 8")
    if n < width:
        for k, result in enumerate(results):
            for lane, row in enumerate(rows):
                entry = code.op(f"extractelement {code.type} {result}, i64 {lane}")
                code.line(f"store double {entry}, ptr {code.address(base, code.op(f'add i64 {row}, {k}'))}, align 8")


def _transposed(code: Writer, square: list[str]) -> list[str]:
    """Exchange rows and columns: entries whose row and column differ in one bit change places, bit by bit."""
    width, square = code.width, list(square)
    for bit in (1 << k for k in range(width.bit_length() - 1)):
        for i in range(width):
            if not i & bit:
                a, b = square[i], square[i | bit]
                square[i] = _shuffle(code, a, b, [width + (j ^ bit) if j & bit else j for j in range(width)])
                square[i | bit] = _shuffle(code, a, b, [width + j if j & bit else j | bit for j in range(width)])
    return square


def _shuffle(code: Writer, a: str, b: str, lanes: list[int]) -> str:
    T, places = code.type, ", ".join(f"i32 {lane}" for lane in lanes)
    return code.op(f"shufflevector {T} {a}, {T} {b}, <{code.width} x i32> <{places}>")


def _declarations(width: int) -> list[str]:
    """The intrinsic functions the code may call."""
    lines = [f"declare double @llvm.{name}.f64(double)" for name in ("sin", "cos", *_INTRINSICS)]
    lines.append("declare double @atan2(double, double)")
    for w in {width, LANES if width == 1 else width}:
        T, s = f"<{w} x double>", f"v{w}f64"
        lines += [f"declare {T} @llvm.{name}.{s}({T})" for name in ("fabs", *_INTRINSICS) if w > 1]
        lines += [f"declare {T} @llvm.fma.{s}({T}, {T}, {T})"] if w > 1 else []
        lines += [f"declare i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1>)"] if w > 1 else []
    return lines


# -- sine and cosine


LARGEST_ANGLE = 1e5
_PI_2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SIN = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
    -1.66666666666666324348e-01,
)
_COS = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)


def _multiply_add(code: Writer, has_fma: bool) -> Callable[[str, str, str], str]:
    """``a b + c``, rounded once or twice."""
    T, s = code.type, code.suffix

    def fma(a: str, b: str, c: str) -> str:
        if has_fma:
            return code.op(f"call {T} @llvm.fma.{s}({T} {a}, {T} {b}, {T} {c})")
        return code.op(f"fadd {T} {code.op(f'fmul {T} {a}, {b}')}, {c}")

    return fma


def sine_function(width: int, has_fma: bool = True) -> list[str]:
    """``{sin, cos} @sines(x)`` of a vector; see the module's text."""
    code = Writer(width)
    T, I, B, s = code.type, f"<{width} x i64>", f"<{width} x i1>", code.suffix
    fma = _multiply_add(code, has_fma)

    def polynomial(coefficients: tuple[float, ...], z: str) -> str:
        value = code.constant(coefficients[0])
        for coefficient in coefficients[1:]:
            value = fma(value, z, code.constant(coefficient))
        return value

    def signed(value: str, quarter: str) -> str:
        """The value, negated in the third and fourth quarter: bit 1 of the number goes to the sign's place."""
        bit = code.op(f"and {I} {quarter}, {_whole(2, width)}")
        flip = code.op(f"shl {I} {bit}, {_whole(62, width)}")
        bits = code.op(f"xor {I} {code.op(f'bitcast {T} {value} to {I}')}, {flip}")
        return code.op(f"bitcast {I} {bits} to {T}")

    turns = code.op(f"fmul {T} %x, {code.constant(2.0 / math.pi)}")
    n = code.op(f"call {T} @llvm.roundeven.{s}({T} {turns})")
    minus_n, r = code.op(f"fneg {T} {n}"), "%x"
    for part in _PI_2:
        r = fma(minus_n, code.constant(part), r)
    z = code.op(f"fmul {T} {r}, {r}")
    sine = fma(code.op(f"fmul {T} {r}, {z}"), polynomial(_SIN, z), r)
    half = fma(z, code.constant(-0.5), code.constant(1.0))
    cosine = fma(code.op(f"fmul {T} {z}, {z}"), polynomial(_COS, z), half)
    quarter = code.op(f"fptosi {T} {n} to {I}")
    odd = code.op(f"trunc {I} {quarter} to {B}")
    turned = [code.op(f"select {B} {odd}, {T} {x}, {T} {y}") for x, y in ((cosine, sine), (sine, cosine))]
    near = [signed(turned[0], quarter), signed(turned[1], code.op(f"add {I} {quarter}, {_whole(1, width)}"))]
    size = code.op(f"call {T} @llvm.fabs.{s}({T} %x)")
    fits = code.op(f"fcmp ole {T} {size}, {code.constant(LARGEST_ANGLE)}")
    code.line(f"%all = call i1 @llvm.vector.reduce.and.v{width}i1({B} {fits})")
    code.line("br i1 %all, label %end, label %far")
    code.lines.append("far:")
    far = [code.each_lane(f"llvm.{function}.f64", "%x") for function in ("sin", "cos")]
    code.line("br label %end")
    code.lines.append("end:")
    for k in (0, 1):
        code.line(f"%phi{k} = phi {T} [{near[k]}, %entry], [{far[k]}, %far]")
    code.line(f"%pair = insertvalue {{{T}, {T}}} poison, {T} %phi0, 0")
    code.line(f"%both = insertvalue {{{T}, {T}}} %pair, {T} %phi1, 1")
    code.line(f"ret {{{T}, {T}}} %both")
    return [f"define internal {{{T}, {T}}} @sines({T} %x) alwaysinline {{", "entry:", *code.lines, "}"]


def _whole(value: int, width: int) -> str:
    return f"<{', '.join([f'i64 {value}'] * width)}>"


# -- exponential


LOWEST, HIGHEST = -746.0, 710.0
"""Below and above, the result is 0 and infinite."""
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_SERIES = tuple(1.0 / math.factorial(n) for n in range(13, 1, -1))
_MAGIC = 1.5 * 2.0**52
"""Added to a number below 2^51, it rounds to an integer, which then stands in the lowest bits."""
_MAGIC_BITS = 0x4338000000000000
_BIAS, _MANTISSA = 1023, 52


def exponential_function(width: int, has_fma: bool = True) -> list[str]:
    """``exp @exponential(x)`` of a vector; see the module's text."""
    code = Writer(width)
    T, I, B = code.type, f"<{width} x i64>", f"<{width} x i1>"
    fma = _multiply_add(code, has_fma)

    def bounded(x: str, test: str, bound: float) -> str:
        beyond = code.op(f"fcmp {test} {T} {x}, {code.constant(bound)}")
        return code.op(f"select {B} {beyond}, {T} {code.constant(bound)}, {T} {x}")

    def power_of_two(k: str) -> str:
        bits = code.op(f"shl {I} {code.op(f'add {I} {k}, {_whole(_BIAS, width)}')}, {_whole(_MANTISSA, width)}")
        return code.op(f"bitcast {I} {bits} to {T}")

    x = bounded(bounded("%x", "ogt", HIGHEST), "olt", LOWEST)
    shifted = fma(x, code.constant(1.0 / math.log(2.0)), code.constant(_MAGIC))
    k = code.op(f"sub {I} {code.op(f'bitcast {T} {shifted} to {I}')}, {_whole(_MAGIC_BITS, width)}")
    minus_k = code.op(f"fsub {T} {code.constant(_MAGIC)}, {shifted}")
    r = fma(minus_k, code.constant(_LN2[1]), fma(minus_k, code.constant(_LN2[0]), x))
    series = code.constant(_SERIES[0])
    for coefficient in _SERIES[1:]:
        series = fma(series, r, code.constant(coefficient))
    square = code.op(f"fmul {T} {r}, {r}")
    near = code.op(f"fadd {T} {fma(square, series, r)}, {code.constant(1.0)}")
    half = code.op(f"ashr {I} {k}, {_whole(1, width)}")
    scaled = code.op(f"fmul {T} {near}, {power_of_two(half)}")
    rest = code.op(f"sub {I} {k}, {half}")
    code.line(f"ret {T} {code.op(f'fmul {T} {scaled}, {power_of_two(rest)}')}")
    return [f"define internal {T} @exponential({T} %x) alwaysinline {{", "entry:", *code.lines, "}"]


# -- programs as functions of C


def object_file(programs: Mapping[str, Program], processor: Processor) -> bytes:
    """Return an object file with a function for each program."""
    from arm_control.compiler.llvm_compiler import compile_for  # noqa: PLC0415  help names processors without llvmlite

    lines = called_code(programs.values(), 1, processor.has_fma)
    for name, program in programs.items():
        lines += _function(program, name)
    code = "\n".join(lines).replace("llvm.roundeven", "llvm.rint")  # the same in C99; roundeven is of C23
    return compile_for(code, processor.triple, processor.cpu)


def _function(program: Program, name: str) -> list[str]:
    code = Writer(1)
    inputs = [code.load("%in", str(i)) for i in range(sum(program.inputs.values()))]
    for place, result in enumerate(body(code, program, inputs.__getitem__)):
        code.line(f"store double {result}, ptr {code.address('%out', str(place))}, align 8")
    return [f"define void @{name}(ptr noalias %in, ptr noalias %out) {{", *code.lines, "  ret void", "}"]


LINUX = "unknown-linux-gnu"


class Processor(NamedTuple):
    """A kind of processor.

    Attributes
    ----------
    architecture : str
        Name as CMake and ``uname -m`` have it.
    cpu : str
        LLVM's name of the oldest processor of this kind.
    """

    architecture: str
    cpu: str
    has_fma: bool

    @property
    def triple(self) -> str:
        """LLVM's name of architecture and system."""
        return f"{self.architecture}-{LINUX}"


PROCESSORS = {
    "x86-64-v4": Processor("x86_64", "x86-64-v4", has_fma=True),
    "x86-64-v3": Processor("x86_64", "x86-64-v3", has_fma=True),
    "x86-64-v2": Processor("x86_64", "x86-64-v2", has_fma=False),
    "x86-64": Processor("x86_64", "x86-64", has_fma=False),
    "aarch64": Processor("aarch64", "generic", has_fma=True),
}
"""Kinds of processors by the names that compilers have for them."""
