"""``arm_control view``."""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.core import printable
from arm_control.model import find_description, read_description, refuse_xacro

if TYPE_CHECKING:
    from arm_control.planning import PlanRecord

EXAMPLES = ("view --robot ur5", "view --robot my_arm.urdf --tip gripper_link", "view --plan plan.json")


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    shared.add_trust_option(parser, "a xacro file that a plan names")
    parser.add_argument("--read-only", action="store_true", help="sliders move the picture only; nothing is published")
    shared.add_chain_options(parser)
    parser.add_argument("--plan", default="", metavar="FILE", help="a plan that was written to a file, and its robot")
    parser.add_argument("--port", type=int, default=8150, help="port of the page, or the next free one")


def run(options: argparse.Namespace) -> int:
    """Show a robot with sliders for its joints in the browser; with ROS, publish joint_states if no other node does."""
    if options.plan:
        _view_plan(options)
        return 0
    robot = shared.chosen_robot(options)
    description = read_description(robot)  # an error before ROS starts
    if find_spec("rclpy") is None:
        _show(robot, description, options.tip, options)
        return 0
    from arm_control.app.processes import set_ros_defaults
    from arm_control.nodes import run_named

    set_ros_defaults()
    ends = {"tip": options.tip, "base": options.base}
    values = {"robot": robot, "control": not options.read_only, "port": options.port, **ends}
    parameters = [word for name, value in values.items() for word in ("-p", f"{name}:={json.dumps(value)}")]
    run_named(["viewer"], ["--ros-args", *parameters])
    return 0


def _view_plan(options: argparse.Namespace) -> None:
    """Show the plan of a file until Ctrl-C."""
    from arm_control.planning import PlanRecord

    plan = PlanRecord.load(Path(options.plan))
    if not options.trust:
        refuse_xacro(plan.robot, options.plan)
    _show(plan.robot, read_description(plan.robot), options.tip or plan.tip, options, plan)


def _show(robot: str, description: str, tip: str, options: argparse.Namespace, plan: PlanRecord | None = None) -> None:
    """Show a robot, and a plan of it, until Ctrl-C."""
    from arm_control.model import RobotModel
    from arm_control.viewer import ArmPage

    model = RobotModel.from_urdf(description, tip=tip or None, base=options.base or None, kinematics_only=True)
    view = ArmPage(model, find_description(robot)[0], options.port, plan)
    for note in view.notes:
        print(printable(note))
    print(f"viewer: {view.page.address}", flush=True)
    view.run()
