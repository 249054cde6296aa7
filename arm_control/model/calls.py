"""Calls a model's kernels: arguments checked, the tool put in, results copied, also into earlier ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arm_control.compiler import (
    INTO,
    Kernel,
    KernelCall,
    Law,
    Loop,
    LoopKernel,
    OwnWork,
    Samples,
    builtin_call,
    compile_law,
    split,
)
from arm_control.core import progress_bar
from arm_control.exceptions import InputError, ModelError
from arm_control.maths import Array
from arm_control.model.engine import Engine
from arm_control.model.methods import KERNELS, Method
from arm_control.model.quantities import INPUTS, SHARED, WITHOUT_MASSES, quantity_law, sample_states

R = TypeVar("R")
RESULTS = "results"
"""Output of the law of a batch."""
STAGE = 3072
"""States of a batch computed in the processor's cache before their rows are copied to where they belong: eight rows at
once written to memory take a third longer."""


def fill(into: R | None, result: R) -> R:
    """Copy a result into an earlier one, where there is one, and return that.

    Raises
    ------
    InputError
        When the two differ in type or shape, or an array to be filled is read-only or not of 64-bit floats. Then
        nothing is written.
    """
    if into is None:
        return result
    for array, values in list(_pairs(into, result, INTO)):
        array[...] = values
    return into


def _pairs(into: object, result: object, name: str) -> Iterator[tuple[Array, Array]]:
    """Arrays and what to fill them with."""
    if type(into) is not type(result):
        raise InputError(f"{name} is of type {type(into).__name__}; needed is {type(result).__name__}")
    if isinstance(into, np.ndarray) and isinstance(result, np.ndarray):
        yield _checked(into, result.shape, name), result
    elif isinstance(into, tuple) and isinstance(result, tuple):
        fields: tuple[str, ...] = getattr(result, "_fields")  # noqa: B009 - tuples here are named ones
        for field, part, values in zip(fields, into, result, strict=True):
            yield from _pairs(part, values, f"{name}.{field}")
    else:
        raise InputError(f"{name}: a {type(result).__name__} cannot be filled")


def _checked(array: Array, shape: tuple[int, ...], name: str) -> Array:
    if array.dtype != float:
        raise InputError(f"{name} has type {array.dtype}; needed is float64")
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; needed is {shape}")
    if not array.flags.writeable:
        raise InputError(f"{name} is read-only")
    return array


class Calls:
    """The kernels of one robot with one tool.

    Parameters
    ----------
    tool : ndarray, shape (22,)
        The empty tool, as :func:`~arm_control.model.quantities.tool_numbers` gives it.
    has_dynamics : bool
        Whether the masses are known; without them there is kinematics only.

    Attributes
    ----------
    tool : ndarray, shape (22,)
        What is at the tip now.
    """

    def __init__(self, engine: Engine, tool: Array, joint_names: Sequence[str], has_dynamics: bool = True) -> None:
        self.engine, self._joint_names = engine, tuple(joint_names)
        self._has_dynamics = has_dynamics
        self.tool = self._no_tool = tool
        self._kernels: dict[tuple[tuple[str, ...], str | None], Kernel] = {}
        self._functions: dict[tuple[str, str | None], Callable[..., Any]] = {}
        self._laws: dict[tuple[str, str], Kernel | LoopKernel] = {}

    @property
    def has_tool(self) -> bool:
        """Whether the tool differs from none."""
        return not np.array_equal(self.tool, self._no_tool)

    def set_tool(self, tool: Array) -> None:
        """Compute with this tool from now on; it is in the kernels of laws, and an input like any other of loops."""
        self.tool = tool
        for kernel in (*self._kernels.values(), *self._laws.values()):
            if isinstance(kernel, Kernel) and "tool" in kernel.inputs:
                kernel.inputs["tool"][:] = tool

    def kernel(self, quantities: tuple[str, ...], frame: str | None = None) -> Kernel:
        """Return a kernel with the tool in it; made when it is first needed."""
        key = (quantities, frame)
        kernel = self._kernels.get(key)
        if kernel is None:
            self._refuse_without_masses(quantities)
            kernel = self._kernels[key] = self.engine.kernel(quantities, frame)
            self.set_tool(self.tool)
        return kernel

    def function(self, method: Method[R], frame: str | None = None) -> Callable[..., R]:
        """Return the function behind a method; made when it is first needed."""
        key = (method.name, frame)
        if key not in self._functions:
            call = self._call(method, frame)
            slow = self._python_function(call, method)
            self._functions[key] = builtin_call(call, slow) or slow
        return self._functions[key]

    def ready(self, method: Method[R]) -> KernelCall | None:
        """Return the call behind a method, if its kernel has been made, and is machine code."""
        kernel = self._kernels.get((method.quantities, None))
        return self._call(method) if kernel is not None and kernel.address else None

    def _call(self, method: Method[R], frame: str | None = None) -> KernelCall:
        kernel = self.kernel(method.quantities, frame)
        work = OwnWork(kernel)
        return KernelCall(method.form(len(kernel.inputs["q"])), work, work.inputs, work.outputs, kernel.inputs)

    def _python_function(self, call: KernelCall, method: Method[R]) -> Callable[..., R]:
        """The method in Python: any array-like, one sentence for what is wrong."""
        names = method.arguments
        sizes = [call.inputs[name].shape for name in names]

        def refuse(values: Sequence[npt.ArrayLike]) -> None:
            for name, value in zip(names, values, strict=True):
                self.checked(value, name)

        def function(*values: Any, into: R | None = None) -> R:
            arrays = [np.empty(size) for size in sizes]
            try:
                for array, value in zip(arrays, values, strict=True):
                    if len(value) != len(array):
                        refuse(values)
                    array[...] = value
            except (TypeError, ValueError):
                refuse(values)
                raise
            result: R | None = call(*arrays)
            if result is None:
                refuse(values)
                largest = ", ".join(
                    f"{name} {np.abs(array).max():g}" for name, array in zip(names, arrays, strict=True)
                )
                raise InputError(f"{method.name}: the result is too large for a float, with entries up to {largest}")
            return fill(into, result)

        return function

    def law(self, law: Law | Loop, samples: Samples) -> Kernel | LoopKernel:
        """Return the kernel of a law, made when it is first needed; see :meth:`arm_control.RobotModel.compile_law`."""
        key = type(law).__name__, law.key
        if key not in self._laws:
            inner = law if isinstance(law, Law) else law.law
            self._refuse_without_masses([inner.name] if inner.has_masses else [])
            self._laws[key] = compile_law(self.engine.compiler, law, samples)
            self.set_tool(self.tool)
        return self._laws[key]

    def batch(self, quantities: tuple[str, ...]) -> BatchFunction:
        """Return what computes these quantities for many states, with the tool there is now."""
        unknown = [name for name in quantities if name not in INPUTS or "point" in INPUTS[name]]
        if unknown or not quantities:
            raise InputError(f"unknown quantity {', '.join(unknown) or 'none'}; there are {', '.join(INPUTS)}")
        self._refuse_without_masses(quantities)
        law = quantity_law(self.engine.tree, quantities, None, self.has_tool)
        samples = sample_states(self.engine.tree, law)
        shapes = {name: x.shape for name, x in law.run({name: x[0] for name, x in samples.items()}).items()}
        shared = tuple(name for name in SHARED if name in law.inputs)
        loop = Loop(_in_one_row(law), "rows", shared)
        kernel = self.law(loop, samples | {name: samples[name][0] for name in shared})
        assert not isinstance(kernel, Kernel)
        return BatchFunction(kernel, law.inputs, shapes, self.tool.copy())

    def prepare(self, names: Sequence[str], progress: bool) -> None:
        """Make these kernels, by their names in KERNELS; all when none is named."""
        unknown = [name for name in names if name not in KERNELS]
        if unknown:
            raise InputError(f"unknown kernel {', '.join(unknown)}; there are {', '.join(KERNELS)}")
        for name in progress_bar(names or tuple(KERNELS), "making kernels" if progress else None):
            self.kernel(KERNELS[name])

    def _refuse_without_masses(self, quantities: Sequence[str]) -> None:
        others = [name for name in quantities if name not in WITHOUT_MASSES]
        if others and not self._has_dynamics:
            raise ModelError(f"{', '.join(others)} need masses, and the model was made for kinematics only")

    def in_joint_order(self, names: Sequence[str], values: Sequence[float] | Array, what: str) -> Array:
        """See :meth:`arm_control.RobotModel.in_joint_order`."""
        if names is self._joint_names:  # nothing to be looked for
            array = np.array(values, dtype=float)
            if array.shape == (len(names),) and isfinite(sum(array.tolist())):
                return array
        if len(names) != len(values):
            raise InputError(f"{len(names)} joint names with {len(values)} {what} values")
        index = {name: i for i, name in enumerate(names)}
        if len(index) != len(names):
            twice = sorted({name for name in names if list(names).count(name) > 1})
            raise InputError(f"joint named twice: {', '.join(twice)}")
        missing = [name for name in self._joint_names if name not in index]
        if missing:
            raise InputError(f"no {what} for joint {', '.join(missing)}; got {', '.join(names) or 'none'}")
        return self.checked([values[index[name]] for name in self._joint_names], what)

    def checked(self, values: npt.ArrayLike, what: str) -> Array:
        """Return an array that is a finite number per joint (or per axis), or refuse it."""
        try:
            array = np.array(values, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{what} is {values!r:.60}; allowed: numbers") from None
        names = _AXES.get(what, self._joint_names)
        if array.shape != (len(names),):
            raise InputError(f"{what} has shape {array.shape}, allowed ({len(names)},)")
        if not np.isfinite(array).all():
            named = dict(zip(names, array.tolist(), strict=True))
            bad = {name: x for name, x in named.items() if not np.isfinite(x)}
            raise InputError(f"{what} is not finite: {bad}")
        return array


def _in_one_row(law: Law) -> Law:
    """A law whose results lie one behind the other; its masses are no matter any more."""

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        return {RESULTS: np.concatenate([np.ravel(np.asarray(y, dtype=object)) for y in law.function(x).values()])}

    return replace(law, function=compute, structure=RESULTS, has_masses=False)


class BatchFunction:
    """Computes quantities of many states at once; made by :meth:`arm_control.RobotModel.batch`. Threads may share it.

    Attributes
    ----------
    tool : ndarray, shape (22,)
        What was at the tip when it was made; see :func:`arm_control.model.quantities.tool_numbers`.
    """

    def __init__(
        self, kernel: LoopKernel, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], tool: Array
    ) -> None:
        self._shapes, self._width, self.tool = shapes, kernel.width, tool
        self.inputs = tuple(name for name in sizes if name not in SHARED)
        self.n_results = sum(map(math.prod, shapes.values()))
        self._rows = [np.zeros((STAGE, sizes[name])) for name in self.inputs]
        self._results = np.empty((STAGE, self.n_results))
        arrays = dict(zip(self.inputs, self._rows, strict=True)) | dict.fromkeys(SHARED, tool)
        self._run, self._lock = kernel.bind({**arrays, RESULTS: self._results}), Lock()

    def __call__(self, *values: npt.ArrayLike, out: Array | None = None) -> dict[str, Array]:
        """Return the quantities by name, each of shape (N, ...).

        Parameters
        ----------
        *values : array_like, shape (N, size)
            A row per state for each of ``inputs``.
        out : ndarray, shape (N, n_results), optional
            Memory to use again: new memory costs time. The results are views of it.

        Raises
        ------
        InputError
            When a value has a wrong shape or an entry that is not finite.
        """
        arrays = {name: np.ascontiguousarray(x, float) for name, x in zip(self.inputs, values, strict=True)}
        n = len(arrays["q"])
        for (name, array), rows in zip(arrays.items(), self._rows, strict=True):
            shape = (n, rows.shape[1])
            if array.shape != shape:
                raise InputError(f"{name} has shape {array.shape}, allowed {shape}")
        out = np.empty((n, self.n_results)) if out is None else out
        if out.shape != (n, self.n_results) or out.dtype != float or not out.flags.carray:
            raise InputError(f"out has shape {out.shape}, allowed ({n}, {self.n_results}), writeable contiguous floats")
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise InputError(f"{name} is not finite in state {np.argwhere(~np.isfinite(array))[0, 0]}")
        with self._lock:
            for first in range(0, n, STAGE):
                last = min(first + STAGE, n)
                size = last - first
                for rows, array in zip(self._rows, arrays.values(), strict=True):
                    rows[:size] = array[first:last]
                self._run(size + -size % self._width)
                out[first:last] = self._results[:size]
        return split(out, self._shapes)


_AXES = {"point": ("x", "y", "z"), "F_E": ("fx", "fy", "fz", "nx", "ny", "nz")}
