"""``arm_control run``."""

from __future__ import annotations

import argparse
from typing import Any

from arm_control.app.commands.argument_types import positive
from arm_control.app.commands.robot_options import (
    ARM_OPTIONS,
    add_arm_options,
    add_trust_option,
    add_xacro_options,
    arm_of,
    robot_of,
    scenario_of,
    take_robot_for_scenario,
)
from arm_control.app.run_options import RunOptions
from arm_control.exceptions import ArmControlError, InputError
from arm_control.simulation import CHOICES, SIMULATORS, scenario_names

NOT_OPTIONS = ("command", "xacro_args", "package_path", *ARM_OPTIONS)
"""Entries of the namespace that are no options of a run."""

EXAMPLES = (
    "run ur5_osc --viewer --control",
    "run --robot my_arm.urdf --viewer --control",
    "run ur5_star --headless --duration 20 --report pictures",
)
"""For the help."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    run = commands.add_parser("run", description=_run.__doc__)
    run.add_argument(
        "scenario",
        nargs="?",
        default="",
        help=f"name ({', '.join(scenario_names())}) or path of a YAML file; left out: --robot by itself",
    )
    run.add_argument("--duration", type=positive, default=0.0, metavar="S", help="simulated time [s], then a report")
    run.add_argument("--headless", action="store_true", help="lock step, as fast as possible, without live table")
    run.add_argument("--report", default="", metavar="DIR", help="write pictures and the record there at the end")
    run.add_argument("--bag", default="", metavar="FOLDER", help="record all topics there, as a bag (see replay)")
    run.add_argument("--record", default="", metavar="FILE", help="write the record there, as NumPy arrays (.npz)")
    run.add_argument("--robot", default="", metavar="FILE", help="a URDF or xacro file, or a name below urdf/")
    add_arm_options(run)
    add_xacro_options(run)
    add_trust_option(run)
    run.add_argument(
        "--simulator", default="mujoco", choices=SIMULATORS, help="none: another program publishes the states"
    )
    run.add_argument(
        "--params-file", default="", metavar="FILE", help="a ROS parameter file; replaces the scenario's values"
    )
    run.add_argument("--namespace", default="", help="namespace of all nodes")
    run.add_argument("--single-process", action="store_true", help="all nodes in one process")
    run.add_argument("--no-targets", dest="targets", action="store_false", help="hold until a target_pose is sent")
    run.add_argument(
        "--no-cache", dest="cache", action="store_false", help="compile everything again, and store nothing"
    )
    run.add_argument("--variant", default="", help="one of the scenario's variants; default: the first")
    run.add_argument(
        "--viewer",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="show the arm in the browser; prints the page's address",
    )
    run.add_argument("--control", action="store_true", help="allow the page to send targets, obstacles and gains")
    run.add_argument("--paced", action="store_true", help="real time, but a late controller slows simulated time")
    run.add_argument("--planner", action="store_true", help="plan motions to the targets, past the obstacles")
    run.add_argument(
        "--friction",
        default="auto",
        choices=CHOICES,
        help="compensate friction, payloads and rotors; auto: with --simulator none, and where the plant has them",
    )
    run.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    """Run a scenario: start its nodes, show their figures, report at the end."""
    from arm_control.app.run import run_scenario

    if options.control and not options.viewer:
        raise InputError("--control is for the page: add --viewer")
    if options.headless and not options.duration:
        raise ArmControlError("--headless runs in lock step: give the simulated time with --duration S")
    if options.bag:
        from arm_control.bags import refuse_existing

        refuse_existing(options.bag)
    take_robot_for_scenario(options)
    options.robot = robot_of(options, options.robot)
    title, is_own_arm = options.scenario or options.robot, not options.scenario
    is_simulated = options.simulator != "none"
    options.targets = options.targets and (is_simulated or bool(options.scenario))
    with scenario_of(options, proposes_limits=is_simulated) as options.scenario:
        values = {name: value for name, value in vars(options).items() if name not in NOT_OPTIONS}
        return run_scenario(RunOptions(**values, arm=arm_of(options), title=title, is_own_arm=is_own_arm))
