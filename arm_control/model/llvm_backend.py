"""Back end ``llvm``: a tape's program as machine code for this processor, kept in a cache."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from functools import cache as once
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.cache import Cache
from arm_control.model import llvm_compiler as llvm
from arm_control.model.kernels import SHARED, Batch, Kernel
from arm_control.model.llvm_code import batch_code, scalar_code
from arm_control.model.quantities import trace
from arm_control.model.tape import Program
from arm_control.model.tree import Tree
from arm_control.spatial import Array


class _Function(NamedTuple):
    inputs: dict[str, int]
    outputs: dict[str, tuple[int, ...]]
    call: Any
    is_new: bool


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
        self._identity = "\n".join([identity, llvm.processor(), _digest_of_generator()])

    def kernel(self, quantities: Sequence[str], frame: str | None) -> tuple[Kernel, bool]:
        """See :class:`~arm_control.model.kernels.BackEnd`."""
        function = self._function("one", quantities, frame, scalar_code)
        call = function.call(ctypes.c_void_p)

        def bind(inputs: Array, _: Array) -> Callable[[], float]:
            work = ctypes.c_void_p(inputs.ctypes.data)  # the outputs lie behind the inputs
            return partial(call, work)

        return Kernel(function.inputs, function.outputs, bind), function.is_new

    def batch(self, quantities: Sequence[str]) -> Batch:
        """See :class:`~arm_control.model.kernels.BackEnd`."""
        width = llvm.lanes()
        function = self._function(
            f"{width} at once", quantities, None, lambda program, name: batch_code(program, name, width, SHARED)
        )
        call = function.call(ctypes.c_int64, *[ctypes.c_void_p] * (len(function.inputs) + 1))
        shared = [name in SHARED for name in function.inputs]
        return Batch(
            function.inputs, function.outputs, lambda arrays, out: _run_blocks(call, arrays, shared, out, width)
        )

    def _function(
        self, kind: str, quantities: Sequence[str], frame: str | None, generate: Callable[[Program, str], str]
    ) -> _Function:
        key = "\n".join([self._identity, kind, *quantities, f"frame {frame}"])
        stored = self._cache.load(key)
        is_new = stored is None
        if stored is None:
            program = trace(self._tree, quantities, frame)
            layout = json.dumps([program.inputs, program.outputs]).encode()
            stored = layout + b"\n" + llvm.compile_code(generate(program, "kernel"))
            self._cache.store(key, stored, title=f"{self._title}: {', '.join(quantities)} ({kind})")
        layout, _, code = stored.partition(b"\n")
        inputs, shapes = json.loads(layout)
        outputs = {name: tuple(shape) for name, shape in shapes.items()}
        library = llvm.Library(code)
        return _Function(inputs, outputs, lambda *arguments: library.function("kernel", *arguments), is_new)


def _run_blocks(call: Any, arrays: list[Array], shared: list[bool], out: Array, width: int) -> None:
    """Call a compiled function on all states: whole blocks in place, the rest in a block of its own."""
    n = len(out)
    whole = n - n % width
    if whole:
        call(whole, *[array.ctypes.data for array in arrays], out.ctypes.data)
    if n > whole:
        ends = [
            array if is_shared else np.ascontiguousarray(array[np.minimum(np.arange(whole, whole + width), n - 1)])
            for array, is_shared in zip(arrays, shared, strict=True)
        ]
        last = np.empty((width, out.shape[1]))
        call(width, *[array.ctypes.data for array in ends], last.ctypes.data)
        out[whole:] = last[: n - whole]


@once
def _digest_of_generator() -> str:
    """Digest of the texts that kernels are made by: a change in them outdates what is in the cache."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
