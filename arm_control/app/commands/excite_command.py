"""``arm_control excite``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.controllers import CONTROLLERS
from arm_control.core import require_writable_folder, write_text
from arm_control.identification import ExcitationParameters
from arm_control.model import read_description

if TYPE_CHECKING:
    from arm_control.identification import IsFree
    from arm_control.model import RobotModel

EXAMPLES = (
    "excite --robot ur5 --floor 0",
    "excite --robot my_arm.urdf --tip gripper_link -o motion.yaml --seed 1",
)
MARGIN, FLOOR_MARGIN = 0.03, 0.001
"""Distances that links keep from each other, and from the floor [m]."""


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    parser.add_argument("-o", "--output", default="excitation.yaml", metavar="FILE", help="the trajectory to write")
    shared.add_arm_options(parser)
    parser.add_argument("--params-file", default="", metavar="FILE", help="a ROS parameter file, as for run")
    parser.add_argument("--floor", type=float, metavar="Z", help="height that the moving links stay above [m]")
    shared.add_force_option(parser)
    for name, default in ExcitationParameters().values().items():
        spec, option = ExcitationParameters.spec(name), f"--{name.replace('_', '-')}"
        if isinstance(default, tuple):
            parser.add_argument(option, type=float, nargs="+", default=(), metavar="Q", help=f"{spec}")
        else:
            parser.add_argument(option, type=type(default), default=default, metavar="X", help=f"{spec} ({default})")


def run(options: argparse.Namespace) -> int:
    """Write a joint trajectory from which friction, rotors, payload and links can be told; node joint follows it.

    It keeps the limits of the joints and stays clear of the arm itself, not of anything else: see it in a simulation
    first.
    """
    from arm_control.identification import excite
    from arm_control.model import ArmParameters, arm_values_in
    from arm_control.motion import trajectory_text

    path = Path(options.output)
    shared.refuse_existing_file(path, options)
    require_writable_folder(path.parent)
    robot = shared.chosen_robot(options)
    values = {**arm_values_in(options.params_file, tuple(CONTROLLERS)), **shared.arm_of(options)}
    model = ArmParameters.from_mapping(values, where=options.params_file or "excite").model(read_description(robot))
    chosen = {name: getattr(options, name) for name in ExcitationParameters.types()}
    motion = excite(
        model, ExcitationParameters.from_mapping(chosen, where="excite"), _is_free(model, options.floor), ""
    )
    about = f"An exciting motion; condition number of the regressor {motion.condition:.0f}."
    write_text(path, trajectory_text(about, robot, model.joint_names, motion.points))
    shares = zip(model.joint_names, motion.speed_share, motion.torque_share, strict=True)
    print(f"condition number of the regressor {motion.condition:.0f}\n")
    from arm_control.report import text_table

    rows = [
        ("joint", "speed", "torque"),
        *((name, f"{100 * v:.0f} %", f"{100 * tau:.0f} %") for name, v, tau in shares),
    ]
    print(f"{text_table(rows)}\n\nwrote {path}")
    return 0


def _is_free(model: RobotModel, floor: float | None) -> IsFree:
    """Whether a posture is clear of the arm itself, and of a floor."""
    import numpy as np

    from arm_control.collision import Proximity
    from arm_control.maths import Array, Box, Obstacle, Pose

    proximity = Proximity(model)
    ground = (
        () if floor is None else (Obstacle(Box((20.0, 20.0, 2.0)), Pose(np.eye(3), np.array([0.0, 0.0, floor - 1.0]))),)
    )

    def is_free(q: Array) -> bool:
        pairs = proximity.near(q, ground, FLOOR_MARGIN, MARGIN)
        counts = [own or model.tree.frames[a].body > 0 for (a, _), own in zip(pairs.names, pairs.is_self, strict=True)]
        return not any(counts)

    return is_free
