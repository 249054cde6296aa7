"""Back end ``llvm``: a tape's program as machine code for this processor, kept in a cache."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from arm_control.compiler import llvm_compiler as llvm
from arm_control.compiler.column_law import ColumnLaw, Columns
from arm_control.compiler.kernels import SHARED, Batch, Kernel
from arm_control.compiler.llvm_code import WORK, batch_code, scalar_code
from arm_control.compiler.llvm_columns import CompiledColumns, columns_code
from arm_control.compiler.llvm_scans import CompiledScan, scan_code
from arm_control.compiler.program import Program
from arm_control.compiler.scan_law import Scan, ScanLaw
from arm_control.core.cache import Cache
from arm_control.maths.poses import Array
from arm_control.model.quantities import trace
from arm_control.model.tree import Tree


class _Function(NamedTuple):
    inputs: dict[str, int]
    outputs: dict[str, tuple[int, ...]]
    library: llvm.Library
    keep: Callable[[], None] | None


class LlvmBackEnd:
    """Compiles kernels of one tree.

    Parameters
    ----------
    tree : Tree
    identity : str
        All the tree was made from: what a kernel in the cache must have been made from, too.
    title : str
        The robot's name, for the list of what is in the cache.
    cache : Cache
    """

    def __init__(self, tree: Tree, identity: str, title: str, cache: Cache) -> None:
        self._tree, self._title, self._cache = tree, title, cache
        self._identity = "\n".join([identity, llvm.processor()])

    def kernel(self, quantities: Sequence[str], frame: str | None, check: Callable[[Kernel], None]) -> Kernel:
        """See :class:`~arm_control.compiler.kernels.BackEnd`."""
        name = [*quantities, *([] if frame is None else [f"of {frame}"])]
        function = self._function("one", name, lambda: trace(self._tree, quantities, frame), scalar_code)
        return self._kernel(function, check)

    def _kernel(self, function: _Function, check: Callable[[Kernel], None]) -> Kernel:
        def bind(inputs: Array, _: Array) -> Callable[[], bool]:
            return function.library.builtin("kernel", WORK, inputs.ctypes.data)  # the outputs lie behind the inputs

        kernel = Kernel(function.inputs, function.outputs, bind)
        if function.keep:
            check(kernel)
            function.keep()
        return kernel

    def law(self, name: str, write: Callable[[], Program], check: Callable[[Kernel], None]) -> Kernel:
        """See :class:`~arm_control.compiler.kernels.BackEnd`."""
        return self._kernel(self._function("law", [name], write, scalar_code), check)

    def columns(self, law: ColumnLaw, check: Callable[[Columns], None]) -> Columns:
        """See :class:`~arm_control.compiler.kernels.BackEnd`."""
        width, layout = llvm.lanes(), repr([law.inputs, law.shared, law.totals, law.where])
        function = self._function(
            f"{width} columns, {layout}", [law.name], law.write, lambda p, name: columns_code(p, name, width, law)
        )
        call = function.library.function("kernel", ctypes.c_void_p)
        columns = CompiledColumns(call, [*function.inputs, *function.outputs], function.inputs, width)
        if function.keep:
            check(columns)
            function.keep()
        return columns

    def scan(self, law: ScanLaw, check: Callable[[Scan], None]) -> Scan:
        """See :class:`~arm_control.compiler.kernels.BackEnd`."""
        width, layout = llvm.lanes(), repr([law.inputs, law.shared, law.carried, law.backwards, law.goes_on])
        function = self._function(
            f"{width} rows, {layout}", [law.name], law.write, lambda p, name: scan_code(p, name, width, law)
        )
        call = function.library.function("kernel", ctypes.c_void_p)
        scan = CompiledScan(call, function.inputs, function.outputs, law, width)
        if function.keep:
            check(scan)
            function.keep()
        return scan

    def batch(self, quantities: Sequence[str], has_tool: bool, check: Callable[[Batch], None]) -> Batch:
        """See :class:`~arm_control.compiler.kernels.BackEnd`."""
        width = llvm.lanes()
        fixed = () if has_tool else ("tool",)
        function = self._function(
            f"{width} at once, without {fixed}",
            quantities,
            lambda: trace(self._tree, quantities, None, fixed),
            lambda program, name: batch_code(program, name, width, SHARED),
        )
        call = function.library.function("kernel", ctypes.c_int64, *[ctypes.c_void_p] * (len(function.inputs) + 1))
        shared = [name in SHARED for name in function.inputs]
        batch = Batch(
            function.inputs,
            function.outputs,
            lambda arrays, out, is_new: _run_blocks(call, arrays, shared, out, is_new, stage),
        )
        stage = np.empty((STAGE, batch.n_results))
        if function.keep:
            check(batch)
            function.keep()
        return batch

    def _function(
        self, kind: str, name: Sequence[str], write: Callable[[], Program], generate: Callable[[Program, str], str]
    ) -> _Function:
        key = "\n".join([self._identity, kind, *name])
        data, keep = self._cache.load(key), None
        if data is None:
            program = write()
            layout = json.dumps([program.inputs, program.outputs]).encode()
            data = layout + b"\n" + llvm.compile_code(generate(program, "kernel"))
            keep = partial(self._cache.store, key, data, title=f"{self._title}: {', '.join(name)} ({kind})")
        layout, _, code = data.partition(b"\n")
        inputs, shapes = json.loads(layout)
        outputs = {name: tuple(shape) for name, shape in shapes.items()}
        return _Function(inputs, outputs, llvm.Library(code), keep)


STAGE = 3072
"""States computed in the processor's cache before their rows are copied to where they belong: eight rows at
once written to memory take a third longer. (Not to new memory: its first touch brings it into the cache.)"""


def _run_blocks(call: Any, arrays: list[Array], shared: list[bool], out: Array, is_new: bool, stage: Array) -> float:
    """Call a compiled function on all states, a stage at a time; the last vector is filled up with copies."""
    n, status, width = len(out), 0.0, llvm.lanes()
    for first in range(0, n, STAGE):
        last = min(first + STAGE, n)
        is_whole = (last - first) % width == 0
        rows = slice(first, last) if is_whole else _filled(first, last, width)
        parts = [
            array if is_shared else np.ascontiguousarray(array[rows])
            for array, is_shared in zip(arrays, shared, strict=True)
        ]
        target = out[first:last] if is_new and is_whole else stage
        size = last - first + (first - last) % width
        status += call(size, *[part.ctypes.data for part in parts], target.ctypes.data)
        if target is stage:
            out[first:last] = stage[: last - first]
    return status


def _filled(first: int, last: int, width: int) -> Array:
    """Numbers of the rows from first to last, the last one repeated up to a multiple of the width."""
    count = last - first
    return np.minimum(np.arange(first, first + count + -count % width), last - 1)
