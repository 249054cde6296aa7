"""The URDF that the name of a robot means: a robot of the package, a file, or a xacro file with its arguments.

``arm.urdf.xacro name:=left gripper:=true`` names a xacro file and values of its arguments, as the command ``xacro``
takes them. It is one text, so every parameter, scenario and option that names a robot takes it.
"""

from __future__ import annotations

import re
from pathlib import Path

from arm_control.core.files import urdf_path
from arm_control.model.urdf.load import read_source

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
    """Return the file that a robot's name means, and the arguments behind it.

    Parameters
    ----------
    robot : str
        As for :func:`read_description`.

    Raises
    ------
    ArmControlError
        When there is no such robot or file.

    Examples
    --------
    >>> path, arguments = find_description("ur5 name:=left")
    >>> path.name, arguments
    ('ur5.urdf', {'name': 'left'})
    """
    name, arguments = split_arguments(robot)
    return urdf_path(name), arguments


def split_arguments(robot: str) -> tuple[str, dict[str, str]]:
    """Return a robot's name without the arguments behind it, and these."""
    name, arguments = robot.strip(), dict[str, str]()
    while match := _ARGUMENT.search(name):
        arguments = {match[1]: match[2], **arguments}
        name = name[: match.start()].rstrip()
    return name, arguments
