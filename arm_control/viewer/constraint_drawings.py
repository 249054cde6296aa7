"""Constraints as drawings: planes, boxes, cylinders, and cones at the hand; other kinds have no shape."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator

import numpy as np

from arm_control.constraints import (
    HAND,
    BoxConstraint,
    Constraint,
    CylinderConstraint,
    HalfSpaceConstraint,
    UprightConstraint,
    vector,
)
from arm_control.maths import Array, Pose, rotation_from_rpy, rotation_with_z
from arm_control.model import RobotModel
from arm_control.viewer.arm_shapes import Mesh, revolved
from arm_control.viewer.drawings import Drawing

QUIET, ACTING = (0.1, 0.45, 0.75, 0.18), (0.9, 0.25, 0.1, 0.3)
"""Colours of a constraint that holds by itself, and of one that changes commands."""
SIDE = 1.6
"""Side of the square that is drawn of a plane, and length of a cylinder [m]."""
MIDDLE = np.array([0.0, 0.0, 0.5])
"""The place that is nearest to the middle of both [m]."""
SLANT = 0.2
"""Length of the side of a cone, and of the axis in it [m]."""
SIGNS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def drawings_of_constraints(
    constraints: Iterable[Constraint], active: Collection[str], model: RobotModel, q: Array
) -> dict[Hashable, Drawing]:
    """Return drawings of constraints, in the frame of the base.

    Parameters
    ----------
    active : collection of str
        Names of those that change commands.
    q : ndarray, shape (nq,)
        Joint positions [rad or m].

    Raises
    ------
    ParameterError
        When an axis is none.
    """
    return {
        ("constraint", c.name, i): drawing
        for c in constraints
        for i, drawing in enumerate(_drawings(c, ACTING if c.name in active else QUIET, model, q))
    }


def _drawings(c: Constraint, rgba: tuple[float, ...], model: RobotModel, q: Array) -> Iterator[Drawing]:
    if isinstance(c, HalfSpaceConstraint):
        *n, distance = c.numbers[0]
        corners = 0.5 * SIDE * np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, 1, 0], [-1, -1, 0], [1, -1, 0]])
        foot = MIDDLE + (distance - MIDDLE @ n) * np.array(n)
        yield Drawing("mesh", Pose(rotation_with_z(np.array(n)), foot), corners, rgba)
    elif isinstance(c, BoxConstraint):
        pairs = [(a, b) for a in SIGNS for b in SIGNS if np.count_nonzero(a != b) == 1 and a.sum() < b.sum()]
        X = Pose(np.asarray(rotation_from_rpy(c.rpy), dtype=float), np.array(c.centre, dtype=float))
        yield Drawing("lines", X, np.array(pairs).reshape(-1, 3) * (0.5 * np.array(c.size)), rgba, is_movable=True)
    elif isinstance(c, CylinderConstraint):
        numbers = np.array(c.numbers[0])
        p, z, radius = numbers[:3], numbers[3:6], float(numbers[6])
        X = Pose(rotation_with_z(z), p + (z @ (MIDDLE - p)) * z)
        yield Drawing("mesh", X, _triangles(revolved([[(radius, -0.5 * SIDE), (radius, 0.5 * SIDE)]])), rgba)
    elif isinstance(c, UprightConstraint) and c.of in (HAND, *model.frames):
        X, up = model.pose(q, None if c.of == HAND else c.of), np.array(c.numbers[0][:3])
        cone = revolved([[(0.0, 0.0), (SLANT * math.sin(c.angle), SLANT * math.cos(c.angle))]])
        yield Drawing("mesh", Pose(rotation_with_z(up), X.p), _triangles(cone), rgba)
        for axis in c.points:
            yield Drawing("lines", X, np.array([[0.0, 0.0, 0.0], vector("points", axis)]) * SLANT, rgba)


def _triangles(mesh: Mesh) -> Array:
    return mesh.corners[mesh.faces.ravel()]
