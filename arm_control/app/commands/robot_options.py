"""Options of the commands that read the description of a robot."""

from __future__ import annotations

import argparse
import re

from arm_control.exceptions import InputError
from arm_control.model.urdf.packages import add_package_path


def add_xacro_options(parser: argparse.ArgumentParser) -> None:
    """Add what a xacro file needs: folders with packages, and in the help its arguments."""
    parser.add_argument(
        "--package-path",
        "--mesh-root",
        action="append",
        default=[],
        metavar="DIR",
        help="folder that is a ROS package or contains some, for $(find ...) and meshes; repeatable",
    )
    parser.epilog = "Arguments of a xacro file stand anywhere, as NAME:=VALUE."
    parser.set_defaults(xacro_args=[])


def is_xacro_argument(word: str) -> bool:
    """Whether a word of the command line has the form ``name:=value``."""
    return re.match(r"\w+:=", word) is not None


def take_robot_options(options: argparse.Namespace, xacro_args: list[str]) -> None:
    """Give the arguments of a xacro file to the command, and make the folders with packages known.

    Parameters
    ----------
    options : Namespace
        The options of the command line; ``xacro_args`` is set.
    xacro_args : list of str
        Such as ``prefix:=left_``.

    Raises
    ------
    InputError
        When the command reads no robot, or a value has a space.
    """
    for argument in xacro_args:
        if "xacro_args" not in options:
            raise InputError(f"'{argument}': this command takes no arguments of a xacro file")
        if not re.fullmatch(r"\w+:=\S*", argument):
            raise InputError(f"'{argument}' is no argument of a xacro file; allowed: name:=value, without spaces")
    if "xacro_args" in options:
        options.xacro_args = xacro_args
        add_package_path(options.package_path)


def robot_of(options: argparse.Namespace, robot: str) -> str:
    """Return a robot's name with the arguments of its xacro file.

    Parameters
    ----------
    options : Namespace
        The options of the command line.
    robot : str
        A robot's name, or a URDF or xacro file.
    """
    if options.xacro_args and not robot:
        raise InputError(f"'{options.xacro_args[0]}' is for a xacro file: name it with --robot")
    return " ".join([robot, *options.xacro_args])
