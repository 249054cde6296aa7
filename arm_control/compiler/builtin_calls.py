"""Functions built into Python, made of machine code: arguments checked, a kernel called, results made.

    object NAME(object self, object *arguments, i64 n, object names)

is the form of a function built into Python that finds its arguments where the interpreter has them. ``self`` is a tuple
``(slow, addresses, kept, bound objects)``. Where an argument is not what the form says (numbers of another type,
another shape or order in memory, a list, a keyword, a number that is not finite) the call goes on to ``slow`` as it
came.

Inputs are copied to a block on the stack. A kernel computes there, so any number of threads may call it; a procedure
works on memory of its own, to which and from which the block is copied. Python's lock is held all the time: no other
thread works on that memory.

A class has it as one line beside a method, whose body calls the kernel in Python:

    @in_machine_code(lambda arm: arm._mass_matrix)
    def mass_matrix(self, q: Array) -> Array | None:
        return self._mass_matrix(q)

The code holds no address of this process, so it is kept in the cache; what it needs of Python and NumPy is in a table,
which is filled each time it is loaded. Offsets in objects are those of CPython's and NumPy's stable structures on 64
bits. Sizes that differ between versions of Python are taken from Python itself; :func:`unsupported` compares all of it
with real objects.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, update_wrapper
from types import FunctionType, MethodType
from typing import Any, Generic, TypeVar

import numpy as np

from arm_control.compiler.call_forms import (
    INTO,
    Argument,
    ArrayArgument,
    ArrayResult,
    CallForm,
    ItemsArgument,
    KernelCall,
    NumberArgument,
    NumberResult,
    Result,
    TupleArgument,
    TupleResult,
    parts_of,
)
from arm_control.compiler.llvm_writer import Writer, finite
from arm_control.maths import Array

HEAD = object.__basicsize__
"""Bytes before an object's own data: reference count and type."""
TYPE = HEAD - 8
"""Offset of an object's type."""
ITEMS, TUPLE_SIZE = tuple.__basicsize__, HEAD
"""Offsets of a tuple's items, and of their number."""
LIST_SIZE, LIST_ITEMS = HEAD, HEAD + 8
"""Offsets of a list's number of items, and of their address."""
TUPLE_HASH = ITEMS - 8 if ITEMS > HEAD + 8 else None
"""Offset of a tuple's hash, which must be -1 in a new one; None where tuples keep none (before Python 3.14)."""
DATA, NDIM, SHAPE, DESCR, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
"""Offsets of an array's data, number of axes, shape, dtype and flags."""
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
"""Flags of an array."""
NEW_FROM_DESCR = 94
"""Place of ``PyArray_NewFromDescr`` in NumPy's table of functions."""
MAKE_ARRAY, CALL = "PyArray_NewFromDescr", "PyObject_Vectorcall"
HAS_VECTORCALL = hasattr(ctypes.pythonapi, CALL)
"""Whether Python offers its way to call an object; Python 3.10 offers that of Python functions only."""
TABLE = "arm_control_table"
"""Name of the table in the code."""
SLOW, ADDRESSES, FIRST_BOUND = 0, 1, 3
"""Places in ``self``."""
F = TypeVar("F", bound=Callable[..., Any])
WORD = 8
"""Bytes of a number or a pointer."""


# -- where things are in this process


