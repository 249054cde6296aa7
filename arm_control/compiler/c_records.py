"""Records of procedures as structures of C, of the sizes of an example.

Numbers, arrays and records lie in one piece of memory. Functions that are fields of a record have no member.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from arm_control.compiler.c_values import c_name
from arm_control.compiler.llvm_values import NotSupported, Type, fields_of

NUMBERS = {"int": "int64_t", "float": "double", "bool": "bool", "Floats": "double", "Ints": "int64_t", "Rows": "double"}
"""Type of a number, and of the numbers of an array."""
DIMENSIONS = {"Floats": 1, "Ints": 1, "Rows": 2}
"""Of arrays."""


class Structures:
    """The structures of records.

    Parameters
    ----------
    examples : mapping of type to record
        A record of each type; those of the records in it follow from it.
    name_of : callable
        Takes a type of records, and returns its name in C.
    """

    def __init__(self, examples: Mapping[type, tuple[Any, ...]], name_of: Callable[[type], str]) -> None:
        self._name_of = name_of
        self._shapes: dict[type, dict[str, tuple[int, ...]]] = {}
        for of_type, example in examples.items():
            self._add(of_type, example)
            _check_sharing(of_type, example)

    def _add(self, of_type: type, example: tuple[Any, ...]) -> None:
        """Note the shapes of a record, after those of the records in it."""
        shapes = {}
        for (name, field), value in zip(fields_of(of_type).items(), example, strict=True):
            if not isinstance(field, str):
                self._add(field, value)
            elif field in DIMENSIONS:
                shapes[name] = np.shape(value)
                if len(shapes[name]) != DIMENSIONS[field]:
                    raise NotSupported(f"{of_type.__name__}.{name} has shape {shapes[name]}, and is {field}")
        known = self._shapes.setdefault(of_type, shapes)
        for name, shape in shapes.items():
            if known[name] != shape:
                raise NotSupported(f"{of_type.__name__}.{name} has shapes {known[name]} and {shape}, one is allowed")

    def columns(self, of_type: type, field: str) -> int:
        """Number of columns of a table.

        Parameters
        ----------
        of_type : type
            Its record.
        field : str
            Its name.
        """
        return self._shapes[of_type][field][1]

    def check(self, of_type: type) -> None:
        """Raise a NotSupported for a type of which there was no example."""
        if of_type not in self._shapes:
            raise NotSupported(f"{of_type.__name__}: no example of this record")

    @property
    def text(self) -> str:
        """All structures, those that others contain first."""
        return "\n\n".join(map(self._structure, self._shapes))

    def _structure(self, of_type: type) -> str:
        members = [self._member(of_type, name, field) for name, field in fields_of(of_type).items()]
        lines = [f"    {member};" for member in members if member]
        if not lines:
            raise NotSupported(f"{of_type.__name__} has no numbers, arrays or records")
        return "\n".join(["typedef struct {", *lines, f"}} {self._name_of(of_type)};"])

    def _member(self, of_type: type, name: str, field: Type) -> str:
        if not isinstance(field, str):
            return f"{self._name_of(field)} {member_name(name)}"
        if field not in NUMBERS:
            return ""
        sizes = "".join(f"[{max(size, 1)}]" for size in self._shapes[of_type].get(name, ()))
        return f"{NUMBERS[field]} {member_name(name)}{sizes}"


def member_name(name: str) -> str:
    """Return the name of a field in C."""
    return c_name(name)


def _check_sharing(of_type: type, example: tuple[Any, ...]) -> None:
    """Refuse arrays in shared memory: in C each has its own."""
    arrays = [(name, array) for name, array in _arrays(of_type.__name__, example) if math.prod(array.shape)]
    for i, (name, array) in enumerate(arrays):
        for other, values in arrays[:i]:
            if np.may_share_memory(array, values):
                raise NotSupported(f"{other} and {name} share memory, and would not in C")


def _arrays(name: str, record: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for field, value in zip(record._fields, record, strict=True):  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            yield from _arrays(f"{name}.{field}", value)
        elif isinstance(value, np.ndarray):
            yield f"{name}.{field}", value
