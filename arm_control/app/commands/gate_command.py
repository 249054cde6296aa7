"""``arm_control gate``."""

from __future__ import annotations

import argparse

from arm_control.app.commands.node_command import add_ros_options, run_nodes

EXAMPLES = (
    "gate --params-file my_arm.yaml",
    "gate -r joint_commands:=driver/commands -r effort_controller/commands:=driver/efforts -p rate_limit:=100.0",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_ros_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the node `gate` between a controller, which publishes `effort_in`, and a driver, until Ctrl-C.

    `arm_control watch` shows what it does; at Ctrl-C it brakes, and ends when the arm rests.
    """
    return run_nodes(["gate"], options)
