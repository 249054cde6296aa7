"""Sine and cosine of a vector of angles, in LLVM's intermediate language.

The angle less the nearest multiple of pi/2, in three parts
that fused multiply-adds take off without rounding, then the polynomials of fdlibm (S. Moshier; K. C. Ng,
1993), below one unit in the last place. An angle beyond 1e5 rad goes to the C library instead.
"""

from __future__ import annotations

import math

from arm_control.compiler.llvm_writer import Writer

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


def sine_function(width: int) -> list[str]:
    """``{sin, cos} @sines(x)`` of a vector; see the module's text."""
    code = Writer(width)
    T, I, B, s = code.type, f"<{width} x i64>", f"<{width} x i1>", code.suffix

    def fma(a: str, b: str, c: str) -> str:
        return code.op(f"call {T} @llvm.fma.{s}({T} {a}, {T} {b}, {T} {c})")

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


def exponential_function(width: int) -> list[str]:
    """``exp @exponential(x)`` of a vector; see the module's text."""
    code = Writer(width)
    T, I, B, s = code.type, f"<{width} x i64>", f"<{width} x i1>", code.suffix

    def fma(a: str, b: str, c: str) -> str:
        return code.op(f"call {T} @llvm.fma.{s}({T} {a}, {T} {b}, {T} {c})")

    def whole(value: int) -> str:
        return f"<{', '.join([f'i64 {value}'] * width)}>"

    def bounded(x: str, test: str, bound: float) -> str:
        beyond = code.op(f"fcmp {test} {T} {x}, {code.constant(bound)}")
        return code.op(f"select {B} {beyond}, {T} {code.constant(bound)}, {T} {x}")

    def power_of_two(k: str) -> str:
        bits = code.op(f"shl {I} {code.op(f'add {I} {k}, {whole(_BIAS)}')}, {whole(_MANTISSA)}")
        return code.op(f"bitcast {I} {bits} to {T}")

    x = bounded(bounded("%x", "ogt", HIGHEST), "olt", LOWEST)
    shifted = fma(x, code.constant(1.0 / math.log(2.0)), code.constant(_MAGIC))
    k = code.op(f"sub {I} {code.op(f'bitcast {T} {shifted} to {I}')}, {whole(_MAGIC_BITS)}")
    minus_k = code.op(f"fsub {T} {code.constant(_MAGIC)}, {shifted}")
    r = fma(minus_k, code.constant(_LN2[1]), fma(minus_k, code.constant(_LN2[0]), x))
    series = code.constant(_SERIES[0])
    for coefficient in _SERIES[1:]:
        series = fma(series, r, code.constant(coefficient))
    square = code.op(f"fmul {T} {r}, {r}")
    near = code.op(f"fadd {T} {fma(square, series, r)}, {code.constant(1.0)}")
    half = code.op(f"ashr {I} {k}, {whole(1)}")
    scaled = code.op(f"fmul {T} {near}, {power_of_two(half)}")
    rest = code.op(f"sub {I} {k}, {half}")
    code.line(f"ret {T} {code.op(f'fmul {T} {scaled}, {power_of_two(rest)}')}")
    return [f"define internal {T} @exponential({T} %x) alwaysinline {{", "entry:", *code.lines, "}"]
