"""Arms of several makers, for campaigns: of this package, and of example-robot-data where that is installed."""

from __future__ import annotations

from functools import cache

from pinocchio_calls import EXAMPLES

from arm_control import RobotModel, urdf_path

ARMS = {
    "ur5": ("", "tool0"),
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand"),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "link_eef"),
    "kinova": ("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),
    "planar2": ("", None),
    "planar3": ("", None),
}
"""File below example-robot-data (empty: an arm of this package), tip."""


@cache
def load(name: str) -> RobotModel:
    """Return the model of an arm."""
    file, tip = ARMS[name]
    return RobotModel.from_urdf(EXAMPLES / file if file else urdf_path(name), tip=tip)
