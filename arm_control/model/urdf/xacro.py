"""Expand a xacro file to a plain URDF.

Xacro evaluates Python expressions and reads the files a document names, so it is a program, not data: only
a file that the user names is expanded, never text that came from elsewhere.
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
        The file. A relative name that it includes is looked for beside the file that includes it.
    arguments : mapping of str to str, optional
        Values of the file's ``<xacro:arg>``.

    Returns
    -------
    str
        The XML of the robot, not checked yet. What xacro warns of goes to the log ``arm_control.xacro``.

    Raises
    ------
    MissingExtra
        The package xacro is not installed.
    UrdfError
        The file cannot be read or expanded.
    """
    try:
        import xacro  # noqa: PLC0415  only who has such a file needs it
    except ImportError as error:
        raise MissingExtra("xacro", "xacro") from error
    printed, values = io.StringIO(), {name: str(value) for name, value in (arguments or {}).items()}
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
    """Say in one line why an expansion failed, and what to do when a package was not found."""
    reason = _plain(str(error)) or type(error).__name__
    if any(word in reason for word in _FIND_NEEDS):
        return f"{reason}; $(find PACKAGE) works only where ROS 2 is set up and has that package"
    return reason


def _plain(text: str) -> str:
    """Bring a text of any origin to one line of at most 500 printable characters."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(line.split())[:500]
