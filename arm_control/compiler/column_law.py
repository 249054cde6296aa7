"""Laws for many columns: one text, run for each of many pairs (or points, or states) that do not depend on each other.

An input is a row of numbers per entry, shape (size, N), or, when it is shared, numbers that are the same in all
columns, shape (size,). An output is an array (size, N) likewise; one with a total is summed up over the columns,
or its smallest is taken, shape (size,).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from arm_control.compiler.program import Program
from arm_control.compiler.tape import Tape
from arm_control.maths.columns import columns, rows
from arm_control.maths.poses import Array


@dataclass(frozen=True)
class ColumnLaw:
    """A law for many columns.

    Attributes
    ----------
    name : str
        Says all the law is made from besides the robot.
    text : callable
        From inputs by name, arrays (size,) of scalars, to outputs by name, likewise.
    inputs : mapping of str to int
        Name and size of each input.
    shared : tuple of str
        Inputs that are the same in all columns.
    totals : mapping of str to "sum" or "min"
        Outputs that are one number for all columns.
    where : str
        Name of an input of size 1: only where it is above zero the law is needed. Elsewhere outputs may be
        left as they are; they do not count in totals. Empty: everywhere.
    """

    name: str
    text: Callable[[Mapping[str, Array]], Mapping[str, Any]]
    inputs: Mapping[str, int]
    shared: tuple[str, ...] = ()
    totals: Mapping[str, Literal["sum", "min"]] = field(default_factory=dict)
    where: str = ""

    def write(self) -> Program:
        """Return the text as a program."""
        tape = Tape()
        x = {name: tape.inputs(name, size) for name, size in self.inputs.items()}
        return tape.program({name: np.ravel(values) for name, values in self.text(x).items()})

    def run(self, arrays: Mapping[str, Array]) -> None:
        """Run the text as it stands, with NumPy; inputs and outputs as for :meth:`Columns.bind`."""
        n = next(array.shape[1] for name, array in arrays.items() if name in self.inputs and name not in self.shared)
        active = np.flatnonzero(arrays[self.where][0] > 0.0) if self.where else np.arange(n)
        given = {
            name: arrays[name].astype(object) if name in self.shared else columns(arrays[name][:, active])
            for name in self.inputs
        }
        with np.errstate(all="ignore"):  # what is computed where a condition does not hold is not used
            found = self.text(given)
        for name, values in found.items():
            entries = rows(np.ravel(np.asarray(values, dtype=object)), len(active))
            match self.totals.get(name):
                case "sum":
                    arrays[name][:] = entries.sum(axis=1)
                case "min":
                    arrays[name][:] = entries.min(axis=1, initial=np.inf)
                case _:
                    arrays[name][:, active] = entries


class Columns(Protocol):
    """A law made ready to run."""

    width: int
    """N is a multiple of it."""

    def bind(self, arrays: Mapping[str, Array]) -> Callable[[], object]:
        """Return a function that computes the outputs among these arrays from the inputs.

        ``arrays`` has every input and output by name, float64; an array of two axes has its columns side by
        side in memory, and may be part of a larger one. They are used as they are then, and must stay.
        """


class TextColumns:
    """A law that runs as it stands."""

    width = 1

    def __init__(self, law: ColumnLaw) -> None:
        self._law = law

    def bind(self, arrays: Mapping[str, Array]) -> Callable[[], object]:
        """See :class:`Columns`."""
        return lambda: self._law.run(arrays)
