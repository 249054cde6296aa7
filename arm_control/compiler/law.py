"""Laws: a function, or values folded over the rows of tables, with parts that are left out; and cases on schedules.

    values          = before(inputs)
    values.carried <- part_k(inputs, values, row),  for every row of a table, and every part of a fold
    values.carried <- part_k(inputs, values),       so many times
    outputs         = function(inputs, values)

A fold may say where its parts count: part k changes nothing for a row where entry k of ``near`` is not above zero.
Compiled, a part that counts in no lane does not run. Where ``goes_on`` is not above zero in any lane, rows and folds
that remain are left out.

    nearest = Law(
        "nearest",
        lambda x: {"distance": x["best"]},
        {"p": 1, "reach": 1, "points": 1},
        before=lambda x: {"best": [x["reach"][0]]},
        folds=(Fold((lambda x: {"best": [minimum(x["best"][0], abs(x["p"][0] - x["points"][0]))]},), table="points"),),
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
from typing import Any, Literal

import numpy as np

from arm_control.compiler.program import FoldedProgram, FoldProgram, Function, Program, is_from_this_package
from arm_control.compiler.tape import Tape
from arm_control.maths import Array, columns, rows, select

NEAR = "near"
"""The output that says which parts count."""
REPETITIONS = "repetitions"
"""The array (1, N) that receives how often a law was repeated on each case."""


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
class Law:
    """A law for one case: a function, or with ``before`` one behind folds.

    Attributes
    ----------
    name : str
        What it computes, for messages and the list of cached kernels.
    function : callable
        The text of the law, or its text behind the folds; see :data:`Function`.
    inputs : mapping of str to int
        Name and size of each input; of a table, the size of a row.
    structure : object
        Any other data the function depends on: options, baked-in constants. Part of the cache key, so its ``repr`` must
        be deterministic: lists, not arrays; names, not functions. A function from outside of this package needs none.
    has_masses : bool
        Whether masses enter: a model for kinematics only refuses such a law.
    agreement : float
        Largest difference of a new kernel from the float run, relative to the largest entry: rounding, and no more.
    before : callable, optional
        The text before the folds. With it the law runs in columns, or is repeated; it has no kernel for one case.
    carried : tuple of str
        Values that the folds change.
    goes_on : str
        Carried value of size 1: where it is zero or below, what remains must not matter. Empty: nothing is left out.
    """

    name: str
    function: Function
    inputs: Mapping[str, int]
    structure: object = ()
    has_masses: bool = True
    agreement: float = 1e-9
    before: Function | None = None
    folds: tuple[Fold, ...] = ()
    tables: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    goes_on: str = ""

    def __post_init__(self) -> None:
        if unknown := {*self.tables, *(fold.table for fold in self.folds if fold.table)} - self.inputs.keys():
            raise ValueError(f"{self.name} has no input {', '.join(sorted(unknown))}")

    @cached_property
    def key(self) -> str:
        """The law's part of the cache key: equal for equal programs of the same robot and the same sources.

        The key of the robot covers the sources of this package; of a function from elsewhere the program itself counts.
        """
        folds = [fold.structure for fold in self.folds]
        made_from = repr([dict(self.inputs), self.structure, self.tables, self.carried, self.goes_on, folds])
        if "array(" in made_from or " at 0x" in made_from:
            raise ValueError(f"{self.name}: the structure has arrays, or objects without a text: {made_from:.200}")
        return f"{self.name} {sha256((made_from + self._text_from_elsewhere()).encode()).hexdigest()}"

    def _text_from_elsewhere(self) -> str:
        """The program, where a function is not from this package."""
        functions = [self.before or self.function, self.function, *(f for fold in self.folds for f in fold.functions())]
        if all(map(is_from_this_package, functions)):
            return ""
        try:
            return repr(self.flat_program())
        except Exception:  # a mistake is reported where the law is compiled
            return ""

    def apply(self, x: Mapping[str, Array]) -> Mapping[str, Any]:
        """The law on floats or columns of floats."""
        if self.before is None:
            return self.function(x)
        values: Mapping[str, Array] = {**x, **_arrays(self.before(x))}
        for fold in self.folds:
            for row in x[fold.table] if fold.table else [np.zeros(0)] * fold.times:
                values = fold.apply({**values, fold.table: row})
        return self.function(values)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run the law on floats: what every kernel is compared with."""
        with np.errstate(all="ignore"):  # compiled code prints no warnings, either
            return {name: np.asarray(values, dtype=float) for name, values in self.apply(inputs).items()}

    def program(self) -> Program:
        """Write the function down on a tape, folds one behind the other; a ValueError for a law with tables."""
        if self.tables:
            raise ValueError(f"{self.name} has tables, and no program for one case")
        tape = Tape()
        return tape.program(dict(self.apply({name: tape.inputs(name, size) for name, size in self.inputs.items()})))

    def flat_program(self) -> Program | FoldedProgram:
        """Write the law down, every value and output as one row of numbers, shape (k,)."""
        if self.before is None:
            return _program(self.function, self.inputs)
        case = {name: size for name, size in self.inputs.items() if name not in self.tables}
        before = _program(self.before, case)
        values = {name: shape[0] for name, shape in before.outputs.items()}
        if both := case.keys() & values.keys():
            raise ValueError(f"{self.name}: {', '.join(sorted(both))} cannot be an input and a value")
        known = {**case, **values}
        after = _program(self.function, known)
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


