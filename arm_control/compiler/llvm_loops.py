"""A law for many cases in LLVM's intermediate language: ``double NAME(ptr table)``, which returns the cases done.

The table holds the number of cases n, then for every input and every output its address and the distance of its rows
[numbers]; for a table of a law with folds the number of its rows. ``width`` cases are computed at a time, one in each
lane of the vector registers; n is a multiple of it. Where something is carried the width is 1, and the carried numbers
stay in memory: input and output are one array.

In columns an entry of all lanes is loaded and stored at once; where no lane is active all work is jumped over. In rows
the entries are gathered, each when it is first needed, and squares of results are transposed in the registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from arm_control.compiler.law import Loop
from arm_control.compiler.llvm_code import Entries, body, declarations, functions, store_rows
from arm_control.compiler.llvm_folds import FoldWriter, TableRows
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import FoldedProgram, Program

Places = Mapping[str, tuple[str, str]]
"""Address and distance of rows of every array, by its name."""
_START = {"sum": 0.0, "min": np.inf}


def loop_code(program: Program | FoldedProgram, name: str, width: int, loop: Loop) -> str:
    """Intermediate code of a loop.

    Parameters
    ----------
    program : Program or FoldedProgram
        The law of one case, every output in one row.
    name : str
        Name of the function.
    width : int
        Lanes of a vector register: 2, 4 or 8.
    loop : Loop
    """
    width = 1 if loop.carried else width
    head, code, tail = Writer(width), Writer(width), Writer(width)
    code.start(10_000_000)
    tail.start(20_000_000)
    places = _places(head, [*program.inputs, *program.outputs])
    memory: _Memory = (_Columns if loop.layout == "columns" else _Rows)(head, code, program, loop, places)
    active = _skip_idle_lanes(code, memory.load(loop.where, 0)) if loop.where else ""
    if isinstance(program, FoldedProgram):
        tables = {key: TableRows(*places[key]) for key in program.tables}
        results = FoldWriter(head, code, program, memory.inputs(), tables).write()
    else:
        results = body(code, memory.ordered(program), memory.inputs())
    totals = _Totals(code, active)
    outputs = _by_name(program, results)
    for key, values in outputs.items():
        if key in loop.totals:
            totals.add(loop.totals[key], values, places[key][0])
        elif key not in loop.carried:
            memory.store(key, values)
    if loop.goes_on:
        above = code.op(f"fcmp ogt double {outputs[loop.goes_on][0]}, 0.0")
        code.line(f"br i1 {above}, label %on, label %stop")
        code.lines.append("on:")
    for key in loop.carried:
        store_rows(code, outputs[key], ["0"], places[key][0])
    totals.store(tail)
    last = "on" if loop.goes_on else "work" if loop.where else "loop"
    last = "folded" if isinstance(program, FoldedProgram) else last
    return "\n".join(
        [
            *_reductions(width),
            *declarations(width),
            *functions(program, width),
            *(f"define double @{name}(ptr %table) {{", "entry:", *head.lines, "  br label %loop"),
            *("loop:", "  %first = phi i64 [0, %entry], [%next, %latch]", *totals.starts()),
            *(*code.lines, "  br label %latch"),
            *("latch:", *totals.ends(last), f"  %next = add i64 %first, {width}"),
            *("  %more = icmp ult i64 %next, %n", "  br i1 %more, label %loop, label %done"),
            *("done:", *tail.lines, "  %all = uitofp i64 %n to double", "  ret double %all"),
            *(("stop:", "  %some = uitofp i64 %first to double", "  ret double %some") if loop.goes_on else ()),
            "}",
        ]
    )


def _places(code: Writer, names: Sequence[str]) -> Places:
    """Read the table. What is carried comes twice, with the same address."""
    code.line("%n = load i64, ptr %table, align 8")
    places = {}
    for k, name in enumerate(names):
        base = code.op(f"load ptr, ptr {code.address('%table', str(1 + 2 * k))}, align 8")
        places[name] = base, code.op(f"load i64, ptr {code.address('%table', str(2 + 2 * k))}, align 8")
    return places


def _by_name(program: Program | FoldedProgram, results: list[str]) -> dict[str, list[str]]:
    outputs, first = {}, 0
    for name, (size,) in program.outputs.items():
        outputs[name] = results[first : first + size]
        first += size
    return outputs


def _skip_idle_lanes(code: Writer, above: str) -> str:
    """Jump over the work where no lane is active; returns the flags of the lanes."""
    active = code.op(f"fcmp ogt {code.type} {above}, zeroinitializer")
    some = code.op(f"call i1 @llvm.vector.reduce.or.v{code.width}i1({code.flags} {active})")
    code.line(f"br i1 {some}, label %work, label %latch")
    code.lines.append("work:")
    return active


class _Memory(Protocol):
    """A layout: how the entries of the cases at hand are loaded and stored."""

    def load(self, name: str, i: int) -> str:
        """One entry of an input, of each lane."""

    def inputs(self) -> Entries:
        """All entries of all inputs."""

    def ordered(self, program: Program) -> Program:
        """The program in the best order for this layout."""

    def store(self, name: str, values: list[str]) -> None:
        """Write an output."""


class _Columns:
    """Cases side by side: an entry of all lanes is one vector in memory. Shared inputs stay in registers."""

    def __init__(
        self, head: Writer, code: Writer, program: Program | FoldedProgram, loop: Loop, places: Places
    ) -> None:
        self._code, self._places = code, places
        self._sizes = {name: size for name, size in program.inputs.items() if name not in loop.law.tables}
        self._shared = {
            name: [head.broadcast(head.load(places[name][0], str(i))) for i in range(self._sizes[name])]
            for name in loop.shared
            if name in self._sizes
        }

    def load(self, name: str, i: int) -> str:
        """See :class:`_Memory`."""
        if name in self._shared:
            return self._shared[name][i]
        return self._code.op(f"load {self._code.type}, ptr {self._address(name, i)}, align 8")

    def inputs(self) -> list[str]:
        """See :class:`_Memory`."""
        return [self.load(name, i) for name, size in self._sizes.items() for i in range(size)]

    def ordered(self, program: Program) -> Program:
        """See :class:`_Memory`."""
        return program

    def store(self, name: str, values: list[str]) -> None:
        """See :class:`_Memory`."""
        for i, value in enumerate(values):
            self._code.line(f"store {self._code.type} {value}, ptr {self._address(name, i)}, align 8")

    def _address(self, name: str, i: int) -> str:
        base, step = self._places[name]
        row = self._code.op(f"mul i64 {step}, {i}")
        return self._code.address(base, self._code.op(f"add i64 {row}, %first"))


class _Rows:
    """One case behind the other: entries of several lanes are gathered, each when it is asked for."""

    def __init__(self, _: Writer, code: Writer, program: Program | FoldedProgram, loop: Loop, places: Places) -> None:
        self._code, self._loop, self._places, self._program = code, loop, places, program
        self._entries = [(name, i) for name, size in program.inputs.items() for i in range(size)]

    def load(self, name: str, i: int) -> str:
        """See :class:`_Memory`."""
        if self._code.width > 1 and name not in self._loop.shared:
            return self._code.gather(self._bases[name], self._rows[name], i)
        entry = self._code.load(self._bases[name], str(i))
        return entry if self._code.width == 1 else self._code.broadcast(entry)

    def inputs(self) -> Entries:
        """See :class:`_Memory`."""
        self._bases = {
            name: self._places[name][0] if name in self._loop.whole else self._row(name)
            for name in self._program.inputs
        }
        self._rows = {
            name: self._distances(name)
            for name in self._program.inputs
            if name not in self._loop.shared and self._code.width > 1
        }
        return self

    def __getitem__(self, number: int) -> str:
        return self.load(*self._entries[number])

    def ordered(self, program: Program) -> Program:
        """See :class:`_Memory`; every constant and input comes just before its first use: registers are few."""
        return program.late()

    def store(self, name: str, values: list[str]) -> None:
        """See :class:`_Memory`."""
        base = self._row(name)
        store_rows(self._code, values, self._distances(name), base)

    def _distances(self, name: str) -> list[str]:
        """Distance of each lane's row from the first one."""
        return [self._code.op(f"mul i64 {self._places[name][1]}, {lane}") for lane in range(self._code.width)]

    def _row(self, name: str) -> str:
        """Address of the row at hand, the first one of those in the lanes."""
        base, step = self._places[name]
        number = "%first"
        if self._loop.backwards and self._code.width == 1:
            number = self._code.op(f"sub i64 {self._code.op('sub i64 %n, 1')}, %first")
        return self._code.address(base, self._code.op(f"mul i64 {step}, {number}"))


