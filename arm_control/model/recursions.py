"""The recursions of rigid-body dynamics, written once for any scalar.

    M(q) a + C(q, v) v + g(q) = tau

Body p is the parent of body i. X_i is the pose of body i in its parent, S_i the axis, v_i the speed and a_i the
acceleration of its joint. All quantities of body i are in its own frame. Gravity enters as an upward acceleration -g
of the world instead of a force on every body.

    V_i = X_i^-1 V_p + S_i v_i                                                                    (1)
    A_i = X_i^-1 A_p + S_i a_i + V_i x S_i v_i           A_W = -g                                  (2)
    F_i = I_i A_i + V_i x* I_i V_i                                                                (3)
    tau_i = S_i . F_i        F_p += X_i F_i                                                        (4)
    Ic_p += X_i Ic_i         M_ij = S_j . X_ji (Ic_i S_i)  for every j that carries i              (5)

(1) to (4) are the recursive Newton-Euler algorithm, (5) is the composite-rigid-body algorithm.

Arguments have the same meaning in all functions, and every list has one entry for each body:

    tree    the arm                          q, v, a, tau   joint position, velocity, acceleration, torque, (n,)
    X       X_i, from :func:`joint_poses`    V, A           V_i and A_i, equations (1) and (2)
    X_W     X_Wi, the pose in the world      Ic             Ic_i, from :func:`composite_inertias`

Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, tables 5.1, 6.2 and 7.1;
B. Siciliano et al., "Robotics", Springer 2009, chapter 7.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Pose, Scalar, congruent, cross
from arm_control.model.spatial_vectors import Force, Inertia, SpatialMotion, motion_matrix
from arm_control.model.tree import Body, Frame, Tree

REST = SpatialMotion(np.zeros(3), np.zeros(3))
"""The motion of the world."""
ZAXIS = np.array([0.0, 0.0, 1.0])


def axis(body: Body) -> SpatialMotion:
    """``S_i`` per speed of the coordinate that moves the joint: a unit motion along z, times ``ratio``."""
    z = ZAXIS * body.ratio
    return SpatialMotion(z, np.zeros(3)) if body.is_prismatic else SpatialMotion(np.zeros(3), z)


def along_axis(body: Body, force: Force) -> Scalar:
    """``S_i . F``."""
    return (force.f if body.is_prismatic else force.n)[2] * body.ratio


def joint_poses(tree: Tree, q: Array) -> list[Pose]:
    """``X_i``: pose of every body in its parent."""
    return [body.X_PB(q) for body in tree.bodies]


def world_poses(tree: Tree, X: list[Pose]) -> list[Pose]:
    """``X_Wi``: pose of every body in the world."""
    X_W: list[Pose] = []
    for body, X_i in zip(tree.bodies, X, strict=True):
        X_W.append(X_i if body.parent < 0 else X_W[body.parent] @ X_i)
    return X_W


def frame_pose(frame: Frame, X_W: list[Pose]) -> Pose:
    """``X_WF``: pose of a link's frame in the world."""
    return frame.X_BF if frame.body < 0 else X_W[frame.body] @ frame.X_BF


def relative_pose(tree: Tree, X: list[Pose], a: Frame, b: Frame) -> Pose:
    """``X_AB``: pose of link b's frame in link a's, from the joints between them only."""
    above_a, above_b = tree.path(a.body), tree.path(b.body)
    shared = set(above_a) & set(above_b)
    X_CA, X_CB = a.X_BF, b.X_BF
    for i in (i for i in above_a if i not in shared):
        X_CA = X[i] @ X_CA
    for i in (i for i in above_b if i not in shared):
        X_CB = X[i] @ X_CB
    return X_CA.inverse() @ X_CB


def velocities(tree: Tree, X: list[Pose], v: Array) -> list[SpatialMotion]:
    """``V_i``, equation (1)."""
    V: list[SpatialMotion] = []
    for body, X_i in zip(tree.bodies, X, strict=True):
        V_p = REST if body.parent < 0 else V[body.parent]
        V.append(V_p.in_child(X_i) + axis(body) * v[body.coordinate])
    return V


