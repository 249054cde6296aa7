"""Expansion of a xacro file to a plain URDF.

Xacro evaluates Python expressions and reads the files that a document names: a xacro file is a program, not data.
Therefore only files that the user names are expanded, never text from a topic or a bag; a file that another one names
only where the user trusts that one (:func:`arm_control.model.urdf.load.refuse_xacro`).
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from arm_control.exceptions import MissingExtra, UrdfError
from arm_control.model.urdf.packages import find_package

FIND_NEEDS = "name its folder, or the one that contains it, with --package-path, or source its ROS 2 workspace"
"""Advice for a package that was not found."""


def expand_xacro(
    path: Path, arguments: Mapping[str, str] | None = None, package_path: Sequence[str | Path] = ()
) -> str:
    """Expand a xacro file.

    Parameters
    ----------
    path : Path
        The file. Relative names of included files start in the folder of the including file.
    package_path : sequence of str or Path
        Folders that are packages or contain some, for ``$(find PACKAGE)``; searched before the folders above the
        file, those of ``ROS_PACKAGE_PATH``, and the packages of a ROS 2 workspace.

    Returns
    -------
    str
        The XML of the robot, not checked. Files in a found package are named ``package://``.
        Warnings of xacro go to the log ``arm_control.xacro``.

    Raises
    ------
    MissingExtra
        The package xacro is not installed.
    UrdfError
        The file cannot be read or expanded.
    """
    try:
        import xacro  # noqa: PLC0415  only xacro files need it
    except ImportError as error:
        raise MissingExtra("xacro", "xacro") from error
    printed = io.StringIO()
    values = {name: str(value) for name, value in (arguments or {}).items()}
    found: dict[str, Path] = {}
    try:
        with redirect_stdout(printed), redirect_stderr(printed), _find_by(path, package_path, found):
            text = str(xacro.process_file(str(path), mappings=values).toxml())
    except (Exception, SystemExit) as error:  # an expression in the file may raise anything
        place = (xacro.filestack or [str(path)])[-1]
        where = "" if place == str(path) else f", in {place!r}"
        raise UrdfError(f"the xacro file {str(path)!r} cannot be expanded{where}: {_reason(error)}") from None
    if printed.getvalue():
        logging.getLogger("arm_control.xacro").warning("%s: %s", path, _plain(printed.getvalue()))
    for package, folder in found.items():
        for start in ("file:///", "file://"):
            text = text.replace(f"{start}{folder}/", f"package://{package}/")
    return text


@contextmanager
def _find_by(path: Path, package_path: Sequence[str | Path], found: dict[str, Path]) -> Iterator[None]:
    """Let ``$(find PACKAGE)`` find packages also outside of a ROS 2 workspace, and collect them."""
    from xacro import substitution_args  # noqa: PLC0415

    def find(package: str) -> str:
        folder = find_package(package, path, [Path(root) for root in package_path])
        if folder is None:
            raise UrdfError(f"package {package!r} was not found: {FIND_NEEDS}")
        found[package] = folder.absolute()
        return str(found[package])

    original = substitution_args._eval_find
    functions: dict[str, Any] = substitution_args._eval_dict
    substitution_args._eval_find = functions["find"] = find
    try:
        yield
    finally:
        substitution_args._eval_find = functions["find"] = original


def _reason(error: BaseException) -> str:
    """The reason of a failed expansion, in one line; a package that was not found is one by itself."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, UrdfError):
        inner = inner.__cause__ or inner.__context__
    return _plain(str(inner or error)) or type(error).__name__


def _plain(text: str) -> str:
    """A text as one line of at most 500 printable characters."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(line.split())[:500]
