"""A straight program: lines without a branch, each computed from earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from arm_control.maths import Array

LEAVES = ("constant", "input")

Function: TypeAlias = Callable[[Mapping[str, Array]], Mapping[str, Any]]
"""The text of a law: from inputs by name, arrays (size,) of scalars, to outputs by name, arrays of scalars."""


def is_from_this_package(function: Callable[..., object]) -> bool:
    """Whether the text of a law is among this package's sources."""
    text: object = function
    while isinstance(text, partial):
        text = text.func
    return str(getattr(text, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]


class Operation(NamedTuple):
    """One line: its ``name`` and the numbers of the lines it works on.

    ``constant`` holds its value, ``input`` its place among all entries of the inputs; add, sub, mul, div, max
    and atan2 (of y and x) have two operands; neg, sin, cos, exp, sqrt, round (to a whole number) and stored have one;
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

    def renumbered(self, new: Mapping[int, int]) -> Operation:
        """The same with new numbers of the lines it works on."""
        name, a, b, c = self
        if name in LEAVES:
            return self
        return Operation(name, new[int(a)], new[b] if b >= 0 else b, new[c] if c >= 0 else c)


@dataclass(frozen=True)
class Program:
    """A straight program, without a branch.

    Attributes
    ----------
    outputs : mapping of str to shape
        Name and shape of each output.
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

    def uses(self, name: str) -> bool:
        """Whether there is an operation of this name."""
        return any(line.name == name for line in self.lines)

    def late(self) -> Program:
        """The same with every constant and input just before its first use: registers are few."""
        order: list[int] = []
        seen: set[int] = set()
        for number, line in enumerate(self.lines):
            if line.name not in LEAVES:
                order += [k for k in dict.fromkeys(line.operands) if self.lines[k].name in LEAVES and k not in seen]
                seen.update(line.operands)
                order.append(number)
        order += [k for k in dict.fromkeys(self.results) if k not in seen and self.lines[k].name in LEAVES]
        new = {old: number for number, old in enumerate(order)}
        lines = tuple(self.lines[number].renumbered(new) for number in order)
        return Program(self.inputs, self.outputs, lines, tuple(new[k] for k in self.results))


class FoldProgram(NamedTuple):
    """Programs of a fold: where its parts count (None: everywhere), and the parts; see :class:`FoldedProgram`."""

    table: str
    times: int
    near: Program | None
    parts: tuple[Program | FoldProgram, ...]

    def programs(self) -> Iterator[Program]:
        """All of them."""
        if self.near is not None:
            yield self.near
        for part in self.parts:
            yield from part.programs() if isinstance(part, FoldProgram) else (part,)


class FoldedProgram(NamedTuple):
    """Programs of a :class:`~arm_control.compiler.law.Law` with folds.

    The inputs of ``before`` are the law's without its tables; those of all other programs are these, then the outputs
    of ``before``, then the row of a table.

    Attributes
    ----------
    inputs : mapping of str to int
        Name and size of each input of the law; of a table, the size of a row.
    outputs : mapping of str to shape
        Name and shape of each output.
    goes_on : str
        Value at which the folds end where it is not above zero; empty: none.
    """

    inputs: Mapping[str, int]
    outputs: Mapping[str, tuple[int, ...]]
    tables: tuple[str, ...]
    before: Program
    folds: tuple[FoldProgram, ...]
    after: Program
    goes_on: str

    def uses(self, name: str) -> bool:
        """Whether there is an operation of this name."""
        of_folds = [program for fold in self.folds for program in fold.programs()]
        return any(program.uses(name) for program in (self.before, *of_folds, self.after))
