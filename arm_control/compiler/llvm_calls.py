"""Built-in calls in LLVM's intermediate language: arguments checked, a kernel called, results made.

    object NAME(object self, object *arguments, i64 n, object names)

is the form of a function built into Python that finds its arguments where the interpreter has them. ``self`` is a tuple
``(slow, library, bound arrays, bound objects)``. Where an argument is not what the form says (numbers of another type,
another shape or order in memory, a list, a keyword, a number that is not finite) the call goes on to ``slow`` as it
came.

Inputs are copied to the stack and the kernel computes there, so any number of threads may call it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from arm_control.compiler.call_forms import (
    INTO,
    Argument,
    ArrayArgument,
    ArrayResult,
    Block,
    BoundResult,
    CallForm,
    FlagResult,
    InputResult,
    ItemResult,
    ItemsArgument,
    NumberArgument,
    NumberResult,
    Result,
    TargetArgument,
    TupleArgument,
    TupleResult,
    parts_of,
    target_of,
)
from arm_control.compiler.call_table import CALL, MAKE_ARRAY, TABLE, CallTable
from arm_control.compiler.llvm_writer import Writer, compare_pointers
from arm_control.compiler.object_layouts import (
    ALIGNED,
    C_CONTIGUOUS,
    DATA,
    DESCR,
    FLAGS,
    HEAD,
    ITEMS,
    LIST_ITEMS,
    LIST_SIZE,
    NDIM,
    SHAPE,
    TUPLE_HASH,
    TUPLE_SIZE,
    TYPE,
    WRITEABLE,
)

COMPUTE = "compute"
"""The kernel: takes a block of inputs and outputs; returns 0 where every input is finite, else nan."""
SLOW, FIRST_BOUND = 0, 2
"""Places in ``self``."""
WORD = 8
"""Bytes of a number or a pointer."""


def call_functions(program: Block, forms: Sequence[CallForm]) -> list[str]:
    """Code of the built-in functions around a kernel, and of their table.

    Parameters
    ----------
    program : Program or other Block
        What the kernel computes in.
    forms : sequence of CallForm
        What the functions take and return.
    """
    if not forms:
        return []
    table = CallTable(forms)
    writers = [_CallWriter(program, form, table) for form in forms]
    shapes = sorted({writer.shape(part) for writer in writers for part in writer.arrays()})
    return [
        f"@{TABLE} = global [{len(table)} x ptr] zeroinitializer",
        *(f"@{_name(shape)} = private constant [{len(shape)} x i64] [{_entries(shape)}]" for shape in shapes if shape),
        "declare void @llvm.memcpy.inline.p0.p0.i64(ptr, ptr, i64, i1)",
        "declare void @llvm.memset.inline.p0.i64(ptr, i8, i64, i1)",
        '!0 = !{!"branch_weights", i32 1000, i32 1}',
        *(line for writer in writers for line in writer.function()),
    ]


def _name(shape: tuple[int, ...]) -> str:
    return f"shape_{'_'.join(map(str, shape))}"


def _entries(shape: tuple[int, ...]) -> str:
    return ", ".join(f"i64 {n}" for n in shape)


class _CallWriter:
    """Writes one built-in function; `references` are slots on the stack, each for a reference that it holds."""

    def __init__(self, program: Block, form: CallForm, table: CallTable) -> None:
        self._program, self._form, self._table = program, form, table
        self._code = Writer(1)
        self._references: list[str] = []
        self._items: list[tuple[str, str]] = []  # of tuples: where, and what
        self._targets: list[TargetArgument] = []
        self._places: dict[str, int] = {}
        first = 0
        sizes = {**program.inputs, **{name: math.prod(shape) for name, shape in program.outputs.items()}}
        for name, size in sizes.items():
            self._places[name] = first
            first += size
        self._size = first

    def arrays(self) -> list[ArrayResult | InputResult]:
        """Results that are arrays."""
        return [part for part in parts_of(self._form.result) if isinstance(part, ArrayResult | InputResult)]

    def shape(self, part: ArrayResult | InputResult) -> tuple[int, ...]:
        """Shape of a result."""
        if isinstance(part, ArrayResult):
            return self._program.outputs[part.output]
        return (self._program.inputs[part.input],)

    def function(self) -> list[str]:
        """Lines of the whole function."""
        self._take_arguments()
        borrowed = list(self._references)
        self._release(borrowed)
        self._compute()
        self._return_result()
        self._leave(borrowed)
        head = [f"define ptr @{self._form.name}(ptr %self, ptr %arguments, i64 %n, ptr %names) {{", "entry:"]
        kept = [*self._references, *(["%target"] if self._form.fills else [])]
        slots = [line for x in kept for line in (f"  {x} = alloca ptr", f"  store ptr null, ptr {x}")]
        slots += [f"  %target_{k} = alloca ptr" for k in range(len(self._targets))]
        return [*head, f"  %work = alloca [{self._size} x double], align 64", *slots, *self._code.lines, "}"]

    def _take_arguments(self) -> None:
        form = self._form
        enough = self._code.op(f"icmp uge i64 %n, {form.least}")
        few = self._code.op(f"icmp ule i64 %n, {len(form.arguments)}")
        if form.fills:
            self._take_target()
            self._require(enough, few)
        else:
            self._require(enough, few, self._code.op("icmp eq ptr %names, null"))
        self._clear_inputs()
        for k, name in enumerate(form.bound):
            array = self._load("%self", ITEMS + WORD * (FIRST_BOUND + k))
            self._copy(self._work(name), self._load(array, DATA), self._program.inputs[name])
        for k, argument in enumerate(form.arguments):
            if k < form.least:
                self._take(argument, self._load("%arguments", WORD * k))
            else:
                self._take_optional(argument, k)

    def _take_target(self) -> None:
        """An earlier result, by its keyword: the address of each of its arrays is noted, and its own."""
        code, given, ready = self._code, self._code.label("given"), self._code.label("ready")
        code.line(f"br i1 {code.op('icmp eq ptr %names, null')}, label %{ready}, label %{given}")
        code.begin(given)
        self._require(code.op(f"icmp eq i64 {self._load('%names', TUPLE_SIZE, 'i64')}, 1"))
        self._require(self._is_same(self._load("%names", ITEMS), self._entry(sys.intern(INTO))))
        item = code.op(f"load ptr, ptr {code.op('getelementptr ptr, ptr %arguments, i64 %n')}")
        self._take(target_of(self._form.result, self.shape), item)
        code.line(f"store ptr {item}, ptr %target")
        code.line(f"br label %{ready}")
        code.begin(ready)

    def _take_optional(self, argument: Argument, k: int) -> None:
        code, there, absent = self._code, self._code.label("there"), self._code.label("absent")
        code.line(f"br i1 {code.op(f'icmp ugt i64 %n, {k}')}, label %{there}, label %{absent}")
        code.begin(there)
        item = self._load("%arguments", WORD * k)
        if self._form.takes_none:
            given = code.label("given")
            code.line(f"br i1 {self._is_same(item, self._entry(None))}, label %{absent}, label %{given}")
            code.begin(given)
        self._take(argument, item)
        code.line(f"br label %{absent}")
        code.begin(absent)

    def _compute(self) -> None:
        total = self._code.op(f"call double @{COMPUTE}(ptr %work)")
        flags = [self._code.op(f"fcmp oeq double {total}, 0.0")]
        flags += [self._is_positive(name, 0) for name in self._form.certificates]
        if self._form.objection:
            flags.append(self._code.op(f"xor i1 {self._is_positive(self._form.objection, 0)}, true"))
        self._require(*flags, otherwise="ask")

    def _return_result(self) -> None:
        """Make all objects, then put them together: nothing can fail any more; or fill an earlier result."""
        if self._form.fills:
            self._return_target()
        root = self._make(self._form.result)
        for place, item in self._items:
            self._code.line(f"store ptr {item}, ptr {place}")
        self._code.line(f"ret ptr {root}")

    def _return_target(self) -> None:
        """Where there is an earlier result, fill and return it."""
        code, fill, make = self._code, self._code.label("fill"), self._code.label("make")
        target = code.op("load ptr, ptr %target")
        code.line(f"br i1 {code.op(f'icmp eq ptr {target}, null')}, label %{make}, label %{fill}")
        code.begin(fill)
        for k, part in enumerate(self._targets):
            self._copy(code.op(f"load ptr, ptr %target_{k}"), self._work(part.name), math.prod(part.shape))
        self._call("void", "Py_IncRef", f"ptr {target}")
        code.line(f"ret ptr {target}")
        code.begin(make)

    def _leave(self, borrowed: Sequence[str]) -> None:
        """The ways out: no memory, an attribute that is missing, and the slow function."""
        code = self._code
        code.begin("failed")
        self._release(self._references[len(borrowed) :])
        code.line("ret ptr null")
        code.begin("error")
        self._call("void", "PyErr_Clear")
        code.line("br label %slow")
        code.begin("slow")
        self._release(borrowed)
        code.line("br label %ask")
        code.begin("ask")
        slow = self._load("%self", ITEMS + WORD * SLOW)
        code.line(f"ret ptr {self._call('ptr', CALL, f'ptr {slow}', 'ptr %arguments', 'i64 %n', 'ptr %names')}")

    def _take(self, argument: Argument, item: str) -> None:
        """Check an object, and copy its numbers to the block."""
        if isinstance(argument, ArrayArgument):
            data = self._checked(item, argument.shape)
            self._copy(self._work(argument.input, argument.first), data, math.prod(argument.shape))
        elif isinstance(argument, TargetArgument):
            data = self._checked(item, argument.shape, WRITEABLE)
            self._code.line(f"store ptr {data}, ptr %target_{len(self._targets)}")
            self._targets.append(argument)
        elif isinstance(argument, NumberArgument):
            self._require_type(item, float)
            self._copy(self._work(argument.input), self._at(item, HEAD), 1)
        elif isinstance(argument, TupleArgument):
            self._require_type(item, argument.type)
            size = self._load(item, TUPLE_SIZE, "i64")
            self._require(self._code.op(f"icmp eq i64 {size}, {len(argument.items)}"))
            for k, part in enumerate(argument.items):
                if part is not None:
                    self._take(part, self._load(item, ITEMS + WORD * k))
        elif isinstance(argument, ItemsArgument):
            self._require_items(item, self._list_item(argument.name, argument.item))
        else:
            self._require_type(item, argument.type)
            for name, part in argument.attributes:
                found = self._call("ptr", "PyObject_GetAttr", f"ptr {item}", f"ptr {self._entry(sys.intern(name))}")
                self._require(self._hold(found), otherwise="error")
                self._take(part, found)

    def _checked(self, item: str, shape: tuple[int, ...], more_flags: int = 0) -> str:
        """Require an array of this shape; its data."""
        code, flags = self._code, C_CONTIGUOUS | ALIGNED | more_flags
        self._require_type(item, np.ndarray)
        is_float = self._is_same(self._load(item, DESCR), self._entry(np.dtype(float)))
        has_axes = code.op(f"icmp eq i32 {self._load(item, NDIM, 'i32')}, {len(shape)}")
        its_flags = code.op(f"and i32 {self._load(item, FLAGS, 'i32')}, {flags}")
        is_flat = code.op(f"icmp eq i32 {its_flags}, {flags}")
        self._require(is_float, has_axes, is_flat)
        sizes = self._load(item, SHAPE)
        self._require(*(code.op(f"icmp eq i64 {self._load(sizes, WORD * k, 'i64')}, {n}") for k, n in enumerate(shape)))
        return self._load(item, DATA)

    def _require_items(self, item: str, known: str) -> None:
        """Require a list or tuple of the items of a known tuple."""
        code = self._code
        is_list, is_tuple = (self._is_same(self._load(item, TYPE), self._entry(kind)) for kind in (list, tuple))
        self._require(code.op(f"or i1 {is_list}, {is_tuple}"))
        n = self._load(known, TUPLE_SIZE, "i64")
        self._require(code.op(f"icmp eq i64 {self._load(item, LIST_SIZE, 'i64')}, {n}"))
        items = code.op(f"select i1 {is_list}, ptr {self._load(item, LIST_ITEMS)}, ptr {self._at(item, ITEMS)}")
        compare_pointers(code, (items, self._at(known, ITEMS)), n, "slow")

    def _require_type(self, item: str, kind: type) -> None:
        self._require(self._is_same(self._load(item, TYPE), self._entry(kind)))

    def _require(self, *flags: str, otherwise: str = "slow") -> None:
        """Go on where all flags are set."""
        code, everything = self._code, flags[0]
        for flag in flags[1:]:
            everything = code.op(f"and i1 {everything}, {flag}")
        block = code.label("on")
        code.line(f"br i1 {everything}, label %{block}, label %{otherwise}, !prof !0")
        code.begin(block)

    def _make(self, part: Result) -> str:
        """A new reference to a result, without a tuple's items: they are noted."""
        if isinstance(part, TupleResult):
            items = [self._make(item) for item in part.items]
            made = self._call("ptr", "PyType_GenericAlloc", f"ptr {self._entry(part.type)}", f"i64 {len(items)}")
            self._require(self._hold(made), otherwise="failed")
            self._items += [(self._at(made, ITEMS + WORD * k), item) for k, item in enumerate(items)]
            if TUPLE_HASH is not None:
                self._code.line(f"store i64 -1, ptr {self._at(made, TUPLE_HASH)}")
            return made
        if isinstance(part, BoundResult | ItemResult):
            made = self._bound(part.name) if isinstance(part, BoundResult) else self._list_item(part.name, part.item)
            self._call("void", "Py_IncRef", f"ptr {made}")
            self._hold(made)
            return made
        if isinstance(part, NumberResult):
            made = self._call("ptr", "PyFloat_FromDouble", f"double {self._number(part.output, part.entry)}")
            self._require(self._hold(made), otherwise="failed")
            return made
        if isinstance(part, FlagResult):
            flag = self._is_positive(part.output, part.entry)
            made = self._code.op(f"select i1 {flag}, ptr {self._entry(True)}, ptr {self._entry(False)}")
            self._call("void", "Py_IncRef", f"ptr {made}")
            self._hold(made)
            return made
        return self._make_array(part)

    def _make_array(self, part: ArrayResult | InputResult) -> str:
        shape, name = self.shape(part), part.output if isinstance(part, ArrayResult) else part.input
        kind, dtype = self._entry(np.ndarray), self._entry(np.dtype(float))
        self._call("void", "Py_IncRef", f"ptr {dtype}")  # NumPy takes this reference
        sizes = f"@{_name(shape)}" if shape else "null"
        made = self._call(
            "ptr", MAKE_ARRAY, f"ptr {kind}", f"ptr {dtype}", f"i32 {len(shape)}", f"ptr {sizes}",
            "ptr null", "ptr null", "i32 0", "ptr null",
        )  # fmt: skip
        self._require(self._hold(made), otherwise="failed")
        self._copy(self._load(made, DATA), self._work(name), math.prod(shape))
        return made

    def _hold(self, item: str) -> str:
        """Note a new reference; returns the flag that it is not null."""
        self._references.append(f"%reference_{len(self._references)}")
        self._code.line(f"store ptr {item}, ptr {self._references[-1]}")
        return self._code.op(f"icmp ne ptr {item}, null")

    def _release(self, references: Sequence[str]) -> None:
        """Drop references; those that are null are none."""
        for slot in references:
            self._call("void", "Py_DecRef", f"ptr {self._code.op(f'load ptr, ptr {slot}')}")

    def _call(self, kind: str, function: str, *arguments: str) -> str:
        call = f"call {kind} {self._entry(function)}({', '.join(arguments)})"
        if kind == "void":
            self._code.line(call)
            return ""
        return self._code.op(call)

    def _at(self, base: str, offset: int) -> str:
        return self._code.op(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _load(self, base: str, offset: int, kind: str = "ptr") -> str:
        return self._code.op(f"load {kind}, ptr {self._at(base, offset)}")

    def _entry(self, item: object) -> str:
        """A function, by name, or an object of the table."""
        return self._load(f"@{TABLE}", WORD * self._table.place(item))

    def _bound(self, name: str) -> str:
        """An object that is bound to the function."""
        return self._load("%self", ITEMS + WORD * (FIRST_BOUND + self._form.bound_objects.index(name)))

    def _list_item(self, name: str, item: int) -> str:
        """An item of a list that is bound to the function."""
        return self._load(self._load(self._bound(name), LIST_ITEMS), WORD * item)

    def _is_same(self, a: str, b: str) -> str:
        return self._code.op(f"icmp eq ptr {a}, {b}")

    def _work(self, name: str, entry: int = 0) -> str:
        """Address of an entry of an input or output in the block."""
        return self._at("%work", WORD * (self._places[name] + entry))

    def _number(self, output: str, entry: int) -> str:
        return self._code.op(f"load double, ptr {self._work(output, entry)}")

    def _is_positive(self, output: str, entry: int) -> str:
        return self._code.op(f"fcmp ogt double {self._number(output, entry)}, 0.0")

    def _copy(self, target: str, source: str, n: int) -> None:
        self._code.line(
            f"call void @llvm.memcpy.inline.p0.p0.i64(ptr {target}, ptr {source}, i64 {WORD * n}, i1 false)"
        )

    def _clear_inputs(self) -> None:
        """Zeros in inputs that a call may leave out."""
        for name, size in self._program.inputs.items():
            if name not in self._form.filled_inputs:
                self._code.line(
                    f"call void @llvm.memset.inline.p0.i64(ptr {self._work(name)}, i8 0, i64 {WORD * size}, i1 false)"
                )
