"""A law with loops inside: values are folded over the rows of tables, of any length, with parts that are left out.

    values          = before(inputs)
    values.carried <- part_k(inputs, values, row),  for every row of a table, and every part of a fold
    values.carried <- part_k(inputs, values),       so many times
    outputs         = after(inputs, values)

A fold may say where its parts count: part k changes nothing for a row where entry k of ``near`` is not above zero.
Compiled, a part that counts in no lane does not run. Where ``goes_on`` is not above zero in any lane, rows and folds
that remain are left out.

    nearest = FoldedLaw(
        "nearest",
        before=lambda x: {"best": [x["reach"][0]]},
        folds=(Fold((lambda x: {"best": [minimum(x["best"][0], abs(x["p"][0] - x["points"][0]))]},), table="points"),),
        after=lambda x: {"distance": x["best"]},
        inputs={"p": 1, "reach": 1, "points": 1},
        tables=("points",),
        carried=("best",),
    )

The rows of a table are shared by all cases: an array (m, k) of m rows, one behind the other in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from arm_control.compiler.program import FoldedProgram, FoldProgram, Function, Program, is_from_this_package
from arm_control.compiler.tape import Tape
from arm_control.maths import Array, select

NEAR = "near"
"""The output that says which parts count."""


@dataclass(frozen=True)
class Fold:
    """Parts of a law for every row of a table.

    Attributes
    ----------
    parts : tuple of callable or Fold
        Each takes inputs, values and the row, and returns some of the carried values, changed. A part that is a fold
        without a table has parts of its own for the same row.
    near : callable, optional
        Takes the same and returns ``near``, an entry for each part: above zero where the part counts. By default all
        do.
    table : str
        Name of the table; empty: there is no row.
    times : int
        How many times the parts run; above 1 only of a fold that has no table, no ``near`` and no fold in it.
    """

    parts: tuple[Function | Fold, ...]
    near: Function | None = None
    table: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        inner = [part for part in self.parts if isinstance(part, Fold)]
        if any(part.table or part.times != 1 for part in inner):
            raise ValueError("a fold in a fold has no table and runs once")
        if self.times < 1 or (self.times > 1 and (self.table or self.near or inner)):
            raise ValueError(f"a fold runs {self.times} times; with a table, near or a fold in it that must be 1")

    def apply(self, values: Mapping[str, Array]) -> Mapping[str, Array]:
        """All parts on floats or columns of floats, for one row among the values; returns the values after them."""
        near = None if self.near is None else _arrays(self.near(values))[NEAR]
        for k, part in enumerate(self.parts):
            changed = part.apply(values) if isinstance(part, Fold) else _arrays(part(values))
            if near is not None:
                changed = {name: select(near[k], new, values[name]) for name, new in changed.items()}
            values = {**values, **changed}
        return values

    def functions(self) -> Iterator[Function]:
        """All texts."""
        if self.near is not None:
            yield self.near
        for part in self.parts:
            yield from part.functions() if isinstance(part, Fold) else (part,)

    @property
    def structure(self) -> list[object]:
        """What it is made of besides its texts."""
        parts = [part.structure if isinstance(part, Fold) else None for part in self.parts]
        return [self.table, self.times, self.near is not None, parts]


@dataclass(frozen=True)
class FoldedLaw:
    """A law with folds; see the module's text. Loops over columns and repeated laws may be made of it.

    Attributes
    ----------
    name : str
        What it computes.
    before, after : callable
        The text before and behind the folds.
    folds : tuple of Fold
        In their order.
    inputs : mapping of str to int
        Name and size of each input; of a table, the size of a row.
    tables : tuple of str
        Inputs that are tables.
    carried : tuple of str
        Values that the folds change.
    goes_on : str
        Carried value of size 1: where it is zero or below, what remains must not matter. Empty: nothing is left out.
    structure, has_masses, agreement
        See :class:`arm_control.compiler.law.Law`.
    """

    name: str
    before: Function
    folds: tuple[Fold, ...]
    after: Function
    inputs: Mapping[str, int]
    tables: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    goes_on: str = ""
    structure: object = ()
    has_masses: bool = True
    agreement: float = 1e-9

    def __post_init__(self) -> None:
        if unknown := {*self.tables, *(fold.table for fold in self.folds if fold.table)} - self.inputs.keys():
            raise ValueError(f"{self.name} has no input {', '.join(sorted(unknown))}")

    @cached_property
    def key(self) -> str:
        """See :attr:`arm_control.compiler.law.Law.key`."""
        folds = [fold.structure for fold in self.folds]
        made_from = repr([dict(self.inputs), self.tables, self.carried, self.goes_on, folds, self.structure])
        if "array(" in made_from or " at 0x" in made_from:
            raise ValueError(f"{self.name}: the structure has arrays, or objects without a text: {made_from:.200}")
        if not all(map(is_from_this_package, self._functions())):
            made_from += repr(self.flat_program())
        return f"{self.name} {sha256(made_from.encode()).hexdigest()}"

    def _functions(self) -> Iterator[Function]:
        yield from (self.before, self.after)
        for fold in self.folds:
            yield from fold.functions()

    def function(self, x: Mapping[str, Array]) -> Mapping[str, Any]:
        """The law on floats or columns of floats."""
        values: Mapping[str, Array] = {**x, **_arrays(self.before(x))}
        for fold in self.folds:
            for row in x[fold.table] if fold.table else [np.zeros(0)] * fold.times:
                values = fold.apply({**values, fold.table: row})
        return self.after(values)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run the law on floats: what every kernel is compared with."""
        with np.errstate(all="ignore"):  # compiled code prints no warnings, either
            return {name: np.asarray(values, dtype=float) for name, values in self.function(inputs).items()}

    def flat_program(self) -> FoldedProgram:
        """Write it down on tapes, every value and output as one row of numbers."""
        case = {name: size for name, size in self.inputs.items() if name not in self.tables}
        before = _program(self.before, case)
        values = {name: shape[0] for name, shape in before.outputs.items()}
        if both := case.keys() & values.keys():
            raise ValueError(f"{self.name}: {', '.join(sorted(both))} cannot be an input and a value")
        known = {**case, **values}
        after = _program(self.after, known)
        rows = [{fold.table: self.inputs[fold.table]} if fold.table else {} for fold in self.folds]
        folds = tuple(self._fold_program(fold, {**known, **row}) for fold, row in zip(self.folds, rows, strict=True))
        return FoldedProgram(dict(self.inputs), after.outputs, self.tables, before, folds, after, self.goes_on)

    def _fold_program(self, fold: Fold, known: Mapping[str, int]) -> FoldProgram:
        near = None if fold.near is None else _program(fold.near, known)
        if near is not None and near.outputs != {NEAR: (len(fold.parts),)}:
            raise ValueError(
                f"{self.name}: near is {near.outputs}; needed is an entry for each of {len(fold.parts)} parts"
            )
        parts = tuple(
            self._fold_program(part, known) if isinstance(part, Fold) else self._part_program(part, known)
            for part in fold.parts
        )
        return FoldProgram(fold.table, fold.times, near, parts)

    def _part_program(self, part: Function, known: Mapping[str, int]) -> Program:
        program = _program(part, known)
        if wrong := [name for name in program.outputs if name not in self.carried]:
            raise ValueError(f"{self.name}: a part changes {', '.join(wrong)}, which is not carried")
        return program


def _program(function: Function, inputs: Mapping[str, int]) -> Program:
    tape = Tape()
    outputs = function({name: tape.inputs(name, size) for name, size in inputs.items()})
    return tape.program({name: np.ravel(np.asarray(values, dtype=object)) for name, values in outputs.items()})


def _arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    return {name: np.ravel(np.asarray(entries, dtype=object)) for name, entries in values.items()}
