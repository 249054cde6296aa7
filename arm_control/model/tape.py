"""A tape: the recursions, run on its nodes, write down what they compute.

Every operation becomes one line of a straight program. Products with 0 and 1 vanish, constants fold, and
what was computed before is not computed again, so the program of a robot holds its own numbers only:
what its zeros and right angles save is saved.

    tape = Tape()
    x, y = tape.inputs("x", 2)
    program = tape.program({"norm2": x * x + y * y})

Operations refer to earlier lines by number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arm_control.model.spatial_vectors import cos, sin
from arm_control.spatial import Array


class Operation(NamedTuple):
    """One line: its ``kind`` and the numbers of the lines it works on.

    ``constant`` holds its value, ``input`` its place among all entries of the inputs; add, sub, mul and div
    have two operands, neg, sin, cos and sqrt one.
    """

    kind: str
    a: float | int
    b: int = -1


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
        return sum(line.kind not in LEAVES for line in self.lines)


class Node:
    """A scalar on a tape; arithmetic with it writes on the tape."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape, self.index = tape, index

    def __add__(self, other: Any) -> Any:
        return self.tape.add(self, other) if isinstance(other, _SCALAR) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.tape.sub(self, other) if isinstance(other, _SCALAR) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self.tape.mul(self, other) if isinstance(other, _SCALAR) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self.tape.div(self, other) if isinstance(other, _SCALAR) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return self.tape.sub(other, self) if isinstance(other, _SCALAR) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self.tape.div(other, self) if isinstance(other, _SCALAR) else NotImplemented

    def __neg__(self) -> Any:
        return self.tape.neg(self)

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Any:
        """Square root; also what ``numpy.sqrt`` calls."""
        return self.tape.write("sqrt", self.index)


_SCALAR = (Node, int, float)


@sin.register
def _(x: Node) -> Any:
    return x.tape.write("sin", x.index)


@cos.register
def _(x: Node) -> Any:
    return x.tape.write("cos", x.index)


Value: TypeAlias = "Node | float"
LEAVES = ("constant", "input")


class Tape:
    """Lines written so far; see the module's text."""

    def __init__(self) -> None:
        self.lines: list[Operation] = []
        self._numbers: dict[Operation, int] = {}
        self._inputs: dict[str, int] = {}

    def inputs(self, name: str, size: int) -> Array:
        """Add an input and return its entries, shape (size,)."""
        first = sum(self._inputs.values())
        self._inputs[name] = size
        nodes = np.empty(size, dtype=object)
        nodes[:] = [self.write("input", first + i) for i in range(size)]
        return nodes

    def write(self, kind: str, a: float | int, b: int = -1) -> Node:
        """Return the line that computes this, which may be there already."""
        operation = Operation(kind, a, b)
        number = self._numbers.get(operation)
        if number is None:
            number = self._numbers[operation] = len(self.lines)
            self.lines.append(operation)
        return Node(self, number)

    def add(self, x: Value, y: Value) -> Value:
        """``x + y``."""
        if not isinstance(x, Node):
            x, y = y, x
        if not isinstance(y, Node):
            return x if y == 0.0 else self._commutative("add", x, y)
        if self._negated(y) is not None:
            return self._difference(x, self._negated(y))
        if self._negated(x) is not None:
            return self._difference(y, self._negated(x))
        return self._commutative("add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        """``x - y``."""
        return self.add(x, -y)

    def mul(self, x: Value, y: Value) -> Value:
        """``x y``; a sign moves out of the product, to where a sum absorbs it."""
        if not isinstance(x, Node):
            x, y = y, x
        if not isinstance(y, Node) and y in (0.0, 1.0):
            return x if y else 0.0
        for factor, other in ((x, y), (y, x)):
            positive = self._negated(factor)
            if positive is not None:
                return -self.mul(positive, other)
        return self._commutative("mul", x, y)

    def div(self, x: Value, y: Value) -> Value:
        """``x / y``."""
        if not isinstance(y, Node):
            return self.mul(x, 1.0 / y)
        return self.write("div", self._line(x), y.index) if isinstance(x, Node) or x else 0.0

    def neg(self, x: Node) -> Value:
        """``-x``."""
        positive = self._negated(x)
        return self.write("neg", x.index) if positive is None else positive

    def _negated(self, x: Value) -> Any:
        """The y of which ``x = -y``, where x is a negation or a constant below zero; else None."""
        if not isinstance(x, Node):
            return -x if x < 0.0 else None
        kind, a, _ = self.lines[x.index]
        return Node(self, int(a)) if kind == "neg" else None

    def _difference(self, x: Any, y: Node) -> Value:
        if x.index == y.index:
            return 0.0
        opposite = self._numbers.get(Operation("sub", y.index, x.index))
        return self.write("sub", x.index, y.index) if opposite is None else self.neg(Node(self, opposite))

    def _commutative(self, kind: str, x: Value, y: Value) -> Node:
        return self.write(kind, *sorted((self._line(x), self._line(y))))

    def _line(self, x: Value) -> int:
        return x.index if isinstance(x, Node) else self.write("constant", float(x)).index

    def program(self, outputs: Mapping[str, Any]) -> Program:
        """Return what computes these outputs (scalars or arrays of them), and nothing else."""
        arrays = {name: np.asarray(value, dtype=object) for name, value in outputs.items()}
        results = [self._line(entry) for array in arrays.values() for entry in array.ravel().tolist()]
        new = {old: number for number, old in enumerate(self._needed(results))}
        lines = tuple(
            line if line.kind in LEAVES else Operation(line.kind, new[int(line.a)], new.get(line.b, -1))
            for line in map(self.lines.__getitem__, new)
        )
        shapes = {name: array.shape for name, array in arrays.items()}
        return Program(dict(self._inputs), shapes, lines, tuple(new[result] for result in results))

    def _needed(self, results: list[int]) -> list[int]:
        needed = set(results)
        for number in reversed(range(len(self.lines))):
            kind, a, b = self.lines[number]
            if number in needed and kind not in LEAVES:
                needed.update((int(a), b))
        return sorted(needed - {-1})


def run(program: Program, inputs: Mapping[str, Any], functions: Mapping[str, Any] | None = None) -> dict[str, Array]:
    """Run a program line by line, on floats or on any other scalars.

    Parameters
    ----------
    program : Program
    inputs : mapping of str to array_like
        Entries of every input.
    functions : mapping, optional
        ``sin``, ``cos`` and ``sqrt`` for these scalars; those of :mod:`math` by default.

    Returns
    -------
    dict of str to ndarray
        Every output, of its shape.
    """
    functions = functions or vars(math)
    entries = [entry for name in program.inputs for entry in list(inputs[name])]
    values: list[Any] = []
    for kind, a, b in program.lines:
        match kind:
            case "constant":
                values.append(a)
            case "input":
                values.append(entries[int(a)])
            case "neg":
                values.append(-values[int(a)])
            case "sin" | "cos" | "sqrt":
                values.append(functions[kind](values[int(a)]))
            case _:
                values.append(getattr(operator, _NAMES[kind])(values[int(a)], values[b]))
    return shaped(program, [values[result] for result in program.results])


_NAMES = {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv"}


def shaped(program: Program, results: list[Any]) -> dict[str, Array]:
    """Outputs by name, each in its shape, from all entries in a row."""
    outputs, first = {}, 0
    for name, shape in program.outputs.items():
        size = math.prod(shape)
        outputs[name] = np.array(results[first : first + size]).reshape(shape)
        first += size
    return outputs
