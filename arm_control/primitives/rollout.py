"""Rollouts: a motion that a primitive makes, at some times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.motion import JointReference, Reference
from arm_control.primitives.orientation import rotation_motion


@dataclass(frozen=True)
class Rollout:
    """Coordinates of a primitive at some times.

    Attributes
    ----------
    times : ndarray, shape (N,)
        Times from the start [s].
    q, v, a : ndarray, shape (N, n)
        Coordinates, velocities and accelerations: of joints; of a link's position; or of position and rotation vector.
    R_ref : ndarray, shape (3, 3), or None
        Orientation that the rotation vectors are about; None where there is none.
    """

    times: Array
    q: Array
    v: Array
    a: Array
    R_ref: Array | None = None

    def joint_reference(self, i: int) -> JointReference:
        """Return the reference of the joints at the i-th time."""
        return JointReference(self.q[i], self.v[i], self.a[i])

    def reference(self, i: int) -> Reference:
        """Return the reference of the end effector at the i-th time, in the primitive's frame.

        Raises
        ------
        InputError
            When the primitive has no orientation.
        """
        if self.R_ref is None:
            raise InputError("a rollout without orientation: its coordinates are q, v and a")
        R, omega, alpha = rotation_motion(self.q[i, 3:], self.v[i, 3:], self.a[i, 3:])
        X = Pose(R @ self.R_ref, self.q[i, :3])
        return Reference(X, np.concatenate([self.v[i, :3], omega]), np.concatenate([self.a[i, :3], alpha]))

    def pose(self, i: int) -> Pose:
        """Return the pose at the i-th time; see :meth:`reference`."""
        return self.reference(i).X_WT