def accelerations(tree: Tree, X: list[Pose], V: list[SpatialMotion], v: Array, a: Array) -> list[SpatialMotion]:
    """``A_i``, equation (2): spatial accelerations less that of free fall."""
    A: list[SpatialMotion] = []
    for body, X_i, V_i in zip(tree.bodies, X, V, strict=True):
        A_p = SpatialMotion(-tree.gravity, np.zeros(3)) if body.parent < 0 else A[body.parent]
        S, i = axis(body), body.coordinate
        A.append(A_p.in_child(X_i) + S * a[i] + V_i.cross(S * v[i]))
    return A


def inverse_dynamics(
    tree: Tree, X: list[Pose], V: list[SpatialMotion], A: list[SpatialMotion], F_E: Force | None = None
) -> Array:
    """Joint torque for accelerations of the bodies, equations (3) and (4), shape (n,).

    ``F_E`` is the force that the end effector exerts on its surroundings, in E's frame at its origin.
    """
    F = [
        body.inertia * A_i + V_i.cross_force(body.inertia * V_i)
        for body, V_i, A_i in zip(tree.bodies, V, A, strict=True)
    ]
    if F_E is not None:
        F[tree.tip.body] += F_E.in_parent(tree.tip.X_BF)
    tau = np.array([0.0] * tree.n, dtype=object)
    for i in reversed(range(len(F))):
        body = tree.bodies[i]
        tau[body.coordinate] += along_axis(body, F[i])
        if body.parent >= 0:
            F[body.parent] += F[i].in_parent(X[i])
    return numeric(tau)


