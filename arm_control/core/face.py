"""The face of a folder: the names that others may import from its ``__init__``, loaded when they are first asked for.

A face is a list of imports that only type checkers run, ::

    if TYPE_CHECKING:
        from arm_control.gate.effort_gate import EffortGate
    else:
        __getattr__, __dir__, __all__ = face(__name__)

which this module reads from the text, so that each name stands once (PEP 562).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def face(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Examples
    --------
    >>> getattr_of_core, _, _ = face("arm_control.core")
    >>> getattr_of_core("NANOSECONDS")
    1000000000
    """
    module = sys.modules[package]
    modules = module_of_each_name(Path(str(module.__file__)))

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find, lambda: sorted({*vars(module), *modules}), sorted(modules)


def module_of_each_name(path: Path) -> dict[str, str]:
    """Return the module of each name on the face in a file."""
    statements = ast.parse(path.read_bytes()).body
    blocks = (node for node in statements if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}
