"""Laws: a function of named inputs over any scalar, for one case (:class:`Law`) or for many (:class:`Loop`).

A function that takes arrays of floats can take arrays of a tape's nodes as well, and becomes a program; with columns
of numbers as scalars it runs on many cases at once. :func:`arm_control.compiler.compiled_law.compile_law` makes
kernels of laws.

The cases of a loop lie side by side in memory, in one of two layouts. An input or output of k numbers per case is

    columns     an array (k, N), one case per column
    rows        an array (N, k), one case per row
    shared      an array (k,), the same numbers for all cases; a table: an array (m, k), with m rows
    carried     an array (k,): an input that is an output as well, which the next case takes as its input
    total       an array (k,): an output that is summed up, or its smallest taken, over all cases
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import ClassVar, Literal

import numpy as np

from arm_control.compiler.folded_law import FoldedLaw
from arm_control.compiler.program import FoldedProgram, Function, Program, is_from_this_package
from arm_control.compiler.tape import Tape
from arm_control.maths import Array, columns, rows


@dataclass(frozen=True)
class Law:
    """A law for one case.

    Attributes
    ----------
    name : str
        What it computes, for messages and the list of cached kernels.
    function : callable
        The text of the law; see :data:`Function`.
    inputs : mapping of str to int
        Name and size of each input.
    structure : object
        Everything else the function depends on besides the robot and the package's sources: options, and numbers that
        become constants of the program. Its ``repr`` enters the cache key, so it must be complete and the same in
        every process: lists, not arrays; names, not functions. A function from outside of this package needs none.
    has_masses : bool
        Whether masses enter: a model for kinematics only refuses such a law.
    agreement : float
        Largest difference of a new kernel from the float run, relative to the largest entry: rounding, and no more.
    """

    name: str
    function: Function
    inputs: Mapping[str, int]
    structure: object = ()
    has_masses: bool = True
    agreement: float = 1e-9

    tables: ClassVar[tuple[str, ...]] = ()
    """A law without folds has none; see :class:`~arm_control.compiler.folded_law.FoldedLaw`."""

    @cached_property
    def key(self) -> str:
        """The law's part of the cache key: equal for equal programs of the same robot and the same sources.

        The key of the robot covers the sources of this package; of a function from elsewhere the program itself counts.
        """
        made_from = repr([dict(self.inputs), self.structure])
        if "array(" in made_from or " at 0x" in made_from:
            raise ValueError(f"{self.name}: the structure has arrays, or objects without a text: {made_from:.200}")
        return f"{self.name} {sha256((made_from + self._text_from_elsewhere()).encode()).hexdigest()}"

    def _text_from_elsewhere(self) -> str:
        """The program, where the function is not from this package."""
        if is_from_this_package(self.function):
            return ""
        try:
            program = self.flat_program()
        except Exception:  # a mistake is reported where the law is compiled
            return ""
        return repr([program.lines, program.outputs, program.results])

    def program(self) -> Program:
        """Write the function down on a tape."""
        return self._program(self.function)

    def flat_program(self) -> Program:
        """The same with every output as one row of numbers, shape (k,)."""
        return self._program(lambda x: {name: np.ravel(values) for name, values in self.function(x).items()})

    def _program(self, function: Function) -> Program:
        tape = Tape()
        return tape.program(function({name: tape.inputs(name, size) for name, size in self.inputs.items()}))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run the function on floats: what every kernel is compared with."""
        with np.errstate(all="ignore"):  # compiled code prints no warnings, either
            return {name: np.asarray(values, dtype=float) for name, values in self.function(inputs).items()}


