"""A repeated law in LLVM's intermediate language: ``double NAME(ptr table)``, which returns the first case done.

The table holds the number of cases n, the limit of repetitions, whether the first case done is enough, then for every
array its address and the distances of its rows and of its columns [numbers]; for a table of a law with folds the number
of its rows.

    entry    shared inputs go into every lane, the first cases into a lane each; lanes left over repeat case 0, idle
    again    the law once, in all lanes
    event    a lane whose case has ended: its results are stored
    take     the lane's next case is loaded
    idle     there is no case left for it
    next     the next such lane, or
    resume   the law again, as long as some lane has a case

The numbers at work lie in a work space, an entry of all lanes side by side: inputs, then outputs that are not carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arm_control.compiler.llvm_code import body, declarations, functions
from arm_control.compiler.llvm_folds import FoldWriter, TableRows
from arm_control.compiler.llvm_writer import Writer
from arm_control.compiler.program import FoldedProgram, Program
from arm_control.compiler.repeat import Repeat

HEAD = 3
"""Numbers in the table before those of the arrays."""

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
    """An array: its address, the distances of its rows and of its columns, and its first entry in the work space."""

    base: str
    row: str
    column: str
    entry: int
    size: int


def array_names(inputs: Sequence[str], outputs: Sequence[str], repeat: Repeat) -> list[str]:
    """Names of the arrays, in the order of the table.

    Parameters
    ----------
    inputs, outputs : sequence of str
        Those of the law.
    repeat : Repeat
    """
    return [*inputs, *(name for name in outputs if name not in repeat.carried), repeat.count]


def repeat_code(program: Program | FoldedProgram, name: str, width: int, repeat: Repeat) -> str:
    """Intermediate code of a repeated law.

    Parameters
    ----------
    program : Program or FoldedProgram
        One repetition, every output in one row.
    name : str
        Name of the function.
    width : int
        Lanes of a vector register: 2, 4 or 8.
    repeat : Repeat
    """
    start = Writer(1)
    places = _places(start, program, repeat)
    own = [places[key] for key in program.inputs if key not in repeat.shared]
    results = [places[key] for key in program.outputs]
    count = places.pop(repeat.count)  # it needs no entry in the work space
    _start_lanes(start, [places[key] for key in repeat.shared if key not in repeat.law.tables], own, width)
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
        repetition="\n".join(_repetition(program, repeat, places, space, width)),
        space="\n".join(space.lines),
        results="\n".join(stored.lines),
        case="\n".join(case.lines),
    )
    return "\n".join(["declare i64 @llvm.cttz.i64(i64, i1)", *declarations(width), *functions(program, width), text])


def _places(code: Writer, program: Program | FoldedProgram, repeat: Repeat) -> dict[str, _Place]:
    """Read the table, and give every array its entries in the work space."""
    sizes = {**program.inputs, **{name: shape[0] for name, shape in program.outputs.items()}, repeat.count: 1}
    places, entry = {}, 0
    for k, name in enumerate(array_names(list(program.inputs), list(program.outputs), repeat)):
        numbers = [code.address("%table", str(HEAD + 3 * k + i)) for i in range(3)]
        base = code.op(f"load ptr, ptr {numbers[0]}, align 8")
        row, column = (code.op(f"load i64, ptr {number}, align 8") for number in numbers[1:])
        places[name] = _Place(base, row, column, entry, sizes[name])
        entry += sizes[name]
    return places


def _start_lanes(code: Writer, shared: Sequence[_Place], own: Sequence[_Place], width: int) -> None:
    """Shared inputs and the first cases into the lanes."""
    for place in shared:
        for i in range(place.size):
            value = code.load(place.base, code.op(f"mul i64 {place.row}, {i}"))
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
    program: Program | FoldedProgram, repeat: Repeat, places: Mapping[str, _Place], head: Writer, width: int
) -> list[str]:
    """The law once, from the work space to the work space; ``%above`` and ``%done`` flag lanes."""
    code = Writer(width)
    code.start(10_000_000)
    own = program.inputs.keys() - set(repeat.law.tables)
    inputs = _InLanes(code, [place for name, place in places.items() if name in own])
    if isinstance(program, FoldedProgram):
        tables = {name: TableRows(places[name].base, places[name].row) for name in program.tables}
        results = iter(FoldWriter(head, code, program, inputs, tables).write())
    else:
        results = iter(body(code, program, inputs))
    for name, (size,) in program.outputs.items():
        for i in range(size):
            value = next(results)
            code.line(f"store {code.type} {value}, ptr {inputs.address(places[name].entry + i)}, align {8 * width}")
            if name == repeat.goes_on:
                code.line(f"%above = fcmp ogt {code.type} {value}, zeroinitializer")
                code.line(f"%done = fcmp ole {code.type} {value}, zeroinitializer")
    return code.lines


class _InLanes:
    """Entries of all inputs but the tables, loaded from the work space when they are asked for."""

    def __init__(self, code: Writer, places: Sequence[_Place]) -> None:
        self._code = code
        self._entries = [place.entry + i for place in places for i in range(place.size)]

    def __getitem__(self, number: int) -> str:
        code = self._code
        return code.op(f"load {code.type}, ptr {self.address(self._entries[number])}, align {8 * code.width}")

    def address(self, entry: int) -> str:
        """Address of an entry of all lanes."""
        return self._code.op(f"getelementptr {self._code.type}, ptr %work, i64 {entry}")


def _in_lane(code: Writer, entry: int, width: int, lane: str) -> str:
    """Address of an entry of one lane."""
    return code.address("%work", code.op(f"add i64 {lane}, {entry * width}"))


def _in_array(code: Writer, place: _Place, i: int, case: str) -> str:
    """Address of an entry of one case."""
    row = code.op(f"mul i64 {place.row}, {i}")
    return code.address(place.base, code.op(f"add i64 {row}, {code.op(f'mul i64 {place.column}, {case}')}"))