def composite_inertias(tree: Tree, X: list[Pose]) -> list[Inertia]:
    """``Ic_i``: inertia of every body together with the bodies it carries, equation (5)."""
    Ic = [body.inertia for body in tree.bodies]
    for i in reversed(range(len(Ic))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            Ic[parent] += Ic[i].in_parent(X[i])
    return Ic


def mass_matrix(tree: Tree, X: list[Pose], Ic: list[Inertia]) -> Array:
    """``M``, equation (5), armature included, shape (n, n)."""
    M = np.array(np.diag(tree.armature), dtype=object)
    for i, body in enumerate(tree.bodies):
        F = Ic[i] * axis(body)
        for j in tree.path(i):
            a, b = body.coordinate, tree.bodies[j].coordinate
            entry = along_axis(tree.bodies[j], F)
            M[a, b] += entry
            if i != j:
                M[b, a] += entry
            F = F.in_parent(X[j])
    return numeric(M)


def gravity_torque(tree: Tree, Ic: list[Inertia], X_W: list[Pose]) -> Array:
    """``g``: joint torque against gravity, ``S_i . Ic_i (-g)``, shape (n,)."""
    torque = np.array([0.0] * tree.n, dtype=object)
    for body, Ic_i, X_i in zip(tree.bodies, Ic, X_W, strict=True):
        support = Ic_i * SpatialMotion(X_i.R.T @ -tree.gravity, np.zeros(3))
        torque[body.coordinate] += along_axis(body, support)
    return numeric(torque)


def jacobian(tree: Tree, X_W: list[Pose], body: int, p: Array) -> Array:
    """``J`` of a point of a body: ``V = J v``, world axes, shape (6, n).

    Parameters
    ----------
    body : int
        Index of the body; -1 for the world.
    p : array, shape (3,)
        Position of the point in the world [m].
    """
    J = np.array([[0.0] * tree.n] * 6, dtype=object)
    for i in tree.path(body):
        z = X_W[i].R[:, 2] * tree.bodies[i].ratio
        linear, angular = (z, np.zeros(3)) if tree.bodies[i].is_prismatic else (cross(z, p - X_W[i].p), z)
        J[:, tree.bodies[i].coordinate] += np.concatenate([linear, angular])
    return numeric(J)


def frame_velocity(frame: Frame, X_W: list[Pose], V: list[SpatialMotion]) -> SpatialMotion:
    """Twist of a link at its origin, world axes."""
    if frame.body < 0:
        return REST
    R, V_F = frame_pose(frame, X_W).R, V[frame.body].in_child(frame.X_BF)
    return SpatialMotion(R @ V_F.v, R @ V_F.w)


def frame_acceleration(
    tree: Tree, frame: Frame, X_W: list[Pose], V: list[SpatialMotion], A: list[SpatialMotion]
) -> SpatialMotion:
    """Derivative of :func:`frame_velocity`: ``J a + Jdot v``."""
    if frame.body < 0:
        return REST
    R = frame_pose(frame, X_W).R
    V_F, A_F = V[frame.body].in_child(frame.X_BF), A[frame.body].in_child(frame.X_BF)
    return SpatialMotion(R @ (A_F.v + cross(V_F.w, V_F.v)) + tree.gravity, R @ A_F.w)


def forward_dynamics(tree: Tree, X: list[Pose], V: list[SpatialMotion], v: Array, tau: Array) -> Array:
    """Joint acceleration from torque by the articulated-body algorithm, shape (n,).

    IA_i, pA_i: inertia and bias force of body i together with the bodies it carries, whose joints are free.

        U = IA S,  d = S . U + armature,  u = tau_i - S . pA,  c = V_i x S v_i
        IA_p += X (IA - U U^T / d) X^T         pA_p += X (pA + (IA - U U^T / d) c + U u / d)       (6)
        a_i = (u - U . A) / d,   A = X^-1 A_p + c,   A_i = A + S a_i                              (7)

    It is not valid for a tree with a joint that mimics another one.
    """
    bodies, S = tree.bodies, [axis(body).vector() for body in tree.bodies]
    X6 = [motion_matrix(X_i.inverse()) for X_i in X]
    c = [V_i.cross(axis(body) * v[body.coordinate]).vector() for body, V_i in zip(bodies, V, strict=True)]
    IA = [body.inertia.matrix() for body in bodies]
    pA = [V_i.cross_force(body.inertia * V_i).vector() for body, V_i in zip(bodies, V, strict=True)]
    U: dict[int, Array] = {}
    d: dict[int, Scalar] = {}
    u: dict[int, Scalar] = {}
    for i in reversed(range(len(bodies))):
        k, p = bodies[i].coordinate, bodies[i].parent
        U[i] = IA[i] @ S[i]
        d[i], u[i] = S[i] @ U[i] + tree.armature[k], tau[k] - S[i] @ pA[i]
        if p >= 0:
            Ia = IA[i] - np.outer(U[i], U[i] / d[i])
            IA[p] = IA[p] + congruent(X6[i].T, Ia)
            pA[p] = pA[p] + X6[i].T @ (pA[i] + Ia @ c[i] + U[i] * (u[i] / d[i]))
    a, A = np.array([0.0] * tree.n, dtype=object), [np.zeros(6)] * len(bodies)
    for i, body in enumerate(bodies):
        A_p = np.concatenate([-tree.gravity, np.zeros(3)]) if body.parent < 0 else A[body.parent]
        A[i] = X6[i] @ A_p + c[i]
        a[body.coordinate] = (u[i] - U[i] @ A[i]) / d[i]
        A[i] = A[i] + S[i] * a[body.coordinate]
    return numeric(a)


def kinetic_energy(tree: Tree, V: list[SpatialMotion], v: Array) -> Scalar:
    """Kinetic energy, armature included [J]."""
    moving = sum(V_i.dot(body.inertia * V_i) for body, V_i in zip(tree.bodies, V, strict=True))
    return 0.5 * (moving + sum(tree.armature * v * v))


def potential_energy(tree: Tree, X_W: list[Pose]) -> Scalar:
    """Potential energy, relative to all mass at the world's origin [J]."""
    return -(tree.gravity @ first_moment(tree, X_W))


def first_moment(tree: Tree, X_W: list[Pose]) -> Array:
    """Mass of the moving bodies times the position of their centre of mass, shape (3,) [kg m]."""
    return sum((body.inertia.in_parent(X).h for body, X in zip(tree.bodies, X_W, strict=True)), np.zeros(3))


def centre_of_mass(tree: Tree, X_W: list[Pose]) -> Array:
    """Centre of mass of the moving bodies in the world, shape (3,) [m]."""
    return first_moment(tree, X_W) / sum(body.inertia.m for body in tree.bodies)


def numeric(array: Array) -> Array:
    """An array of objects as floats where all entries are numbers, else the array itself."""
    try:
        return array.astype(float)
    except TypeError:
        return array
