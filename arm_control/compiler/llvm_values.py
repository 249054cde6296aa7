"""Types and values of procedures in LLVM's intermediate language.

A record is the address of slots of 64 bits: a number has one, an array its address, a table its address and the
distance of its rows, a record its address, a loop the addresses of its function and of its table, a kernel those of
its function and of its work space, a C function its address.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from arm_control.compiler.llvm_writer import constant

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
    "RunsCases": ("ptr", "ptr"),
    "RunsColumns": ("ptr", "ptr"),
    "RunsKernel": ("ptr", "ptr"),
    "CFunction": ("ptr",),
}
"""What a value of each type is made of; a record is an address."""


class LlvmValue(NamedTuple):
    """A value: its type, and the names of its parts."""

    type: Type
    parts: tuple[str, ...]


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
    """Number of the first slot of a field.

    Parameters
    ----------
    record : type
        A class of records.
    field : str
        Name of one of its fields.
    """
    fields = fields_of(record)
    return sum(len(parts_of(of_type)) for of_type in list(fields.values())[: list(fields).index(field)])


def type_named(name: str, look_up: Callable[[str], Any]) -> Type:
    """The type of an annotation.

    Parameters
    ----------
    name : str
    look_up : callable
        Takes the name of a record, and returns its class.
    """
    found: Type = name if name in PARTS else look_up(name)
    return found


def result_type(of_type: Type) -> str:
    """LLVM's type of what a procedure returns."""
    parts = parts_of(of_type)
    return parts[0] if parts else "void"


def number(value: object) -> LlvmValue:
    """The value of a number; a NotSupported for anything else."""
    if isinstance(value, bool):
        return LlvmValue("bool", ("true" if value else "false",))
    if isinstance(value, int):
        return LlvmValue("int", (str(value),))
    if isinstance(value, float):
        return LlvmValue("float", (constant(value),))
    raise NotSupported(f"{value!r:.80} is no number")
