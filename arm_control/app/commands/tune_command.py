"""``arm_control tune``."""

from __future__ import annotations

import argparse
from pathlib import Path

from arm_control.app.commands import shared
from arm_control.core import printable, write_text

EXAMPLES = ("tune save my_gains.yaml",)
"""For the help."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("action", choices=("save",))
    parser.add_argument("file", help="ROS parameter file to write, for --params-file")
    parser.add_argument("--node", default="osc", help="name of the node; default: osc")
    parser.add_argument("--namespace", default="", help="namespace of the node")
    shared.add_force_option(parser)


def run(options: argparse.Namespace) -> int:
    """Save the live parameters of a running node, with the gains that were proposed or set while it runs."""
    from arm_control.core import parameter_text
    from arm_control.nodes import live_parameters

    path = Path(options.file)
    shared.refuse_existing_file(path, options)
    parameters = live_parameters(options.node, options.namespace)
    write_text(path, parameter_text(options.node, parameters))
    print(f"{path}: {len(parameters)} parameters of {printable(options.node)}")
    return 0
