"""A law repeated on each case until the case is done: iterations such as Newton's, many at once.

    x <- law(x),  as long as goes_on(x) > 0  and at most ``limit`` times

The cases do not depend on each other. Compiled, several of them are worked on at once, one in each lane of the vector
registers; a lane whose case has ended takes the next case, so that no lane waits for another one. Any number of cases
is allowed. Cases are started in their order, and the run may end with the first one that is done: an iteration that is
tried from several starts gives the result of the earliest start that leads to one, however many lanes there are.

An input or output of k numbers is an array (k, N), one case per column, of any strides: the transposed view of rows and
a broadcast column will do. What is shared is an array (k,), or a table (m, k) of m rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arm_control.compiler.folded_law import FoldedLaw
from arm_control.compiler.law import Law, check_table
from arm_control.compiler.program import FoldedProgram, Program
from arm_control.maths import Array, columns, rows


@dataclass(frozen=True)
class Repeat:
    """A law that is repeated on each case.

    Attributes
    ----------
    law : Law or FoldedLaw
        One repetition.
    carried : tuple of str
        Inputs that are outputs, too: each repetition starts from those of the one before. Before a run their arrays
        hold the start, after it the end.
    goes_on : str
        Output of size 1: a case is done where it is zero or below; where it is not a number, the case ends, not done.
    shared : tuple of str
        Inputs that are the same in all cases.
    count : str
        Name of the array (1, N) that receives the number of repetitions of each case.
    """

    law: Law | FoldedLaw
    carried: tuple[str, ...]
    goes_on: str
    shared: tuple[str, ...] = ()
    count: str = "repetitions"

    def __post_init__(self) -> None:
        if unknown := {*self.carried, *self.shared} - self.law.inputs.keys():
            raise ValueError(f"{self.law.name} has no input {', '.join(sorted(unknown))}")
        if both := set(self.carried) & set(self.shared):
            raise ValueError(f"{self.law.name}: {', '.join(sorted(both))} cannot be shared and carried")
        if missing := set(self.law.tables) - set(self.shared):
            raise ValueError(f"{self.law.name}: the table {', '.join(sorted(missing))} must be shared")

    @property
    def key(self) -> str:
        """See :attr:`arm_control.compiler.law.Law.key`."""
        return f"{self.law.key} repeated {[self.carried, self.goes_on, self.shared, self.count]}"

    def program(self) -> Program | FoldedProgram:
        """Write the law down, every output as one row of numbers."""
        return self.law.flat_program()

    def sizes(self, outputs: Mapping[str, int]) -> dict[str, int]:
        """Name and size of every array.

        Parameters
        ----------
        outputs : mapping of str to int
            Name and size of every output of the law.
        """
        return {**self.law.inputs, **outputs, self.count: 1}

    def number_of_cases(self, arrays: Mapping[str, Array], outputs: Mapping[str, int]) -> int:
        """Return the number of cases in these arrays, after checking that they fit.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Every input and output by name; others are passed over.
        outputs : mapping of str to int
            Name and size of every output.

        Raises
        ------
        ValueError
            When an array is missing, or has another type, size or number of columns.
        """
        sizes = self.sizes(outputs)
        if missing := sizes.keys() - arrays.keys():
            raise ValueError(f"{self.law.name}: '{sorted(missing)[0]}' is missing")
        n = arrays[self.count].shape[-1]
        for name, size in sizes.items():
            if name in self.law.tables:
                check_table(self.law, name, arrays[name])
                continue
            array, shape = arrays[name], (size,) if name in self.shared else (size, n)
            is_result = name in outputs or name == self.count
            if array.shape != shape or array.dtype != float or (is_result and not array.flags.writeable):
                raise ValueError(
                    f"{self.law.name}: '{name}' has shape {array.shape} of {array.dtype}; allowed: {shape} of floats"
                )
        if n < 1:
            raise ValueError(f"{self.law.name}: there is no case")
        return n

    def run(self, arrays: Mapping[str, Array], limit: int, is_first_enough: bool = False) -> int:
        """Run the function with NumPy, all cases at once.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Every input and output by name.
        limit : int
            Largest number of repetitions of a case.
        is_first_enough : bool
            Whether results of cases behind the first one that is done are not needed.

        Returns
        -------
        int
            The first case that is done; the number of cases where none is.
        """
        n = arrays[self.count].shape[1]
        first, at_work = n, np.arange(n)
        for repetition in range(1, limit + 1):
            goes_on = self._repeat_once(arrays, at_work)
            arrays[self.count][0, at_work] = repetition
            first = min(first, int(np.min(at_work[goes_on <= 0.0], initial=n)))
            at_work = at_work[goes_on > 0.0]
            at_work = at_work[at_work < first] if is_first_enough else at_work
            if not at_work.size:
                break
        return first

    def _repeat_once(self, arrays: Mapping[str, Array], at_work: Array) -> Array:
        """Work on some cases once; returns the numbers that say whether they go on."""
        inputs = {
            name: arrays[name].astype(object) if name in self.shared else columns(arrays[name][:, at_work])
            for name in self.law.inputs
        }
        with np.errstate(all="ignore"):  # compiled code prints no warnings, either
            results = self.law.function(inputs)
            entries = {name: rows(np.ravel(values), len(at_work)) for name, values in results.items()}
        for name, values in entries.items():
            arrays[name][:, at_work] = values
        return entries[self.goes_on][0]
