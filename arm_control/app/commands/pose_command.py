"""``arm_control pose``."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from arm_control.maths.poses import Pose, quaternion_from_rotation, rpy_from_rotation
from arm_control.model.urdf.xml import printable

if TYPE_CHECKING:
    from arm_control.nodes.tools.arm_client import ArmClient

EXAMPLES = ("pose", "pose --json")
"""For the help."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    pose = commands.add_parser("pose", help="print where the hand of a running arm is", description=_pose.__doc__)
    pose.add_argument("--frame", default="", metavar="LINK", help="link in whose frame; default: the base")
    pose.add_argument("--namespace", default="", help="namespace of the arm")
    pose.add_argument("--json", action="store_true", help="print JSON")
    pose.set_defaults(command=_pose)


def _pose(options: argparse.Namespace) -> int:
    """Print position and orientation of the end effector, and the joints."""
    from arm_control.nodes.tools.arm_client import ArmClient
    from arm_control.nodes.tools.command_line_node import CommandLineNode

    with CommandLineNode("arm_control_pose") as client:
        arm = ArmClient(client, options.namespace)
        X = arm.pose_in(options.frame, Pose.identity()).inverse() @ arm.model.pose(arm.q)
    print(_as_json(arm, X) if options.json else _as_text(arm, X, options.frame))
    return 0


def _as_json(arm: ArmClient, X: Pose) -> str:
    values = {
        "stamp": arm.stamp_ns * 1e-9,
        "tip": arm.model.tip,
        "position": X.p.tolist(),
        "quat_xyzw": quaternion_from_rotation(X.R).tolist(),
        "joints": dict(zip(arm.model.joint_names, arm.q.tolist(), strict=True)),
    }
    return json.dumps(values, indent=2)


def _as_text(arm: ArmClient, X: Pose, frame: str) -> str:
    rows = {
        "position x y z [m]": X.p,
        "roll pitch yaw [deg]": np.degrees(rpy_from_rotation(X.R)),
        "quaternion x y z w": quaternion_from_rotation(X.R),
    }
    joints = dict(zip(arm.model.joint_names, arm.q.tolist(), strict=True))
    return "\n".join(
        [
            f"{printable(arm.model.tip)} in {printable(frame or arm.model.base)}, {arm.stamp_ns * 1e-9:.3f} s",
            *(f"  {title:22}" + "".join(f"{x + 0.0:10.4f}" for x in values.round(4)) for title, values in rows.items()),
            *(f"  {printable(name):22}{position:10.4f}" for name, position in joints.items()),
        ]
    )