@cache
def unsupported() -> str:
    """Return why objects are not laid out as built-in calls expect; empty where they are."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or HEAD != 16:
        return "a free-threaded Python"
    if ctypes.sizeof(ctypes.c_void_p) != WORD:
        return "not 64 bits"
    return _array_difference() or _item_difference() or _maker_difference()


def _array_difference() -> str:
    box, locked, bytes_ = np.arange(24.0).reshape(2, 3, 4), np.arange(3.0), np.zeros(25, dtype=np.uint8)
    locked.flags.writeable = False
    arrays = [box, np.asfortranarray(box), box[:, ::2], locked, bytes_[1:].view(float), np.array(1.0), np.zeros((0, 2))]
    return "" if all(map(_is_as_expected, arrays)) else "an array is laid out differently"


def _is_as_expected(x: Array) -> bool:
    flags, has = _word_at(id(x) + FLAGS), x.flags
    found = [_word_at(id(x) + offset) for offset in (TYPE, DATA, DESCR)]
    found += [_word_at(_word_at(id(x) + SHAPE) + WORD * k) for k in range(x.ndim)]
    found += [_word_at(id(x) + NDIM) & 0xFFFFFFFF, *(bool(flags & flag) for flag in (C_CONTIGUOUS, ALIGNED, WRITEABLE))]
    as_python_says = [id(np.ndarray), x.ctypes.data, id(x.dtype), *x.shape, x.ndim]
    return found == [*as_python_says, has.c_contiguous, has.aligned, has.writeable]


def _item_difference() -> str:
    """Of tuples, lists and floats."""
    items: list[object] = ["x", 1.5, None]
    items.append(2)  # more room than items
    same, start = tuple(items), _word_at(id(items) + LIST_ITEMS)
    for place, size in ((id(same) + ITEMS, id(same) + TUPLE_SIZE), (start, id(items) + LIST_SIZE)):
        if [_word_at(place + WORD * k) for k in range(4)] != list(map(id, items)) or _word_at(size) != 4:
            return "a tuple or a list is laid out differently"
    is_same = ctypes.c_double.from_address(id(items[1]) + HEAD).value == items[1]
    return "" if is_same else "a float is laid out differently"


def _maker_difference() -> str:
    """Make an array the way the machine code does."""
    pointers = [ctypes.c_void_p] * 3
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, *pointers, ctypes.c_int, ctypes.c_void_p
    )(address_of_function(MAKE_ARRAY))
    dtype = np.dtype(float)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the function takes it over
    x = make(np.ndarray, dtype, 2, ctypes.addressof((ctypes.c_int64 * 2)(3, 4)), None, None, 0, None)
    is_same = type(x) is np.ndarray and x.shape == (3, 4) and x.dtype is dtype
    return "" if is_same and x.flags.c_contiguous and x.flags.owndata else "NumPy's table of functions is another one"


def _word_at(address: int) -> int:
    """Return the 64 bits at an address."""
    return ctypes.c_uint64.from_address(address).value


@cache
def address_of_function(name: str) -> int:
    """Return the address of a function of Python or of the C library, or of NumPy's function that makes arrays."""
    if name == MAKE_ARRAY:
        try:
            module = importlib.import_module("numpy._core._multiarray_umath")
        except ImportError:  # NumPy 1
            module = importlib.import_module("numpy.core._multiarray_umath")
        get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi)
        )
        return _word_at(get(module._ARRAY_API, None) + WORD * NEW_FROM_DESCR)
    if name == CALL and not HAS_VECTORCALL:
        name = "_PyFunction_Vectorcall"
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


# -- functions of Python


def builtin_call(call: KernelCall, slow: Callable[..., Any], doc: str | None = None) -> Callable[..., Any] | None:
    """Return a call as a function built into Python, for arguments that are exactly what the form says.

    Parameters
    ----------
    slow : callable
        Takes over where arguments do not fit or the result does not count.

    Returns
    -------
    callable or None
        None where there is no machine code.

    Raises
    ------
    ValueError
        When an array that is bound does not fit.
    """
    function = getattr(call.run, "function_address", 0)
    if not function or unsupported():
        return None
    for name in call.form.bound:
        _check_bound(name, call.bound[name], call.inputs[name].size)
    if not HAS_VECTORCALL and not isinstance(slow, FunctionType):
        slow = _as_python_function(slow)
    memory = [next(iter(views.values())).ctypes.data for views in (call.inputs, call.outputs)]
    table_address = call.run.table_address  # type: ignore[attr-defined]  # as the address of the function
    addresses = np.array([function, table_address, *memory])
    sizes = tuple((name, view.size) for name, view in call.inputs.items())
    shapes = tuple((name, view.shape) for name, view in call.outputs.items())
    code = _machine_code(call.form, sizes, shapes, on_stack=table_address == memory[0])
    items = (slow, addresses, (code, call), *(call.bound[name] for name in call.form.bound_objects))
    return code[0].builtin(call.form.name, items, doc)


