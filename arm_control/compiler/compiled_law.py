"""The way from a law to its kernel: compiled, compared with the float run once, kept in the cache, bound once.

    law = Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 3})
    kernel = compile_law(compiler, law, {"a": np.ones((1, 3))})
    kernel.inputs["a"][:] = 1.0, 2.0, 3.0
    kernel.call()
    kernel.outputs["y"]

A new kernel is compared with the law's own function, run on floats, on samples. A wrong one, or a law that cannot be
compiled, is reported, and the function runs as it stands instead: slower, and right. With ``ARM_CONTROL_STRICT=1`` in
the environment it is an error: a mistake in a law's function should not hide behind a warning where laws are written
and tested.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from arm_control.compiler.compiled_procedure import source_digest
from arm_control.compiler.kernels import STRICT, Kernel, LoopKernel, checked_count, split
from arm_control.compiler.law import Law, Loop, check_table
from arm_control.core import Cache, default_directory
from arm_control.exceptions import ModelError
from arm_control.maths import Array

if TYPE_CHECKING:
    from arm_control.compiler.llvm_kernels import LlvmCompiler

LOG = logging.getLogger("arm_control.compiler")
SAMPLE_REPETITIONS = 2
"""Repetitions in which a new kernel of a repeated law is compared: rounding may grow from one to the next."""

Samples = Mapping[str, Array]
"""Inputs to compare a new kernel on: those of a law in rows, shape (n, size); others in the layout of the loop."""


@overload
def compile_law(compiler: LlvmCompiler | None, law: Law, samples: Samples) -> Kernel: ...


@overload
def compile_law(compiler: LlvmCompiler | None, law: Loop, samples: Samples) -> LoopKernel: ...


def compile_law(compiler: LlvmCompiler | None, law: Law | Loop, samples: Samples) -> Kernel | LoopKernel:
    """Return the kernel of a law or of a loop; on floats where it cannot be compiled.

    Parameters
    ----------
    samples : mapping of str to ndarray
        Inputs to compare a new kernel on: of a law in rows, shape (n, size), of a loop in its own layout. All cases
        that the law distinguishes should be among them.

    Raises
    ------
    Exception
        With ``ARM_CONTROL_STRICT=1``, whatever was raised; without it that is a warning.
    """
    name = law.name if isinstance(law, Law) else law.law.name
    if compiler is not None:
        try:
            if isinstance(law, Law):
                return compiler.kernel(law, partial(check_kernel, law, samples))
            return compiler.loop(law, partial(check_loop, law, samples))
        except Exception as error:
            if os.environ.get(STRICT) == "1":
                raise
            LOG.warning("%s is not compiled: %s: %s", name, type(error).__name__, error)
    return _float_kernel(law, samples) if isinstance(law, Law) else _float_loop(law, samples)


def _float_kernel(law: Law, samples: Samples) -> Kernel:
    """A law as it stands, with a kernel's work space."""
    results = law.run({name: samples[name][0] for name in law.inputs})

    def bind(inputs: Array, outputs: Array) -> Callable[[], bool]:
        views = split(inputs, {name: (size,) for name, size in law.inputs.items()})

        def call() -> bool:
            outputs[:] = np.concatenate([np.ravel(values) for values in law.run(views).values()])
            return False

        return call

    return Kernel(law.inputs, {name: values.shape for name, values in results.items()}, bind)


def _float_loop(loop: Loop, samples: Samples) -> LoopKernel:
    """A loop as it stands, with NumPy."""
    results = loop.law.run({name: loop.case(samples, name, 0) for name in loop.law.inputs})
    outputs = {name: values.size for name, values in results.items()}
    return LoopKernel(loop, outputs, 1, partial(_BoundFloatLoop, loop), is_compiled=False)


class _BoundFloatLoop:
    """A loop and its arrays; see :class:`~arm_control.compiler.procedures.RunsLoop`."""

    def __init__(self, loop: Loop, arrays: dict[str, Array], n: int, limit: int, is_first_enough: bool) -> None:
        self._loop, self._arrays, self._n_bound, self._n = loop, arrays, n, n
        self._limit, self._is_first_enough = limit, is_first_enough

    def __call__(self, n: int | None = None, limit: int | None = None, /) -> float:
        self._n = self._n if n is None else checked_count(n, self._n_bound)
        self._limit = self._limit if limit is None else limit
        return self._loop.run(self._arrays, self._n, self._limit, self._is_first_enough)

    def replace_table(self, name: str, table: Array) -> None:
        """See :class:`~arm_control.compiler.procedures.RunsLoop`."""
        check_table(self._loop.law, name, table)
        self._arrays[name] = table


def check_kernel(law: Law, samples: Samples, kernel: Kernel) -> None:
    """Raise a ModelError where a kernel does not compute on samples what the law's function does on floats.

    Samples, shape (n, size), are one case a row; the kernel's inputs and outputs are overwritten.
    """
    for i in range(min(len(samples[name]) for name in law.inputs)):
        for name in law.inputs:
            kernel.inputs[name][:] = samples[name][i]
        if kernel.call():
            raise ModelError("a kernel finds its input not finite")
        _compare(kernel.outputs, law.run({name: samples[name][i] for name in law.inputs}), law.agreement)


def check_loop(loop: Loop, samples: Samples, kernel: LoopKernel) -> None:
    """The same for a loop; as many samples as fill its lanes, the first ones again where there are too few.

    A repeated law is compared after a few repetitions, whose rounding does not grow yet.
    """
    results = loop.results(kernel.outputs)
    inputs = {name: np.asarray(samples[name], dtype=float) for name in loop.law.inputs}
    n_samples = next(len(x) if loop.axis == 0 else x.shape[1] for name, x in inputs.items() if name not in loop.whole)
    n = n_samples + -n_samples % kernel.width
    cases, axis = np.arange(n) % n_samples, loop.axis
    computed, expected = (
        {name: np.zeros(loop.shape(name, size, n)) for name, size in results.items()}
        | {name: x.copy() if name in loop.whole else x.take(cases, axis) for name, x in inputs.items()}
        for _ in range(2)
    )
    end = kernel.bind(computed, n, limit=SAMPLE_REPETITIONS)()
    expected_end = loop.run(expected, n, SAMPLE_REPETITIONS)
    if end != expected_end and loop.is_repeated:
        raise ModelError(f"case {end:.0f} is the first one done, in the float run case {expected_end}")
    if end != expected_end:
        raise ModelError(f"a kernel ends after {end:.0f} cases, the float run after {expected_end}")
    _compare(computed, {name: expected[name] for name in results}, loop.law.agreement)


def _compare(outputs: Mapping[str, Array], expected: Mapping[str, Array], agreement: float) -> None:
    for name, values in expected.items():
        error = float(np.max(np.abs(outputs[name] - values), initial=0.0))
        if not error <= agreement * max(1.0, float(np.max(np.abs(values), initial=0.0))):
            raise ModelError(f"'{name}' is {error:.1e} off the float run")


def plain_compiler() -> LlvmCompiler | None:
    """Return a compiler whose kernels are kept in the user's cache; None where machine code cannot be made."""
    try:
        from arm_control.compiler.llvm_kernels import LlvmCompiler  # noqa: PLC0415  llvmlite may be missing

        return LlvmCompiler(source_digest(), "no robot", Cache(default_directory()))
    except (ImportError, OSError, RuntimeError) as error:
        LOG.warning("no machine code: %s: %s", type(error).__name__, error)
        return None
