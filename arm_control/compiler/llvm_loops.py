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

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from arm_control.compiler.law import REPETITIONS, Loop
from arm_control.compiler.llvm_code import Entry, body, called_code, store_rows
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import FoldedProgram, FoldProgram, Program

# -- arrays


HEAD = 3
"""Numbers in a table before those of the arrays: cases; repetitions at most, whether the first case done is enough."""


class ArrayPlace(NamedTuple):
    """An array: its address, and the distances of its rows and of its columns; of a table the number of its rows."""

    base: str
    row: str
    column: str


Places = Mapping[str, ArrayPlace]
"""The arrays by name."""


# -- laws with folds


class FoldWriter:
    """Writes a law with folds."""

    def __init__(
        self, head: Writer, code: Writer, program: FoldedProgram, entry: Entry, tables: Mapping[str, ArrayPlace]
    ) -> None:
        self._code, self._program, self._entry, self._tables = code, program, entry, tables
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
        for place, value in enumerate(body(self._code, self._program.before.late(), self._entry)):
            self._store(place, value)
        end = self._code.label("folds_end")
        for fold in self._program.folds:
            self._fold(fold, end)
        self._code.line(f"br label %{end}")
        self._code.begin(end)
        results = body(self._code, self._program.after.late(), self.load)
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
        code.line(f"br i1 {code.op(f'icmp ugt i64 {rows.row}, 0')}, label %{row}, label %{after}")
        code.begin(row)
        code.line(f"%{number} = phi i64 [0, %{enter}], [%{following}, %{latch}]")
        size = self._program.inputs[fold.table]
        base = code.address(rows.base, code.op(f"mul i64 %{number}, {size}"))
        self._parts(fold, base, latch, end)
        code.begin(latch)
        code.line(f"%{following} = add i64 %{number}, 1")
        code.line(f"br i1 {code.op(f'icmp ult i64 %{following}, {rows.row}')}, label %{row}, label %{after}")
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
        above = [self._lanes_above_zero(value) for value in body(code, near.late(), partial(self.load, row=row))]
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
        results = iter(zip(part.results, body(self._code, part.late(), partial(self.load, row=row)), strict=True))
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

    def load(self, number: int, row: str | None = None) -> str:
        """One entry of the inputs of a part.

        Parameters
        ----------
        number : int
            Its place among all inputs, then all values, then the row.
        row : str or None
            Address of the row at hand.
        """
        if number < self._n_inputs:
            return self._entry(number)
        if number < self._n_inputs + self._n_values:
            return self.load_value(number - self._n_inputs)
        return self._code.broadcast(self._code.load(str(row), str(number - self._n_inputs - self._n_values)))


# -- laws for many cases


def array_names(loop: Loop, outputs: Iterable[str]) -> list[str]:
    """Names of the arrays, in the order of the table, from those of the outputs."""
    return list(dict.fromkeys([*loop.law.inputs, *outputs, *([REPETITIONS] if loop.is_repeated else [])]))


def loop_code(program: Program | FoldedProgram, name: str, width: int, loop: Loop) -> str:
    """Intermediate code of a loop; in the program of one case every output is one row."""
    write = _repeated_code if loop.is_repeated else _one_by_one_code
    return write(program, name, width, loop)


