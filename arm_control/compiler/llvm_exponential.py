"""The exponential of a vector, in LLVM's intermediate language.

    exp(x) = 2^k exp(r),      k = round(x / ln 2),      r = x - k ln 2,      |r| <= 0.347

k ln 2 is taken off in two parts by fused multiply-adds, so that r is right to the last bit; exp(r) is its series up to
r^13, cut off below 4e-18. The factor 2^k is put on in two halves: numbers too small for a full mantissa are rounded
once, and what is too large becomes infinite. Below one unit in the last place; nan stays nan.
"""

from __future__ import annotations

import math

from arm_control.compiler.llvm_writer import Writer

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
