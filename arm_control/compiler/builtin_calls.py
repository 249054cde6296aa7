"""Functions built into Python, made of machine code while the program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from arm_control.compiler.call_forms import CallForm
from arm_control.compiler.call_table import HAS_VECTORCALL, TABLE, CallTable
from arm_control.compiler.llvm_compiler import Library, make_builtin

_METH_FASTCALL, _METH_KEYWORDS = 0x0080, 0x0002


class BuiltinCall:
    """Makes built-in functions of one form around a kernel.

    Parameters
    ----------
    library : Library
        The machine code.
    table : CallTable
        What the code refers to.
    form : CallForm
        What the functions take and return.
    sizes : mapping of str to int
        Name and size of each input of the kernel.
    """

    def __init__(self, library: Library, table: CallTable, form: CallForm, sizes: Mapping[str, int]) -> None:
        self._kept, self._form, self._sizes = (library, table), form, sizes
        self._address = library.address(form.name)

    def bind(self, slow: Callable[..., Any], bound: Mapping[str, object], doc: str | None = None) -> Callable[..., Any]:
        """See :class:`~arm_control.compiler.kernels.CallMaker`."""
        for name in self._form.bound:
            _check_bound(name, bound[name], self._sizes[name])
        if not HAS_VECTORCALL and not isinstance(slow, FunctionType):
            slow = _as_python_function(slow)
        items = (slow, self._kept, *(bound[name] for name in self._form.bound_objects))
        return make_builtin(self._form.name, self._address, _METH_FASTCALL | _METH_KEYWORDS, items, doc)


def builtin_calls(library: Library, forms: Sequence[CallForm], sizes: Mapping[str, int]) -> dict[str, BuiltinCall]:
    """Return what makes the built-in functions of a library, by name.

    Parameters
    ----------
    library : Library
        Its code has a function for each form; the table is filled here.
    forms : sequence of CallForm
        What the functions take and return.
    sizes : mapping of str to int
        Name and size of each input of the kernel.
    """
    if not forms:
        return {}
    table = CallTable(forms)
    table.fill(library.variable(TABLE))
    return {form.name: BuiltinCall(library, table, form, sizes) for form in forms}


def _check_bound(name: str, array: object, size: int) -> None:
    if type(array) is not np.ndarray or array.dtype is not np.dtype(float) or array.shape != (size,):
        raise ValueError(f"{name} is {array!r:.100}; needed is an array of {size} floats")
    if not array.flags.carray:
        raise ValueError(f"{name} lies scattered in memory")


def _as_python_function(slow: Callable[..., Any]) -> Callable[..., Any]:
    def function(*arguments: Any, **named: Any) -> Any:
        return slow(*arguments, **named)

    return function
