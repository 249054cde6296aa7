"""A branch of the tree as a motion in time, and its proof.

Between the ends of two steps, a time T apart, the joints follow the polynomial with the positions and the derivatives
that the motion law has there,

    q_dot = rate q_r,    q_ddot = rate^2 q_rr + a q_r

a quintic of a dynamic plan, and a cubic, without q_ddot, of a kinematic one. The task holds at both ends with one or
two derivatives, so that its error in between falls with T^4 or T^6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import Array
from arm_control.motion import JointTrajectory, quintic
from arm_control.planning.task_constrained.edges import Integers
from arm_control.planning.task_constrained.task_tree import TaskTree


class TaskMotion(NamedTuple):
    """A motion along the task path.

    Attributes
    ----------
    joints : JointTrajectory
        q(t).
    progress : JointTrajectory
        s(t), as of one joint.
    """

    joints: JointTrajectory
    progress: JointTrajectory


def motion_of(tree: TaskTree, branch: Integers, levels: int, is_dynamic: bool) -> TaskMotion:
    """Return the motion along a branch.

    Parameters
    ----------
    tree : TaskTree
    branch : ndarray of int, shape (k,)
        Numbers of its vertices.
    levels : int
        Number of pieces of the task path.
    is_dynamic : bool
        Whether accelerations are continuous along an edge.
    """
    q, q_r, q_rr = (tree[name][branch] for name in ("edge_q", "edge_q_r", "edge_q_rr"))
    rate, t, a = tree["edge_rate"][branch], tree["edge_t"][branch], tree["thrust"][branch]
    direction, n = tree["direction"][branch], q.shape[2]
    qd, qdd = rate[..., None] * q_r, rate[..., None] ** 2 * q_rr + a[:, None, None] * q_r
    T = np.diff(t, axis=1)[..., None]
    begin, end = slice(None, -1), slice(1, None)
    if is_dynamic:
        pieces = quintic(q[:, begin], qd[:, begin], qdd[:, begin], q[:, end], qd[:, end], qdd[:, end], T)
    else:
        pieces = _cubic(q[:, begin], qd[:, begin], q[:, end], qd[:, end], T)
    knots = np.concatenate([[t[0, 0]], t[:, 1:].ravel()])
    s = np.zeros((len(branch), T.shape[1], 6, 1))
    first = tree["level"][branch] - direction
    shares = np.arange(T.shape[1]) / T.shape[1]
    s[:, :, 0, 0] = (first[:, None] + direction[:, None] * shares) / levels
    s[:, :, 1, 0] = direction[:, None] * rate[:, :-1]
    s[:, :, 2, 0] = 0.5 * (direction * a)[:, None]
    return TaskMotion(JointTrajectory(knots, pieces.reshape(-1, 6, n)), JointTrajectory(knots, s.reshape(-1, 6, 1)))


def _cubic(q0: Array, v0: Array, q1: Array, v1: Array, T: Array) -> Array:
    """Coefficients of cubics, shape (..., 6, n)."""
    D = q1 - q0
    zero = np.zeros_like(q0)
    c2 = 3.0 * D / T**2 - (2.0 * v0 + v1) / T
    c3 = -2.0 * D / T**3 + (v0 + v1) / T**2
    return np.stack([q0, v0, c2, c3, zero, zero], axis=-2)
