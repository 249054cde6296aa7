"""Public names of a package that are imported when they are first asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping of str to str
        Module of each public name, in the package.

    Examples
    --------
    >>> getattr_of_core = lazy_names("arm_control.core", {"NANOSECONDS": "time"})
    >>> getattr_of_core("NANOSECONDS")
    1000000000
    """

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
