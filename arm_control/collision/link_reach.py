"""How fast joints change the distance of a link from something.

The distance of a capsule from anything is that of its segment, less its radius. A joint j that turns by dq moves no
point of the segment further than reach_j |dq|, where reach_j is the largest distance of the joint's axis from an end of
the segment, in any posture. From an end inwards, a ball of radius rho around c, at first the end itself, seen from the
body that joint j carries, with c_xy the part of c across the axis z:

    (1)  reach_j = |c_xy| + rho,       then the ball around all turned balls:  c <- (0, 0, c_z),  rho <- reach_j,

seen from the body before. A prismatic joint has reach 1; the ball grows by half of its travel.

Between two links it does not matter which of them moves: seen from link g, joint j moves link h, seen from link h it
moves link g. Their distance changes by the smaller one of both:

    (2)  reach_j = min(reach_j of g, reach_j of h)

Source for (1): F. Schwarzer, M. Saha, J.-C. Latombe, "Adaptive dynamic collision checking for single and multiple
articulated robots in complex environments", IEEE Trans. Robotics 21 (2005), section IV.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import Array
from arm_control.model import Body, Tree

WORLD = -1
"""Number of the body that everything else moves against."""


class _Ball(NamedTuple):
    """All places of a point, seen from a body: centre, shape (3,), and radius [m]."""

    centre: Array
    radius: float


def joint_reach(tree: Tree, travel: Array, body: int, point: Array, other: int = WORLD) -> Array:
    """Largest distance of a point from the axis of each joint between two bodies, in any posture.

    Parameters
    ----------
    tree : Tree
    travel : ndarray, shape (n, 2)
        Limits of the joint positions [rad or m].
    body : int
        The body that the point is fixed to; -1 for the world.
    point : ndarray, shape (3,)
        In the body's frame [m].
    other : int
        The other body.

    Returns
    -------
    ndarray, shape (n_bodies,)
        [m]; 1 for a prismatic joint, 0 for a joint that is not between the bodies.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> travel = np.stack([model.q_min, model.q_max], axis=1)
    >>> joint_reach(model.tree, travel, 1, np.array([0.5, 0.0, 0.0])).round(6).tolist()
    [0.81, 0.5]
    """
    reach = np.zeros(len(tree.bodies))
    of_body, of_other = tree.path(body), tree.path(other)
    ball = _Ball(point, 0.0)
    for k in of_body:
        if k not in of_other:
            joint = tree.bodies[k]
            reach[k], ball = _across(joint, travel, ball, 1.0)
            ball = _Ball(joint.X_PJ.R @ ball.centre + joint.X_PJ.p, ball.radius)
    for k in reversed(of_other):
        if k not in of_body:
            joint = tree.bodies[k]
            ball = _Ball(joint.X_PJ.R.T @ (ball.centre - joint.X_PJ.p), ball.radius)
            reach[k], ball = _across(joint, travel, ball, -1.0)
    return reach


def _across(joint: Body, travel: Array, ball: _Ball, direction: float) -> tuple[float, _Ball]:
    """Equation (1): the reach of one joint, and the ball on its other side, outwards where the direction is -1."""
    x, y, z = ball.centre
    if not joint.is_prismatic:
        reach = ball.radius + float(np.hypot(x, y))
        return reach, _Ball(np.array([0.0, 0.0, z]), reach)
    low, high = sorted(travel[joint.coordinate] * joint.ratio + joint.offset)
    middle = (low + high) / 2.0 if np.isfinite(low + high) else 0.0
    return 1.0, _Ball(np.array([x, y, z + direction * middle]), ball.radius + (high - low) / 2.0)
