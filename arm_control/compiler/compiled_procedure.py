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
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from arm_control.compiler.kernels import STRICT
from arm_control.compiler.procedures import CFunction, Procedure
from arm_control.compiler.program import is_from_this_package
from arm_control.core import Cache, default_directory
from arm_control.maths import Array

LOG = logging.getLogger("arm_control.compiler")
NAME = "procedure"
"""Name of the function in the machine code."""
Record = TypeVar("Record", bound=tuple[Any, ...])


class Callback(NamedTuple):
    """Addresses of a procedure of a record, for C code that calls ``void (*function)(void *argument, ...)``.

    The procedure takes nothing but the address of its record, and what it returns is not looked at: conventions of
    calls allow both.
    """

    function: int
    argument: int


class BoundProcedure(Generic[Record]):
    """A procedure of a record, as machine code or as it stands; another one's record may have it as a ``RunsKernel``.

    Attributes
    ----------
    function_address, table_address : int
        Of the function, and of what it takes; 0 where it is no machine code. They stay the same for another record.
    """

    def __init__(self, entry: Callable[[Record], float], call: Callable[[int], float] | None, record: Record) -> None:
        self._entry, self._call, self.record = entry, call if _is_compiled(record) else None, record
        self.function_address = self.table_address = 0
        if self._call is not None:
            self._slots, self._inner = _slots(record)
            self.function_address, self.table_address = address_of_call(self._call), self._slots.ctypes.data
            self._run: Callable[[], float] = partial(self._call, self.table_address)
        else:
            self._run = partial(entry, record)

    def __call__(self) -> float:
        """Run it."""
        return self._run()

    def replace(self, record: Record) -> None:
        """Let it work on another record from now on; C code and machine code that call it do so, too."""
        if self._call is None:
            self._run = partial(self._entry, record)
        else:
            self._slots[:], self._inner = _slots(record)
        self.record = record


def compile_procedure(
    entry: Callable[[Record], float], keeps_lock: bool = False
) -> Callable[[Record], BoundProcedure[Record]]:
    """Return what binds a procedure to a record; on machine code where that can be made, once in a process.

    Parameters
    ----------
    entry : Procedure
        Of one record; returns a float.
    keeps_lock : bool
        Whether Python's lock is held while it runs: no other thread works on what it works on.

    Raises
    ------
    Exception
        With ``ARM_CONTROL_STRICT=1``, whatever was raised; without it that is a warning.
    """
    call = _call_of(entry, keeps_lock, os.environ.get(STRICT) == "1")
    return lambda record: BoundProcedure(entry, call, record)


@cache
def _call_of(entry: Any, keeps_lock: bool, is_strict: bool) -> Callable[[int], float] | None:
    try:
        return _compiled(entry, keeps_lock)
    except Exception as error:
        if is_strict:
            raise
        LOG.warning("%s is not compiled: %s: %s", entry.key, type(error).__name__, error)
        return None


def callback_of(run: BoundProcedure[Any]) -> Callback:
    """Return a procedure of a record, which must stay, for C code; a TypeError when it is not machine code."""
    if not run.function_address:
        raise TypeError("a procedure that is not machine code cannot be called by C code")
    return Callback(run.function_address, run.table_address)


def direct_call(run: BoundProcedure[Any]) -> Callable[[], float]:
    """Return a procedure of a record, which must stay, without a method of Python in between."""
    return run._run


def _compiled(entry: Procedure[[Any], float], keeps_lock: bool) -> Callable[[int], float]:
    from arm_control.compiler import llvm_compiler as llvm  # noqa: PLC0415  llvmlite may be missing
    from arm_control.compiler.llvm_procedure import procedure_code  # noqa: PLC0415

    made_from = entry.key if is_from_this_package(entry.function) else procedure_code(entry, NAME)
    library = llvm.Library(kept_code(f"procedure {entry.key}", made_from, lambda: procedure_code(entry, NAME)))
    return library.function(NAME, ctypes.c_void_p, keeps_lock=keeps_lock)  # type: ignore[no-any-return]


def kept_code(title: str, made_from: str, write: Callable[[], str]) -> bytes:
    """Return machine code from the cache, or of the intermediate code that is written.

    Parameters
    ----------
    made_from : str
        The same for equal code of one state of the sources.
    """
    from arm_control.compiler import llvm_compiler as llvm  # noqa: PLC0415

    cache = Cache(default_directory())
    key = f"{source_digest()}\n{llvm.processor()}\n{made_from}"
    code = cache.load(key)
    if code is None:
        code = llvm.compile_procedures(write())
        cache.store(key, code, title=title)
    return code


def address_of_call(call: Callable[[int], float]) -> int:
    """Return the address of a function of a library."""
    return int(ctypes.cast(call, ctypes.c_void_p).value or 0)  # type: ignore[arg-type]


def _is_compiled(record: tuple[Any, ...]) -> bool:
    """Whether the functions in a record are machine code."""
    inner = all(_is_compiled(value) for value in record if isinstance(value, tuple))
    functions = [value for value in record if callable(value) and not isinstance(value, CFunction)]
    return inner and all(getattr(value, "function_address", 0) for value in functions)


def _slots(record: tuple[Any, ...]) -> tuple[Array, list[Array]]:
    """A record as :mod:`arm_control.compiler.procedures` describes it; and those of the records in it."""
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


# -- the digest of all texts that machine code is made from


PACKAGE = Path(__file__).parents[1]
"""Folder of this package."""
FOLDERS = (
    *("maths", "compiler", "model", "kinematics", "collision", "constraints", "gate", "motion", "follow", "primitives"),
    *("neural", "optimal", "planning", "control", "simulation", "processes"),
)
"""Folders whose texts are compiled, or compile; ``motion`` because laws unpack its references."""


@cache
def source_digest(package: Path = PACKAGE) -> str:
    """Return the digest, in hexadecimal, of every module below :data:`FOLDERS`."""
    modules = [path for folder in FOLDERS for path in sorted((package / folder).rglob("*.py"))]
    texts = (f"{path.relative_to(package)}\n".encode() + path.read_bytes() for path in modules)
    return sha256(b"".join(texts)).hexdigest()