def _one_by_one_code(program: Program | FoldedProgram, name: str, width: int, loop: Loop) -> str:
    """Code that comes to each case once."""
    width = width if loop.is_vector else 1
    head, code, tail = Writer(width), Writer(width), Writer(width)
    code.start(10_000_000)
    tail.start(20_000_000)
    head.line("%n = load i64, ptr %table, align 8")
    places = _places(head, array_names(loop, program.outputs))
    arguments = head, code, program, loop, places
    memory: _Columns | _Rows = _Columns(*arguments) if loop.layout == "columns" else _Rows(*arguments)
    if isinstance(program, FoldedProgram):
        tables = {key: places[key] for key in program.tables}
        results = FoldWriter(head, code, program, memory.inputs(), tables).write()
    else:
        late = program.late() if loop.layout == "rows" else program  # registers are few
        results = body(code, late, memory.inputs())
    totals = _Totals(code)
    outputs = _by_name(program, results)
    for key, values in outputs.items():
        if key in loop.totals:
            totals.add(values, places[key].base)
        elif key not in loop.carried:
            memory.store(key, values)
    if loop.goes_on:
        above = code.op(f"fcmp ogt double {outputs[loop.goes_on][0]}, 0.0")
        code.line(f"br i1 {above}, label %on, label %stop")
        code.lines.append("on:")
    for key in loop.carried:
        store_rows(code, outputs[key], ["0"], places[key].base)
    totals.store(tail)
    last = "folded" if isinstance(program, FoldedProgram) else "on" if loop.goes_on else "loop"
    return "\n".join(
        [
            f"declare double {_sum_of_lanes(width)}(double, <{width} x double>)",
            *called_code([program], width),
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


def _places(code: Writer, names: Sequence[str]) -> dict[str, ArrayPlace]:
    """Read the table."""
    places = {}
    for k, name in enumerate(names):
        base, row, column = (code.address("%table", str(HEAD + 3 * k + i)) for i in range(3))
        loads = f"load ptr, ptr {base}", f"load i64, ptr {row}", f"load i64, ptr {column}"
        places[name] = ArrayPlace(*(code.op(f"{load}, align 8") for load in loads))
    return places


def _by_name(program: Program | FoldedProgram, results: list[str]) -> dict[str, list[str]]:
    outputs, first = {}, 0
    for name, (size,) in program.outputs.items():
        outputs[name] = results[first : first + size]
        first += size
    return outputs


class _Columns:
    """Cases side by side: an entry of all lanes is one vector in memory. Shared inputs stay in registers."""

    def __init__(
        self, head: Writer, code: Writer, program: Program | FoldedProgram, loop: Loop, places: Places
    ) -> None:
        self._code, self._places = code, places
        self._sizes = {name: size for name, size in program.inputs.items() if name not in loop.law.tables}
        self._shared = {
            name: [head.broadcast(head.load(places[name].base, str(i))) for i in range(self._sizes[name])]
            for name in loop.shared
            if name in self._sizes
        }

    def load(self, name: str, i: int) -> str:
        """One entry of an input, of each lane."""
        if name in self._shared:
            return self._shared[name][i]
        return self._code.op(f"load {self._code.type}, ptr {self._address(name, i)}, align 8")

    def inputs(self) -> Entry:
        """Load all entries of all inputs."""
        return [self.load(name, i) for name, size in self._sizes.items() for i in range(size)].__getitem__

    def store(self, name: str, values: list[str]) -> None:
        """Write an output."""
        for i, value in enumerate(values):
            self._code.line(f"store {self._code.type} {value}, ptr {self._address(name, i)}, align 8")

    def _address(self, name: str, i: int) -> str:
        base, step, _ = self._places[name]
        row = self._code.op(f"mul i64 {step}, {i}")
        return self._code.address(base, self._code.op(f"add i64 {row}, %first"))


class _Rows:
    """One case behind the other: entries of several lanes are gathered, each when it is asked for."""

    def __init__(self, _: Writer, code: Writer, program: Program | FoldedProgram, loop: Loop, places: Places) -> None:
        self._code, self._loop, self._places, self._program = code, loop, places, program
        self._entries = [(name, i) for name, size in program.inputs.items() for i in range(size)]

    def load(self, name: str, i: int) -> str:
        """One entry of an input, of each lane."""
        if self._code.width > 1 and name not in self._loop.shared:
            return self._code.gather(self._bases[name], self._rows[name], i)
        entry = self._code.load(self._bases[name], str(i))
        return entry if self._code.width == 1 else self._code.broadcast(entry)

    def inputs(self) -> Entry:
        """Begin with the inputs of a case; their entries are loaded later."""
        self._bases = {
            name: self._places[name].base if name in self._loop.whole else self._row(name)
            for name in self._program.inputs
        }
        self._rows = {
            name: self._distances(name)
            for name in self._program.inputs
            if name not in self._loop.shared and self._code.width > 1
        }
        return lambda number: self.load(*self._entries[number])

    def store(self, name: str, values: list[str]) -> None:
        """Write an output."""
        base = self._row(name)
        store_rows(self._code, values, self._distances(name), base)

    def _distances(self, name: str) -> list[str]:
        """Distance of each lane's row from the first one."""
        return [self._code.op(f"mul i64 {self._places[name].row}, {lane}") for lane in range(self._code.width)]

    def _row(self, name: str) -> str:
        """Address of the row at hand, the first one of those in the lanes."""
        base, step, _ = self._places[name]
        number = "%first"
        if self._loop.backwards and self._code.width == 1:
            number = self._code.op(f"sub i64 {self._code.op('sub i64 %n, 1')}, %first")
        return self._code.address(base, self._code.op(f"mul i64 {step}, {number}"))


class _Totals:
    """Sums over all cases, gathered lane by lane and reduced at the end."""

    def __init__(self, code: Writer) -> None:
        self._code = code
        self._gathered: list[str] = []
        self._targets: list[tuple[str, int]] = []

    def add(self, values: list[str], base: str) -> None:
        """Gather an output, which goes to this address."""
        for i, value in enumerate(values):
            self._gathered.append(self._code.op(f"fadd {self._code.type} %total{len(self._gathered)}, {value}"))
            self._targets.append((base, i))

    def starts(self) -> list[str]:
        """Lines at the beginning of the loop."""
        zero = f"{self._code.type} [{self._code.constant(0.0)}, %entry]"
        return [f"  %total{k} = phi {zero}, [%kept{k}, %latch]" for k in range(len(self._gathered))]

    def ends(self, last: str) -> list[str]:
        """Lines at the end of the loop, which comes from the block ``last``."""
        kind = self._code.type
        return [f"  %kept{k} = phi {kind} [{gathered}, %{last}]" for k, gathered in enumerate(self._gathered)]

    def store(self, code: Writer) -> None:
        """Write each total: one number from a lane each."""
        for k, (base, i) in enumerate(self._targets):
            reduced = code.op(f"call double {_sum_of_lanes(code.width)}(double -0.0, {code.type} %kept{k})")
            code.line(f"store double {reduced}, ptr {code.address(base, str(i))}, align 8")


def _sum_of_lanes(width: int) -> str:
    return f"@llvm.vector.reduce.fadd.v{width}f64"


# -- repeated laws


_CODE = """
define double @{name}(ptr %table) {{
entry:
  %work = alloca [{n_entries} x <{width} x double>], align 64
  %cases = alloca <{width} x i64>, align 64
  %counts = alloca <{width} x i64>, align 64
  %waiting = alloca i64
  %active = alloca i64
  %best = alloca i64
{space}
  %n = load i64, ptr %table, align 8
  %limit_at = getelementptr i64, ptr %table, i64 1
  %limit = load i64, ptr %limit_at, align 8
  %first_at = getelementptr i64, ptr %table, i64 2
  %first_number = load i64, ptr %first_at, align 8
  %is_first_enough = icmp ne i64 %first_number, 0
  store <{width} x i64> zeroinitializer, ptr %counts, align 64
  store i64 %n, ptr %best
{start}
  br label %again
again:
{repetition}
  br label %decide
decide:
  %counts_before = load <{width} x i64>, ptr %counts, align 64
  %counts_now = add <{width} x i64> %counts_before, {ones}
  store <{width} x i64> %counts_now, ptr %counts, align 64
  %may_go_on = icmp ult <{width} x i64> %counts_now, %limits
  %goes_on = and <{width} x i1> %above, %may_go_on
  %done_lanes = bitcast <{width} x i1> %done to i{width}
  %done_bits = zext i{width} %done_lanes to i64
  %on_lanes = bitcast <{width} x i1> %goes_on to i{width}
  %on_bits = zext i{width} %on_lanes to i64
  %off_bits = xor i64 %on_bits, -1
  %active_before = load i64, ptr %active
  %ended = and i64 %active_before, %off_bits
  %is_quiet = icmp eq i64 %ended, 0
  br i1 %is_quiet, label %again, label %event
event:
  %ended_left = phi i64 [%ended, %decide], [%ended_after, %next]
  %lane = call i64 @llvm.cttz.i64(i64 %ended_left, i1 true)
  %case_at = getelementptr i64, ptr %cases, i64 %lane
  %case = load i64, ptr %case_at
  %count_at = getelementptr i64, ptr %counts, i64 %lane
  %count = load i64, ptr %count_at
  %count_result = uitofp i64 %count to double
{results}
  %bit = shl i64 1, %lane
  %done_bit = and i64 %done_bits, %bit
  %is_done = icmp ne i64 %done_bit, 0
  %best_before = load i64, ptr %best
  %is_earlier = icmp ult i64 %case, %best_before
  %is_best = and i1 %is_done, %is_earlier
  %best_now = select i1 %is_best, i64 %case, i64 %best_before
  store i64 %best_now, ptr %best
  %is_found = icmp ult i64 %best_now, %n
  %is_over = and i1 %is_found, %is_first_enough
  %case_new = load i64, ptr %waiting
  %is_empty = icmp uge i64 %case_new, %n
  %is_last = or i1 %is_over, %is_empty
  br i1 %is_last, label %idle, label %take
take:
  store i64 %case_new, ptr %case_at
  store i64 0, ptr %count_at
{case}
  %waiting_after = add i64 %case_new, 1
  store i64 %waiting_after, ptr %waiting
  br label %next
idle:
  %others = xor i64 %bit, -1
  %active_with = load i64, ptr %active
  %active_without = and i64 %active_with, %others
  store i64 %active_without, ptr %active
  br label %next
next:
  %ended_less = sub i64 %ended_left, 1
  %ended_after = and i64 %ended_left, %ended_less
  %is_more = icmp ne i64 %ended_after, 0
  br i1 %is_more, label %event, label %resume
resume:
  %active_now = load i64, ptr %active
  %cases_now = load <{width} x i64>, ptr %cases, align 64
  %bests = insertelement <{width} x i64> poison, i64 %best_now, i64 0
  %bests_all = shufflevector <{width} x i64> %bests, <{width} x i64> poison, <{width} x i32> zeroinitializer
  %is_before = icmp ult <{width} x i64> %cases_now, %bests_all
  %before_lanes = bitcast <{width} x i1> %is_before to i{width}
  %before_bits = zext i{width} %before_lanes to i64
  %before_active = and i64 %active_now, %before_bits
  %needed = select i1 %is_first_enough, i64 %before_active, i64 %active_now
  store i64 %needed, ptr %active
  %is_work_left = icmp ne i64 %needed, 0
  br i1 %is_work_left, label %again, label %end
end:
  %result = uitofp i64 %best_now to double
  ret double %result
}}"""


class _Place(NamedTuple):
    """An array, and its first entry in the work space."""

    array: ArrayPlace
    entry: int
    size: int


def _repeated_code(program: Program | FoldedProgram, name: str, width: int, loop: Loop) -> str:
    """Code that repeats the law on each case."""
    start = Writer(1)
    places = _work_places(program, _places(start, array_names(loop, program.outputs)))
    own = [places[key] for key in program.inputs if key not in loop.shared]
    results = [places[key] for key in program.outputs]
    count = places.pop(REPETITIONS)  # it needs no entry in the work space
    _start_lanes(start, [places[key] for key in loop.shared if key not in loop.law.tables], own, width)
    case, stored, space = Writer(1), Writer(1), Writer(1)
    case.start(30_000_000)
    stored.start(40_000_000)
    _load_case(case, own, width, "%case_new", "%lane")
    for place in results:
        for i in range(place.size):
            value = stored.op(f"load double, ptr {_in_lane(stored, place.entry + i, width, '%lane')}, align 8")
            stored.line(f"store double {value}, ptr {_in_array(stored, place, i, '%case')}, align 8")
    stored.line(f"store double %count_result, ptr {_in_array(stored, count, 0, '%case')}, align 8")
    text = _CODE.format(
        name=name,
        width=width,
        n_entries=sum(place.size for place in places.values()),
        ones=f"<{', '.join(['i64 1'] * width)}>",
        start="\n".join(start.lines),
        repetition="\n".join(_repetition(program, loop, places, space, width)),
        space="\n".join(space.lines),
        results="\n".join(stored.lines),
        case="\n".join(case.lines),
    )
    return "\n".join(["declare i64 @llvm.cttz.i64(i64, i1)", *called_code([program], width), text])


def _work_places(program: Program | FoldedProgram, arrays: Places) -> dict[str, _Place]:
    """Give every array its entries in the work space."""
    sizes = {**program.inputs, **{name: shape[0] for name, shape in program.outputs.items()}, REPETITIONS: 1}
    places, entry = {}, 0
    for name, array in arrays.items():
        places[name] = _Place(array, entry, sizes[name])
        entry += sizes[name]
    return places


def _start_lanes(code: Writer, shared: Sequence[_Place], own: Sequence[_Place], width: int) -> None:
    """Shared inputs and the first cases into the lanes."""
    for place in shared:
        for i in range(place.size):
            value = code.load(place.array.base, code.op(f"mul i64 {place.array.row}, {i}"))
            for lane in range(width):
                code.line(f"store double {value}, ptr {_in_lane(code, place.entry + i, width, str(lane))}, align 8")
    for lane in range(width):
        is_there = code.op(f"icmp ult i64 {lane}, %n")
        case = code.op(f"select i1 {is_there}, i64 {lane}, i64 0")
        code.line(f"store i64 {case}, ptr {code.op(f'getelementptr i64, ptr %cases, i64 {lane}')}, align 8")
        _load_case(code, own, width, case, str(lane))
    fills = code.op(f"icmp ult i64 %n, {width}")
    begun = code.op(f"select i1 {fills}, i64 %n, i64 {width}")
    code.line(f"store i64 {begun}, ptr %waiting")
    beyond = code.op(f"shl i64 1, {begun}")
    code.line(f"store i64 {code.op(f'sub i64 {beyond}, 1')}, ptr %active")
    vector = f"<{width} x i64>"
    code.line(f"%limit_0 = insertelement {vector} poison, i64 %limit, i64 0")
    code.line(f"%limits = shufflevector {vector} %limit_0, {vector} poison, <{width} x i32> zeroinitializer")


def _load_case(code: Writer, own: Sequence[_Place], width: int, case: str, lane: str) -> None:
    """Copy the inputs of one case into a lane."""
    for place in own:
        for i in range(place.size):
            value = code.op(f"load double, ptr {_in_array(code, place, i, case)}, align 8")
            code.line(f"store double {value}, ptr {_in_lane(code, place.entry + i, width, lane)}, align 8")


def _repetition(
    program: Program | FoldedProgram, loop: Loop, places: Mapping[str, _Place], head: Writer, width: int
) -> list[str]:
    """The law once, from the work space to the work space; ``%above`` and ``%done`` flag lanes."""
    code = Writer(width)
    code.start(10_000_000)
    own = program.inputs.keys() - set(loop.law.tables)
    entries = [place.entry + i for name, place in places.items() if name in own for i in range(place.size)]

    def address(entry: int) -> str:
        return code.op(f"getelementptr {code.type}, ptr %work, i64 {entry}")

    def load(number: int) -> str:
        return code.op(f"load {code.type}, ptr {address(entries[number])}, align {8 * width}")

    if isinstance(program, FoldedProgram):
        tables = {name: places[name].array for name in program.tables}
        results = iter(FoldWriter(head, code, program, load, tables).write())
    else:
        results = iter(body(code, program, load))
    for name, (size,) in program.outputs.items():
        for i in range(size):
            value = next(results)
            code.line(f"store {code.type} {value}, ptr {address(places[name].entry + i)}, align {8 * width}")
            if name == loop.goes_on:
                code.line(f"%above = fcmp ogt {code.type} {value}, zeroinitializer")
                code.line(f"%done = fcmp ole {code.type} {value}, zeroinitializer")
    return code.lines


def _in_lane(code: Writer, entry: int, width: int, lane: str) -> str:
    """Address of an entry of one lane."""
    return code.address("%work", code.op(f"add i64 {lane}, {entry * width}"))


def _in_array(code: Writer, place: _Place, i: int, case: str) -> str:
    """Address of an entry of one case."""
    row, column = code.op(f"mul i64 {place.array.row}, {i}"), code.op(f"mul i64 {place.array.column}, {case}")
    return code.address(place.array.base, code.op(f"add i64 {row}, {column}"))
