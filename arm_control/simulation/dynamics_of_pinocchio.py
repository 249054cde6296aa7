"""Pinocchio's functions for :mod:`arm_control.simulation.compared_dynamics`."""

from __future__ import annotations

import sys

import numpy as np

from arm_control.exceptions import ModelError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.simulation.compared_dynamics import Dynamics

try:
    import pinocchio as pin

    from arm_control.model import PinocchioBackEnd
except ImportError as error:
    raise ModelError(f"Pinocchio is not installed: {sys.executable} -m pip install pin") from error

PINOCCHIO_VERSION: str = pin.__version__


def pinocchio_dynamics(model: RobotModel) -> Dynamics:
    """Return Pinocchio's functions for an arm: its own algorithms, and nothing around them.

    Raises
    ------
    ModelError
        When its joints are others, or in another order: where a joint mimics another one, or the arm has branches.
    """
    arm = PinocchioBackEnd(model.tree, model.urdf.text)
    if not np.array_equal(arm.G, np.eye(model.nv)):
        raise ModelError("Pinocchio has other joint coordinates: a joint mimics another one, or the arm has branches")
    theirs, tip, axes = arm.model, arm.tip_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    theirs.frames[tip].placement = pin.SE3(*_tip_on_its_joint(arm, model))
    theirs.armature = model.armature
    data = theirs.createData()
    return {
        "M": lambda q, v, tau: pin.crba(theirs, data, q),
        "h": lambda q, v, tau: pin.nonLinearEffects(theirs, data, q, v),
        "g": lambda q, v, tau: pin.computeGeneralizedGravity(theirs, data, q),
        "J": lambda q, v, tau: pin.computeFrameJacobian(theirs, data, q, tip, axes),
        "a": lambda q, v, tau: pin.aba(theirs, data, q, v, tau),
    }


def _tip_on_its_joint(arm: PinocchioBackEnd, model: RobotModel) -> tuple[Array, Array]:
    """Pose of the tip's link in the frame of the joint that carries it, as Pinocchio reads it."""
    placement = arm.model.frames[arm.model.getFrameId(model.tip, pin.FrameType.BODY)].placement
    return placement.rotation.copy(), placement.translation.copy()
