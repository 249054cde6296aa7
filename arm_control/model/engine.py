"""Makes a model's kernels, by the best back end there is.

    llvm        the program of a tape as machine code for this processor; object files are cached
    python      the same program as a Python function
    pinocchio   Pinocchio's algorithms

The first one that works is taken. A new kernel is compared with the float run of the recursions before it is used or
kept. A back end that cannot make one, or makes a wrong one, is left for the next, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from arm_control.compiler import Kernel, check_kernel, python_kernel
from arm_control.core import Cache
from arm_control.exceptions import ModelError
from arm_control.model.quantities import quantity_law, sample_states
from arm_control.model.tree import Tree

if TYPE_CHECKING:
    from arm_control.compiler import LlvmCompiler

T = TypeVar("T")
LOG = logging.getLogger("arm_control.model")
BACKENDS = ("llvm", "python", "pinocchio")


class BackEnd(Protocol):
    """Makes kernels of the quantities named in :mod:`arm_control.model.quantities`."""

    @property
    def compiler(self) -> LlvmCompiler | None:
        """What compiles other laws of the robot; None where they run as they stand."""

    def kernel(self, quantities: Sequence[str], frame: str | None) -> Kernel:
        """Return a kernel of quantities of one state; ``frame`` is the link that ``J_point`` is about."""


class TapeBackEnd:
    """Makes kernels from the program of a tape: machine code, kept in a cache, or Python functions.

    Where Python functions are generated, other laws run as they stand: as fast, and easier to read.
    """

    def __init__(self, tree: Tree, compiler: LlvmCompiler | None) -> None:
        self._tree, self.compiler = tree, compiler

    def kernel(self, quantities: Sequence[str], frame: str | None) -> Kernel:
        """See :class:`BackEnd`."""
        law = quantity_law(self._tree, quantities, frame)
        check = partial(check_kernel, law, sample_states(self._tree, law))
        if self.compiler is not None:
            return self.compiler.kernel(law, check)
        kernel = python_kernel(law)
        check(kernel)
        return kernel


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
        The back end in use, and why the ones before it are not.
    """

    def __init__(
        self, tree: Tree, urdf_text: str, title: str, identity: str, cache: Cache, backend: str = "auto"
    ) -> None:
        if backend not in ("auto", *BACKENDS):
            raise ModelError(f"backend is '{backend}', allowed: auto, {', '.join(BACKENDS)}")
        self.tree, self._urdf_text = tree, urdf_text
        self._title, self._identity, self._cache = title, identity, cache
        self._candidates = list(BACKENDS) if backend == "auto" else [backend]
        self.reasons: list[str] = []
        self._maker: BackEnd = self._next()

    @property
    def backend(self) -> str:
        """The back end in use."""
        return self._candidates[0]

    @property
    def compiler(self) -> LlvmCompiler | None:
        """What compiles laws of this robot; None where they run as they stand."""
        return self._maker.compiler

    def kernel(self, quantities: tuple[str, ...], frame: str | None = None) -> Kernel:
        """Make a kernel of one state."""
        return self._make(lambda maker: maker.kernel(quantities, frame))

    def _make(self, make: Callable[[BackEnd], T]) -> T:
        while True:
            try:
                return make(self._maker)
            except Exception as error:
                self._give_up(error)
                self._maker = self._next()

    def _next(self) -> BackEnd:
        while True:
            try:
                return self._back_end(self.backend)
            except Exception as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        reason = f"back end {self.backend}: {type(error).__name__}: {error}"
        if len(self._candidates) == 1:
            raise ModelError(f"no kernel for {self._title}; {'; '.join([*self.reasons, reason])}") from error
        LOG.warning("%s: %s; the next one is taken", self._title, reason)
        self.reasons.append(reason)
        self._candidates.pop(0)

    def _back_end(self, name: str) -> BackEnd:
        if name == "llvm":
            from arm_control.compiler import LlvmCompiler

            return TapeBackEnd(self.tree, LlvmCompiler(self._identity, self._title, self._cache))
        if name == "python":
            return TapeBackEnd(self.tree, None)
        from arm_control.model.pinocchio_backend import PinocchioBackEnd

        return PinocchioBackEnd(self.tree, self._urdf_text)
