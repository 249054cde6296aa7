"""Makes a model's kernels, by the best back end there is.

    llvm        the program of a tape as machine code for this processor; object files are cached
    python      the same program as a Python function

The first one that works is taken. A new kernel is compared with the float run of the recursions before it is used or
kept. A back end that cannot make one, or makes a wrong one, is left for the next, with a warning.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from arm_control.compiler import Kernel, Law, check_kernel, python_kernel
from arm_control.core import Cache
from arm_control.exceptions import ModelError
from arm_control.model.quantities import quantity_law, sample_states
from arm_control.model.tree import Tree

if TYPE_CHECKING:
    from arm_control.compiler import LlvmCompiler

LOG = logging.getLogger("arm_control.model")
BACKENDS = ("llvm", "python")


class Engine:
    """Makes kernels of one robot; who uses them keeps them.

    Parameters
    ----------
    identity : str
        All that the tree was made from.
    backend : str
        ``auto``, or one of BACKENDS: that one and no other.

    Attributes
    ----------
    backend, reasons : str, list of str
        The back end in use, and why the one before it is not.
    compiler : LlvmCompiler or None
        What compiles other laws of the robot; None where they run as they stand: as fast as generated Python, and
        easier to read.
    """

    def __init__(self, tree: Tree, title: str, identity: str, cache: Cache, backend: str = "auto") -> None:
        if backend not in ("auto", *BACKENDS):
            raise ModelError(f"backend is '{backend}', allowed: auto, {', '.join(BACKENDS)}")
        self.tree, self._title = tree, title
        self._candidates = list(BACKENDS) if backend == "auto" else [backend]
        self.reasons: list[str] = []
        self.compiler: LlvmCompiler | None = None
        if self.backend == "llvm":
            try:
                from arm_control.compiler import LlvmCompiler

                self.compiler = LlvmCompiler(identity, title, cache)
            except Exception as error:
                self._give_up(error)

    @property
    def backend(self) -> str:
        """The back end in use."""
        return self._candidates[0]

    def kernel(self, quantities: tuple[str, ...], frame: str | None = None) -> Kernel:
        """Make a kernel of quantities of one state; ``frame`` is the link that ``J_point`` is about."""
        while True:
            try:
                return self._kernel(quantity_law(self.tree, quantities, frame))
            except Exception as error:
                self._give_up(error)

    def _kernel(self, law: Law) -> Kernel:
        check = partial(check_kernel, law, sample_states(self.tree, law))
        if self.compiler is not None:
            return self.compiler.kernel(law, check)
        kernel = python_kernel(law)
        check(kernel)
        return kernel

    def _give_up(self, error: Exception) -> None:
        reason = f"back end {self.backend}: {type(error).__name__}: {error}"
        if len(self._candidates) == 1:
            raise ModelError(f"no kernel for {self._title}; {'; '.join([*self.reasons, reason])}") from error
        LOG.warning("%s: %s; the next one is taken", self._title, reason)
        self.reasons.append(reason)
        self._candidates.pop(0)
        self.compiler = None
