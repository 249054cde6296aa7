"""``arm_control run``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from arm_control.app.commands import shared
from arm_control.app.commands.shared import positive
from arm_control.app.run_options import RunOptions
from arm_control.exceptions import ArmControlError, InputError
from arm_control.simulation import CHOICES, SIMULATORS, scenario_names

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
    parser.add_argument("--duration", type=positive, default=0.0, metavar="S", help="simulated time [s], then a report")
    parser.add_argument("--headless", action="store_true", help="lock step, as fast as possible, without live table")
    parser.add_argument("--report", default="", metavar="DIR", help="write pictures and the record there at the end")
    parser.add_argument("--bag", default="", metavar="FOLDER", help="record all topics there, as a bag (see replay)")
    parser.add_argument("--record", default="", metavar="FILE", help="write the record there, as NumPy arrays (.npz)")
    shared.add_robot_option(parser)
    shared.add_arm_options(parser)
    shared.add_xacro_options(parser)
    shared.add_trust_option(parser)
    parser.add_argument(
        "--simulator", default="mujoco", choices=SIMULATORS, help="none: another program publishes the states"
    )
    parser.add_argument(
        "--params-file", default="", metavar="FILE", help="a ROS parameter file; replaces the scenario's values"
    )
    parser.add_argument("--namespace", default="", help="namespace of all nodes")
    parser.add_argument("--single-process", action="store_true", help="all nodes in one process")
    parser.add_argument("--no-targets", dest="targets", action="store_false", help="hold until a target_pose is sent")
    parser.add_argument(
        "--no-cache", dest="cache", action="store_false", help="compile everything again, and store nothing"
    )
    parser.add_argument("--variant", default="", help="one of the scenario's variants; default: the first")
    parser.add_argument(
        "--viewer",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="show the arm in the browser; prints the page's address",
    )
    parser.add_argument("--control", action="store_true", help="allow the page to send targets, obstacles and gains")
    parser.add_argument(
        "--paced",
        action=argparse.BooleanOptionalAction,
        help="real time, but a late controller slows simulated time; the default with --viewer",
    )
    parser.add_argument("--planner", action="store_true", help="plan motions to the targets, past the obstacles")
    parser.add_argument(
        "--friction",
        default="auto",
        choices=CHOICES,
        help="compensate friction, payloads and rotors; auto: with --simulator none, and where the plant has them",
    )


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
