"""Expansion of a xacro file to a plain URDF.

Xacro evaluates Python expressions and reads the files that a document names: a xacro file is a program, not data.
Therefore only files that the user names are expanded, never text from a topic or another file.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from arm_control.exceptions import MissingExtra, UrdfError

_FIND_NEEDS = ("ament_index_python", "AMENT_PREFIX_PATH", "PackageNotFoundError")


def expand_xacro(path: Path, arguments: Mapping[str, str] | None = None) -> str:
    """Expand a xacro file.

    Parameters
    ----------
    path : Path
        The file. Relative names of included files start in the folder of the including file.
    arguments : mapping of str to str, optional
        Values for its ``<xacro:arg>`` elements.

    Returns
    -------
    str
        The XML of the robot, not checked. Warnings of xacro go to the log ``arm_control.xacro``.

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
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            text = str(xacro.process_file(str(path), mappings=values).toxml())
    except (Exception, SystemExit) as error:  # an expression in the file may raise anything
        place = (xacro.filestack or [str(path)])[-1]
        where = "" if place == str(path) else f", in {place!r}"
        raise UrdfError(f"the xacro file {str(path)!r} cannot be expanded{where}: {_reason(error)}") from None
    if printed.getvalue():
        logging.getLogger("arm_control.xacro").warning("%s: %s", path, _plain(printed.getvalue()))
    return text


def _reason(error: BaseException) -> str:
    """The reason of a failed expansion, in one line, with advice when a package was not found."""
    reason = _plain(str(error)) or type(error).__name__
    if any(word in reason for word in _FIND_NEEDS):
        return f"{reason}; $(find PACKAGE) needs a sourced ROS 2 environment with that package"
    return reason


def _plain(text: str) -> str:
    """A text as one line of at most 500 printable characters."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(line.split())[:500]
