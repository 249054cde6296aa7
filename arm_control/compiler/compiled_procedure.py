"""Procedures as machine code: made once, kept in the cache, bound to a record of arrays.

    run = compile_procedure(grow)(record)
    run()

Where machine code cannot be made, the text runs as it stands: the same results, a hundred times slower.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from arm_control.compiler.compile_law import STRICT
from arm_control.compiler.machine_operations import CFunction
from arm_control.compiler.procedure import Procedure
from arm_control.compiler.program import is_from_this_package
from arm_control.compiler.sources import source_digest
from arm_control.core.cache import Cache, default_directory
from arm_control.maths.poses import Array

LOG = logging.getLogger("arm_control.compiler")
NAME = "procedure"
"""Name of the function in the machine code."""
Record = TypeVar("Record", bound=tuple[Any, ...])
Binds = Callable[[Record], Callable[[], float]]
"""Takes a record, and returns the procedure of it."""


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
    try:
        return _compiled(entry)
    except Exception as error:
        if os.environ.get(STRICT) == "1":
            raise
        LOG.warning("%s is not compiled: %s: %s", entry.key, type(error).__name__, error)
    return lambda record: partial(entry, record)


def _compiled(entry: Procedure[[Record], float]) -> Binds[Record]:
    from arm_control.compiler import llvm_compiler as llvm  # noqa: PLC0415  llvmlite may be missing
    from arm_control.compiler.llvm_procedure import procedure_code  # noqa: PLC0415

    cache = Cache(default_directory())
    made_from = entry.key if is_from_this_package(entry.function) else procedure_code(entry, NAME)
    key = f"{source_digest()}\n{llvm.processor()}\n{made_from}"
    code = cache.load(key)
    if code is None:
        code = llvm.compile_procedures(procedure_code(entry, NAME))
        cache.store(key, code, title=f"procedure {entry.key}")
    call = llvm.Library(code).function(NAME, ctypes.c_void_p)

    def bind(record: Record) -> Callable[[], float]:
        if not _is_compiled(record):
            return partial(entry, record)
        slots, keep = _slots(record)
        return _Bound(call, slots, (record, keep))

    return bind


class _Bound:
    """Calls the function with its record; keeps the arrays that the record points to."""

    __slots__ = ("_address", "_call", "_keep")

    def __init__(self, call: Callable[[int], float], slots: Array, keep: object) -> None:
        self._call, self._address, self._keep = call, slots.ctypes.data, (slots, keep)

    def __call__(self) -> float:
        return self._call(self._address)


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