class _Totals:
    """Numbers for all cases, gathered lane by lane and reduced at the end; lanes that are not active do not count."""

    def __init__(self, code: Writer, active: str) -> None:
        self._code, self._active = code, active
        self._reductions: list[str] = []
        self._gathered: list[str] = []
        self._targets: list[tuple[str, int]] = []

    def add(self, reduction: str, values: list[str], base: str) -> None:
        """Gather an output, which goes to this address."""
        for i, value in enumerate(values):
            self._gathered.append(self._gather(reduction, f"%total{len(self._reductions)}", value))
            self._reductions.append(reduction)
            self._targets.append((base, i))

    def _gather(self, reduction: str, total: str, value: str) -> str:
        """The total of all cases so far and these."""
        code = self._code
        if self._active:
            nothing = code.constant(_START[reduction])
            value = code.op(f"select {code.flags} {self._active}, {code.type} {value}, {code.type} {nothing}")
        if reduction == "sum":
            return code.op(f"fadd {code.type} {total}, {value}")
        flag = code.op(f"fcmp olt {code.type} {value}, {total}")
        return code.op(f"select {code.flags} {flag}, {code.type} {value}, {code.type} {total}")

    def starts(self) -> list[str]:
        """Lines at the beginning of the loop."""
        code = self._code
        return [
            f"  %total{k} = phi {code.type} [{code.constant(_START[reduction])}, %entry], [%kept{k}, %latch]"
            for k, reduction in enumerate(self._reductions)
        ]

    def ends(self, last: str) -> list[str]:
        """Lines at the end of the loop, which comes from the block ``last`` or was jumped to."""
        skipped = [f", [%total{k}, %loop]" if self._active else "" for k in range(len(self._reductions))]
        return [
            f"  %kept{k} = phi {self._code.type} [{gathered}, %{last}]{skipped[k]}"
            for k, gathered in enumerate(self._gathered)
        ]

    def store(self, code: Writer) -> None:
        """Write each total: one number from a lane each."""
        for k, (reduction, (base, i)) in enumerate(zip(self._reductions, self._targets, strict=True)):
            vector, suffix = f"{code.type} %kept{k}", f"v{code.width}f64"
            if reduction == "sum":
                reduced = code.op(f"call double @llvm.vector.reduce.fadd.{suffix}(double -0.0, {vector})")
            else:
                reduced = code.op(f"call nnan double @llvm.vector.reduce.fmin.{suffix}({vector})")
            code.line(f"store double {reduced}, ptr {code.address(base, str(i))}, align 8")


def _reductions(width: int) -> list[str]:
    """Functions that columns call; rows of width 1 reduce nothing."""
    vector, suffix = f"<{width} x double>", f"v{width}f64"
    return [
        f"declare double @llvm.vector.reduce.fadd.{suffix}(double, {vector})",
        f"declare double @llvm.vector.reduce.fmin.{suffix}({vector})",
        f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)",
    ]
