"""Options and output that the commands about bags share: which bag, which arm, which scenario."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from arm_control.app.commands.robot_options import add_trust_option, add_xacro_options, robot_of
from arm_control.exceptions import ArmControlError

if TYPE_CHECKING:
    from arm_control.bags import Bag, ReplayOptions

ARM_OPTIONS = ("namespace", "scenario", "variant", "params_file", "robot", "tip", "base", "trust")
"""Names of the options of :func:`add_arm_options`."""


def add_bag_argument(parser: argparse.ArgumentParser) -> None:
    """Add the bag as a positional argument."""
    parser.add_argument("bag", help="folder with metadata.yaml, or a file .mcap, .db3 or .bag")


def add_arm_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the arm and its scenario; the defaults are in the bag."""
    arm = parser.add_argument_group("the arm; by default as recorded in the bag")
    arm.add_argument("--namespace", default="", help="namespace of the arm, in a recording of several arms")
    arm.add_argument("--scenario", default="", help="name, or path of a YAML file")
    arm.add_argument("--variant", default="", help="one of the scenario's variants")
    arm.add_argument(
        "--params-file", default="", metavar="FILE", help="a ROS parameter file; replaces the recorded values"
    )
    arm.add_argument(
        "--robot", "--urdf", default="", metavar="FILE", help="a URDF or xacro file, or a name below urdf/"
    )
    add_xacro_options(parser)
    add_trust_option(parser)
    arm.add_argument("--tip", default="", metavar="LINK", help="end of the chain that moved")
    arm.add_argument("--base", default="", metavar="LINK", help="start of the chain")


def replay_options(options: argparse.Namespace) -> ReplayOptions:
    """Return the arm, scenario and controller that the options name.

    Raises
    ------
    ArmControlError
        When a scenario and a controller are both named.
    """
    from arm_control.bags import ReplayOptions

    controller = getattr(options, "controller", "")
    if options.scenario and controller:
        raise ArmControlError("--scenario and --controller: only one of them is allowed")
    changes = {name: getattr(options, name) for name in ("tip", "base") if getattr(options, name)}
    robot = robot_of(options, options.robot)
    return ReplayOptions(
        options.scenario, options.variant, controller, options.params_file, robot, changes, options.trust
    )


def open_bag(options: argparse.Namespace) -> Bag:
    """Read the bag of the options, and print its damage."""
    from arm_control.bags import read_bag

    bag = read_bag(options.bag)
    bag.namespace = options.namespace
    for damage in bag.damage:
        print(f"damaged: {damage}")
    return bag


def print_unread(bag: Bag) -> None:
    """Print the topics that could not be read, and the count of malformed messages."""
    for topic in bag.topics:
        if topic.error:
            print(f"not read: {topic.name}: {topic.error}")
    for (topic_name, cause), count in bag.malformed.items():
        print(f"malformed: {topic_name}: {count} messages: {cause}")