# -- schedules


@dataclass(frozen=True)
class Loop:
    """A law for many cases, and their schedule.

    Where nothing is carried the cases do not depend on each other, and several are computed at once, one in each lane
    of the vector registers.

    Attributes
    ----------
    layout : "columns", "rows" or "repeated"
        How the cases lie in memory, an array (k, N) in columns and (N, k) in rows; repeated: in columns, and the law
        is repeated on each of them. Laws with folds have no rows.
    shared : tuple of str
        Inputs that are the same in all cases.
    carried : tuple of str
        Inputs that are outputs, too; before a run they hold the start, after it the end. In rows each case starts from
        those of the case before it, repeated each repetition of a case from those of the one before.
    totals : tuple of str
        Outputs that are summed over all cases. Columns only.
    goes_on : str
        Output of size 1. In rows the run ends at the first case where it is not above zero, and what is carried stays
        as it was before that case; empty: the run goes through. Repeated, a case is done where it is zero or below;
        where it is not a number, the case ends, not done.
    backwards : bool
        The last row comes first.
    """

    law: Law
    layout: Literal["columns", "rows", "repeated"]
    shared: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()
    goes_on: str = ""
    backwards: bool = False

    def __post_init__(self) -> None:
        name = self.law.name
        if unknown := {*self.shared, *self.carried} - self.law.inputs.keys():
            raise ValueError(f"{name} has no input {', '.join(sorted(unknown))}")
        if both := set(self.carried) & set(self.shared):
            raise ValueError(f"{name}: {', '.join(sorted(both))} cannot be shared and carried")
        if missing := set(self.law.tables) - set(self.shared):
            raise ValueError(f"{name}: the table {', '.join(sorted(missing))} must be shared")
        if self.layout == "columns" and (self.carried or self.goes_on or self.backwards):
            raise ValueError(f"{name}: columns carry nothing and have no order")
        if self.layout == "rows" and (self.totals or self.law.before is not None):
            raise ValueError(f"{name}: rows have no totals and no folds")
        if self.layout == "repeated" and (self.totals or self.backwards or not self.goes_on):
            raise ValueError(f"{name}: a repeated law has an output goes_on, and no totals or order")

    @property
    def is_repeated(self) -> bool:
        """Whether the law is repeated on each case."""
        return self.layout == "repeated"

    @property
    def is_vector(self) -> bool:
        """Whether the number of cases must fill the lanes of vectors."""
        return not (self.is_repeated or self.carried)

    @property
    def whole(self) -> frozenset[str]:
        """Inputs and outputs that are one array (k,) for all cases."""
        return frozenset((*self.shared, *self.totals, *(self.carried if self.layout == "rows" else ())))

    @property
    def key(self) -> str:
        """See :attr:`Law.key`."""
        structure = [self.layout, self.shared, self.carried, self.totals, self.goes_on, self.backwards]
        return f"{self.law.key} {structure}"

    @property
    def axis(self) -> int:
        """Axis of the cases."""
        return 0 if self.layout == "rows" else 1

    def results(self, outputs: Mapping[str, int]) -> dict[str, int]:
        """Name and size of every array that is written, from those of every output of the law."""
        return {**outputs, REPETITIONS: 1} if self.is_repeated else dict(outputs)

    def shape(self, name: str, size: int, n: int) -> tuple[int, ...]:
        """Shape of an array for n cases."""
        return (size,) if name in self.whole else (n, size) if self.layout == "rows" else (size, n)

    def case(self, arrays: Mapping[str, Array], name: str, i: int) -> Array:
        """One input or output of the case i, shape (size,), from arrays in this layout."""
        return arrays[name] if name in self.whole else arrays[name].take(i, self.axis)

    def count(self, arrays: Mapping[str, Array], outputs: Mapping[str, int], width: int, n: int | None = None) -> int:
        """Return the number of cases in these arrays, after checking that they fit.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Every input and result by name; others are passed over.
        width : int
            The number of cases must be a multiple of it.
        n : int, optional
            Number of cases; by default as many as there are, the same number in each array.

        Raises
        ------
        ValueError
            When an array is missing, has another type, size or order in memory, or too few cases.
        """
        counts: dict[str, int] = {}
        results = self.results(outputs)
        for name, size in {**self.law.inputs, **results}.items():
            if name not in arrays:
                raise ValueError(f"{self.law.name}: '{name}' is missing")
            x = arrays[name]
            if name in self.law.tables:
                check_table(self.law, name, x)
            else:
                self._check_array(name, size, x, is_written=name in results)
                counts |= {name: x.shape[self.axis]} if x.ndim == 2 else {}
        n = min(counts.values()) if n is None and len(set(counts.values())) == 1 else n
        if n is None or n % width or min(counts.values()) < n:
            needed = "the same number in each" if n is None else f"{n}, a multiple of {width}"
            raise ValueError(f"{self.law.name}: numbers of {self._cases} are {counts}; needed is {needed}")
        if n < 1 and self.is_repeated:
            raise ValueError(f"{self.law.name}: there is no case")
        return n

    @property
    def _cases(self) -> str:
        return "rows" if self.layout == "rows" else "columns"

    def _check_array(self, name: str, size: int, x: Array, *, is_written: bool) -> None:
        fits = x.shape == self.shape(name, size, x.shape[self.axis] if x.ndim == 2 else 0) and x.dtype == float
        fits = fits and (x.flags.writeable or not is_written)
        if not (fits and (self.is_repeated or x.strides[-1] == x.itemsize)):
            raise ValueError(
                f"{self.law.name}: '{name}' has shape {x.shape} of {x.dtype}, strides {x.strides}; "
                f"{self._cases} of {size} floats{'' if self.is_repeated else ' side by side'} are needed"
            )

    def run(self, arrays: Mapping[str, Array], n: int, limit: int = 1, is_first_enough: bool = False) -> int:
        """Run the law with NumPy on the first n cases of these arrays, inputs and results.

        Parameters
        ----------
        limit, is_first_enough
            Of a repeated law: the largest number of repetitions of a case; whether results of cases behind the first
            one that is done are not needed.

        Returns
        -------
        int
            Number of cases before the run ended; of a repeated law the first case that is done, n where none is.
        """
        with np.errstate(all="ignore"):  # compiled code prints no warnings
            if self.is_repeated:
                return self._run_repeatedly(arrays, n, limit, is_first_enough)
            return self._run_in_order(arrays, n) if self.carried else self._run_at_once(arrays, n)

    def _outputs_of(self, arrays: Mapping[str, Array], n: int, cases: Array) -> dict[str, Array]:
        """The outputs of some of the first n cases at once, shape (k, number of cases) each."""
        inputs = {
            name: arrays[name].astype(object)
            if name in self.shared
            else columns(self._as_columns(arrays[name], n)[:, cases])
            for name in self.law.inputs
        }
        outputs = self.law.apply(inputs)
        return {name: rows(np.ravel(np.asarray(x, dtype=object)), len(cases)) for name, x in outputs.items()}

    def _run_at_once(self, arrays: Mapping[str, Array], n: int) -> int:
        """All cases together: every scalar is a column of numbers."""
        for name, entries in self._outputs_of(arrays, n, np.arange(n)).items():
            if name in self.totals:
                arrays[name][:] = entries.sum(axis=1)
            else:
                self._as_columns(arrays[name], n)[:] = entries
        return n

    def _as_columns(self, array: Array, n: int) -> Array:
        """A view of the first n cases, shape (k, n)."""
        return array[:n].T if self.layout == "rows" else array[:, :n]

    def _run_in_order(self, arrays: Mapping[str, Array], n: int) -> int:
        """One row after the other."""
        shared = {name: arrays[name].astype(object) for name in self.shared}
        own = [name for name in self.law.inputs if name not in self.whole]
        for n_done, i in enumerate(reversed(range(n)) if self.backwards else range(n)):
            inputs = {**shared, **{name: _floats(arrays[name]) for name in self.carried}}
            inputs |= {name: _floats(arrays[name][i]) for name in own}
            try:
                outputs = {name: np.ravel(values).astype(float) for name, values in self.law.apply(inputs).items()}
            except ArithmeticError:  # where compiled code goes on with nan
                return n_done
            for name in outputs.keys() - set(self.carried):
                arrays[name][i] = outputs[name]
            if self.goes_on and not outputs[self.goes_on][0] > 0.0:
                return n_done
            for name in self.carried:
                arrays[name][:] = outputs[name]
        return n

    def _run_repeatedly(self, arrays: Mapping[str, Array], n: int, limit: int, is_first_enough: bool) -> int:
        """All cases that are not over together, again and again."""
        first, at_work = n, np.arange(n)
        for repetition in range(1, limit + 1):
            outputs = self._outputs_of(arrays, n, at_work)
            for name, entries in outputs.items():
                arrays[name][:, at_work] = entries
            arrays[REPETITIONS][0, at_work] = repetition
            goes_on = outputs[self.goes_on][0]
            first = min(first, int(np.min(at_work[goes_on <= 0.0], initial=n)))
            at_work = at_work[goes_on > 0.0]
            at_work = at_work[at_work < first] if is_first_enough else at_work
            if not at_work.size:
                break
        return first


def check_table(law: Law, name: str, table: Array) -> None:
    """Raise a ValueError where an array cannot be a table of a law."""
    size = law.inputs[name]
    if table.ndim != 2 or table.shape[1] != size or table.dtype != float or not table.flags.c_contiguous:
        raise ValueError(
            f"{law.name}: '{name}' has shape {table.shape} of {table.dtype}, strides {table.strides}; "
            f"rows of {size} floats, one behind the other, are needed"
        )


def _floats(values: Array) -> Array:
    """Python's floats: NumPy's own raise nothing and print warnings."""
    array = np.empty(len(values), dtype=object)
    array[:] = values.tolist()
    return array
