"""The momentum regressor: the equations of motion as linear functions of the bodies' inertias, without accelerations.

In Hamilton's form, with the generalised momentum ``p = M v`` and ``dM/dt = C + C^T``,

    (1)  dp/dt = tau + C^T v - g

Each term is linear in the parameters pi = (m, h, J) of the bodies: the momentum of a body is

    (2)  I V = A(V) pi,   A(V) = [v  [w]x  0; 0  -[v]x  L(w)],   L(w) (Jxx, Jxy, Jxz, Jyy, Jyz, Jzz) = J w

A body i is carried by the joints j between it and the base. X_ji takes its momentum to body j, where S_j is the joint's
axis and V_j the velocity; V_j x S_j is what V_j changes by with the joint's position. So a body adds

    (3)  to p_j          S_j . X_ji A(V_i) pi_i
    (4)  to (C^T v)_j    (V_j x S_j) . X_ji A(V_i) pi_i         as C^T v = d/dq (1/2 v^T M v)
    (5)  to g_j          S_j . X_ji A(-a_g) pi_i                a_g: acceleration of free fall in the body's frame

    V = (v, w)      velocity of a body in its own frame, linear and angular              [m/s, rad/s]
    m, h, J         mass, first moment, second moment about the frame's origin           [kg; kg m; kg m^2]
    tau, g, C       joint torque, gravity torque, Coriolis matrix                        [N m; N m; N m s/rad]

Sources: M. Gautier, W. Khalil, "On the identification of the inertial parameters of robots", 1988, for (2);
J.-J. Slotine, W. Li, "On the adaptive control of robot manipulators", 1987, for torque filtered in the form of (1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import Array, Pose, columns, rows
from arm_control.model import Frame, Inertia, SpatialMotion, Tree, axis, joint_poses, velocities, world_poses

N_PARAMETERS = 10
"""Parameters of a body: m, h (3) and J (6)."""
UPPER = np.triu_indices(3)


class BodyMotions(NamedTuple):
    """Motion of an arm in N states: one entry for each body.

    Attributes
    ----------
    R, p : list of ndarray, shape (N, 3, 3) and (N, 3)
        X_i, the pose in the parent body [m].
    v, w : list of ndarray, shape (N, 3)
        Linear and angular velocity in the body's own frame [m/s], [rad/s].
    up : list of ndarray, shape (N, 3)
        Acceleration that holds the body against free fall, in its frame: -a_g [m/s^2].
    """

    R: list[Array]
    p: list[Array]
    v: list[Array]
    w: list[Array]
    up: list[Array]


class MomentumTerms(NamedTuple):
    """Rows of (3) to (5) in N states for k parameters, shape (N, n, k) each."""

    p: Array
    CTv: Array
    g: Array


def body_motions(tree: Tree, q: Array, v: Array) -> BodyMotions:
    """Return the motion of every body."""
    n_states = len(q)
    X = joint_poses(tree, columns(q.T))
    X_W = world_poses(tree, X)
    V = velocities(tree, X, columns(v.T))
    up = [X_i.R.T @ -tree.gravity for X_i in X_W]

    def numbers(entries: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(rows(entries, n_states), -1, 0))

    return BodyMotions(
        [numbers(X_i.R) for X_i in X],
        [numbers(X_i.p) for X_i in X],
        [numbers(V_i.v) for V_i in V],
        [numbers(V_i.w) for V_i in V],
        [numbers(a) for a in up],
    )


def momentum_terms(tree: Tree, motions: BodyMotions, frame: Frame, basis: Array | None = None) -> MomentumTerms:
    """Return the part of a rigid body in (3) to (5).

    Parameters
    ----------
    frame : Frame
        Frame of the rigid body, in which its parameters are.
    basis : ndarray, shape (10, k), optional
        Combinations of the parameters m, h, J; by default each of them.

    Returns
    -------
    MomentumTerms
        Rows for k parameters.
    """
    B = np.eye(N_PARAMETERS) if basis is None else basis
    i, (R, p) = frame.body, frame.X_BF
    v, w = (motions.v[i] + np.cross(motions.w[i], p)) @ R, motions.w[i] @ R
    F = _in_parent(momentum_matrix(v, w) @ B, R, p)
    G = _in_parent(momentum_matrix(motions.up[i] @ R, np.zeros_like(w)) @ B, R, p)
    terms = MomentumTerms(*(np.zeros((len(v), tree.n, B.shape[1])) for _ in range(3)))
    for j in tree.path(i):
        body = tree.bodies[j]
        S = axis(body)
        VxS = _cross_with_axis(motions.v[j], motions.w[j], S)
        S_vector = S.vector().astype(float)
        terms.p[:, body.coordinate] += np.einsum("a,nak->nk", S_vector, F)  # (3)
        terms.CTv[:, body.coordinate] += np.einsum("na,nak->nk", VxS, F)  # (4)
        terms.g[:, body.coordinate] += np.einsum("a,nak->nk", S_vector, G)  # (5)
        F = _in_parent(F, motions.R[j], motions.p[j])
        G = _in_parent(G, motions.R[j], motions.p[j])
    return terms


def momentum_matrix(v: Array, w: Array) -> Array:
    """``A(V)`` of (2), shape (N, 6, 10).

    Parameters
    ----------
    v, w : ndarray, shape (N, 3)
        Linear and angular velocity [m/s], [rad/s].
    """
    A = np.zeros((len(v), 6, N_PARAMETERS))
    A[:, :3, 0] = v
    A[:, :3, 1:4] = _skew(w)
    A[:, 3:, 1:4] = -_skew(v)
    for k, (row, column) in enumerate(zip(*UPPER, strict=True), 4):
        A[:, 3 + row, k] += w[:, column]
        if row != column:
            A[:, 3 + column, k] += w[:, row]
    return A


def parameters_of(inertia: Inertia) -> Array:
    """Return m, h and the upper triangle of J of a body, shape (10,)."""
    return np.array([inertia.m, *inertia.h, *np.asarray(inertia.J)[UPPER]], dtype=float)


def inertia_of(parameters: Array) -> Inertia:
    """Return the body with these parameters, shape (10,)."""
    J = np.zeros((3, 3))
    J[UPPER] = parameters[4:]
    return Inertia(float(parameters[0]), parameters[1:4].copy(), J + J.T - np.diag(J.diagonal()))


def own_frame(i: int) -> Frame:
    """Return the frame of body i itself."""
    return Frame(i, Pose.identity())


def _cross_with_axis(v: Array, w: Array, S: SpatialMotion) -> Array:
    """``V x S``, shape (N, 6)."""
    s_v, s_w = S.v.astype(float), S.w.astype(float)
    return np.hstack([np.cross(w, s_v) + np.cross(v, s_w), np.cross(w, s_w)])


def _in_parent(F: Array, R: Array, p: Array) -> Array:
    """Forces, shape (N, 6, k), in the parent's frame: ``(R f, R n + p x R f)``."""
    f, n = R @ F[:, :3], R @ F[:, 3:]
    return np.concatenate([f, n + _skew(np.broadcast_to(p, (len(F), 3))) @ f], axis=1)


def _skew(x: Array) -> Array:
    """Matrices of the cross product, shape (N, 3, 3)."""
    result = np.zeros((len(x), 3, 3))
    result[:, 0, 1], result[:, 0, 2], result[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    return result - result.swapaxes(1, 2)
