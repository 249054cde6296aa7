"""``arm_control demo``."""

from __future__ import annotations

import argparse

from arm_control.app.commands import run_command

EXAMPLES = ("demo", "demo --duration 20 --no-viewer", "demo ur5_star --variant ''")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command: those of ``run``."""
    run_command.add_options(parser)
    parser.set_defaults(scenario="ur5_osc", variant="real", viewer=True, control=True, paced=True)


def run(options: argparse.Namespace) -> int:
    """Show a UR5 with friction that goes from target to target, in simulation; open the printed address.

    It is `run ur5_osc --variant real --viewer --control`, paced also without the page, and has the options of `run`.
    """
    options.control = options.control and options.viewer
    return run_command.run(options)
