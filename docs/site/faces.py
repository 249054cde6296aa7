"""An extension of griffe: public is what the ``__init__`` of a folder imports for type checkers, its face.

griffe check arm_control --extensions docs/site/faces.py
"""

from __future__ import annotations

from typing import Any

import griffe


class Faces(griffe.Extension):
    """Marks public names in a loaded package."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Mark those of a package and its folders."""
        mark(pkg)


def mark(module: griffe.Module) -> None:
    """Mark the names of a module, and those of the modules below it."""
    module.exports = [name for name, member in module.members.items() if member.is_alias and not member.runtime]
    for member in module.members.values():
        if not member.is_alias and member.is_module:
            member.public = member.is_init_module
            mark(member)
