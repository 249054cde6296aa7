"""Where Python and NumPy keep what built-in calls read and write, and whether that is so in this process.

The offsets are those of CPython's and NumPy's stable structures on 64 bits. Sizes that differ between versions of
Python are taken from Python itself; :func:`unsupported` compares all of it with real objects.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import cache

import numpy as np

from arm_control.maths import Array

HEAD = object.__basicsize__
"""Bytes before an object's own data: reference count and type."""
TYPE = HEAD - 8
"""Offset of an object's type."""
ITEMS = tuple.__basicsize__
"""Offset of a tuple's items."""
TUPLE_SIZE = HEAD
"""Offset of a tuple's number of items."""
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


def layout_text() -> str:
    """Return a text that is the same where machine code of built-in calls may be shared."""
    return f"objects {HEAD}, tuples {ITEMS}"


@cache
def unsupported() -> str:
    """Return why objects are not laid out as built-in calls expect; empty where they are."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or HEAD != 16:
        return "a free-threaded Python"
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return "not 64 bits"
    differences = _array_difference, _tuple_difference, _list_difference, _float_difference, _maker_difference
    return next(filter(None, (difference() for difference in differences)), "")


def word_at(address: int) -> int:
    """Return the 64 bits at an address."""
    return ctypes.c_uint64.from_address(address).value


def array_maker() -> int:
    """Return the address of NumPy's function that makes arrays."""
    try:
        module = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1
        module = importlib.import_module("numpy.core._multiarray_umath")
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return word_at(get(module._ARRAY_API, None) + 8 * NEW_FROM_DESCR)


def _array_difference() -> str:
    box = np.arange(24.0).reshape(2, 3, 4)
    locked = np.arange(3.0)
    locked.flags.writeable = False
    bytes_ = np.zeros(25, dtype=np.uint8)
    arrays = [box, np.asfortranarray(box), box[:, ::2], locked, bytes_[1:].view(float), np.array(1.0), np.zeros((0, 2))]
    return "" if all(map(_is_as_expected, arrays)) else "an array is laid out differently"


def _is_as_expected(x: Array) -> bool:
    flags = word_at(id(x) + FLAGS)
    shape = [word_at(word_at(id(x) + SHAPE) + 8 * k) for k in range(x.ndim)]
    parts = (word_at(id(x) + TYPE), word_at(id(x) + DATA), word_at(id(x) + NDIM) & 0xFFFFFFFF, shape)
    has = tuple(bool(flags & flag) for flag in (C_CONTIGUOUS, ALIGNED, WRITEABLE))
    return (
        parts == (id(np.ndarray), x.ctypes.data, x.ndim, list(x.shape))
        and word_at(id(x) + DESCR) == id(x.dtype)
        and has == (x.flags.c_contiguous, x.flags.aligned, x.flags.writeable)
    )


def _tuple_difference() -> str:
    items = ("x", 1.5, None)
    found = [word_at(id(items) + ITEMS + 8 * k) for k in range(3)]
    is_same = found == [id(item) for item in items] and word_at(id(items) + TUPLE_SIZE) == 3
    return "" if is_same else "a tuple is laid out differently"


def _list_difference() -> str:
    items = ["x", 1.5, None]
    items.append(2)  # more room than items
    found = [word_at(word_at(id(items) + LIST_ITEMS) + 8 * k) for k in range(4)]
    is_same = found == [id(item) for item in items] and word_at(id(items) + LIST_SIZE) == 4
    return "" if is_same else "a list is laid out differently"


def _float_difference() -> str:
    number = 1.5
    return "" if ctypes.c_double.from_address(id(number) + HEAD).value == number else "a float is laid out differently"


def _maker_difference() -> str:
    """Make an array the way the machine code does."""
    pointers = [ctypes.c_void_p] * 3
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, *pointers, ctypes.c_int, ctypes.c_void_p
    )(array_maker())
    dtype = np.dtype(float)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the function takes it over
    x = make(np.ndarray, dtype, 2, ctypes.addressof((ctypes.c_int64 * 2)(3, 4)), None, None, 0, None)
    is_same = type(x) is np.ndarray and x.shape == (3, 4) and x.dtype is dtype
    return "" if is_same and x.flags.c_contiguous and x.flags.owndata else "NumPy's table of functions is another one"
