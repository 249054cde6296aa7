"""``arm_control report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from arm_control.app.commands import shared

EXAMPLES = ("report my_bag", "report my_bag --robot my_arm.urdf -o pages")


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_bag_argument(parser)
    parser.add_argument("-o", "--output", default="", metavar="DIR", help="folder to write; default: BAG_report")
    parser.add_argument("--topic", default="joint_states", help="topic of the joint states")
    shared.add_recorded_arm_options(parser)


def run(options: argparse.Namespace) -> int:
    """Write a page about a bag, with pictures: contents, tracking, torque, timing, power."""
    from arm_control.report import write_report

    bag = shared.open_bag(options)
    folder = Path(options.output or shared.folder_beside(options.bag, "report"))
    for file in write_report(bag, folder, shared.replay_options(options), options.topic):
        print(f"wrote {file}")
    shared.print_unread(bag)
    return 0
