"""A straight program: lines without a branch, each computed from earlier ones; and how to run it."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arm_control.maths.poses import Array
from arm_control.maths.scalars import exp, maximum, nearest, select

LEAVES = ("constant", "input")


class Operation(NamedTuple):
    """One line: its ``name`` and the numbers of the lines it works on.

    ``constant`` holds its value, ``input`` its place among all entries of the inputs; add, sub, mul, div, max
    and atan2 (of y and x) have two operands; neg, sin, cos, exp, sqrt and round (to a whole number) have one;
    select has three: b where a > 0, else c.
    """

    name: str
    a: float | int
    b: int = -1
    c: int = -1

    @property
    def operands(self) -> tuple[int, ...]:
        """The lines it works on."""
        name, a, b, c = self
        if name in LEAVES:
            return ()
        return (int(a),) if b < 0 else (int(a), b) if c < 0 else (int(a), b, c)


@dataclass(frozen=True)
class Program:
    """A straight program, without a branch.

    Attributes
    ----------
    inputs : mapping of str to int
        Name and number of entries of each input.
    outputs : mapping of str to shape
        Name and shape of each output.
    lines : tuple of Operation
    results : tuple of int
        The line of every entry of every output, in order.
    """

    inputs: Mapping[str, int]
    outputs: Mapping[str, tuple[int, ...]]
    lines: tuple[Operation, ...]
    results: tuple[int, ...]

    @property
    def n_operations(self) -> int:
        """How much arithmetic it is."""
        return sum(line.name not in LEAVES for line in self.lines)


def run(program: Program, inputs: Mapping[str, Any], functions: Mapping[str, Any] | None = None) -> dict[str, Array]:
    """Run a program line by line, on floats or on any other scalars.

    Parameters
    ----------
    program : Program
    inputs : mapping of str to array_like
        Entries of every input.
    functions : mapping, optional
        ``sin``, ``cos``, ``exp``, ``sqrt``, ``max``, ``select``, ``atan2`` and ``round`` for these scalars; those for
        numbers by default.

    Returns
    -------
    dict of str to ndarray
        Every output, of its shape.
    """
    functions = functions or FUNCTIONS
    entries = [entry for name in program.inputs for entry in list(inputs[name])]
    values: list[Any] = []
    for line in program.lines:
        name, a = line.name, line.a
        x = [values[k] for k in line.operands]
        match name:
            case "constant":
                values.append(a)
            case "input":
                values.append(entries[int(a)])
            case "neg":
                values.append(-x[0])
            case "add" | "sub" | "mul" | "div":
                values.append(getattr(operator, _NAMES[name])(*x))
            case _:
                values.append(functions[name](*x))
    return shaped(program, [values[result] for result in program.results])


FUNCTIONS: dict[str, Any] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": exp,
    "sqrt": math.sqrt,
    "max": maximum,
    "select": select,
    "atan2": math.atan2,
    "round": nearest,
}
_NAMES = {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv"}


def shaped(program: Program, results: list[Any]) -> dict[str, Array]:
    """Outputs by name, each in its shape, from all entries in a row."""
    outputs, first = {}, 0
    for name, shape in program.outputs.items():
        size = math.prod(shape)
        outputs[name] = np.array(results[first : first + size]).reshape(shape)
        first += size
    return outputs