@dataclass(frozen=True)
class Loop:
    """A law for many cases.

    Where nothing is carried the cases do not depend on each other, and several are computed at once, one in each lane
    of the vector registers.

    Attributes
    ----------
    law : Law or FoldedLaw
        The law of one case; with folds, in columns only.
    layout : "columns" or "rows"
        How the cases lie in memory; see the module's text.
    shared : tuple of str
        Inputs that are the same in all cases.
    carried : tuple of str
        Inputs that are outputs, too: each case starts from those of the case before it. Before a run they hold the
        start, after it the end. Rows only.
    totals : mapping of str to "sum" or "min"
        Outputs that are reduced to one number for all cases. Columns only.
    where : str
        Input of size 1: only cases where it is above zero are needed. Other cases do not count in totals, and their
        outputs may be left as they are. Empty: all are needed. Columns only.
    goes_on : str
        Output of size 1: at the first case where it is not above zero the run ends, and what is carried stays as it
        was before that case. Empty: the run goes through. Only with something carried.
    backwards : bool
        The last row comes first.
    """

    law: Law | FoldedLaw
    layout: Literal["columns", "rows"]
    shared: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    totals: Mapping[str, Literal["sum", "min"]] = field(default_factory=dict)
    where: str = ""
    goes_on: str = ""
    backwards: bool = False

    def __post_init__(self) -> None:
        unknown = {*self.shared, *self.carried, *filter(None, [self.where])} - self.law.inputs.keys()
        if unknown:
            raise ValueError(f"{self.law.name} has no input {', '.join(sorted(unknown))}")
        if self.layout == "columns" and (self.carried or self.goes_on or self.backwards):
            raise ValueError(f"{self.law.name}: columns carry nothing and have no order")
        if self.layout == "rows" and (self.totals or self.where or isinstance(self.law, FoldedLaw)):
            raise ValueError(f"{self.law.name}: rows have no totals, no condition and no folds")
        if missing := set(self.law.tables) - set(self.shared):
            raise ValueError(f"{self.law.name}: the table {', '.join(sorted(missing))} must be shared")

    @property
    def whole(self) -> frozenset[str]:
        """Inputs and outputs that are one array (k,) for all cases."""
        return frozenset((*self.shared, *self.carried, *self.totals))

    @property
    def key(self) -> str:
        """See :attr:`Law.key`."""
        structure = [self.layout, self.shared, self.carried, dict(self.totals), self.where, self.goes_on]
        return f"{self.law.key} {[*structure, self.backwards]}"

    def program(self) -> Program | FoldedProgram:
        """Write the law down, every output as one row of numbers."""
        return self.law.flat_program()

    @property
    def axis(self) -> int:
        """Axis of the cases."""
        return 1 if self.layout == "columns" else 0

    def shape(self, name: str, size: int, n: int) -> tuple[int, ...]:
        """Shape of an array for n cases.

        Parameters
        ----------
        name : str
            An input or output.
        size : int
            Its size in one case.
        n : int
            Number of cases.
        """
        return (size,) if name in self.whole else (size, n) if self.layout == "columns" else (n, size)

    def case(self, arrays: Mapping[str, Array], name: str, i: int) -> Array:
        """One input or output of one case, shape (size,).

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Arrays in this layout.
        name : str
            One of them.
        i : int
            Number of the case.
        """
        return arrays[name] if name in self.whole else arrays[name].take(i, self.axis)

    def count(self, arrays: Mapping[str, Array], outputs: Mapping[str, int], width: int, n: int | None = None) -> int:
        """Return the number of cases in these arrays, after checking that they fit.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Every input and output by name; others are passed over.
        outputs : mapping of str to int
            Name and size of every output.
        width : int
            The number of cases must be a multiple of it.
        n : int, optional
            Number of cases; by default as many as there are, the same number in each array.

        Raises
        ------
        ValueError
            When an array is missing, has another type, size or order in memory, or too few cases.
        """
        counts = {}
        for name, size in {**self.law.inputs, **outputs}.items():
            if name not in arrays:
                raise ValueError(f"{self.law.name}: '{name}' is missing")
            x = arrays[name]
            if name in self.law.tables:
                check_table(self.law, name, x)
                continue
            fits = x.shape == self.shape(name, size, x.shape[self.axis] if x.ndim == 2 else 0)
            if not fits or x.dtype != float or x.strides[-1] != x.itemsize:
                raise ValueError(
                    f"{self.law.name}: '{name}' has shape {x.shape} of {x.dtype}, strides {x.strides}; "
                    f"{self.layout} of {size} floats side by side are needed"
                )
            if x.ndim == 2:
                counts[name] = x.shape[self.axis]
        n = min(counts.values()) if n is None and len(set(counts.values())) == 1 else n
        if n is None or n % width or min(counts.values()) < n:
            needed = "the same number in each" if n is None else f"{n}, a multiple of {width}"
            raise ValueError(f"{self.law.name}: numbers of {self.layout} are {counts}; needed is {needed}")
        return n

    def run(self, arrays: Mapping[str, Array], n: int) -> int:
        """Run the function with NumPy on the first n cases of these arrays, inputs and outputs.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Every input and output by name; see the module's text for their shapes.
        n : int
            Number of cases.

        Returns
        -------
        int
            Number of cases before the run ended.
        """
        with np.errstate(all="ignore"):  # values of cases whose condition does not hold are not used
            return self._run_in_order(arrays, n) if self.carried else self._run_at_once(arrays, n)

    def _run_at_once(self, arrays: Mapping[str, Array], n: int) -> int:
        """All cases together: every scalar is a column of numbers."""
        active = np.flatnonzero(arrays[self.where][0, :n] > 0.0) if self.where else np.arange(n)
        inputs = {
            name: arrays[name].astype(object)
            if name in self.shared
            else columns(self._as_columns(arrays[name], n)[:, active])
            for name in self.law.inputs
        }
        for name, values in self.law.function(inputs).items():
            entries = rows(np.ravel(np.asarray(values, dtype=object)), len(active))
            match self.totals.get(name):
                case "sum":
                    arrays[name][:] = entries.sum(axis=1)
                case "min":
                    arrays[name][:] = entries.min(axis=1, initial=np.inf)
                case _:
                    self._as_columns(arrays[name], n)[:, active] = entries
        return n

    def _as_columns(self, array: Array, n: int) -> Array:
        """A view of the first n cases, shape (k, n)."""
        return array[:, :n] if self.layout == "columns" else array[:n].T

    def _run_in_order(self, arrays: Mapping[str, Array], n: int) -> int:
        """One row after the other."""
        shared = {name: arrays[name].astype(object) for name in self.shared}
        own = [name for name in self.law.inputs if name not in self.whole]
        for n_done, i in enumerate(reversed(range(n)) if self.backwards else range(n)):
            inputs = {**shared, **{name: _floats(arrays[name]) for name in self.carried}}
            inputs |= {name: _floats(arrays[name][i]) for name in own}
            try:
                outputs = {name: np.ravel(values).astype(float) for name, values in self.law.function(inputs).items()}
            except ArithmeticError:  # where compiled code goes on with nan
                return n_done
            for name in outputs.keys() - set(self.carried):
                arrays[name][i] = outputs[name]
            if self.goes_on and not outputs[self.goes_on][0] > 0.0:
                return n_done
            for name in self.carried:
                arrays[name][:] = outputs[name]
        return n


def check_table(law: Law | FoldedLaw, name: str, table: Array) -> None:
    """Raise a ValueError where an array cannot be a table of a law.

    Parameters
    ----------
    law : FoldedLaw
    name : str
        One of its tables.
    table : ndarray, shape (m, k)
        The array.
    """
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
