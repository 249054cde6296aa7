"""A tool or payload at the tip of an arm: another end effector frame, and more inertia."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import ModelError
from arm_control.maths import Array, Pose
from arm_control.model.spatial_vectors import Inertia
from arm_control.model.urdf.checks import TRIANGLE_TOLERANCE

ROTATION_TOLERANCE = 1e-9
"""Largest entry of ``R R^T - 1`` that counts as rounding."""


@dataclass(frozen=True)
class Tool:
    """A rigid body fixed to the tip, described in the frame of the tip's link E.

    Parameters
    ----------
    mass : float
        Mass [kg]; zero for a frame without mass.
    centre : array_like, shape (3,)
        Centre of mass [m].
    inertia : array_like, shape (3, 3)
        Inertia about the centre of mass [kg m^2]; zero for a point mass.
    X_ET : Pose
        Pose of the tool's tip T in E: the end effector while the tool is attached.

    Raises
    ------
    ModelError
        When a number is not finite, the inertia is physically impossible, or ``X_ET.R`` is not a rotation.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> g = model.gravity(np.zeros(6))
    >>> model.attach(Tool(mass=1.0, centre=(0.0, 0.0, 0.05)))
    >>> (model.gravity(np.zeros(6)) - g).round(3) + 0.0  # 9.81 N at 0.817 m from the shoulder
    array([ 0.   , -8.017, -3.848,  0.   ,  0.   ,  0.   ])
    """

    mass: float = 0.0
    centre: npt.ArrayLike = (0.0, 0.0, 0.0)
    inertia: npt.ArrayLike = field(default_factory=lambda: np.zeros((3, 3)))
    X_ET: Pose = field(default_factory=Pose.identity)

    def __post_init__(self) -> None:
        c, J = self._arrays()
        numbers = [self.mass, *c, *J.ravel(), *np.ravel(self.X_ET.R), *np.ravel(self.X_ET.p)]
        if not np.isfinite(numbers).all():
            raise ModelError("a tool has a number that is not finite; allowed: finite numbers")
        R = np.asarray(self.X_ET.R, dtype=float)
        if not (np.allclose(R @ R.T, np.eye(3), rtol=0, atol=ROTATION_TOLERANCE) and np.linalg.det(R) > 0.0):
            raise ModelError(f"a tool's X_ET.R is {R.tolist()}; allowed: a rotation")
        low, middle, high = np.linalg.eigvalsh(J)
        is_possible = low >= -1e-12 * high and low + middle >= (1.0 - TRIANGLE_TOLERANCE) * high
        if not np.allclose(J, J.T, rtol=0, atol=1e-12 * max(high, 1e-300)) or not is_possible:
            raise ModelError(
                f"a tool's moments of inertia are {low:g}, {middle:g}, {high:g} kg m^2, which is physically impossible"
            )
        if self.mass < 0.0 or (self.mass == 0.0 and high > 0.0):
            raise ModelError(f"a tool's mass is {self.mass:g} kg with an inertia up to {high:g} kg m^2")

    def _arrays(self) -> tuple[Array, Array]:
        c, J = np.asarray(self.centre, dtype=float), np.asarray(self.inertia, dtype=float)
        if c.shape != (3,) or J.shape != (3, 3):
            raise ModelError(f"a tool's centre has shape {c.shape}, its inertia {J.shape}; allowed: (3,) and (3, 3)")
        if np.shape(self.X_ET.R) != (3, 3) or np.shape(self.X_ET.p) != (3,):
            shapes = f"{np.shape(self.X_ET.R)} and {np.shape(self.X_ET.p)}"
            raise ModelError(f"a tool's X_ET has R and p of shapes {shapes}; allowed: (3, 3) and (3,)")
        return c, J

    def numbers(self) -> tuple[Pose, Inertia]:
        """The tool for the recursions: the pose X_ET as arrays, and the inertia in E."""
        c, J = self._arrays()
        body = Inertia(self.mass, np.zeros(3), J)
        X_ET = Pose(np.asarray(self.X_ET.R, dtype=float), np.asarray(self.X_ET.p, dtype=float))
        return X_ET, body.in_parent(Pose(np.eye(3), c))
