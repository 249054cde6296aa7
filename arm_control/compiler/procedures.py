"""Procedures: functions of numbers and arrays with loops and branches, compiled as they stand.

A law (:mod:`arm_control.compiler.law`) is a straight line of arithmetic; a search is not. Its text is a subset of
Python, which also runs as it stands:

    class Points(NamedTuple):
        x: Rows
        size: Ints

    @procedure
    def smallest(points: Points, row: int) -> float:
        best = INFINITY
        for i in range(points.size[0]):
            best = min(best, points.x[row, i])
        return best

    statements    name = expression, array[i] = expression, += -= *=, if, while, for i in range(...), break, continue,
                  return, calls
    expressions   + - * / // %, comparisons, and, or, not, a if b else c, array[i], table[i, j], table[i] (a row),
                  record.field, float, int, min, max, abs, sqrt, calls of other procedures, of operations
                  (:mod:`arm_control.compiler.procedures`) and of functions that are fields of a record

Parameters and fields of records are ``int``, ``float``, ``bool``, :data:`Floats` (k,), :data:`Ints` (k,), :data:`Rows`
(m, k), :class:`RunsLoop`, :class:`RunsKernel`,
:class:`~arm_control.compiler.procedures.CFunction`, or records: named tuples of these. Numbers in a record stay
as they are; what changes is in arrays. Indices count from zero, are not checked and must not be negative; // and % take
no negative numbers. A name keeps its type. Names of the module are constants, or other procedures.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
"""An array of numbers, shape (k,)."""
Rows: TypeAlias = npt.NDArray[np.float64]
"""A table of numbers, shape (m, k), each row side by side in memory."""
Ints: TypeAlias = npt.NDArray[np.int64]
"""An array of whole numbers, shape (k,)."""
P = ParamSpec("P")
R = TypeVar("R")


class RunsLoop(Protocol):
    """A loop that is bound to arrays; a procedure whose record has it gives the number of cases."""

    def __call__(self, n: int | None = None, limit: int | None = None, /) -> float:
        """Compute the first n cases; return what :meth:`arm_control.compiler.law.Loop.run` does.

        Parameters
        ----------
        n : int, optional
            Number of cases, a multiple of the kernel's width; by default as many as before, at first all.
        limit : int, optional
            Largest number of repetitions of a case; by default that of before, at first the one that it was bound with.
        """

    def replace_table(self, name: str, table: Rows) -> None:
        """Use another table from now on.

        Parameters
        ----------
        table : ndarray, shape (m, k)
            Of any number of rows; it must stay.

        Raises
        ------
        ValueError
            When it does not fit.
        """


RunsKernel: TypeAlias = Callable[[], float]
"""The kernel of a law for one case, on a work space of its own (:class:`arm_control.compiler.kernels.OwnWork`).

It returns 0 where every input is finite, else nan. Or another procedure on a record of its own
(:class:`arm_control.compiler.compiled_procedure.BoundProcedure`).
"""


class Procedure(Generic[P, R]):
    """A function in the subset of Python that can be compiled; called from Python, it runs as it stands."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it."""
        return self.function(*args, **kwargs)

    @property
    def key(self) -> str:
        """The same for equal procedures of one state of the sources."""
        return f"{self.__module__}.{self.__name__}"

    @cached_property
    def source(self) -> str:
        """Its text."""
        return textwrap.dedent(inspect.getsource(self.function))

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Its text as a tree."""
        (definition,) = ast.parse(self.source).body
        if not isinstance(definition, ast.FunctionDef):
            raise TypeError(f"{self.key} is not a function")
        return definition

    def look_up(self, name: str) -> Any:
        """What a name of the module stands for; a KeyError where there is none."""
        return self.function.__globals__[name]

    def type_of(self, annotation: ast.expr | None) -> Type:
        """The type that one of its annotations names."""
        return "None" if annotation is None else type_named(ast.unparse(annotation), self.look_up)

    @property
    def types(self) -> list[Type]:
        """Those of its parameters."""
        return [self.type_of(argument.annotation) for argument in self.tree.args.args]

    @property
    def result(self) -> Type:
        """That of what it returns."""
        return self.type_of(self.tree.returns)


def procedure(function: Callable[P, R]) -> Procedure[P, R]:
    """Decorate a function that can be compiled."""
    return Procedure(function)


def called_procedure(procedure: Procedure[..., Any], node: ast.AST) -> Procedure[..., Any] | None:
    """Return the procedure that an expression calls; None where it is no such call."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            try:
                called = procedure.look_up(name)
            except KeyError:
                return None  # a function of Python itself
            return called if isinstance(called, Procedure) else None
    return None


def all_procedures(entries: Iterable[Procedure[..., Any]]) -> list[Procedure[..., Any]]:
    """Return procedures and all that they call, each once."""
    known: dict[str, Procedure[..., Any]] = {}
    waiting = list(entries)
    while waiting:
        one = waiting.pop(0)
        if one.key not in known:
            known[one.key] = one
            waiting += [called for node in ast.walk(one.tree) if (called := called_procedure(one, node))]
    return list(known.values())


# -- types

Type: TypeAlias = str | type
"""A name in :data:`PARTS`, or the class of a record."""
PARTS: dict[Type, tuple[str, ...]] = {
    "None": (),
    "int": ("i64",),
    "float": ("double",),
    "bool": ("i1",),
    "Floats": ("ptr",),
    "Ints": ("ptr",),
    "Rows": ("ptr", "i64"),
    "RunsLoop": ("ptr", "ptr"),
    "RunsKernel": ("ptr", "ptr"),
    "CFunction": ("ptr",),
}
"""What a value of each type is made of in machine code.

A record is the address of slots of 64 bits: a number has one, an array its address, a table its address and the
distance of its rows, a record its address, a loop the addresses of its function and of its table, a kernel those of its
function and of its work space, a C function its address.
"""


