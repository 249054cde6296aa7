"""``arm_control target``."""

from __future__ import annotations

import argparse

import numpy as np

from arm_control.app.commands import shared
from arm_control.app.commands.shared import positive
from arm_control.exceptions import InputError
from arm_control.maths import Pose

BRAKED = "the arm is braked: `arm_control watch --once` says why, `arm_control enable` releases it"

EXAMPLES = ("target 0.4 0.2 0.4", "target 0 0 0.05 --frame tool0", "target 0.4 0 0.3 --rpy 180 0 0")


def add_options(parser: argparse.ArgumentParser) -> None:
    for axis in ("x", "y", "z"):
        parser.add_argument(axis, type=float, metavar=axis.upper(), help=f"{axis} of the hand [m]")
    shared.add_orientation_options(parser, "as it is")
    parser.add_argument(
        "--frame", default="", metavar="LINK", help="link in whose frame all this is; default: the base"
    )
    parser.add_argument("--anyway", action="store_true", help="also when the target seems to be out of reach")
    parser.add_argument("--timeout", type=positive, default=20.0, metavar="S", help="longest time; default: 20 s")
    parser.add_argument("--namespace", default="", help="namespace of the arm")


def run(options: argparse.Namespace) -> int:
    """Send a target, wait, and say what came of it. Exit status: 0 reached, 1 not reached or out of reach."""
    from arm_control.control import REACHED, reachability
    from arm_control.controllers import CONTROLLERS
    from arm_control.nodes import ArmClient, CommandLineNode

    with CommandLineNode("arm_control_target") as client:
        arm = ArmClient(client, options.namespace)
        if not arm.controller:
            raise InputError(f"no controller is running; nodes that follow a target: {', '.join(CONTROLLERS)}")
        X = arm.pose_in(options.frame, Pose(np.eye(3), np.array([options.x, options.y, options.z])))
        R = shared.orientation_of(options)
        frame = arm.pose_in(options.frame, Pose.identity())
        X_WT = Pose(arm.model.pose(arm.q).R if R is None else frame.R @ R, X.p)
        found = reachability(arm.model, X_WT, arm.q)
        if not found.is_reached and not options.anyway:
            print(f"not sent: {found}; --anyway sends it")
            return 1
        begin_ns = arm.stamp_ns
        approach = arm.go_to(X_WT, options.timeout)
        print(f"{approach}, after {(arm.stamp_ns - begin_ns) * 1e-9:.1f} s")
        if approach.state == REACHED:
            return 0
        is_braked = arm.figure("braking", 0.0) > 0.0
        print(BRAKED if is_braked else approach.reason(arm.q, arm.figure("nearest_distance", np.inf)))
        return 1