class MachineCodeMethod(Generic[F]):
    """A method in whose place machine code runs; see :func:`in_machine_code`."""

    def __init__(self, function: F, call_of: Callable[[Any], KernelCall | None]) -> None:
        self._function, self._call_of = function, call_of
        update_wrapper(self, function)  # type: ignore[arg-type]  # for doctests and help

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            return self._function
        call, name = self._call_of(instance), self._function.__name__
        if call is not None and next(vars(kind)[name] for kind in type(instance).__mro__ if name in vars(kind)) is self:
            in_python = object.__new__(type(instance))  # not the object: it would refer to itself
            vars(in_python).update(vars(instance))
            function = builtin_call(call, MethodType(self._function, in_python), documentation(self._function))
            if function is not None:
                vars(instance)[name] = function
                return function
        return MethodType(self._function, instance)


def in_machine_code(call_of: Callable[[Any], KernelCall | None]) -> Callable[[F], F]:
    """Decorate a method that answers by a :class:`KernelCall`: a built-in function takes its place in each object.

    The method runs where arguments are not exactly what the form says, where there is no machine code, and where it is
    called by its class; a debugger enters it there. A subclass that overrides it keeps its own method.

    Parameters
    ----------
    call_of : callable
        Takes the object and returns its call; None as long as there is none.
    """
    return lambda function: MachineCodeMethod(function, call_of)  # type: ignore[return-value]


