"""Processors that object files are made for."""

from __future__ import annotations

from typing import NamedTuple

LINUX = "unknown-linux-gnu"


class Processor(NamedTuple):
    """A kind of processor.

    Attributes
    ----------
    architecture : str
        Name as CMake and ``uname -m`` have it.
    cpu : str
        LLVM's name of the oldest processor of this kind.
    has_fma : bool
        Whether it multiplies and adds in one instruction; else sines are those of ``libm``.
    """

    architecture: str
    cpu: str
    has_fma: bool

    @property
    def triple(self) -> str:
        """LLVM's name of architecture and system."""
        return f"{self.architecture}-{LINUX}"


PROCESSORS = {
    "x86-64-v4": Processor("x86_64", "x86-64-v4", has_fma=True),
    "x86-64-v3": Processor("x86_64", "x86-64-v3", has_fma=True),
    "x86-64-v2": Processor("x86_64", "x86-64-v2", has_fma=False),
    "x86-64": Processor("x86_64", "x86-64", has_fma=False),
    "aarch64": Processor("aarch64", "generic", has_fma=True),
}
"""Kinds of processors by the names that compilers have for them."""
