"""Scans: one text, run for row after row of many, each finding the state that the one before it left.

An input is a row of numbers per step, shape (N, size); or, when it is shared, numbers that are the same in all,
shape (size,); or carried: shape (size,), too, an input that is also an output, which the next step finds. What is
carried holds the start before a scan, the end after it. An output is an array (N, size). Where nothing is carried
the rows do not depend on each other, and several are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from arm_control.compiler.program import Program
from arm_control.compiler.tape import Tape
from arm_control.maths.columns import columns, rows
from arm_control.maths.poses import Array


@dataclass(frozen=True)
class ScanLaw:
    """A law for rows.

    Attributes
    ----------
    name : str
        Says all the law is made from besides the robot.
    text : callable
        From inputs by name, arrays (size,) of scalars, to outputs by name, arrays of scalars.
    inputs : mapping of str to int
        Name and size of each input.
    shared, carried : tuple of str
        Which inputs are the same in all rows, and which are carried from row to row.
    backwards : bool
        The last row comes first.
    goes_on : str
        Name of an output of size 1: where it is not above zero the scan ends, and what is carried stays what it
        was before that row. Empty: it goes through.
    """

    name: str
    text: Callable[[Mapping[str, Array]], Mapping[str, Any]]
    inputs: Mapping[str, int]
    shared: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    backwards: bool = False
    goes_on: str = ""

    def write(self) -> Program:
        """Return the text as a program."""
        tape = Tape()
        x = {name: tape.inputs(name, size) for name, size in self.inputs.items()}
        return tape.program({name: np.ravel(values) for name, values in self.text(x).items()})

    def run(self, arrays: Mapping[str, Array], n: int) -> int:
        """Run the text as it stands, with NumPy; as for :meth:`Scan.bind`. Returns how many rows were done."""
        with np.errstate(all="ignore"):
            return self._run_rows(arrays, n) if self.carried else self._run_columns(arrays, n)

    def _run_rows(self, arrays: Mapping[str, Array], n: int) -> int:
        fixed = {name: arrays[name].astype(object) for name in self.shared}
        one = [name for name in self.inputs if name not in self.shared + self.carried]
        for done, i in enumerate(reversed(range(n)) if self.backwards else range(n)):
            given = {**fixed, **{name: _floats(arrays[name]) for name in self.carried}}
            given |= {name: _floats(arrays[name][i]) for name in one}
            try:
                found = {name: np.ravel(values).astype(float) for name, values in self.text(given).items()}
            except ArithmeticError:  # where compiled code goes on with nan
                return done
            for name in found.keys() - set(self.carried):
                arrays[name][i] = found[name]
            if self.goes_on and not found[self.goes_on][0] > 0.0:
                return done
            for name in self.carried:
                arrays[name][:] = found[name]
        return n

    def _run_columns(self, arrays: Mapping[str, Array], n: int) -> int:
        given = {
            name: arrays[name].astype(object) if name in self.shared else columns(arrays[name][:n].T)
            for name in self.inputs
        }
        for name, values in self.text(given).items():
            arrays[name][:n] = rows(np.ravel(np.asarray(values, dtype=object)), n).T
        return n


def _floats(values: Array) -> Array:
    """Python's floats: NumPy's own raise nothing and print warnings."""
    array = np.empty(len(values), dtype=object)
    array[:] = values.tolist()
    return array


class Scan(Protocol):
    """A law made ready to run."""

    width: int
    """Where nothing is carried, N is a multiple of it."""
    outputs: Mapping[str, int]
    """Name and size of every output."""

    def bind(self, arrays: Mapping[str, Array], n: int) -> Callable[[], float]:
        """Return a function that scans the first n rows of these arrays, and returns how many it has done.

        ``arrays`` has every input and output by name, float64, the entries of a row side by side in memory; they
        are used as they are then, and must stay.
        """


class TextScan:
    """A law that runs as it stands."""

    width = 1

    def __init__(self, law: ScanLaw) -> None:
        self._law = law
        self.outputs: Mapping[str, int] = {name: shape[0] for name, shape in law.write().outputs.items()}

    def bind(self, arrays: Mapping[str, Array], n: int) -> Callable[[], float]:
        """See :class:`Scan`."""
        return lambda: self._law.run(arrays, n)
