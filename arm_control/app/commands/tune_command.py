"""``arm_control tune``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from arm_control.core import printable, write_text
from arm_control.exceptions import ArmControlError

EXAMPLES = ("tune save my_gains.yaml",)
"""For the help."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    tune = commands.add_parser("tune", description=_tune.__doc__)
    tune.add_argument("action", choices=("save",))
    tune.add_argument("file", help="ROS parameter file to write, for --params-file")
    tune.add_argument("--node", default="osc", help="name of the node; default: osc")
    tune.add_argument("--namespace", default="", help="namespace of the node")
    tune.add_argument("--force", action="store_true", help="overwrite an existing file")
    tune.set_defaults(command=_tune)


def _tune(options: argparse.Namespace) -> int:
    """Save the live parameters of a running node, with the gains that were proposed or set while it runs."""
    from arm_control.core import parameter_text
    from arm_control.nodes import live_parameters

    path = Path(options.file)
    if path.exists() and not options.force:
        raise ArmControlError(f"{path} exists already: choose another name, or --force to overwrite it")
    parameters = live_parameters(options.node, options.namespace)
    write_text(path, parameter_text(options.node, parameters))
    print(f"{path}: {len(parameters)} parameters of {printable(options.node)}")
    return 0
