"""Kernels: functions with a work space of their own, for one state or for many.

Who makes them is a back end (:mod:`arm_control.model.engine`); how they are used is the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from arm_control.compiler.column_law import ColumnLaw, Columns
from arm_control.compiler.program import Program
from arm_control.compiler.scan_law import Scan, ScanLaw
from arm_control.maths.poses import Array

SHARED = ("tool",)
"""Inputs that are the same for all states of a batch."""

Shapes = Mapping[str, tuple[int, ...]]


class Kernel:
    """Computes quantities of one state: write ``inputs``, call, read ``outputs``.

    Parameters
    ----------
    inputs : mapping of str to int
        Name and size of each input.
    outputs : mapping of str to shape
        Name and shape of each output.
    bind : callable
        Is given the inputs' and the outputs' part of the work space, and returns the function that
        computes one from the other. That returns whether an input is not finite.

    Attributes
    ----------
    inputs, outputs : dict of str to ndarray
        Views of the work space.
    call : callable
        The function.
    """

    def __init__(
        self, inputs: Mapping[str, int], outputs: Shapes, bind: Callable[[Array, Array], Callable[[], bool]]
    ) -> None:
        n_inputs = sum(inputs.values())
        work = np.zeros(n_inputs + sum(math.prod(shape) for shape in outputs.values()))
        self.inputs = split(work[:n_inputs], {name: (size,) for name, size in inputs.items()})
        self.outputs = split(work[n_inputs:], outputs)
        self.call = bind(work[:n_inputs], work[n_inputs:])


class NotFinite(Exception):
    """An input is nan or infinite; the caller knows which."""


class Batch:
    """Computes quantities of many states.

    Parameters
    ----------
    inputs, outputs
        As for a :class:`Kernel`.
    run : callable
        Is given the inputs, a row per state (one row for all when shared), the rows of the outputs, and
        whether these are memory that has never been touched. Returns nan when an input is not finite.
    """

    def __init__(
        self, inputs: Mapping[str, int], outputs: Shapes, run: Callable[[list[Array], Array, bool], float]
    ) -> None:
        self.inputs, self.outputs, self._run = dict(inputs), dict(outputs), run

    @property
    def n_results(self) -> int:
        """Numbers per state."""
        return sum(math.prod(shape) for shape in self.outputs.values())

    def __call__(self, arrays: Sequence[Array], out: Array, is_new: bool) -> dict[str, Array]:
        """Fill ``out``, shape (N, n_results), and return its parts by name, each of shape (N, ...).

        Raises
        ------
        NotFinite
            When an input is not finite.
        """
        if self._run(list(arrays), out, is_new) != 0.0:
            raise NotFinite
        return split(out, self.outputs)


def split(rows: Array, shapes: Shapes) -> dict[str, Array]:
    """Views of the pieces of an array's last axis, by name and in their shapes."""
    views, first = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        views[name] = rows[..., first : first + size].reshape((*rows.shape[:-1], *shape))
        first += size
    return views


class BackEnd(Protocol):
    """Makes kernels of the quantities named in :mod:`arm_control.model.quantities`."""

    def kernel(self, quantities: Sequence[str], frame: str | None, check: Callable[[Kernel], None]) -> Kernel:
        """Return a kernel.

        ``frame`` is the link that ``J_point`` is about; ``check`` raises when a new kernel is wrong. One from a
        cache was checked before it was kept.
        """

    def law(self, name: str, write: Callable[[], Program], check: Callable[[Kernel], None]) -> Kernel:
        """Return a kernel of a program that somebody else writes; its name must say all it is made from."""

    def columns(self, law: ColumnLaw, check: Callable[[Columns], None]) -> Columns:
        """Return a law for many columns, made ready to run."""

    def scan(self, law: ScanLaw, check: Callable[[Scan], None]) -> Scan:
        """Return a law for rows, made ready to run."""

    def batch(self, quantities: Sequence[str], has_tool: bool, check: Callable[[Batch], None]) -> Batch:
        """Return what computes these for many states; without a tool it may be simpler."""


def batch_of(kernel: Kernel) -> Batch:
    """Return what calls a kernel for each state."""

    def run(arrays: list[Array], out: Array, _: bool) -> float:
        for name, array in zip(kernel.inputs, arrays, strict=True):
            if name in SHARED:
                kernel.inputs[name][:] = array
        own = [(kernel.inputs[name], a) for name, a in zip(kernel.inputs, arrays, strict=True) if name not in SHARED]
        for i, row in enumerate(out):
            for view, array in own:
                view[:] = array[i]
            if kernel.call():
                return math.nan
            row[:] = np.concatenate([x.ravel() for x in kernel.outputs.values()])
        return 0.0

    shapes = {name: view.shape for name, view in kernel.outputs.items()}
    return Batch({name: len(view) for name, view in kernel.inputs.items()}, shapes, run)
