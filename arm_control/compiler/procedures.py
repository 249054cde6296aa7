"""Procedures: functions of numbers and arrays with loops and branches, compiled as they stand.

A law (:mod:`arm_control.compiler.law`) is a straight line of arithmetic; a search is not. Its text is a subset of
Python, which also runs as it stands:

    class Points(NamedTuple):
        x: Rows
        size: Ints

    @procedure
    def smallest(points: Points, row: int) -> float:
        best = INFINITY
        for i in range(points.size[0]):
            best = min(best, points.x[row, i])
        return best

    statements    name = expression, array[i] = expression, += -= *=, if, while, for i in range(...), break, continue,
                  return, calls
    expressions   + - * / // %, comparisons, and, or, not, a if b else c, array[i], table[i, j], table[i] (a row),
                  record.field, float, int, min, max, abs, sqrt, calls of other procedures, of operations
                  (:mod:`arm_control.compiler.machine_operations`) and of functions that are fields of a record

Parameters and fields of records are ``int``, ``float``, ``bool``, :data:`Floats` (k,), :data:`Ints` (k,), :data:`Rows`
(m, k), :class:`RunsCases`, :class:`RunsColumns`, :class:`RunsKernel`,
:class:`~arm_control.compiler.machine_operations.CFunction`, or records: named tuples of these. Numbers in a record stay
as they are; what changes is in arrays. Indices count from zero, are not checked and must not be negative; // and % take
no negative numbers. A name keeps its type. Names of the module are constants, or other procedures.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
"""An array of numbers, shape (k,)."""
Rows: TypeAlias = npt.NDArray[np.float64]
"""A table of numbers, shape (m, k), each row side by side in memory."""
Ints: TypeAlias = npt.NDArray[np.int64]
"""An array of whole numbers, shape (k,)."""
P = ParamSpec("P")
R = TypeVar("R")


class RunsCases(Protocol):
    """A repeated law that is bound to arrays (:class:`arm_control.compiler.kernels.BoundRepeat`)."""

    def __call__(self, n: int, limit: int) -> float:
        """Work on the first n cases, at most so many times each."""


class RunsColumns(Protocol):
    """A loop that is bound to arrays (:class:`arm_control.compiler.kernels.BoundLoop`)."""

    def __call__(self, n: int, /) -> float:
        """Work on the first n cases, a multiple of the kernel's width."""


class RunsKernel(Protocol):
    """The kernel of a law for one case, on a work space of its own (:class:`arm_control.compiler.kernels.OwnWork`).

    Or another procedure on a record of its own (:class:`arm_control.compiler.compiled_procedure.BoundProcedure`).
    """

    def __call__(self) -> float:
        """Compute the outputs from the inputs; returns 0 where every input is finite, else nan; or as the other one."""


class Procedure(Generic[P, R]):
    """A function that can be compiled; called from Python, it runs as it stands.

    Parameters
    ----------
    function : callable
        In the subset of Python that the module's text describes.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it."""
        return self.function(*args, **kwargs)

    @property
    def key(self) -> str:
        """The same for equal procedures of one state of the sources."""
        return f"{self.__module__}.{self.__name__}"

    @cached_property
    def source(self) -> str:
        """Its text."""
        return textwrap.dedent(inspect.getsource(self.function))

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Its text as a tree."""
        (definition,) = ast.parse(self.source).body
        if not isinstance(definition, ast.FunctionDef):
            raise TypeError(f"{self.key} is not a function")
        return definition

    def look_up(self, name: str) -> Any:
        """What a name of the module stands for; a KeyError where there is none."""
        return self.function.__globals__[name]


def procedure(function: Callable[P, R]) -> Procedure[P, R]:
    """Decorate a function that can be compiled."""
    return Procedure(function)
