"""The URDF that the name of a robot means: a robot of the package, a file, or a xacro file with its arguments.

``arm.urdf.xacro name:=left gripper:=true`` names a xacro file and values of its arguments, as the command ``xacro``
takes them. It is one text, so every parameter, scenario and option that names a robot takes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arm_control.core import urdf_path
from arm_control.exceptions import InputError
from arm_control.model.urdf.load import read_source

WITH_TRUST = "read it first, then allow it with --trust, in a launch trust:=true"
WITHOUT_XACRO = "name the URDF that it expands to"
"""Ways out where a xacro file is refused."""
_ARGUMENT = re.compile(r"\s+(\w+):=(\S*)$")


def read_description(robot: str) -> str:
    """Return the text of a robot's URDF, with xacro expanded.

    Parameters
    ----------
    robot : str
        A robot of the package, or a URDF or xacro file; after a xacro file, ``name:=value`` for its arguments.

    Raises
    ------
    ArmControlError
        When there is no such robot or file, or it cannot be read.
    """
    path, arguments = find_description(robot)
    return read_source(path, arguments)[0]


def find_description(robot: str) -> tuple[Path, dict[str, str]]:
    """Return the file that a robot's name means, and the arguments behind it."""
    name, arguments = split_arguments(robot)
    return urdf_path(name), arguments


def split_arguments(robot: str) -> tuple[str, dict[str, str]]:
    """Return a robot's name without the arguments behind it, and these."""
    name, arguments = robot.strip(), dict[str, str]()
    while match := _ARGUMENT.search(name):
        arguments = {match[1]: match[2], **arguments}
        name = name[: match.start()].rstrip()
    return name, arguments


def refuse_xacro(robot: str, where: str = "", way_out: str = WITH_TRUST) -> None:
    """Raise an InputError where a robot is a xacro file: only one that the user has named is known to be harmless.

    Parameters
    ----------
    where, way_out : str
        The file that names it and what to do about it, for the message.
    """
    name, _ = split_arguments(robot)
    if Path(name).suffix == ".xacro":
        place = f"{where}: " if where else ""
        what = "a xacro file is a program, and expanding it may run any code as you"
        raise InputError(f"{place}{name}: {what}: {way_out}")


def refuse_xacro_in(content: Mapping[str, Any], where: str) -> None:
    """Raise an InputError where an entry ``robot`` of a file, also of its nodes and variants, names a xacro file."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            refuse_xacro_in(value, where)
        elif key == "robot":
            refuse_xacro(str(value), where)
