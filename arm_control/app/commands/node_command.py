"""``arm_control node``: nodes where the program ``ros2`` is not installed."""

from __future__ import annotations

import argparse
import os
import re

from arm_control.core import node_names
from arm_control.exceptions import InputError

EXAMPLES = (
    "node osc -r joint_commands:=effort_in --params-file my_arm.yaml",
    "node dynamics visuals --namespace left -p tip:=gripper_link",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", nargs="+", choices=node_names(), metavar="NODE", help=", ".join(node_names()))
    add_ros_options(parser)


def add_ros_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a ROS node that are used with an arm."""
    parser.add_argument("--params-file", action="append", default=[], metavar="FILE", help="ROS parameter file")
    for short, long, what, metavar in (
        ("-r", "--remap", "another name of a topic", "FROM:=TO"),
        ("-p", "--param", "value of a parameter", "NAME:=VALUE"),
    ):
        parser.add_argument(short, long, action="append", default=[], metavar=metavar, help=f"{what}; repeatable")
    parser.add_argument("--namespace", default="", help="namespace of the nodes")


def run(options: argparse.Namespace) -> int:
    """Run nodes in one process until Ctrl-C, as `ros2 run arm_control NODE` does; ROS needs not be sourced.

    Discovery is limited to this machine, unless the environment says otherwise.
    """
    return run_nodes(options.nodes, options)


def run_nodes(names: list[str], options: argparse.Namespace) -> int:
    """Run nodes with the arguments of :func:`add_ros_options`."""
    from arm_control.app.processes import set_ros_defaults
    from arm_control.nodes import run_named

    words = ros_arguments(options)
    for file in options.params_file:
        if not os.path.isfile(file):
            raise InputError(f"there is no parameter file {file!r}")
    set_ros_defaults()
    run_named(names, words)
    return 0


def ros_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments behind ``--ros-args``."""
    from arm_control.app.processes import namespace_arguments

    words = ["--ros-args"]
    for option, values in (("-r", options.remap), ("-p", options.param)):
        for value in values:
            if not re.fullmatch(r"[^:=\s]+:=.*", value):
                raise InputError(f"{option} {value}: allowed: NAME:=VALUE, without spaces around")
            words += [option, value]
    for file in options.params_file:
        words += ["--params-file", file]
    return words + namespace_arguments(options.namespace)
