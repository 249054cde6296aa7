"""The memory of a module of WebAssembly: records and arrays of Python, as its procedures and programs read them.

A record has slots of 64 bits (:mod:`arm_control.compiler.procedures`), with addresses of 32 bits in them; a function is
its place in the module's table, from 1 on, and what it takes. Every program takes the begin of the memory: the places
of its inputs and outputs are those of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from arm_control.compiler import PlacedProgram, Program
from arm_control.maths import Array

BEGIN = 1 << 16
"""Address of the first array [bytes]; below it is the stack."""
WORD = 8
"""Bytes of a number."""
Record = tuple[Any, ...]


class WebMemory:
    """Memory that grows while records and arrays are placed in it; arrays keep the values that they have then.

    Attributes
    ----------
    data : bytearray
        The memory from :data:`BEGIN` on.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self._addresses: dict[int, int] = {}
        self._kept: list[Array] = []

    def address(self, array: Array) -> int:
        """Return where an array is; a new one is placed."""
        key = array.__array_interface__["data"][0]
        if key not in self._addresses:
            self._addresses[key] = BEGIN + len(self.data)
            self._kept.append(array)
            self.data += np.ascontiguousarray(array).tobytes()
        return self._addresses[key]

    def record(self, record: Record, functions: Mapping[str, tuple[int, int]]) -> int:
        """Place a record, and return its address.

        Parameters
        ----------
        functions : mapping of str to (int, int)
            Place in the table, and argument, of each field that is a function.
        """
        slots: list[int] = []
        for name, value in _fields(record):
            if isinstance(value, tuple):
                slots.append(self.record(value, functions))
            elif isinstance(value, np.ndarray):
                slots.append(self.address(value))
            elif isinstance(value, float):
                slots.append(int(np.float64(value).view(np.int64)))
            else:
                slots += [value] if isinstance(value, int) else functions[name]
        return self.address(np.array(slots, dtype=np.int64))

    def placed(self, program: Program, arrays: Mapping[str, Array]) -> PlacedProgram:
        """Return a program that works on arrays by the names of its inputs and outputs."""
        sizes = {name: math.prod(shape) for name, shape in program.outputs.items()}
        return PlacedProgram(program, self._entries(program.inputs, arrays), self._entries(sizes, arrays))

    def _entries(self, sizes: Mapping[str, int], arrays: Mapping[str, Array]) -> tuple[int, ...]:
        for name, size in sizes.items():
            if arrays[name].size != size:
                raise ValueError(f"'{name}' has {arrays[name].size} numbers, the program {size}")
        firsts = {name: (self.address(arrays[name]) - BEGIN) // WORD for name in sizes}
        return tuple(k for name, size in sizes.items() for k in range(firsts[name], firsts[name] + size))

    def places(self, arrays: Mapping[str, Array]) -> dict[str, tuple[int, int, bool]]:
        """Return address, size and whether they are whole numbers, of arrays by name."""
        return {name: (self.address(x), x.size, x.dtype.kind == "i") for name, x in arrays.items()}


def arrays_of(record: Record, prefix: str = "") -> dict[str, Array]:
    """Return the arrays of a record and of those in it, by names as ``gate.tau``."""
    arrays: dict[str, Array] = {}
    for name, value in _fields(record):
        if isinstance(value, tuple):
            arrays |= arrays_of(value, f"{prefix}{name}.")
        elif isinstance(value, np.ndarray):
            arrays[prefix + name] = value
    return arrays


def _fields(record: Record) -> Iterator[tuple[str, Any]]:
    return zip(record._fields, record, strict=True)  # type: ignore[attr-defined]
