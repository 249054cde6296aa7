"""``arm_control pose``: where the hand of a running arm is, or of an arm at joint positions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.app.commands import shared
from arm_control.core import printable
from arm_control.maths import Array, Pose, quaternion_from_rotation, rpy_from_rotation
from arm_control.messages import link_of

EXAMPLES = ("pose", "pose --json", "pose --robot ur5 0 -1.4 1.9 -2.07 -1.57 0")


class Hand(NamedTuple):
    """Where a hand is.

    Attributes
    ----------
    stamp : float or None
        Of the state; None without a running arm [s].
    """

    tip: str
    frame: str
    X: Pose
    joints: dict[str, float]
    stamp: float | None = None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "joints", nargs="*", metavar="Q", help="with --robot: positions of its joints, in their order [rad or m]"
    )
    shared.add_robot_option(parser)
    parser.add_argument("--frame", default="", metavar="LINK", help="link in whose frame; default: the base")
    parser.add_argument("--namespace", default="", help="namespace of the running arm")
    shared.add_json_option(parser)
    shared.add_chain_options(parser)
    shared.add_xacro_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print position and orientation of the end effector: of a running arm, or with --robot at joint positions."""
    robot, *words = [options.robot, *options.joints] if options.robot else [*options.joints] or [""]
    hand = _hand_of(robot, words, options) if robot else _hand_of_running_arm(options)
    print(_as_json(hand) if options.json else _as_text(hand))
    return 0


def _hand_of(robot: str, words: Sequence[str], options: argparse.Namespace) -> Hand:
    model = shared.arm_for_kinematics(shared.robot_of(options, robot), options)
    q = shared.positions_of(words, model, "pose")
    X = model.pose(q, link_of(options.frame, model)).inverse() @ model.pose(q)
    return Hand(model.tip, options.frame or model.base, X, _named(model.joint_names, q))


def _hand_of_running_arm(options: argparse.Namespace) -> Hand:
    from arm_control.nodes import ArmClient, CommandLineNode

    with CommandLineNode("arm_control_pose") as client:
        arm = ArmClient(client, options.namespace)
        X = arm.pose_in(options.frame, Pose.identity()).inverse() @ arm.model.pose(arm.q)
    joints = _named(arm.model.joint_names, arm.q)
    return Hand(arm.model.tip, options.frame or arm.model.base, X, joints, arm.stamp_ns * 1e-9)


def _named(names: Sequence[str], q: Array) -> dict[str, float]:
    return dict(zip(names, q.tolist(), strict=True))


def _as_json(hand: Hand) -> str:
    values = {
        "stamp": hand.stamp,
        "tip": hand.tip,
        "position": hand.X.p.tolist(),
        "quat_xyzw": quaternion_from_rotation(hand.X.R).tolist(),
        "joints": hand.joints,
    }
    return json.dumps({name: value for name, value in values.items() if value is not None}, indent=2)


def _as_text(hand: Hand) -> str:
    rows = {
        "position x y z [m]": hand.X.p,
        "roll pitch yaw [deg]": np.degrees(rpy_from_rotation(hand.X.R)),
        "quaternion x y z w": quaternion_from_rotation(hand.X.R),
    }
    when = "" if hand.stamp is None else f", {hand.stamp:.3f} s"
    return "\n".join(
        [
            f"{printable(hand.tip)} in {printable(hand.frame)}{when}",
            *(f"  {title:22}" + "".join(f"{x + 0.0:10.4f}" for x in values.round(4)) for title, values in rows.items()),
            *(f"  {printable(name):22}{position:10.4f}" for name, position in hand.joints.items()),
        ]
    )
