"""Programs as functions of C in an object file for a linker, for any processor that LLVM knows.

    void NAME(const double *inputs, double *outputs);

All inputs lie side by side, in the program's order, and so do all outputs. Such a function has no state, allocates
nothing, and needs nothing but ``libm``. Arithmetic is that of kernels (:mod:`arm_control.compiler.llvm_code`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arm_control.compiler.llvm_code import LANES, body, declarations
from arm_control.compiler.llvm_functions import exponential_function, sine_function
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import Program


def object_file(programs: Mapping[str, Program], processor: Processor) -> bytes:
    """Return an object file with a function for each program.

    Parameters
    ----------
    programs : mapping of str to Program
        Programs by the names of their functions.
    """
    from arm_control.compiler.llvm_compiler import compile_for  # noqa: PLC0415  help names processors without llvmlite

    lines = list(dict.fromkeys(line for program in programs.values() for line in _called(program, processor)))
    for name, program in programs.items():
        lines += _function(program, name)
    code = "\n".join(lines).replace("llvm.roundeven", "llvm.rint")  # the same in C99; roundeven is of C23
    return compile_for(code, processor.triple, processor.cpu)


def _function(program: Program, name: str) -> list[str]:
    code = Writer(1)
    inputs = [code.load("%in", str(i)) for i in range(sum(program.inputs.values()))]
    for place, result in enumerate(body(code, program, inputs)):
        code.line(f"store double {result}, ptr {code.address('%out', str(place))}, align 8")
    return [f"define void @{name}(ptr noalias %in, ptr noalias %out) {{", *code.lines, "  ret void", "}"]


def _called(program: Program, processor: Processor) -> list[str]:
    """Declarations and functions that a program's lines call, each function as one entry."""
    called = [*declarations(1), "\n".join(sine_function(LANES) if processor.has_fma else _sines_of_libm())]
    return [*called, "\n".join(exponential_function(LANES))] if program.uses("exp") else called


def _sines_of_libm() -> list[str]:
    """``{sin, cos} @sines(x)`` of a vector, lane by lane: without fused multiply-adds the reduction would round."""
    code = Writer(LANES)
    result = "poison"
    for k, name in enumerate(("sin", "cos")):
        vector = code.each_lane(f"llvm.{name}.f64", "%x")
        result = code.op(f"insertvalue {{{code.type}, {code.type}}} {result}, {code.type} {vector}, {k}")
    head = f"define internal {{{code.type}, {code.type}}} @sines({code.type} %x) alwaysinline {{"
    return [head, *code.lines, f"  ret {{{code.type}, {code.type}}} {result}", "}"]


LINUX = "unknown-linux-gnu"


class Processor(NamedTuple):
    """A kind of processor.

    Attributes
    ----------
    architecture : str
        Name as CMake and ``uname -m`` have it.
    cpu : str
        LLVM's name of the oldest processor of this kind.
    has_fma : bool
        Whether it multiplies and adds in one instruction; else sines are those of ``libm``.
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
