"""Back end ``python``: generated Python functions, where machine code cannot be made."""

from __future__ import annotations

from collections.abc import Sequence

from arm_control.compiler import Batch, Kernel, batch_of, check_batch, check_kernel, python_kernel
from arm_control.model.quantities import SHARED, quantity_law, sample_states
from arm_control.model.tree import Tree


class PythonBackEnd:
    """Generates kernels of one tree. Other laws run as they stand: as fast, and easier to read."""

    compiler = None

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def kernel(self, quantities: Sequence[str], frame: str | None) -> Kernel:
        """See :class:`~arm_control.model.engine.BackEnd`."""
        law = quantity_law(self._tree, quantities, frame)
        kernel = python_kernel(law)
        check_kernel(law, sample_states(self._tree, law), kernel)
        return kernel

    def batch(self, quantities: Sequence[str], has_tool: bool) -> Batch:
        """See :class:`~arm_control.model.engine.BackEnd`."""
        law = quantity_law(self._tree, quantities)
        batch = batch_of(python_kernel(law), SHARED)
        check_batch(law, sample_states(self._tree, law), batch)
        return batch
