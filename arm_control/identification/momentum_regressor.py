"""Rigid bodies by ten numbers: the equations of motion as linear functions of them, without accelerations.

In Hamilton's form, with the generalised momentum ``p = M v`` and ``dM/dt = C + C^T``,

    (1)  dp/dt = tau + C^T v - g

Each term is linear in the parameters pi = (m, h, J) of the bodies: the momentum of a body is

    (2)  I V = A(V) pi,   A(V) = [v  [w]x  0; 0  -[v]x  L(w)],   L(w) (Jxx, Jxy, Jxz, Jyy, Jyz, Jzz) = J w

A body i is carried by the joints j between it and the base. X_ji takes its momentum to body j, where S_j is the joint's
axis and V_j the velocity; V_j x S_j is what V_j changes by with the joint's position. So a body adds

    (3)  to p_j          S_j . X_ji A(V_i) pi_i
    (4)  to (C^T v)_j    (V_j x S_j) . X_ji A(V_i) pi_i         as C^T v = d/dq (1/2 v^T M v)
    (5)  to g_j          S_j . X_ji A(-a_g) pi_i                a_g: acceleration of free fall in the body's frame

A search for bodies has parameters that are physically consistent whatever their numbers are.
A body is possible where its pseudo-inertia is positive definite,

    (6)  P = [Sigma  h; h^T  m],   Sigma = 1/2 tr(J) 1 - J          so that   J = tr(Sigma) 1 - Sigma

which holds for masses above zero and moments that keep the triangle inequality, and for no others. Near a body with
P_0 = L_0 L_0^T, a URDF's, each possible body is

    (7)  P = L_0 U U^T L_0^T,   U lower triangular, U_ii = exp(x_ii),   x = 0 at the URDF's

and x measures how far it is from there, whatever the units and the frame: x_ii is half a relative change. A payload is
a point mass:

    (8)  m,   h = m c,   J = m (c.c 1 - c c^T)

    V = (v, w)      velocity of a body in its own frame, linear and angular              [m/s, rad/s]
    m, h, J         mass, first moment, second moment about the frame's origin           [kg; kg m; kg m^2]
    tau, g, C       joint torque, gravity torque, Coriolis matrix                        [N m; N m; N m s/rad]
    c               centre of mass                                                       [m]

Sources: M. Gautier, W. Khalil, "On the identification of the inertial parameters of robots", 1988, for (2);
J.-J. Slotine, W. Li, "On the adaptive control of robot manipulators", 1987, for torque filtered in the form of (1);
P. Wensing, S. Kim, J.-J. Slotine, "Linear matrix inequalities for physically-consistent inertial parameter
identification", 2018, for (6); C. Rucker, P. Wensing, "Smooth parameterization of rigid-body inertia", 2022, for (7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

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


def momentum_terms(tree: Tree, motions: BodyMotions, frame: Frame, basis: Array | None = None) -> Array:
    """Return the part of a rigid body in p, C^T v and g, (3) to (5): rows for k parameters, shape (3, N, n, k).

    Parameters
    ----------
    frame : Frame
        Frame of the rigid body, in which its parameters are.
    basis : ndarray, shape (10, k), optional
        Combinations of the parameters m, h, J; by default each of them.
    """
    B = np.eye(N_PARAMETERS) if basis is None else basis
    i, (R, p) = frame.body, frame.X_BF
    v, w = (motions.v[i] + np.cross(motions.w[i], p)) @ R, motions.w[i] @ R
    F = _in_parent(momentum_matrix(v, w) @ B, R, p)
    G = _in_parent(momentum_matrix(motions.up[i] @ R, np.zeros_like(w)) @ B, R, p)
    terms = np.zeros((3, len(v), tree.n, B.shape[1]))
    for j in tree.path(i):
        body = tree.bodies[j]
        S = axis(body)
        VxS = _cross_with_axis(motions.v[j], motions.w[j], S)
        S_vector = S.vector().astype(float)
        terms[0, :, body.coordinate] += np.einsum("a,nak->nk", S_vector, F)  # (3)
        terms[1, :, body.coordinate] += np.einsum("na,nak->nk", VxS, F)  # (4)
        terms[2, :, body.coordinate] += np.einsum("a,nak->nk", S_vector, G)  # (5)
        F = _in_parent(F, motions.R[j], motions.p[j])
        G = _in_parent(G, motions.R[j], motions.p[j])
    return terms


def momentum_matrix(v: Array, w: Array) -> Array:
    """``A(V)`` of (2), shape (N, 6, 10), for velocities v, w, shape (N, 3) [m/s, rad/s]."""
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


LARGEST_CENTRE = 1.0
"""Bound of each coordinate of a payload's centre of mass [m]."""
CENTRE_DEVIATION = 0.2
"""Expected size of them [m]: decides where the recording does not tell."""
MASS_DEVIATION = 100.0
"""The same of a payload's mass [kg]: the recording tells."""
INERTIA_DEVIATION = 0.3
"""Expected size of x in (7)."""
THINNEST = 5e-3
"""Smallest radius of gyration of a link in (7) [m]: makes rods, plates and point masses bodies."""
LOWER = tuple(np.argwhere(np.tri(4) > 0.0).T)
"""Rows and columns of the entries x of U."""


