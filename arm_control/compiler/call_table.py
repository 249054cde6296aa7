"""The table by which built-in calls reach Python and NumPy: addresses of functions, then of objects.

Machine code that holds no address of this process can be kept in a cache; the table is filled each time it is loaded.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from arm_control.compiler.call_forms import (
    INTO,
    Argument,
    CallForm,
    ObjectArgument,
    TupleArgument,
    TupleResult,
    parts_of,
)
from arm_control.compiler.object_layouts import array_maker

TABLE = "arm_control_table"
"""Name of the table in the code."""
MAKE_ARRAY, CALL = "PyArray_NewFromDescr", "PyObject_Vectorcall"
FUNCTIONS = (
    MAKE_ARRAY,
    CALL,
    "Py_IncRef",
    "Py_DecRef",
    "PyErr_Clear",
    "PyObject_GetAttr",
    "PyFloat_FromDouble",
    "PyType_GenericAlloc",
)
HAS_VECTORCALL = hasattr(ctypes.pythonapi, CALL)
"""Whether Python offers its way to call an object; Python 3.10 offers that of Python functions only."""


class CallTable:
    """Layout of the table for some forms.

    Parameters
    ----------
    forms : sequence of CallForm

    Attributes
    ----------
    objects : list of object
        The objects: types, and names of attributes.
    """

    def __init__(self, forms: Sequence[CallForm]) -> None:
        known = [np.ndarray, np.dtype(float), float, None, True, False, sys.intern(INTO), list, tuple]
        self.objects: list[object] = [*known]
        for form in forms:
            results = [part.type for part in parts_of(form.result) if isinstance(part, TupleResult)]
            for item in (*(x for argument in form.arguments for x in _objects_in(argument)), *results):
                if not any(known is item for known in self.objects):
                    self.objects.append(item)

    def __len__(self) -> int:
        return len(FUNCTIONS) + len(self.objects)

    def place(self, item: object) -> int:
        """Place of a function, by name, or of an object.

        The names of attributes are objects: they must be interned, and none is that of a function.
        """
        if isinstance(item, str) and item in FUNCTIONS:
            return FUNCTIONS.index(item)
        return len(FUNCTIONS) + next(k for k, known in enumerate(self.objects) if known is item)

    def fill(self, address: int) -> None:
        """Write the table where the code has room for it; the objects must stay."""
        addresses = [_address(name) for name in FUNCTIONS] + [id(item) for item in self.objects]
        for k, entry in enumerate(addresses):
            ctypes.c_uint64.from_address(address + ctypes.sizeof(ctypes.c_uint64) * k).value = entry


def _objects_in(argument: Argument | None) -> Iterator[object]:
    if isinstance(argument, TupleArgument):
        yield argument.type
        for item in argument.items:
            yield from _objects_in(item)
    if isinstance(argument, ObjectArgument):
        yield argument.type
        for name, item in argument.attributes:
            yield sys.intern(name)
            yield from _objects_in(item)


def _address(name: str) -> int:
    if name == MAKE_ARRAY:
        return array_maker()
    if name == CALL and not HAS_VECTORCALL:
        name = "_PyFunction_Vectorcall"
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    if address is None:
        raise ImportError(f"Python has no {name}")
    return address
