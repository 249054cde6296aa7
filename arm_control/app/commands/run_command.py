"""``arm_control run``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from arm_control.app.commands import shared
from arm_control.app.run_options import RunOptions
from arm_control.exceptions import ArmControlError, InputError
from arm_control.simulation import scenario_names

NOT_OPTIONS = ("command", "xacro_args", "package_path", *shared.ARM_OPTIONS)
"""Entries of the namespace that are no options of a run."""

EXAMPLES = (
    "run ur5_osc --viewer --control",
    "run --robot my_arm.urdf --viewer --control",
    "run ur5_star --headless --duration 20 --report pictures",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="?",
        default="",
        help=f"name ({', '.join(scenario_names())}) or path of a YAML file; left out: --robot by itself",
    )
    shared.add_robot_option(parser)
    shared.add_arm_options(parser)
    shared.add_xacro_options(parser)
    shared.add_trust_option(parser)
    shared.add_options_of(parser, RunOptions)


def run(options: argparse.Namespace) -> int:
    """Run a scenario: start its nodes, show their figures, report at the end."""
    return start(options)


def start(options: argparse.Namespace, nodes: Mapping[str, Mapping[str, Any]] | None = None) -> int:
    """Run a scenario, or a robot with a controller and what sends it goals, by default ``osc`` with targets."""
    from arm_control.app.run import run_scenario

    if options.control and not options.viewer:
        raise InputError("--control is for the page: add --viewer")
    if options.headless and not options.duration:
        raise ArmControlError("--headless runs in lock step: give the simulated time with --duration S")
    if options.bag:
        from arm_control.bags import refuse_existing

        refuse_existing(options.bag)
    shared.take_robot_for_scenario(options)
    options.robot = shared.robot_of(options, options.robot)
    title, is_own_arm = options.scenario or options.robot, not options.scenario
    is_simulated = options.simulator != "none"
    if options.paced is None:
        options.paced = options.viewer and is_simulated  # a slow browser brakes no arm
    options.targets = options.targets and (is_simulated or not is_own_arm or nodes is not None)
    with shared.scenario_of(options, proposes_limits=is_simulated, nodes=nodes) as options.scenario:
        values = {name: value for name, value in vars(options).items() if name not in NOT_OPTIONS}
        return run_scenario(RunOptions(**values, arm=shared.arm_of(options), title=title, is_own_arm=is_own_arm))
