"""``arm_control tune``."""

from __future__ import annotations

import argparse
from pathlib import Path

from arm_control.app.commands import shared
from arm_control.core import printable, write_text, yaml_value

EXAMPLES = ("tune save my_gains.yaml", "tune set kp_linear 300.0", "tune set rate_limit 100.0 --node gate")


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    saved = actions.add_parser("save", help="save the live parameters", description=_save.__doc__)
    saved.add_argument("file", help="ROS parameter file to write, for --params-file")
    shared.add_force_option(saved)
    changed = actions.add_parser("set", help="change one of them", description=_set.__doc__)
    changed.add_argument("name", help="such as kp_linear")
    changed.add_argument("value", help="as in a parameter file: a float has a point")
    for action, does in ((saved, _save), (changed, _set)):
        action.add_argument("--node", default="osc", help="name of the node; default: osc")
        action.add_argument("--namespace", default="", help="namespace of the node")
        action.set_defaults(action=does)


def run(options: argparse.Namespace) -> int:
    """Change or save the live parameters of a running node."""
    return int(options.action(options))


def _save(options: argparse.Namespace) -> int:
    """Save the live parameters of a running node, with the gains that were proposed or set while it runs."""
    from arm_control.core import parameter_text
    from arm_control.nodes import live_parameters

    path = Path(options.file)
    shared.refuse_existing_file(path, options)
    parameters = live_parameters(options.node, options.namespace)
    write_text(path, parameter_text(options.node, parameters))
    print(f"{path}: {len(parameters)} parameters of {printable(options.node)}")
    return 0


def _set(options: argparse.Namespace) -> int:
    """Change a live parameter of a running node. Exit status: 0 changed, 1 refused."""
    from arm_control.nodes import set_parameter

    value = yaml_value(options.value)
    refusal = set_parameter(options.name, value, options.node, options.namespace)
    print(printable(refusal) if refusal else f"{printable(options.name)} = {value}")
    return 1 if refusal else 0
