"""Obstacles: shape, pose and velocity; their numbers in the laws of distance; where they are in time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths.hulls import Hull, Shape
from arm_control.maths.poses import Pose, rotation_from_vector
from arm_control.maths.scalars import Array
from arm_control.maths.shapes import Box, Capsule, Cone, Sphere

TYPES = ("sphere", "box", "turned", "capsule", "hull")
PLACE, CENTRE, SIZE, EXTENT, TWIST = slice(0, 9), slice(9, 12), slice(12, 15), slice(15, 16), slice(16, 22)
N_NUMBERS = 22
"""Numbers of an obstacle: its R_WO; its origin; its sizes (radius and half length,
half edges, or radii below and above and half length); its extent; the twist of the point at the world's origin."""


@dataclass(frozen=True)
class Obstacle:
    """An obstacle in the world.

    Attributes
    ----------
    V_WO : ndarray, shape (6,)
        Twist of its origin, linear [m/s] and angular [rad/s], world axes; at rest by default.
    """

    shape: Shape
    X_WO: Pose
    V_WO: Array | tuple[float, ...] = (0.0,) * 6

    def __post_init__(self) -> None:
        if not isinstance(self.X_WO, Pose):
            raise InputError(f"obstacle: X_WO is {self.X_WO!r:.80}; a Pose is needed, such as Pose.at([x, y, z])")
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
            case Hull():
                return "hull"
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
            case Hull():
                size = (0.0, 0.0, 0.0)
            case shape:
                size = (shape.radius, 0.0 if isinstance(shape, Cone) else shape.radius, shape.length / 2)
        at_origin = vx - wy * z + wz * y, vy - wz * x + wx * z, vz - wx * y + wy * x
        return np.array([*np.ravel(self.X_WO.R), x, y, z, *size, self.shape.extent, *at_origin, wx, wy, wz])


# -- in motion


@dataclass(frozen=True)
class Span:
    """Time from the begin to the end of an obstacle or a push.

    Attributes
    ----------
    begin, end : float
        Begin, included, and end, excluded [s]; a moving obstacle starts at ``begin``.
    """

    begin: float = 0.0
    end: float = math.inf

    def holds(self, t: float) -> bool:
        """Return whether a time [s] is in the span."""
        return self.begin <= t < self.end


@dataclass(frozen=True)
class Mover:
    """An obstacle with constant velocity.

    Attributes
    ----------
    obstacle : Obstacle
        The obstacle when it appears.
    is_solid : bool
        Whether the end effector of a simulated arm touches it; it must not move, appear or vanish.
    """

    obstacle: Obstacle
    span: Span
    is_solid: bool = False

    def at(self, t: float) -> Obstacle:
        """Return the obstacle at a time [s]."""
        V = np.asarray(self.obstacle.V_WO)
        if not V.any():
            return self.obstacle
        motion = (t - self.span.begin) * V
        X = self.obstacle.X_WO
        R = rotation_from_vector(motion[3:]) @ X.R if V[3:].any() else X.R
        return Obstacle(self.obstacle.shape, Pose(R, X.p + motion[:3]), V)
