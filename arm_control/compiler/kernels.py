"""Kernels: laws that are compiled, or run as they stand, with the same interface.

A :class:`Kernel` is for one case: write inputs, call, read outputs, all in a work space. A :class:`LoopKernel` is for
many cases, bound once to arrays of the caller, then called. Where no machine code can be made, a law runs as a
generated Python function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np

from arm_control.compiler.law import Law, Loop
from arm_control.compiler.procedures import RunsLoop
from arm_control.compiler.program import Operation, Program
from arm_control.maths import Array, exp, maximum, nearest

STRICT = "ARM_CONTROL_STRICT"
"""Environment variable: ``1`` makes a law that cannot be compiled an error."""
Shapes = Mapping[str, tuple[int, ...]]


class Kernel:
    """Computes a law in one case: write ``inputs``, call, read ``outputs``.

    Parameters
    ----------
    outputs : mapping of str to shape
        Name and shape of each output.
    bind : callable
        Takes the inputs' and the outputs' part of the work space, and returns the function that computes one from
        the other. That function returns whether an input is not finite.
    address : int
        Of ``double kernel(double *work)``, which works on a block of all inputs, then all outputs, and returns 0 where
        every input is finite, else not a number; 0 where there is no machine code. It is there as long as the kernel.

    Attributes
    ----------
    inputs, outputs : dict of str to ndarray
        Views of the work space.
    call : callable
        Computes the outputs from the inputs; returns whether an input is not finite.
    shapes : tuple
        Name and shape of each input, and of each output.
    lock : RLock
        For threads that share the work space.
    """

    def __init__(
        self,
        inputs: Mapping[str, int],
        outputs: Shapes,
        bind: Callable[[Array, Array], Callable[[], bool]],
        address: int = 0,
    ) -> None:
        self.is_compiled, self.address = bool(address), address
        self.bind, self.lock = bind, RLock()
        self.shapes: tuple[Shapes, Shapes] = {name: (size,) for name, size in inputs.items()}, outputs
        own = OwnWork(self)
        self.inputs, self.outputs, self.call = own.inputs, own.outputs, own.call


class OwnWork:
    """A kernel on a work space of its own; of machine code, procedures may call it (``RunsKernel``).

    Parameters
    ----------
    work : ndarray, optional
        Memory for all inputs, then all outputs; by default new memory.

    Attributes
    ----------
    inputs, outputs : dict of str to ndarray
        Views of them, by name and in their shapes.
    parts : tuple of ndarray
        All inputs, and all outputs.
    function_address, table_address : int
        Of the function, which is 0 where it is no machine code, and of the work space.
    """

    def __init__(self, kernel: Kernel, work: Array | None = None) -> None:
        n_inputs, n_outputs = (sum(map(math.prod, some.values())) for some in kernel.shapes)
        self.work = np.zeros(n_inputs + n_outputs) if work is None else work
        self.parts = self.work[:n_inputs], self.work[n_inputs:]
        self.inputs, self.outputs = map(split, self.parts, kernel.shapes)
        self.function_address, self.table_address = kernel.address, self.work.ctypes.data
        self.call = kernel.bind(*self.parts)

    def __call__(self) -> float:
        """Compute the outputs from the inputs; return 0 where every input is finite, else nan."""
        return math.nan if self.call() else 0.0


class LoopKernel:
    """Computes a law in many cases.

    Parameters
    ----------
    make : callable
        Takes arrays that fit, number of cases, limit, and whether the first one is enough; see :meth:`bind`.

    Attributes
    ----------
    width : int
        The number of cases is a multiple of it.
    """

    def __init__(
        self,
        loop: Loop,
        outputs: Mapping[str, int],
        width: int,
        make: Callable[[dict[str, Array], int, int, bool], RunsLoop],
        *,
        is_compiled: bool,
    ) -> None:
        self._loop, self._make = loop, make
        self.outputs, self.width, self.is_compiled = outputs, width, is_compiled

    def bind(
        self, arrays: Mapping[str, Array], n: int | None = None, *, limit: int = 1, is_first_enough: bool = False
    ) -> RunsLoop:
        """Return a function that computes the results among some arrays from the inputs among them.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Every input and result by name, float64, in the layout of the loop (:mod:`arm_control.compiler.law`);
            others are passed over. Columns, and the entries of a row, lie side by side in memory, but not those of a
            repeated law; an array may be part of a larger one. The arrays are read and written in every call, and must
            stay.
        n : int, optional
            Number of cases; by default all there are.
        limit : int
            Largest number of repetitions of a case.
        is_first_enough : bool
            Whether a repeated law ends when a case is done and all before it have ended. What the arrays then hold of
            the cases behind it is not specified.

        Raises
        ------
        ValueError
            When an array, or the number of cases, does not fit.
        """
        n = self._loop.count(arrays, self.outputs, self.width, n)
        return self._make(dict(arrays), n, limit, is_first_enough)


def checked_count(n: int, n_bound: int) -> int:
    """Return a number of cases, or raise a ValueError where so many are not bound."""
    if not 1 <= n <= n_bound:
        raise ValueError(f"{n} cases; allowed: 1 to {n_bound}")
    return n


def split(rows: Array, shapes: Shapes) -> dict[str, Array]:
    """Views of the pieces of an array's last axis, by name, in their order and shapes."""
    views, first = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        views[name] = rows[..., first : first + size].reshape((*rows.shape[:-1], *shape))
        first += size
    return views


# -- laws as generated Python functions


_FUNCTIONS: dict[str, Any] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": exp,
    "sqrt": math.sqrt,
    "max": maximum,
    "atan2": math.atan2,
    "round": nearest,
}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def python_kernel(law: Law) -> Kernel:
    """Return the kernel of a law, not compared with anything yet."""
    program = law.program()
    function = python_function(program)

    def bind(inputs: Array, outputs: Array) -> Callable[[], bool]:
        def call() -> bool:
            if not np.isfinite(inputs).all():
                return True
            outputs[:] = function(inputs.tolist())
            return False

        return call

    return Kernel(program.inputs, program.outputs, bind)


def python_source(program: Program) -> str:
    """Source of a function of all inputs in a row that returns all outputs in a row."""
    lines = ["def kernel(x):"]
    lines += [f"    t{number} = {_expression(line)}" for number, line in enumerate(program.lines)]
    results = ", ".join(f"t{result}" for result in program.results)
    return "\n".join([*lines, f"    return ({results},)", ""])


def _expression(line: Operation) -> str:  # noqa: PLR0911 - a table
    name, a, b, c = line
    match name:
        case "constant":
            return repr(a)
        case "input":
            return f"x[{a}]"
        case "neg":
            return f"-t{a}"
        case "stored":
            return f"t{a}"
        case "sin" | "cos" | "exp" | "sqrt" | "round":
            return f"{name}(t{a})"
        case "max" | "atan2":
            return f"{name}(t{a}, t{b})"
        case "select":
            return f"t{b} if t{a} > 0.0 else t{c}"
        case _:
            return f"t{a} {_SIGNS[name]} t{b}"


def python_function(program: Program) -> Callable[[Sequence[float]], tuple[float, ...]]:
    """Compile that source."""
    names = dict(_FUNCTIONS)
    exec(compile(python_source(program), "<generated by arm_control>", "exec"), names)
    return names["kernel"]  # type: ignore[return-value]
