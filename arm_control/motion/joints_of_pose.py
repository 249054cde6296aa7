"""Joint positions for a target of the end effector: what a controller of joints makes of a pose."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Pose, rotation_vector
from arm_control.model import RobotModel
from arm_control.motion.goals import Target


class JointsOfPose:
    """Inverse kinematics of the targets of an arm, compiled when it is first needed.

    Parameters
    ----------
    model : RobotModel
        The arm.
    """

    def __init__(self, model: RobotModel) -> None:
        self._model = model

    def prepare(self) -> None:
        """Compile it, which takes longer than a tick."""
        model = self._model
        self._inverse_kinematics.solve(model.pose(np.clip(np.zeros(model.nq), model.q_min, model.q_max)))

    def solve(self, target: Target, q: Array, near: Array) -> Array:
        """Return joint positions at which the end effector is at a target, shape (nq,) [rad or m].

        Parameters
        ----------
        target : Target
            The target.
        q : ndarray, shape (nq,)
            Measured positions, for the frame of the target [rad or m].
        near : ndarray, shape (nq,)
            Positions to which the result is near [rad or m].

        Raises
        ------
        InputError
            When no joint positions within the limits are found.
        """
        X_WT = self._model.pose(q, target.frame) @ target.X_FT
        result = self._inverse_kinematics.solve(X_WT, near)
        if not result.converged:
            X_WE = self._model.pose(result.q)
            raise InputError(
                f"pose at {X_WT.p.round(3).tolist()} m: no joint positions within the limits; the nearest found are"
                f" {1e3 * np.linalg.norm(X_WT.p - X_WE.p):.0f} mm and {_degrees_between(X_WE, X_WT):.0f} degrees away"
            )
        return result.q

    @cached_property
    def _inverse_kinematics(self) -> InverseKinematics:
        return InverseKinematics(self._model)


def _degrees_between(X_WA: Pose, X_WB: Pose) -> float:
    """Angle between two orientations [deg]."""
    return float(np.degrees(np.linalg.norm(rotation_vector(X_WA.R.T @ X_WB.R))))
