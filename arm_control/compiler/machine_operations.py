"""What procedures can do beside arithmetic: memory by its address, memory that threads share, C functions.

Each operation has a text in Python, and lines of LLVM's intermediate language that do the same:

    @operation("inttoptr i64 {address} to ptr", "load double, ptr {line_0}, align 1")
    def float_at(address: int) -> float: ...

An *atomic* entry of an array is never seen half written. *Acquire* and *release* order what stands around it: all that
a thread has written before a release is seen by a thread that acquires the same entry and finds its value.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from arm_control.compiler.procedures import Ints

P = ParamSpec("P")
R = TypeVar("R")


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

    def decorate(function: Callable[P, R]) -> MachineOperation[P, R]:
        return MachineOperation(function, lines)

    return decorate


class CFunction:
    """A C function of whole numbers, addresses among them, that returns an ``int``; a record may have it as a field.

    Parameters
    ----------
    address : int
        Where it is.
    n_arguments : int
        Number of its arguments.

    Attributes
    ----------
    address : int
        Where it is.
    """

    def __init__(self, address: int, n_arguments: int) -> None:
        self.address = address
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * n_arguments)(address)

    @classmethod
    def of(cls, function: Any, n_arguments: int) -> CFunction:
        """Return a function of a library that ctypes has loaded.

        Parameters
        ----------
        function : ctypes function
            The function.
        n_arguments : int
            Number of its arguments.
        """
        return cls(ctypes.cast(function, ctypes.c_void_p).value or 0, n_arguments)

    def __call__(self, *arguments: int) -> int:
        """Call it."""
        result: int = self._call(*arguments)
        return result


DECLARATIONS = "declare double @exp(double)\ndeclare double @llvm.roundeven.f64(double)"


@operation("call double @exp(double {x})")
def exp(x: float) -> float:
    """Exponential, that of the C library, as in Python."""
    return math.exp(x)


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