class NotSupported(Exception):
    """A statement or an expression that cannot be compiled."""


def parts_of(of_type: Type) -> tuple[str, ...]:
    """What a value is made of."""
    return PARTS.get(of_type, ("ptr",))


def fields_of(record: type) -> dict[str, Type]:
    """Type of each field of a record."""
    names = vars(sys.modules[record.__module__])
    return {name: type_named(to.__forward_arg__, names.__getitem__) for name, to in record.__annotations__.items()}


def slot_of(record: type, field: str) -> int:
    """Number of the first slot of a field."""
    fields = fields_of(record)
    return sum(len(parts_of(of_type)) for of_type in list(fields.values())[: list(fields).index(field)])


def type_named(name: str, look_up: Callable[[str], Any]) -> Type:
    """The type of an annotation; ``look_up`` returns the class of a record."""
    found: Type = name if name in PARTS else look_up(name)
    return found


# -- operations


class MachineOperation(Generic[P, R]):
    """An operation that procedures call like a function.

    Parameters
    ----------
    function : callable
        Its text in Python; the annotations are types of procedures.
    lines : sequence of str
        Lines of intermediate code, with ``{name}`` for a parameter and ``{line_0}``, ``{line_1}`` ... for the results
        of lines before; the last one is the result, if there is one.
    """

    def __init__(self, function: Callable[P, R], lines: Sequence[str]) -> None:
        self.function, self.lines = function, tuple(lines)
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run its text."""
        return self.function(*args, **kwargs)


def operation(*lines: str) -> Callable[[Callable[P, R]], MachineOperation[P, R]]:
    """Decorate the text of an operation with its lines of intermediate code."""
    return lambda function: MachineOperation(function, lines)


class CFunction:
    """A C function of whole numbers, addresses among them, that returns an ``int``; a record may have it as a field."""

    def __init__(self, address: int, n_arguments: int) -> None:
        self.address = address
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * n_arguments)(address)

    @classmethod
    def of(cls, function: Any, n_arguments: int) -> CFunction:
        """Return a function of a library that ctypes has loaded."""
        return cls(ctypes.cast(function, ctypes.c_void_p).value or 0, n_arguments)

    def __call__(self, *arguments: int) -> int:
        """Call it."""
        result: int = self._call(*arguments)
        return result


DECLARATIONS = "declare double @llvm.roundeven.f64(double)"


@operation("call double @llvm.roundeven.f64(double {x})", "fptosi double {line_0} to i64")
def nearest(x: float) -> int:
    """Return the nearest whole number; halfway between two the even one."""
    return round(x)


# -- memory by its address, in any alignment


@operation("inttoptr i64 {address} to ptr", "load double, ptr {line_0}, align 1")
def float_at(address: int) -> float:
    """Return the float64 at an address."""
    return ctypes.c_double.from_address(address).value


@operation("inttoptr i64 {address} to ptr", "load i64, ptr {line_0}, align 1")
def int_at(address: int) -> int:
    """Return the int64 at an address."""
    return ctypes.c_int64.from_address(address).value


@operation("inttoptr i64 {address} to ptr", "load i32, ptr {line_0}, align 1", "sext i32 {line_1} to i64")
def int32_at(address: int) -> int:
    """Return the int32 at an address."""
    return ctypes.c_int32.from_address(address).value


@operation("inttoptr i64 {address} to ptr", "store double {value}, ptr {line_0}, align 1")
def put_float(address: int, value: float) -> None:
    """Write a float64 to an address."""
    ctypes.c_double.from_address(address).value = value


@operation("inttoptr i64 {address} to ptr", "store i64 {value}, ptr {line_0}, align 1")
def put_int(address: int, value: int) -> None:
    """Write an int64 to an address."""
    ctypes.c_int64.from_address(address).value = value


@operation("ptrtoint ptr {array} to i64")
def address_of(array: Ints) -> int:
    """Return the address of an array."""
    return array.ctypes.data


@operation("and i64 {a}, {b}")
def same_bits(a: int, b: int) -> int:
    """Return the bits that are set in both numbers."""
    return a & b


# -- memory that threads share

_ENTRY = "getelementptr i64, ptr {array}, i64 {i}"


@operation(_ENTRY, "load atomic i64, ptr {line_0} monotonic, align 8")
def load_relaxed(array: Ints, i: int) -> int:
    """Return an atomic entry, in no order to others."""
    return int(array[i])


@operation(_ENTRY, "load atomic i64, ptr {line_0} acquire, align 8")
def load_acquire(array: Ints, i: int) -> int:
    """Return an atomic entry; what is read behind it is read after it."""
    return int(array[i])


@operation(_ENTRY, "store atomic i64 {value}, ptr {line_0} monotonic, align 8")
def store_relaxed(array: Ints, i: int, value: int) -> None:
    """Write an atomic entry, in no order to others."""
    array[i] = value


@operation(_ENTRY, "store atomic i64 {value}, ptr {line_0} release, align 8")
def store_release(array: Ints, i: int, value: int) -> None:
    """Write an atomic entry; what is written before it is seen before it."""
    array[i] = value


@operation(_ENTRY, "atomicrmw add ptr {line_0}, i64 {value} acq_rel, align 8")
def add_atomic(array: Ints, i: int, value: int) -> int:
    """Add to an atomic entry, and return what it was before: one step, an acquire and a release."""
    before = int(array[i])
    array[i] = before + value
    return before


@operation("fence acquire")
def fence_acquire() -> None:
    """Read nothing that stands behind this before the loads in front of it."""


@operation("fence release")
def fence_release() -> None:
    """Write nothing that stands behind this before what is read and written in front of it."""
