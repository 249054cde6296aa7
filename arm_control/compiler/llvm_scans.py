"""A law for rows in LLVM's intermediate language: ``double NAME(ptr table)``, which returns how many rows it did.

The table holds the number of rows n, then of every input and every output the address and how many numbers its
rows are apart. What is carried lies in memory, where the next row finds it: input and output are one array. Where
nothing is carried ``width`` rows are computed at a time, one in each lane of the vector registers; n is a multiple
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.compiler.llvm_code import LANES, body, declarations, store_rows
from arm_control.compiler.llvm_sines import sine_function
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import LEAVES, Operation, Program
from arm_control.compiler.scan_law import ScanLaw
from arm_control.maths.poses import Array


def scan_code(program: Program, name: str, width: int, law: ScanLaw) -> str:
    """Intermediate code of a law; ``program`` is its text; one row at a time where something is carried."""
    width = 1 if law.carried else width
    head, code = Writer(width), Writer(width)
    code.start(10_000_000)
    head.line("%n = load i64, ptr %table, align 8")
    places = _places(head, [*program.inputs, *program.outputs])
    results = body(code, _late(program), _Inputs(code, program, law, places))
    first = 0
    stores: dict[str, list[str]] = {}
    for key, shape in program.outputs.items():
        stores[key] = results[first : first + shape[0]]
        first += shape[0]
    for key, values in stores.items():
        if key not in law.carried:
            base = _row(code, places[key], law.backwards)
            store_rows(code, values, [code.op(f"mul i64 {places[key][1]}, {k}") for k in range(width)], base)
    if law.goes_on:
        above = code.op(f"fcmp ogt double {stores[law.goes_on][0]}, 0.0")
        code.line(f"br i1 {above}, label %on, label %stop")
        code.lines.append("on:")
    for key in law.carried:
        store_rows(code, stores[key], ["0"], places[key][0])
    latch = "on" if law.goes_on else "loop"
    start = ["  br label %loop", "loop:", f"  %first = phi i64 [0, %entry], [%next, %{latch}]"]
    end = [f"  %next = add i64 %first, {width}", "  %more = icmp ult i64 %next, %n"]
    end += ["  br i1 %more, label %loop, label %done", "done:", "  %all = uitofp i64 %n to double", "  ret double %all"]
    if law.goes_on:
        end += ["stop:", "  %some = uitofp i64 %first to double", "  ret double %some"]
    waves = sine_function(LANES if width == 1 else width)
    begin = [f"define double @{name}(ptr %table) {{", "entry:", *head.lines]
    return "\n".join([*declarations(width), *waves, *begin, *start, *code.lines, *end, "}"])


def _places(code: Writer, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Address and step of every array; what is carried comes twice, and once is as good as the other."""
    found = {}
    for k, name in enumerate(names):
        base = code.op(f"load ptr, ptr {code.address('%table', str(1 + 2 * k))}, align 8")
        found[name] = base, code.op(f"load i64, ptr {code.address('%table', str(2 + 2 * k))}, align 8")
    return found


def _row(code: Writer, place: tuple[str, str], backwards: bool) -> str:
    """Address of the row at hand, the first one of those in the lanes."""
    base, step = place
    number = "%first"
    if backwards and code.width == 1:
        number = code.op(f"sub i64 {code.op('sub i64 %n, 1')}, %first")
    return code.address(base, code.op(f"mul i64 {step}, {number}"))


def _late(program: Program) -> Program:
    """The same with every constant and input just before its first use: registers are few."""
    order: list[int] = []
    seen: set[int] = set()
    for number, line in enumerate(program.lines):
        if line.kind not in LEAVES:
            order += [k for k in dict.fromkeys(line.operands) if program.lines[k].kind in LEAVES and k not in seen]
            seen.update(line.operands)
            order.append(number)
    order += [k for k in dict.fromkeys(program.results) if k not in seen and program.lines[k].kind in LEAVES]
    new = {old: number for number, old in enumerate(order)}
    lines = tuple(
        line if line.kind in LEAVES else Operation(line.kind, *(new[k] for k in line.operands))
        for line in map(program.lines.__getitem__, order)
    )
    return Program(program.inputs, program.outputs, lines, tuple(new[k] for k in program.results))


class _Inputs:
    """Entries of all inputs, each loaded when it is asked for."""

    def __init__(self, code: Writer, program: Program, law: ScanLaw, places: Mapping[str, tuple[str, str]]) -> None:
        self._code, self._law = code, law
        self._where = [(name, i) for name, size in program.inputs.items() for i in range(size)]
        self._bases = {
            name: places[name][0] if name in law.shared + law.carried else _row(code, places[name], law.backwards)
            for name in program.inputs
        }
        self._rows = {
            name: [code.op(f"mul i64 {places[name][1]}, {lane}") for lane in range(code.width)]
            for name in program.inputs
            if name not in law.shared and code.width > 1
        }

    def __getitem__(self, number: int) -> str:
        name, i = self._where[number]
        if self._code.width > 1 and name not in self._law.shared:
            return self._code.gather(self._bases[name], self._rows[name], i)
        entry = self._code.load(self._bases[name], str(i))
        return entry if self._code.width == 1 else self._code.broadcast(entry)


class CompiledScan:
    """A law as machine code.

    Parameters
    ----------
    call : callable
        The function, of the address of its table.
    inputs : mapping of str to int
    outputs : mapping of str to shape
        What it is given and gives, in the order of the table.
    law : ScanLaw
    width : int
        Rows computed at a time.
    """

    def __init__(
        self,
        call: Callable[[int], float],
        inputs: Mapping[str, int],
        outputs: Mapping[str, tuple[int, ...]],
        law: ScanLaw,
        width: int,
    ) -> None:
        self._call, self._law, self.width = call, law, 1 if law.carried else width
        self._sizes = [*inputs.items(), *((name, shape[0]) for name, shape in outputs.items())]
        self.outputs: Mapping[str, int] = {name: shape[0] for name, shape in outputs.items()}

    def bind(self, arrays: Mapping[str, Array], n: int) -> Callable[[], float]:
        """See :class:`~arm_control.compiler.scan_law.Scan`."""
        if n % self.width:
            raise ValueError(f"{n} rows, a multiple of {self.width} is needed")
        table = [n]
        for name, size in self._sizes:
            array, whole = arrays[name], name in self._law.shared + self._law.carried
            if array.shape[-1] != size or array.dtype != float or array.strides[-1] != 8 or array.ndim != 2 - whole:
                raise ValueError(f"'{name}' has shape {array.shape}, a row of {size} floats side by side is needed")
            if not whole and len(array) < n:
                raise ValueError(f"'{name}' has {len(array)} rows, {n} are scanned")
            table += [array.ctypes.data, 0 if whole else array.strides[0] // 8]
        return _Bound(self._call, np.array(table, dtype=np.int64), list(arrays.values()))


class _Bound:
    """Calls the function; keeps what the table points to."""

    __slots__ = ("_address", "_call", "_keep")

    def __init__(self, call: Callable[[int], float], table: Array, keep: list[Any]) -> None:
        self._call, self._address, self._keep = call, table.ctypes.data, (table, keep)

    def __call__(self) -> float:
        return self._call(self._address)
