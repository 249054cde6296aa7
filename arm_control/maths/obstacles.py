"""Obstacles: shape, pose and velocity; and their numbers in the laws of distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array, Pose
from arm_control.maths.shapes import Box, Capsule, Cone, Shape, Sphere

TYPES = ("sphere", "box", "turned", "capsule")
PLACE, CENTRE, SIZE, EXTENT, TWIST = slice(0, 9), slice(9, 12), slice(12, 15), slice(15, 16), slice(16, 22)
N_NUMBERS = 22
"""Numbers of an obstacle: its R_WO; its origin; its sizes (radius and half length,
half edges, or radii below and above and half length); its extent; the twist of the point at the world's origin."""


@dataclass(frozen=True)
class Obstacle:
    """An obstacle in the world.

    Attributes
    ----------
    shape : Shape
        Its shape.
    X_WO : Pose
        Its pose.
    V_WO : ndarray, shape (6,)
        Twist of its origin, linear [m/s] and angular [rad/s], world axes; at rest by default.
    """

    shape: Shape
    X_WO: Pose
    V_WO: Array | tuple[float, ...] = (0.0,) * 6

    def __post_init__(self) -> None:
        for name, values, shape in (("R", self.X_WO.R, (3, 3)), ("p", self.X_WO.p, (3,)), ("V_WO", self.V_WO, (6,))):
            if np.shape(values) != shape or not np.isfinite(values).all():
                raise InputError(f"obstacle: {name} is {values}; {shape} finite numbers are needed")

    @property
    def type(self) -> str:
        """One of TYPES: the law of its distance."""
        match self.shape:
            case Sphere():
                return "sphere"
            case Box():
                return "box"
            case Capsule():
                return "capsule"
        return "turned"

    @cached_property
    def numbers(self) -> Array:
        """Numbers in the laws of distance, shape (N_NUMBERS,)."""
        x, y, z = self.X_WO.p
        vx, vy, vz, wx, wy, wz = (float(value) for value in self.V_WO)
        match self.shape:
            case Sphere(radius):
                size: tuple[float, ...] = (radius, 0.0, 0.0)
            case Box(edges):
                size = tuple(0.5 * edge for edge in edges)
            case Capsule(radius, length):
                size = (radius, length / 2, 0.0)
            case shape:
                size = (shape.radius, 0.0 if isinstance(shape, Cone) else shape.radius, shape.length / 2)
        at_origin = vx - wy * z + wz * y, vy - wz * x + wx * z, vz - wx * y + wy * x
        return np.array([*np.ravel(self.X_WO.R), x, y, z, *size, self.shape.extent, *at_origin, wx, wy, wz])