class BodyParameters(Protocol):
    """Free parameters x of rigid bodies.

    Attributes
    ----------
    start, low, high, deviation : ndarray, shape (k,)
        Where a search begins, bounds, and the expected distance from the start.
    """

    start: Array
    low: Array
    high: Array
    deviation: Array

    def numbers(self, x: Array) -> Array:
        """Return m, h and J of all bodies, shape (10 n_bodies,)."""

    def jacobian(self, x: Array) -> Array:
        """Return the derivative of :meth:`numbers`, shape (10 n_bodies, k)."""


class PointMass:
    """A payload: x = (m, c), equation (8).

    Examples
    --------
    >>> PointMass().numbers(np.array([2.0, 0.0, 0.0, 0.1])).round(3)
    array([2.  , 0.  , 0.  , 0.2 , 0.02, 0.  , 0.  , 0.02, 0.  , 0.  ])
    """

    start = np.array([1.0, 0.0, 0.0, 0.0])
    low = np.array([0.0, *[-LARGEST_CENTRE] * 3])
    high = np.array([np.inf, *[LARGEST_CENTRE] * 3])
    deviation = np.array([MASS_DEVIATION, *[CENTRE_DEVIATION] * 3])

    def numbers(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        m, c = x[0], x[1:]
        return np.array([m, *(m * c), *(m * (c @ c * np.eye(3) - np.outer(c, c)))[UPPER]])

    def jacobian(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        m, c = x[0], x[1:]
        columns = [self.numbers(np.array([1.0, *c]))]
        for k, e in enumerate(np.eye(3)):
            dJ = m * (2.0 * c[k] * np.eye(3) - np.outer(e, c) - np.outer(c, e))
            columns.append(np.array([0.0, *(m * e), *dJ[UPPER]]))
        return np.stack(columns, axis=1)


class LinkInertias:
    """The links of an arm: ten x for each, equation (7), in the order of :data:`LOWER`.

    Parameters
    ----------
    inertias : sequence of Inertia
        Those of the URDF; bodies without mass stay so. Without any, no body is searched for.

    Examples
    --------
    >>> links = LinkInertias([Inertia(2.0, np.zeros(3), 0.1 * np.eye(3))])
    >>> links.numbers(links.start)[:5].round(6)
    array([2. , 0. , 0. , 0. , 0.1])
    """

    def __init__(self, inertias: Sequence[Inertia]) -> None:
        self._fixed = [parameters_of(inertia) for inertia in inertias]
        self._factors = [_factor(inertia) if inertia.m > 0.0 else None for inertia in inertias]
        n = N_PARAMETERS * len(inertias)
        self.start, self.deviation = np.zeros(n), np.full(n, INERTIA_DEVIATION)
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)

    def numbers(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        bodies = zip(self._factors, self._fixed, x.reshape(-1, N_PARAMETERS), strict=True)
        parts = [fixed if L_0 is None else _from_pseudo_inertia(_product(L_0, _U(x_i))) for L_0, fixed, x_i in bodies]
        return np.concatenate([np.zeros(0), *parts])

    def jacobian(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        result = np.zeros((len(x), len(x)))
        for i, (L_0, x_i) in enumerate(zip(self._factors, x.reshape(-1, N_PARAMETERS), strict=True)):
            if L_0 is not None:
                block = slice(N_PARAMETERS * i, N_PARAMETERS * (i + 1))
                result[block, block] = _derivative(L_0, _U(x_i))
        return result


def _factor(inertia: Inertia) -> Array:
    """``L_0`` of a body, made at least as thick as :data:`THINNEST`."""
    J = np.asarray(inertia.J, dtype=float)
    m, c = float(inertia.m), np.asarray(inertia.h, dtype=float) / inertia.m
    Sigma_c = 0.5 * np.trace(J) * np.eye(3) - J - m * np.outer(c, c)
    moments, axes = np.linalg.eigh(Sigma_c)
    Sigma_c = axes @ np.diag(np.maximum(moments, m * THINNEST**2)) @ axes.T
    P = m * np.outer([*c, 1.0], [*c, 1.0])
    P[:3, :3] += Sigma_c
    return np.linalg.cholesky(P)


def _U(x: Array) -> Array:
    U = np.zeros((4, 4))
    U[LOWER] = x
    U[np.diag_indices(4)] = np.exp(U.diagonal())
    return U


def _product(L_0: Array, U: Array) -> Array:
    L = L_0 @ U
    return L @ L.T


def _derivative(L_0: Array, U: Array) -> Array:
    """Derivative of a body's ten parameters by its ten x."""
    columns = []
    for i, j in zip(*LOWER, strict=True):
        dL = np.outer(L_0[:, i], np.eye(4)[j]) * (U[i, i] if i == j else 1.0)
        dP = dL @ (L_0 @ U).T
        columns.append(_from_pseudo_inertia(dP + dP.T))
    return np.stack(columns, axis=1)


def _from_pseudo_inertia(P: Array) -> Array:
    """Return m, h and J of (6), shape (10,)."""
    Sigma = P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *(np.trace(Sigma) * np.eye(3) - Sigma)[UPPER]])
