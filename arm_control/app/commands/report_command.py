"""``arm_control report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from arm_control.app.commands.bag_options import (
    add_arm_options,
    add_bag_argument,
    open_bag,
    print_unread,
    replay_options,
)

EXAMPLES = ("report my_bag", "report my_bag --robot my_arm.urdf -o pages")
"""For the help."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    report = commands.add_parser("report", description=_report.__doc__)
    add_bag_argument(report)
    report.add_argument("-o", "--output", default="", metavar="DIR", help="folder to write; default: BAG_report")
    report.add_argument("--topic", default="joint_states", help="topic of the joint states")
    add_arm_options(report)
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    """Write a page about a bag, with pictures: contents, tracking, torque, timing, power."""
    from arm_control.report import write_report

    bag = open_bag(options)
    path = Path(options.bag)
    path = path if path.name not in ("", "..") else path.resolve()
    name = path.stem if path.is_file() else path.name
    folder = Path(options.output or path.with_name(f"{name}_report"))
    for file in write_report(bag, folder, replay_options(options), options.topic):
        print(f"wrote {file}")
    print_unread(bag)
    return 0
