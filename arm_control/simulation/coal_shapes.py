"""Shapes and distances in coal, for checks by other means than this package's own kernels."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np

from arm_control.collision import Hull
from arm_control.exceptions import ModelError
from arm_control.maths import Box, Capsule, Cone, Cylinder, Pose, Shape, Sphere, rotation_with_z
from arm_control.model import LinkCapsule

SHORTEST = 1e-12
"""Length of a capsule below which it is a ball [m]."""
TOLERANCES, NOT_FOUND = (1e-10, 1e-6), -1e6
"""Of the search for nearest points; where that fails, which gives a distance below NOT_FOUND [m], the next."""
MOST_STEPS = 1000
"""Steps of one search."""


def coal_shape(shape: Shape | Hull) -> Any:
    """Return the same shape in coal.

    Raises
    ------
    ModelError
        When coal has no such shape.
    """
    match shape:
        case Hull(triangles):
            corners = coal.StdVec_Vec3s()
            corners.extend(list(triangles.reshape(-1, 3)))
            return coal.Convex.convexHull(corners, True, "Qt")
        case Sphere(radius):
            return coal.Sphere(radius)
        case Box(size):
            return coal.Box(*size)
        case Cylinder(radius, length):
            return coal.Cylinder(radius, length)
        case Cone(radius, length):
            return coal.Cone(radius, length)
        case Capsule(radius, length):
            return coal.Capsule(radius, length)
    raise ModelError(f"{shape}: no shape of coal")


def coal_capsule(capsule: LinkCapsule, X: Pose) -> tuple[Any, Pose]:
    """Return a capsule of a link in coal, a ball where it has no length, and its pose.

    Parameters
    ----------
    X : Pose
        Of the frame in which its ends are given.
    """
    a, b = (X.R @ end + X.p for end in (capsule.a, capsule.b))
    length = float(np.linalg.norm(b - a))
    if length < SHORTEST:
        return coal.Sphere(capsule.radius), Pose(np.eye(3), (a + b) / 2)
    return coal.Capsule(capsule.radius, length), Pose(rotation_with_z((b - a) / length), (a + b) / 2)


class CoalDistance:
    """Distance of two shapes; negative within each other.

    Each search starts anew: what Pinocchio's own functions keep of a pair from one call to the next makes some of their
    results wrong, by centimetres.
    """

    def __init__(self) -> None:
        self._requests, self._result = [_request(tolerance) for tolerance in TOLERANCES], coal.DistanceResult()

    def __call__(self, one: Any, X: coal.Transform3s, other: Any, Y: coal.Transform3s) -> float:
        """Return the distance [m].

        Parameters
        ----------
        X, Y : coal.Transform3s
            Their poses in a common frame.
        """
        for request in self._requests:
            self._result.clear()
            distance = float(coal.distance(one, X, other, Y, request, self._result))
            if distance > NOT_FOUND:
                break
        return distance


def _request(tolerance: float) -> coal.DistanceRequest:
    request = coal.DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = tolerance, MOST_STEPS
    return request
