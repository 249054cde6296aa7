"""A compiler of laws that belong to no robot."""

from __future__ import annotations

import logging

from arm_control.compiler.kernels import Compiler
from arm_control.compiler.sources import source_digest
from arm_control.core import Cache, default_directory

LOG = logging.getLogger("arm_control.compiler")


def plain_compiler(title: str = "no robot") -> Compiler | None:
    """Return a compiler whose kernels are kept in the user's cache; None where machine code cannot be made.

    Parameters
    ----------
    title : str
        What the kernels are for, for the list of what is in the cache.
    """
    try:
        from arm_control.compiler.llvm_kernels import LlvmCompiler  # noqa: PLC0415  llvmlite may be missing

        return LlvmCompiler(source_digest(), title, Cache(default_directory()))
    except (ImportError, OSError, RuntimeError) as error:
        LOG.warning("no machine code: %s: %s", type(error).__name__, error)
        return None
