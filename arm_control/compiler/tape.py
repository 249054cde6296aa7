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

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from arm_control.compiler.program import Operation, Program
from arm_control.maths import Array, cos, exp, sin, sqrt


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

    def __abs__(self) -> Any:
        return self.maximum(-self)

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Any:
        """Square root; also what ``numpy.sqrt`` calls."""
        return self.tape.write("sqrt", self.index)

    def maximum(self, other: Any) -> Any:
        """The larger one."""
        return self.tape.write("max", self.index, self.tape.line(other))

    def select(self, a: Any, b: Any) -> Any:
        """``a`` where this is above zero, else ``b``."""
        return self.tape.write("select", self.index, self.tape.line(a), self.tape.line(b))

    def atan2(self, y: Any, x: Any) -> Any:
        """Angle of the point (x, y)."""
        return self.tape.write("atan2", self.tape.line(y), self.tape.line(x))

    def nearest(self) -> Any:
        """Nearest whole number."""
        return self.tape.write("round", self.index)

    def stored(self, x: Any) -> Any:
        """Another scalar, of which nothing is known any more."""
        return self.tape.write("stored", self.tape.line(x))


_SCALAR = (Node, int, float)


@sin.register
def _(x: Node) -> Any:
    return x.tape.write("sin", x.index)


@cos.register
def _(x: Node) -> Any:
    return x.tape.write("cos", x.index)


@exp.register
def _(x: Node) -> Any:
    return x.tape.write("exp", x.index)


@sqrt.register
def _(x: Node) -> Any:
    return x.sqrt()


Value: TypeAlias = "Node | float"


class Tape:
    """Lines written so far; see the module's text."""

    def __init__(self) -> None:
        self.lines: list[Operation] = []
        self._numbers: dict[tuple[str, float | int, int, int], int] = {}
        self._inputs: dict[str, int] = {}

    def inputs(self, name: str, size: int) -> Array:
        """Add an input and return its entries, shape (size,)."""
        first = sum(self._inputs.values())
        self._inputs[name] = size
        nodes = np.empty(size, dtype=object)
        nodes[:] = [self.write("input", first + i) for i in range(size)]
        return nodes

    def write(self, name: str, a: float | int, b: int = -1, c: int = -1) -> Node:
        """Return the line that computes this, which may be there already."""
        key = (name, a, b, c)  # equal to the operation, and made in a third of the time
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.lines)
            self.lines.append(Operation(name, a, b, c))
        return Node(self, number)

    def add(self, x: Value, y: Value) -> Value:
        """``x + y``."""
        if not isinstance(x, Node):
            x, y = y, x
        if not isinstance(y, Node):
            return x if y == 0.0 else self._commutative("add", x, y)
        for z, other in ((y, x), (x, y)):
            positive = self._negated(z)
            if positive is not None:
                return self._difference(other, positive)
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
        return self.write("div", self.line(x), y.index) if isinstance(x, Node) or x else 0.0

    def neg(self, x: Node) -> Value:
        """``-x``."""
        positive = self._negated(x)
        return self.write("neg", x.index) if positive is None else positive

    def _negated(self, x: Value) -> Any:
        """The y of which ``x = -y``, where x is a negation or a constant below zero; else None."""
        if not isinstance(x, Node):
            return -x if x < 0.0 else None
        line = self.lines[x.index]
        return Node(self, int(line.a)) if line.name == "neg" else None

    def _difference(self, x: Any, y: Node) -> Value:
        if x.index == y.index:
            return 0.0
        opposite = self._numbers.get(("sub", y.index, x.index, -1))
        return self.write("sub", x.index, y.index) if opposite is None else self.neg(Node(self, opposite))

    def _commutative(self, name: str, x: Value, y: Value) -> Node:
        a, b = self.line(x), self.line(y)
        return self.write(name, a, b) if a <= b else self.write(name, b, a)

    def line(self, x: Value) -> int:
        """Number of the line that holds a value."""
        return x.index if isinstance(x, Node) else self.write("constant", float(x)).index

    def program(self, outputs: Mapping[str, Any]) -> Program:
        """Return what computes these outputs (scalars or arrays of them), and nothing else."""
        arrays = {name: np.asarray(value, dtype=object) for name, value in outputs.items()}
        results = [self.line(entry) for array in arrays.values() for entry in array.ravel().tolist()]
        new = {old: number for number, old in enumerate(self._needed(results))}
        lines = tuple(self.lines[number].renumbered(new) for number in new)
        shapes = {name: array.shape for name, array in arrays.items()}
        return Program(dict(self._inputs), shapes, lines, tuple(new[result] for result in results))

    def _needed(self, results: list[int]) -> list[int]:
        needed = set(results)
        for number in reversed(range(len(self.lines))):
            if number in needed:
                needed.update(self.lines[number].operands)
        return sorted(needed)
