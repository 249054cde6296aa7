"""A law for many columns in LLVM's intermediate language: ``double NAME(ptr table)``.

The table holds the number of columns n, then of every input and every output the address and how many numbers
its rows are apart. ``WIDTH`` columns are computed at a time, one in each lane of the vector registers; as columns
lie side by side, an entry of all of them is loaded and stored at once. Where no lane is active all is jumped over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arm_control.compiler.column_law import ColumnLaw
from arm_control.compiler.llvm_code import body, declarations
from arm_control.compiler.llvm_sines import sine_function
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import Program
from arm_control.maths.poses import Array

_START = {"sum": 0.0, "min": np.inf}


def columns_code(program: Program, name: str, width: int, law: ColumnLaw) -> str:
    """Intermediate code of a law; ``program`` is its text."""
    head, code, tail = Writer(width), Writer(width), Writer(width)
    code.start(10_000_000)
    tail.start(20_000_000)
    bases, steps = _table(head, len(program.inputs) + len(program.outputs))
    sizes = list(program.inputs.values())
    places = dict(zip([*program.inputs, *program.outputs], zip(bases, steps, strict=True), strict=True))
    shared = {
        key: [head.broadcast(head.load(places[key][0], str(i))) for i in range(program.inputs[key])]
        for key in law.shared
    }
    active = ""
    if law.where:
        above = _load(code, places[law.where], 0)
        active = code.op(f"fcmp ogt {code.type} {above}, zeroinitializer")
        some = code.op(f"call i1 @llvm.vector.reduce.or.v{width}i1({code.flags} {active})")
        code.line(f"br i1 {some}, label %work, label %skip")
        code.lines.append("work:")
    inputs = [
        shared[key][i] if key in shared else _load(code, places[key], i)
        for key, size in zip(program.inputs, sizes, strict=True)
        for i in range(size)
    ]
    results = iter(body(code, program, inputs))
    totals: list[tuple[str, str, str]] = []
    for key, shape in program.outputs.items():
        for i in range(shape[0]):
            result = next(results)
            if key in law.totals:
                total = f"%total{len(totals)}"
                totals.append((law.totals[key], _gathered(code, law.totals[key], total, result, active), f"{key} {i}"))
            else:
                code.line(f"store {code.type} {result}, ptr {_address(code, places[key], i)}, align 8")
    code.line("br label %skip")
    loop = ["  br label %loop", "loop:", "  %first = phi i64 [0, %entry], [%next, %skip]"]
    ends = ["skip:"]
    for k, (kind, found, _) in enumerate(totals):
        start = code.constant(_START[kind])
        loop.append(f"  %total{k} = phi {code.type} [{start}, %entry], [%kept{k}, %skip]")
        other = f", [%total{k}, %loop]" if law.where else ""
        ends.append(f"  %kept{k} = phi {code.type} [{found}, {'%work' if law.where else '%loop'}]{other}")
    ends += [f"  %next = add i64 %first, {width}", "  %more = icmp ult i64 %next, %n"]
    ends += ["  br i1 %more, label %loop, label %done", "done:"]
    for k, (kind, _, key) in enumerate(totals):
        output, entry = key.split()
        reduced = _reduced(tail, kind, f"%kept{k}")
        tail.line(f"store double {reduced}, ptr {tail.address(places[output][0], entry)}, align 8")
    begin = [f"define double @{name}(ptr %table) {{", "entry:", *head.lines]
    lines = [*_reductions(width), *declarations(width), *sine_function(width), *begin, *loop, *code.lines, *ends]
    return "\n".join([*lines, *tail.lines, "  ret double 0.0", "}"])


def _table(code: Writer, count: int) -> tuple[list[str], list[str]]:
    """Addresses and steps of all arrays; the number of columns is ``%n``."""
    code.line("%n = load i64, ptr %table, align 8")
    bases, steps = [], []
    for k in range(count):
        bases.append(code.op(f"load ptr, ptr {code.address('%table', str(1 + 2 * k))}, align 8"))
        steps.append(code.op(f"load i64, ptr {code.address('%table', str(2 + 2 * k))}, align 8"))
    return bases, steps


def _address(code: Writer, place: tuple[str, str], i: int) -> str:
    base, step = place
    row = code.op(f"mul i64 {step}, {i}")
    return code.address(base, code.op(f"add i64 {row}, %first"))


def _load(code: Writer, place: tuple[str, str], i: int) -> str:
    return code.op(f"load {code.type}, ptr {_address(code, place, i)}, align 8")


def _gathered(code: Writer, kind: str, total: str, result: str, active: str) -> str:
    """The total of all columns so far and these."""
    if active:
        nothing = code.constant(_START[kind])
        result = code.op(f"select {code.flags} {active}, {code.type} {result}, {code.type} {nothing}")
    if kind == "sum":
        return code.op(f"fadd {code.type} {total}, {result}")
    flag = code.op(f"fcmp olt {code.type} {result}, {total}")
    return code.op(f"select {code.flags} {flag}, {code.type} {result}, {code.type} {total}")


def _reduced(code: Writer, kind: str, total: str) -> str:
    """One number from a lane each."""
    if kind == "sum":
        return code.op(f"call double @llvm.vector.reduce.fadd.v{code.width}f64(double -0.0, {code.type} {total})")
    return code.op(f"call nnan double @llvm.vector.reduce.fmin.v{code.width}f64({code.type} {total})")


def _reductions(width: int) -> list[str]:
    T, s = f"<{width} x double>", f"v{width}f64"
    return [
        f"declare double @llvm.vector.reduce.fadd.{s}(double, {T})",
        f"declare double @llvm.vector.reduce.fmin.{s}({T})",
        f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)",
    ]


class CompiledColumns:
    """A law as machine code.

    Parameters
    ----------
    call : callable
        The function, of the address of its table.
    inputs, outputs : mapping
        What it is given and gives, in the order of the table.
    width : int
        Columns computed at a time.
    """

    def __init__(self, call: Callable[[int], float], names: list[str], inputs: Mapping[str, int], width: int) -> None:
        self._call, self._names, self._inputs, self.width = call, names, inputs, width

    def bind(self, arrays: Mapping[str, Array]) -> Callable[[], Any]:
        """See :class:`~arm_control.compiler.column_law.Columns`."""
        n = {array.shape[1] for array in arrays.values() if array.ndim == 2}
        wide = [array for array in arrays.values() if array.ndim == 2]
        if len(n) != 1 or next(iter(n)) % self.width or any(a.strides[1] != 8 or a.dtype != float for a in wide):
            raise ValueError(f"columns must lie side by side, a multiple of {self.width} of them: {n}")
        table = [next(iter(n))]
        for name in self._names:
            array = arrays[name]
            table += [array.ctypes.data, array.strides[0] // 8 if array.ndim == 2 else 1]
        return _Bound(self._call, np.array(table, dtype=np.int64), list(arrays.values()))


class _Bound:
    """Calls the function; keeps what the table points to."""

    __slots__ = ("_address", "_call", "_keep")

    def __init__(self, call: Callable[[int], float], table: Array, keep: list[Array]) -> None:
        self._call, self._address, self._keep = call, table.ctypes.data, (table, keep)

    def __call__(self) -> None:
        self._call(self._address)
