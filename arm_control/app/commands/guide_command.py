"""``arm_control guide``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from arm_control.app.commands import run_command

DAMPING = 5.0
"""``guide_damping`` of an arm by itself [1/s]."""
EXAMPLES = (
    "guide ur5 --viewer",
    "guide ur5_guide --bag shown",
    "guide --robot my_arm.urdf --simulator none --params-file identified.yaml",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    run_command.add_options(parser)
    parser.add_argument("--waypoints", default="", metavar="FILE", help="trajectory to write; default: BAG.yaml")


def run(options: argparse.Namespace) -> int:
    """Let a hand move an arm, of a scenario or by itself, and record a bag, for `arm_control learn` as it is.

    Enter, or a message on guide/waypoint, takes a waypoint: `arm_control play` follows them. The options are those of
    `arm_control run`.
    """
    from arm_control.simulation import scenario_names

    name = options.scenario
    if name and name not in scenario_names() and Path(name).suffix != ".yaml":
        options.scenario, options.robot = "", options.robot or name
    options.bag = options.bag or time.strftime("guided_%Y_%m_%d-%H_%M_%S")
    options.waypoints = options.waypoints or f"{options.bag.rstrip('/')}.yaml"
    if options.friction == "auto":
        options.friction = "true"  # the observer shows the force of the hand, and notices a load
    print("Enter takes a waypoint")
    return run_command.start(options, {"guide": {"guide_damping": DAMPING}})
