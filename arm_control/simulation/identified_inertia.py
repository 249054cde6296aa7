"""Identified inertias for MuJoCo, which refuses a body that breaks the triangle inequality, even by rounding.

It refuses it only while it compiles. So it compiles such an arm with a possible inertia in each such link, and gets the
inertia of each body from the model afterwards.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

from arm_control.maths import Array, quaternion_from_rotation
from arm_control.model import RobotModel, principal_moments, read_robot

MARGIN = 1e-9
"""Share of the largest principal moment that MuJoCo must have to spare."""


def possible_inertias(text: str) -> tuple[str, bool]:
    """Replace each inertia that no body can have.

    Parameters
    ----------
    text : str
        A checked URDF.

    Returns
    -------
    text : str
        The URDF, in which such an inertia is that of a ball with the same trace.
    is_changed : bool
        Whether there was one.
    """
    robot, is_changed = read_robot(text), False
    for inertia in robot.iterfind("link/inertial/inertia"):
        moments = np.array(principal_moments(inertia))
        if not is_possible(moments):
            moment = repr(float(np.abs(moments).sum() / 3.0))
            inertia.attrib.update(ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0")
            is_changed = True
    return (ElementTree.tostring(robot, encoding="unicode"), True) if is_changed else (text, False)


def is_possible(moments: Array) -> bool:
    """Whether principal moments (3,), ascending [kg m^2], are clearly those of a body, or all zero."""
    low, middle, high = moments
    return not moments.any() or bool(low > MARGIN * high and low + middle > (1.0 + MARGIN) * high)


def set_inertias(model: RobotModel, mujoco_model: Any) -> None:
    """Give every moving body of MuJoCo the mass and inertia of the model.

    Parameters
    ----------
    model : RobotModel
        The arm.
    mujoco_model : mujoco.MjModel
        MuJoCo's model of it, with a body for each joint.
    """
    for joint, body in zip(model.joint_names, model.tree.bodies, strict=True):
        link = model.urdf.robot.joint_map[joint].child
        inertia = body.inertia.in_parent(model.tree.frames[link].X_BF.inverse())
        centre = inertia.h / inertia.m if inertia.m > 0.0 else np.zeros(3)
        J = inertia.J - inertia.m * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        moments, axes = np.linalg.eigh(J)
        axes[:, 0] *= np.linalg.det(axes)
        x, y, z, w = quaternion_from_rotation(axes)
        target = mujoco_model.body(link)
        target.mass[:], target.ipos[:], target.inertia[:], target.iquat[:] = inertia.m, centre, moments, (w, x, y, z)
