"""Laws as machine code for this processor: made, checked, kept in the cache, and bound to their arrays."""

from __future__ import annotations

import ctypes
import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from arm_control.compiler import drafts
from arm_control.compiler import llvm_compiler as llvm
from arm_control.compiler.compiled_procedure import address_of_call
from arm_control.compiler.drafts import Draft
from arm_control.compiler.kernels import Kernel, LoopKernel, checked_count
from arm_control.compiler.law import Law, Loop, check_table
from arm_control.compiler.llvm_code import scalar_code
from arm_control.compiler.llvm_loops import HEAD, array_names, loop_code
from arm_control.compiler.program import FoldedProgram, Program
from arm_control.core import Cache
from arm_control.maths import Array

Shapes = dict[str, tuple[int, ...]]
Keep = Callable[[], None]
AnyProgram = Program | FoldedProgram
P = TypeVar("P", Program, AnyProgram)


class LlvmCompiler:
    """Compiles the laws of one robot.

    Each method takes a check that raises when a new kernel is wrong. It is called before the kernel is stored; one
    from the cache has passed it.

    Parameters
    ----------
    identity : str
        All the robot's numbers come from, and the digest of the package's sources: with the processor and the law's
        own key it is the key of a kernel in the cache.
    title : str
        The robot's name, for the list of what is in the cache.
    """

    def __init__(self, identity: str, title: str, cache: Cache) -> None:
        self._title, self._cache = title, cache
        self._is_draft_enough = drafts.are_enough()
        self._identity = "\n".join([identity, llvm.processor(), *(["draft"] if self._is_draft_enough else [])])

    def kernel(self, law: Law, check: Callable[[Kernel], None]) -> Kernel:
        """Return the kernel of a law for one case."""
        inputs, outputs, library, keep = self._function(
            law.key, f"{law.name} (one)", law.program, scalar_code, has_draft=True
        )
        compute = library.function("kernel", ctypes.c_void_p, keeps_lock=True)

        def bind(values: Array, _: Array) -> Callable[[], bool]:
            work = values.ctypes.data  # the outputs lie behind the inputs
            return lambda: compute(work) != 0.0

        kernel = Kernel(inputs, outputs, bind, address_of_call(compute))
        _check_and_keep(keep, partial(check, kernel))
        return kernel

    def loop(self, loop: Loop, check: Callable[[LoopKernel], None]) -> LoopKernel:
        """Return the kernel of a law for many cases."""
        width, layout = llvm.lanes(), loop.layout
        _, shapes, library, keep = self._function(
            f"{width} {loop.key}",
            f"{loop.law.name} ({width} {layout})",
            loop.law.flat_program,
            lambda program, name: loop_code(program, name, width, loop),
        )
        call = library.function("kernel", ctypes.c_void_p)
        outputs = {name: shape[0] for name, shape in shapes.items()}
        make = partial(_BoundLoop, call, loop, array_names(loop, outputs))
        kernel = LoopKernel(loop, outputs, width if loop.is_vector else 1, make, is_compiled=True)
        _check_and_keep(keep, partial(check, kernel))
        return kernel

    def _function(
        self, key: str, title: str, write: Callable[[], P], generate: Callable[[P, str], str], has_draft: bool = False
    ) -> tuple[dict[str, int], Shapes, llvm.Library, Keep | None]:
        """Inputs, outputs and library of a function, and what keeps it in the cache; None where it is from there."""
        key, title = f"{self._identity}\n{key}", f"{self._title}: {title}"
        data, keep = self._cache.load(key), None
        if data is None:
            with without_collections():
                program = write()
                text = generate(program, "kernel")
            layout = json.dumps([program.inputs, program.outputs]).encode()
            is_draft = has_draft and isinstance(program, Program) and drafts.is_wanted(program, self._cache)
            data = layout + b"\n" + llvm.compile_code(text, is_draft or self._is_draft_enough)
            keep = partial(self._cache.store, key, data, title)
            if is_draft:
                keep = partial(drafts.complete_later, Draft(str(self._cache.directory), key, title, data, text))
        layout, _, code = data.partition(b"\n")
        inputs, shapes = json.loads(layout)
        outputs = {name: tuple(shape) for name, shape in shapes.items()}
        return inputs, outputs, llvm.shared_library(code), keep


@contextmanager
def without_collections() -> Iterator[None]:
    """Stop Python's search for unused cycles: a tape's many tuples would have it run through all of them again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _check_and_keep(keep: Keep | None, check: Callable[[], None]) -> None:
    if keep:
        check()
        keep()


class _BoundLoop:
    """Calls the function with its table, which begins with the number of cases; keeps the arrays that it points to.

    Attributes
    ----------
    function_address, table_address : int
        Of the function and of its table, for procedures (:mod:`arm_control.compiler.procedures`).
    """

    __slots__ = ("_arrays", "_call", "_loop", "_n", "_table", "function_address", "table_address")

    def __init__(
        self, call: Callable[[int], float], loop: Loop, names: list[str], arrays: dict[str, Array], n: int, *head: int
    ) -> None:
        self._call, self._loop, self._n = call, loop, n
        self._arrays = {name: arrays[name] for name in names}
        places = [number for name, array in self._arrays.items() for number in _place(loop, name, array)]
        self._table = np.array([n, *head, *places], dtype=np.int64)
        self.function_address, self.table_address = address_of_call(call), self._table.ctypes.data

    def __call__(self, n: int | None = None, limit: int | None = None, /) -> float:
        if n is not None:
            self._table[0] = checked_count(n, self._n)
        if limit is not None:
            self._table[1] = limit
        return self._call(self.table_address)

    def replace_table(self, name: str, table: Array) -> None:
        """See :class:`~arm_control.compiler.procedures.RunsLoop`."""
        check_table(self._loop.law, name, table)
        first = HEAD + 3 * list(self._arrays).index(name)
        self._table[first : first + 3] = _place(self._loop, name, table)
        self._arrays[name] = table


def _place(loop: Loop, name: str, array: Array) -> list[int]:
    """Address of an array, and its numbers in the table."""
    strides = [len(array)] if name in loop.law.tables else [stride // 8 for stride in array.strides]
    return [array.ctypes.data, *strides, *[0] * (2 - len(strides))]
