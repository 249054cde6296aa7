"""A law with folds in LLVM's intermediate language: loops over the rows of tables, without parts that no lane needs.

    enter    before the first row
    row      ``near`` of all parts; where none counts in any lane, on to ``latch``
    part     one part, where it counts in some lane; in the others values stay
    changed  all parts are done: on to the end where no lane goes on
    latch    the next row

    again    the parts of a fold that runs several times

Values lie in a work space, an entry of all lanes side by side; each program loads what it uses. Those that a fold
changes several times stay in registers until it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arm_control.compiler.llvm_code import Entries, body
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import FoldedProgram, FoldProgram, Program


class TableRows(NamedTuple):
    """A table: its address and the number of its rows, as they are named in the code."""

    base: str
    number: str


class FoldWriter:
    """Writes a law with folds.

    Parameters
    ----------
    head : Writer
        Takes the lines of the function's first block.
    code : Writer
        Takes the lines of the law.
    program : FoldedProgram
    inputs : Entries
        Entries of all inputs but the tables.
    tables : mapping of str to TableRows
        The tables by name.
    """

    def __init__(
        self, head: Writer, code: Writer, program: FoldedProgram, inputs: Entries, tables: Mapping[str, TableRows]
    ) -> None:
        self._code, self._program, self._inputs, self._tables = code, program, inputs, tables
        self._n_inputs = sum(program.before.inputs.values())
        self._first: dict[str, int] = {}
        self._held: dict[int, str] = {}  # places of values that are in registers now
        n = 0
        for name, (size,) in program.before.outputs.items():
            self._first[name] = n
            n += size
        self._n_values = n
        head.line(f"%values = alloca [{max(n, 1)} x {code.type}], align {8 * code.width}")

    def write(self) -> list[str]:
        """Write the law; returns the names of its results. It ends in the block ``folded``."""
        for place, value in enumerate(body(self._code, self._program.before.late(), self._inputs)):
            self._store(place, value)
        end = self._code.label("folds_end")
        for fold in self._program.folds:
            self._fold(fold, end)
        self._code.line(f"br label %{end}")
        self._code.begin(end)
        results = body(self._code, self._program.after.late(), _Known(self, None))
        self._code.line("br label %folded")
        self._code.begin("folded")
        return results

    def _fold(self, fold: FoldProgram, end: str) -> None:
        """Write one fold; ``end`` is where the law goes on when no lane goes on."""
        code = self._code
        if fold.times > 1:
            self._repeat(fold)
            return
        if not fold.table:
            after = code.label("once_end")
            self._parts(fold, None, after, end)
            code.begin(after)
            return
        rows = self._tables[fold.table]
        enter, row, latch, after = (code.label(name) for name in ("enter", "row", "latch", "rows_end"))
        number, following = code.label("number"), code.label("following")
        code.line(f"br label %{enter}")
        code.begin(enter)
        code.line(f"br i1 {code.op(f'icmp ugt i64 {rows.number}, 0')}, label %{row}, label %{after}")
        code.begin(row)
        code.line(f"%{number} = phi i64 [0, %{enter}], [%{following}, %{latch}]")
        size = self._program.inputs[fold.table]
        base = code.address(rows.base, code.op(f"mul i64 %{number}, {size}"))
        self._parts(fold, base, latch, end)
        code.begin(latch)
        code.line(f"%{following} = add i64 %{number}, 1")
        code.line(f"br i1 {code.op(f'icmp ult i64 %{following}, {rows.number}')}, label %{row}, label %{after}")
        code.begin(after)

    def _repeat(self, fold: FoldProgram) -> None:
        """Write a fold that runs several times: the values that it changes stay in registers."""
        code = self._code
        parts = [part for part in fold.parts if isinstance(part, Program)]
        sizes = {name: size for part in parts for name, (size,) in part.outputs.items()}
        places = [self._first[name] + i for name, size in sizes.items() for i in range(size)]
        starts = [self.load_value(place) for place in places]
        before, again, after, number, following = map(code.label, ("before", "again", "after", "number", "following"))
        code.line(f"br label %{before}")
        code.begin(before)
        code.line(f"br label %{again}")
        code.begin(again)
        begin, firsts = len(code.lines), [f"%{code.label('first')}" for _ in places]
        self._held = dict(zip(places, firsts, strict=True))
        for part in parts:
            self._part(part, None, None)
        held, self._held = self._held, {}
        phis = [f"  %{number} = phi i64 [0, %{before}], [%{following}, %{again}]"]
        for first, start, place in zip(firsts, starts, places, strict=True):
            phis.append(f"  {first} = phi {code.type} [{start}, %{before}], [{held[place]}, %{again}]")
        code.lines[begin:begin] = phis
        code.line(f"%{following} = add i64 %{number}, 1")
        code.line(f"br i1 {code.op(f'icmp ult i64 %{following}, {fold.times}')}, label %{again}, label %{after}")
        code.begin(after)
        for place in places:
            self._store(place, held[place])

    def _parts(self, fold: FoldProgram, row: str | None, after: str, end: str, lanes: str | None = None) -> None:
        """Write the parts for the row at this address; then the code goes on at ``after``, or at ``end``.

        ``lanes`` are those in which they count, a bit each; None: all.
        """
        code = self._code
        needed = None if fold.near is None else self._needed(fold.near, row, after, lanes)
        for k, part in enumerate(fold.parts):
            following = code.label("part_end")
            if needed is not None:
                here = code.label("part")
                some = code.op(f"icmp ne i{code.width} {needed[k]}, 0")
                code.line(f"br i1 {some}, label %{here}, label %{following}")
                code.begin(here)
            here_lanes = lanes if needed is None else needed[k]
            if isinstance(part, FoldProgram):
                self._parts(part, row, following, end, here_lanes)
            else:
                self._part(part, row, here_lanes)
                code.line(f"br label %{following}")
            code.begin(following)
        code.line(f"br i1 {self._goes_on()}, label %{after}, label %{end}")

    def _needed(self, near: Program, row: str | None, after: str, lanes: str | None) -> list[str]:
        """Write where each part counts, a bit for each lane; on to ``after`` where none does."""
        code = self._code
        above = [self._lanes_above_zero(value) for value in body(code, near.late(), _Known(self, row))]
        if lanes is not None:
            above = [code.op(f"and i{code.width} {bits}, {lanes}") for bits in above]
        some = above[0]
        for bits in above[1:]:
            some = code.op(f"or i{code.width} {some}, {bits}")
        here = code.label("near")
        code.line(f"br i1 {code.op(f'icmp ne i{code.width} {some}, 0')}, label %{here}, label %{after}")
        code.begin(here)
        return above

    def _part(self, part: Program, row: str | None, lanes: str | None) -> None:
        """Write one part, which counts in these lanes; entries that it leaves as they are stay where they are."""
        code = self._code
        flags = "" if lanes is None else code.op(f"bitcast i{code.width} {lanes} to {code.flags}")
        results = iter(zip(part.results, body(self._code, part.late(), _Known(self, row)), strict=True))
        for name, (size,) in part.outputs.items():
            for i in range(size):
                line, value = next(results)
                place = self._first[name] + i
                operation = part.lines[line]
                if operation.name != "input" or operation.a != self._n_inputs + place:
                    if flags:
                        old = self.load_value(place)
                        value = code.op(f"select {code.flags} {flags}, {code.type} {value}, {code.type} {old}")
                    self._store(place, value)

    def _goes_on(self) -> str:
        """Whether some lane goes on."""
        code = self._code
        if not self._program.goes_on:
            return "true"
        above = self._lanes_above_zero(self.load_value(self._first[self._program.goes_on]))
        return code.op(f"icmp ne i{code.width} {above}, 0")

    def _lanes_above_zero(self, value: str) -> str:
        """The lanes in which a value is above zero, a bit each."""
        flags = self._code.op(f"fcmp ogt {self._code.type} {value}, zeroinitializer")
        return self._code.op(f"bitcast {self._code.flags} {flags} to i{self._code.width}")

    def _store(self, place: int, value: str) -> None:
        code = self._code
        if place in self._held:
            self._held[place] = value
            return
        code.line(f"store {code.type} {value}, ptr {self._at(place)}, align {8 * code.width}")

    def _at(self, place: int) -> str:
        return self._code.op(f"getelementptr {self._code.type}, ptr %values, i64 {place}")

    def load_value(self, place: int) -> str:
        """One value of every lane."""
        if place in self._held:
            return self._held[place]
        return self._code.op(f"load {self._code.type}, ptr {self._at(place)}, align {8 * self._code.width}")

    def load(self, number: int, row: str | None) -> str:
        """One entry of the inputs of a part.

        Parameters
        ----------
        number : int
            Its place among all inputs, then all values, then the row.
        row : str or None
            Address of the row at hand.
        """
        if number < self._n_inputs:
            return self._inputs[number]
        if number < self._n_inputs + self._n_values:
            return self.load_value(number - self._n_inputs)
        return self._code.broadcast(self._code.load(str(row), str(number - self._n_inputs - self._n_values)))


class _Known:
    """Entries of what a program behind ``before`` knows, loaded when they are asked for."""

    def __init__(self, writer: FoldWriter, row: str | None) -> None:
        self._writer, self._row = writer, row

    def __getitem__(self, number: int) -> str:
        return self._writer.load(number, self._row)