def documentation(method: Callable[..., object]) -> str:
    """Return a method's documentation for a built-in function in its place: signature and docstring."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    bare = inspect.Signature([parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters])
    return f"{method.__name__}{bare}\n--\n\n{inspect.getdoc(method)}"


def _check_bound(name: str, array: object, size: int) -> None:
    if type(array) is not np.ndarray or array.dtype is not np.dtype(float) or array.shape != (size,):
        raise ValueError(f"{name} is {array!r:.100}; needed is an array of {size} floats")
    if not array.flags.carray:
        raise ValueError(f"{name} lies scattered in memory")


def _as_python_function(slow: Callable[..., Any]) -> Callable[..., Any]:
    def function(*arguments: Any, **named: Any) -> Any:
        return slow(*arguments, **named)

    return function


# -- code


@cache
def _machine_code(
    form: CallForm, sizes: tuple[tuple[str, int], ...], shapes: tuple[tuple[str, tuple[int, ...]], ...], on_stack: bool
) -> tuple[Any, CallWriter]:
    """The library of a form, its table filled, and what it refers to."""
    from arm_control.compiler.compiled_procedure import kept_code  # noqa: PLC0415
    from arm_control.compiler.llvm_compiler import Library  # noqa: PLC0415

    writer = CallWriter(form, dict(sizes), dict(shapes), on_stack)
    text = writer.text()
    library = Library(kept_code(f"call {form.name}", text, lambda: text))
    start = library.variable(TABLE)
    for k, address in enumerate(writer.table):
        ctypes.c_uint64.from_address(start + WORD * k).value = address
    return library, writer


class CallWriter:
    """Writes the code of a built-in function; ``references`` are slots on the stack, each for a reference it holds.

    Parameters
    ----------
    outputs : mapping of str to shape
        Name and shape of each output.
    on_stack : bool
        Whether what is called works on the block on the stack, and not on memory of its own.

    Attributes
    ----------
    table : list of int
        Addresses of functions and objects that the code refers to; the objects are kept here, too.
    """

    def __init__(
        self, form: CallForm, inputs: Mapping[str, int], outputs: Mapping[str, tuple[int, ...]], on_stack: bool
    ) -> None:
        self._form, self._inputs, self._on_stack = form, inputs, on_stack
        self._shapes = {**{name: (size,) for name, size in inputs.items()}, **outputs}
        self._code, self.table, self._kept = Writer(1), [], []  # type: Writer, list[int], list[object]
        self._references: list[str] = []
        self._items: list[tuple[str, str]] = []  # of tuples: where, and what
        self._targets: list[ArrayResult] = []  # arrays of an earlier result
        self._places: dict[str, int] = {}
        self._size = 0
        for name, shape in self._shapes.items():
            self._places[name] = self._size
            self._size += math.prod(shape)
        self._n_inputs = sum(inputs.values())

    def text(self) -> str:
        """The whole module."""
        self._take_arguments()
        borrowed = list(self._references)
        self._release(borrowed)
        self._compute()
        self._return_result()
        self._leave(borrowed)
        arrays = {self._shapes[part.name] for part in parts_of(self._form.result) if isinstance(part, ArrayResult)}
        kept = [*self._references, *(["%target"] if self._form.is_fillable else [])]
        return "\n".join(
            [
                f"@{TABLE} = global [{len(self.table)} x ptr] zeroinitializer",
                *(f"@{_name(s)} = private constant [{len(s)} x i64] [{_entries(s)}]" for s in sorted(arrays) if s),
                "declare void @llvm.memcpy.inline.p0.p0.i64(ptr, ptr, i64, i1)",
                "declare void @llvm.memset.inline.p0.i64(ptr, i8, i64, i1)",
                '!0 = !{!"branch_weights", i32 1000, i32 1}',
                f"define ptr @{self._form.name}(ptr %self, ptr %arguments, i64 %n, ptr %names) {{",
                "entry:",
                f"  %work = alloca [{self._size} x double], align 64",
                *(line for x in kept for line in (f"  {x} = alloca ptr", f"  store ptr null, ptr {x}")),
                *(f"  %target_{k} = alloca ptr" for k in range(len(self._targets))),
                *self._code.lines,
                "}",
            ]
        )

    def _take_arguments(self) -> None:
        form, code = self._form, self._code
        flags = [code.op(f"icmp uge i64 %n, {form.least}"), code.op(f"icmp ule i64 %n, {len(form.arguments)}")]
        if form.is_fillable:
            self._take_target()
        else:
            flags.append(code.op("icmp eq ptr %names, null"))
        self._require(*flags)
        zeros = f"ptr %work, i8 0, i64 {WORD * self._n_inputs}, i1 false"  # in what a call may leave out
        code.line(f"call void @llvm.memset.inline.p0.i64({zeros})")
        for name in form.bound:
            self._copy(self._work(name), self._load(self._bound(name), DATA), self._inputs[name])
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
        self._require(self._is_same(self._load("%names", ITEMS), self._object(sys.intern(INTO))))
        item = code.op(f"load ptr, ptr {code.op('getelementptr ptr, ptr %arguments, i64 %n')}")
        self._note_target(self._form.result, item)
        code.line(f"store ptr {item}, ptr %target")
        code.line(f"br label %{ready}")
        code.begin(ready)

    def _note_target(self, result: Result, item: str) -> None:
        if isinstance(result, ArrayResult):
            data = self._checked(item, self._shapes[result.name], WRITEABLE)
            self._code.line(f"store ptr {data}, ptr %target_{len(self._targets)}")
            self._targets.append(result)
        else:
            assert isinstance(result, TupleResult)
            for part, inner in zip(result.items, self._tuple_items(item, result.type, len(result.items)), strict=True):
                self._note_target(part, inner)

    def _take_optional(self, argument: Argument | None, k: int) -> None:
        code, there, absent = self._code, self._code.label("there"), self._code.label("absent")
        code.line(f"br i1 {code.op(f'icmp ugt i64 %n, {k}')}, label %{there}, label %{absent}")
        code.begin(there)
        item = self._load("%arguments", WORD * k)
        if self._form.takes_none:
            given = code.label("given")
            code.line(f"br i1 {self._is_same(item, self._object(None))}, label %{absent}, label %{given}")
            code.begin(given)
        self._take(argument, item)
        code.line(f"br label %{absent}")
        code.begin(absent)

    def _take(self, argument: Argument | None, item: str) -> None:
        """Check an object, and copy its numbers to the block."""
        if isinstance(argument, ArrayArgument):
            data = self._checked(item, argument.shape)
            self._copy(self._work(argument.input, argument.first), data, math.prod(argument.shape))
        elif isinstance(argument, NumberArgument):
            self._require_type(item, float)
            self._copy(self._work(argument.input), self._at(item, HEAD), 1)
        elif isinstance(argument, TupleArgument):
            inner = self._tuple_items(item, argument.type, len(argument.items))
            for part, entry in zip(argument.items, inner, strict=True):
                self._take(part, entry)
        elif isinstance(argument, ItemsArgument):
            self._require_items(item, self._list_item(argument.name, argument.item))
        elif argument is not None:
            self._require_type(item, argument.type)
            for name, part in argument.attributes:
                found = self._call("ptr", "PyObject_GetAttr", f"ptr {item}", f"ptr {self._object(sys.intern(name))}")
                self._require(self._hold(found), otherwise="error")
                self._take(part, found)

    def _tuple_items(self, item: str, kind: type, n: int) -> list[str]:
        """Require a tuple of so many items."""
        self._require_type(item, kind)
        self._require(self._code.op(f"icmp eq i64 {self._load(item, TUPLE_SIZE, 'i64')}, {n}"))
        return [self._load(item, ITEMS + WORD * k) for k in range(n)]

    def _checked(self, item: str, shape: tuple[int, ...], more_flags: int = 0) -> str:
        """Require an array of this shape; its data."""
        code, flags = self._code, C_CONTIGUOUS | ALIGNED | more_flags
        self._require_type(item, np.ndarray)
        is_float = self._is_same(self._load(item, DESCR), self._object(np.dtype(float)))
        has_axes = code.op(f"icmp eq i32 {self._load(item, NDIM, 'i32')}, {len(shape)}")
        its_flags = code.op(f"and i32 {self._load(item, FLAGS, 'i32')}, {flags}")
        self._require(is_float, has_axes, code.op(f"icmp eq i32 {its_flags}, {flags}"))
        sizes = self._load(item, SHAPE)
        self._require(*(code.op(f"icmp eq i64 {self._load(sizes, WORD * k, 'i64')}, {n}") for k, n in enumerate(shape)))
        return self._load(item, DATA)

    def _require_items(self, item: str, known: str) -> None:
        """Require a list or tuple of the items of a known tuple."""
        code = self._code
        is_list, is_tuple = (self._is_same(self._load(item, TYPE), self._object(kind)) for kind in (list, tuple))
        self._require(code.op(f"or i1 {is_list}, {is_tuple}"))
        n = self._load(known, TUPLE_SIZE, "i64")
        self._require(code.op(f"icmp eq i64 {self._load(item, LIST_SIZE, 'i64')}, {n}"))
        items = code.op(f"select i1 {is_list}, ptr {self._load(item, LIST_ITEMS)}, ptr {self._at(item, ITEMS)}")
        places = f"ptr {items}", f"ptr {self._at(known, ITEMS)}", f"i64 {code.op(f'mul i64 {n}, {WORD}')}"
        self._require(code.op(f"icmp eq i32 {self._call('i32', 'memcmp', *places)}, 0"))

    def _require_type(self, item: str, kind: type) -> None:
        self._require(self._is_same(self._load(item, TYPE), self._object(kind)))

    def _require(self, *flags: str, otherwise: str = "slow") -> None:
        """Go on where all flags are set."""
        code, everything = self._code, flags[0]
        for flag in flags[1:]:
            everything = code.op(f"and i1 {everything}, {flag}")
        block = code.label("on")
        code.line(f"br i1 {everything}, label %{block}, label %{otherwise}, !prof !0")
        code.begin(block)

    def _compute(self) -> None:
        code, form = self._code, self._form
        addresses = self._load(self._load("%self", ITEMS + WORD * ADDRESSES), DATA)
        function = self._load(addresses, 0)
        if self._on_stack:
            total = code.op(f"call double {function}(ptr %work)")
        else:
            table, inputs, outputs = (self._load(addresses, WORD * k) for k in (1, 2, 3))
            self._copy(inputs, "%work", self._n_inputs)
            total = code.op(f"call double {function}(ptr {table})")
            self._copy(self._at("%work", WORD * self._n_inputs), outputs, self._size - self._n_inputs)
        flags = [] if form.finite == "nothing" else [code.op(f"fcmp oeq double {total}, 0.0")]
        if form.certificate:
            flags.append(self._is_positive(self._number(form.certificate)))
        if form.finite == "all":
            results = [code.load("%work", str(k)) for k in range(self._n_inputs, self._size)]
            flags.append(code.op(f"fcmp oeq double {finite(code, results)}, 0.0"))
        if flags:
            self._require(*flags, otherwise="ask")

    def _return_result(self) -> None:
        """Make all objects, then put them together: nothing can fail any more; or fill an earlier result."""
        if self._form.is_fillable:
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
            self._copy(code.op(f"load ptr, ptr %target_{k}"), self._work(part.name), math.prod(self._shapes[part.name]))
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

    def _make(self, part: Result) -> str:
        """A new reference to a result, without a tuple's items: they are noted."""
        if isinstance(part, TupleResult):
            items = [self._make(item) for item in part.items]
            made = self._made("PyType_GenericAlloc", f"ptr {self._object(part.type)}", f"i64 {len(items)}")
            self._items += [(self._at(made, ITEMS + WORD * k), item) for k, item in enumerate(items)]
            if TUPLE_HASH is not None:
                self._code.line(f"store i64 -1, ptr {self._at(made, TUPLE_HASH)}")
            return made
        if isinstance(part, ArrayResult):
            return self._make_array(part)
        if isinstance(part, NumberResult):
            number = self._number(part.output, part.entry)
            if not part.is_flag:
                return self._made("PyFloat_FromDouble", f"double {number}")
            flag = self._is_positive(number)
            item = self._code.op(f"select i1 {flag}, ptr {self._object(True)}, ptr {self._object(False)}")
        else:
            item = self._bound(part.name) if part.item is None else self._list_item(part.name, part.item)
        self._call("void", "Py_IncRef", f"ptr {item}")
        self._hold(item)
        return item

    def _make_array(self, part: ArrayResult) -> str:
        shape = self._shapes[part.name]
        kind, dtype = self._object(np.ndarray), self._object(np.dtype(float))
        self._call("void", "Py_IncRef", f"ptr {dtype}")  # NumPy takes this reference
        sizes, nothing = f"@{_name(shape)}" if shape else "null", ("ptr null", "ptr null", "i32 0", "ptr null")
        made = self._made(MAKE_ARRAY, f"ptr {kind}", f"ptr {dtype}", f"i32 {len(shape)}", f"ptr {sizes}", *nothing)
        self._copy(self._load(made, DATA), self._work(part.name), math.prod(shape))
        return made

    def _made(self, function: str, *arguments: str) -> str:
        """A new object."""
        made = self._call("ptr", function, *arguments)
        self._require(self._hold(made), otherwise="failed")
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
        call = f"call {kind} {self._entry(address_of_function(function))}({', '.join(arguments)})"
        if kind == "void":
            self._code.line(call)
            return ""
        return self._code.op(call)

    def _at(self, base: str, offset: int) -> str:
        return self._code.op(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _load(self, base: str, offset: int, kind: str = "ptr") -> str:
        return self._code.op(f"load {kind}, ptr {self._at(base, offset)}")

    def _object(self, item: object) -> str:
        self._kept.append(item)
        return self._entry(id(item))

    def _entry(self, address: int) -> str:
        """An entry of the table."""
        if address not in self.table:
            self.table.append(address)
        return self._load(f"@{TABLE}", WORD * self.table.index(address))

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

    def _number(self, output: str, entry: int = 0) -> str:
        return self._code.op(f"load double, ptr {self._work(output, entry)}")

    def _is_positive(self, number: str) -> str:
        return self._code.op(f"fcmp ogt double {number}, 0.0")

    def _copy(self, target: str, source: str, n: int) -> None:
        self._code.line(
            f"call void @llvm.memcpy.inline.p0.p0.i64(ptr {target}, ptr {source}, i64 {WORD * n}, i1 false)"
        )


def _name(shape: tuple[int, ...]) -> str:
    return f"shape_{'_'.join(map(str, shape))}"


def _entries(shape: tuple[int, ...]) -> str:
    return ", ".join(f"i64 {n}" for n in shape)
