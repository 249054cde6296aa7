"""Back end ``llvm``: machine code for this processor, kept in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from arm_control.compiler import Batch, Kernel, LlvmCompiler, check_batch, check_kernel
from arm_control.core import Cache
from arm_control.model.quantities import SHARED, quantity_law, sample_states
from arm_control.model.tree import Tree


class LlvmBackEnd:
    """Compiles kernels of one tree.

    Parameters
    ----------
    tree : Tree
    identity : str
        All the tree was made from.
    title : str
        The robot's name, for the list of what is in the cache.
    cache : Cache

    Attributes
    ----------
    compiler : LlvmCompiler
        Compiles other laws of this robot.
    """

    def __init__(self, tree: Tree, identity: str, title: str, cache: Cache) -> None:
        self._tree = tree
        self.compiler = LlvmCompiler(identity, title, cache)

    def kernel(self, quantities: Sequence[str], frame: str | None) -> Kernel:
        """See :class:`~arm_control.model.engine.BackEnd`."""
        law = quantity_law(self._tree, quantities, frame)
        return self.compiler.kernel(law, partial(check_kernel, law, sample_states(self._tree, law)))

    def batch(self, quantities: Sequence[str], has_tool: bool) -> Batch:
        """See :class:`~arm_control.model.engine.BackEnd`."""
        law = quantity_law(self._tree, quantities, None, has_tool)
        shared = [name for name in SHARED if name in law.inputs]
        return self.compiler.batch(law, shared, partial(check_batch, law, sample_states(self._tree, law)))
