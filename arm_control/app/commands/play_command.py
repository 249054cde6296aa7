"""``arm_control play``."""

from __future__ import annotations

import argparse
from pathlib import Path

from arm_control.app.commands import run_command
from arm_control.exceptions import InputError

EXAMPLES = ("play guided.yaml", "play guided.yaml --viewer", "play guided.yaml --robot my_arm.urdf --simulator none")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trajectory of the joints, as `arm_control guide` writes it")
    run_command.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Follow a trajectory of the joints, such as the waypoints of `arm_control guide`, with the controller joint.

    The arm is that of the file, or --robot. The options are those of `arm_control run`.
    """
    from arm_control.core import read_yaml
    from arm_control.motion import load_trajectory

    file = str(Path(options.file).absolute())
    _, points = load_trajectory(file)
    if options.scenario:
        raise InputError("play follows a file with an arm, and no scenario: --robot FILE")
    options.robot = options.robot or str(read_yaml(Path(file)).get("robot", ""))
    options.duration = options.duration or (float(points.times[-1]) + 1.0 if options.simulator != "none" else 0.0)
    del options.file
    return run_command.start(options, {"joint": {}, "targets": {"trajectory": file}})
