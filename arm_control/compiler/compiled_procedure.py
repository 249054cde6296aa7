"""Procedures as machine code: made once, kept in the cache, bound to a record of arrays.

    run = compile_procedure(grow)(record)
    run()

A procedure may have a built-in call (:mod:`arm_control.compiler.call_forms`): its record has arrays ``inputs`` and
``outputs``, and a result of 0 says that the outputs count.

    run = compile_call(follow, RecordCall(form, {"q": 6}, {"tau": (6,)}))(record)
    tick = run.calls["tick"].bind(slow, bound)

Where machine code cannot be made, the text runs as it stands: the same results, a hundred times slower.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from arm_control.compiler.call_forms import CallForm
from arm_control.compiler.compiled_law import STRICT
from arm_control.compiler.kernels import CallMaker
from arm_control.compiler.machine_operations import CFunction
from arm_control.compiler.object_layouts import layout_text, unsupported
from arm_control.compiler.procedures import Procedure
from arm_control.compiler.program import is_from_this_package
from arm_control.compiler.sources import source_digest
from arm_control.core import Cache, default_directory
from arm_control.maths import Array

LOG = logging.getLogger("arm_control.compiler")
NAME, RECORD = "procedure", "record"
"""Name of the function in the machine code, and of the last input of a built-in call: the address of the record."""
Record = TypeVar("Record", bound=tuple[Any, ...])
Binds = Callable[[Record], Callable[[], float]]
"""Takes a record, and returns the procedure of it."""


class RecordCall(NamedTuple):
    """A built-in call of a procedure.

    Attributes
    ----------
    form : CallForm
        What it takes and returns.
    inputs : mapping of str to int
        Name and size of each input: they lie in the record's array ``inputs``, one behind the other.
    outputs : mapping of str to shape
        Name and shape of each output; likewise in ``outputs``.
    """

    form: CallForm
    inputs: Mapping[str, int]
    outputs: Mapping[str, tuple[int, ...]]


class Callback(NamedTuple):
    """A procedure of a record, for C code that calls ``void (*function)(void *argument, ...)``.

    The procedure takes nothing but the address of its record, and what it returns is not looked at: conventions of
    calls allow both.

    Attributes
    ----------
    function, argument : int
        Addresses.
    """

    function: int
    argument: int


class BoundProcedure(Generic[Record]):
    """A procedure of a record, as machine code or as it stands; another one's record may have it as a ``RunsKernel``.

    Parameters
    ----------
    bind : callable
        Takes a record, and returns the procedure of it.
    record : record
        The first one.
    makers : mapping of str to CallMaker
        What makes its built-in call, by name; none where that cannot be made.

    Attributes
    ----------
    calls : mapping of str to CallMaker
        The same for this record.
    function_address, table_address : int
        Of the function, and of what it takes; only where it is machine code. They stay the same for another record.
    """

    def __init__(self, bind: Binds[Record], record: Record, makers: Mapping[str, CallMaker]) -> None:
        self._bind = bind
        self._run: Any = bind(record)
        self.calls: Mapping[str, CallMaker] = {}
        if isinstance(self._run, _Bound):
            self.calls = {name: _OfRecord(maker, self._run) for name, maker in makers.items()}

    def __call__(self) -> float:
        """Run it."""
        result: float = self._run()
        return result

    @property
    def function_address(self) -> int:
        """See the attributes."""
        address: int = self._run.function_address
        return address

    @property
    def table_address(self) -> int:
        """See the attributes."""
        address: int = self._run.table_address
        return address

    def replace(self, record: Record) -> None:
        """Let it work on another record from now on, built-in calls included."""
        if isinstance(self._run, _Bound):
            self._run.replace(record)
        else:
            self._run = self._bind(record)


def compile_procedure(entry: Procedure[[Record], float]) -> Binds[Record]:
    """Return what binds a procedure to a record; on machine code where that can be made.

    Parameters
    ----------
    entry : Procedure
        Of one record; returns a float.

    Raises
    ------
    Exception
        With ``ARM_CONTROL_STRICT=1``, whatever was raised; without it that is a warning.
    """
    with _warning_of_failure(entry):
        return _compiled(entry)
    return lambda record: partial(entry, record)


def callback_of(run: Callable[[], float]) -> Callback:
    """Return a procedure of a record, which must stay, for C code.

    Parameters
    ----------
    run : callable
        What :func:`compile_procedure` has bound to a record.

    Raises
    ------
    TypeError
        When it is not machine code.
    """
    if not isinstance(run, _Bound):
        raise TypeError("a procedure that is not machine code cannot be called by C code")
    return Callback(run.function_address, run.table_address)


def direct_call(run: Callable[[], float]) -> Callable[[], float]:
    """Return a procedure of a record, which must stay, without a method of Python in between.

    Parameters
    ----------
    run : callable
        What :func:`compile_procedure` has bound to a record.
    """
    return partial(run.call, run.table_address) if isinstance(run, _Bound) else run


def replace_record(run: Callable[[], float], record: tuple[Any, ...]) -> None:
    """Let a procedure work on another record from now on; its :func:`callback_of`, too.

    Parameters
    ----------
    run : callable
        Machine code that :func:`compile_procedure` has bound to a record.
    record : record
        The other one.
    """
    assert isinstance(run, _Bound)
    run.replace(record)


def compile_call(entry: Procedure[[Record], float], call: RecordCall) -> Callable[[Record], BoundProcedure[Record]]:
    """Return what binds a procedure with a built-in call to a record.

    Parameters
    ----------
    entry : Procedure
        As for :func:`compile_procedure`.
    call : RecordCall
        Its built-in call.
    """
    with _warning_of_failure(entry):
        return _compiled_call(entry, call)
    return lambda record: BoundProcedure(lambda one: partial(entry, one), record, {})


@contextmanager
def _warning_of_failure(entry: Procedure[[Record], float]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if os.environ.get(STRICT) == "1":
            raise
        LOG.warning("%s is not compiled: %s: %s", entry.key, type(error).__name__, error)


def _compiled(entry: Procedure[[Record], float]) -> Binds[Record]:
    from arm_control.compiler import llvm_compiler as llvm  # noqa: PLC0415  llvmlite may be missing
    from arm_control.compiler.llvm_procedure import procedure_code  # noqa: PLC0415

    made_from = entry.key if is_from_this_package(entry.function) else procedure_code(entry, NAME)
    code = _kept(entry, made_from, lambda: procedure_code(entry, NAME))
    call = llvm.Library(code).function(NAME, ctypes.c_void_p)
    return lambda record: _bind(entry, call, record)


def _compiled_call(entry: Procedure[[Record], float], call: RecordCall) -> Callable[[Record], BoundProcedure[Record]]:
    from arm_control.compiler import llvm_compiler as llvm  # noqa: PLC0415  llvmlite may be missing
    from arm_control.compiler.builtin_calls import builtin_calls  # noqa: PLC0415
    from arm_control.compiler.llvm_record_call import record_call_code  # noqa: PLC0415

    if unsupported():
        binds: Binds[Record] = _compiled(entry)
        return lambda record: BoundProcedure(binds, record, {})
    form = replace(call.form, bound=(*call.form.bound, RECORD))
    inputs = {**call.inputs, RECORD: 1}

    def write() -> str:
        return record_call_code(entry, NAME, form, inputs, call.outputs)

    made_from = f"{entry.key} {call} {layout_text()}" if is_from_this_package(entry.function) else write()
    library = llvm.Library(_kept(entry, made_from, write))
    run: Any = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(library.address(NAME))  # Python's lock is held
    run.library = library
    makers = builtin_calls(library, (form,), inputs)

    return lambda record: BoundProcedure(lambda one: _bind(entry, run, one), record, makers)


def _kept(entry: Procedure[..., float], made_from: str, write: Callable[[], str]) -> bytes:
    """Machine code from the cache, or of the intermediate code that is written."""
    from arm_control.compiler import llvm_compiler as llvm  # noqa: PLC0415

    cache = Cache(default_directory())
    key = f"{source_digest()}\n{llvm.processor()}\n{made_from}"
    code = cache.load(key)
    if code is None:
        code = llvm.compile_procedures(write())
        cache.store(key, code, title=f"procedure {entry.key}")
    return code


def _bind(entry: Procedure[[Record], float], call: Callable[[int], float], record: Record) -> Callable[[], float]:
    if not _is_compiled(record):
        return partial(entry, record)
    return _Bound(call, record)


class _OfRecord:
    """Makes built-in calls of one record; see :class:`~arm_control.compiler.kernels.CallMaker`."""

    def __init__(self, maker: CallMaker, procedure: _Bound) -> None:
        self._maker, self._procedure = maker, procedure

    def bind(self, slow: Callable[..., Any], bound: Mapping[str, object], doc: str | None = None) -> Callable[..., Any]:
        """See :class:`~arm_control.compiler.kernels.CallMaker`."""
        kept: Any = partial(slow)
        kept.procedure = self._procedure  # its arrays must stay as long as the function
        return self._maker.bind(kept, {**bound, RECORD: np.array([self._procedure.table_address]).view(float)}, doc)


class _Bound:
    """Calls the function with its record; keeps the arrays that the record points to.

    Attributes
    ----------
    call : callable
        The function, of an address of slots.
    table_address : int
        Address of the record's slots.
    """

    __slots__ = ("_keep", "_slots", "call", "table_address")

    def __init__(self, call: Callable[[int], float], record: tuple[Any, ...]) -> None:
        self.call = call
        self._slots, inner = _slots(record)
        self._keep, self.table_address = (record, inner), self._slots.ctypes.data

    def __call__(self) -> float:
        return self.call(self.table_address)

    @property
    def function_address(self) -> int:
        """Address of the function."""
        return ctypes.cast(cast(Any, self.call), ctypes.c_void_p).value or 0

    def replace(self, record: tuple[Any, ...]) -> None:
        """Write the slots of another record in the place of these."""
        self._slots[:], inner = _slots(record)
        self._keep = record, inner


def _is_compiled(record: tuple[Any, ...]) -> bool:
    """Whether the functions in a record are machine code."""
    inner = all(_is_compiled(value) for value in record if isinstance(value, tuple))
    functions = [value for value in record if callable(value) and not isinstance(value, CFunction)]
    return inner and all(hasattr(value, "function_address") for value in functions)


def _slots(record: tuple[Any, ...]) -> tuple[Array, list[Array]]:
    """A record as :mod:`arm_control.compiler.llvm_values` describes it; and those of the records in it."""
    slots: list[int] = []
    keep: list[Array] = []
    for name, value in zip(record._fields, record, strict=True):  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            inner, more = _slots(value)
            keep += [inner, *more]
            slots.append(inner.ctypes.data)
        elif isinstance(value, np.ndarray):
            slots += _array(name, value)
        elif isinstance(value, float):
            slots.append(int(np.float64(value).view(np.int64)))
        elif isinstance(value, int):
            slots.append(value)
        elif isinstance(value, CFunction):
            slots.append(value.address)
        else:
            slots += [value.function_address, value.table_address]
    return np.array(slots, dtype=np.int64), keep


def _array(name: str, array: Array) -> list[int]:
    """Address of an array, and the distance of the rows of a table."""
    if array.dtype.char not in "dl" or array.strides[-1] != array.itemsize or array.ndim > 2:
        raise ValueError(f"'{name}' of shape {array.shape} of {array.dtype} cannot be used by a procedure")
    address = array.__array_interface__["data"][0]  # several times faster than array.ctypes.data
    return [address] if array.ndim == 1 else [address, array.strides[0] // array.itemsize]
