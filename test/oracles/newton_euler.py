"""The recursive Newton-Euler algorithm on floats: to read, to learn from, to compare with.

:func:`rnea` is the recursion of :mod:`arm_control.model.recursions`, where every body is described in its own
frame. :func:`rnea_world` is the same physics as many textbooks and lectures have it, with everything in the
world's axes. From the base to the tip, z_i being the axis of joint i and r_i its place seen from the one
before:

    w_i  = w_p + z_i v_i              wd_i = wd_p + z_i a_i + w_p x z_i v_i                         (1)
    a_i  = a_p + wd_p x r_i + w_p x (w_p x r_i)                                                   (2)
    ac_i = a_i + wd_i x c_i + w_i x (w_i x c_i)                                                   (3)

for revolute joints; a prismatic joint turns nothing and adds ``z_i a_i + 2 w_p x z_i v_i`` to (2). Then, from
the tip to the base, with the mass m, the centre of mass c and the inertia I about it:

    f_i = m (ac_i - g0) + sum of f_j                                                              (4)
    n_i = I wd_i + w_i x I w_i + c_i x m (ac_i - g0) + sum of (n_j + r_j x f_j)                    (5)
    tau_i = z_i . n_i  (revolute)   or   z_i . f_i  (prismatic)                                   (6)

The mass matrix comes out column by column, from a unit acceleration of each joint with neither velocity nor
gravity; gravity and velocity torques from the other two arguments.

Source: B. Siciliano et al., "Robotics", Springer 2009, section 7.5; J. Luh, M. Walker, R. Paul, 1980.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arm_control.identification.momentum_regressor import inertia_of
from arm_control.maths import Array, Pose
from arm_control.model import Force, Tree
from arm_control.model import recursions as rec

NO_WRENCH = (0.0,) * 6
NO_GRAVITY = (0.0, 0.0, 0.0)


def rnea(
    tree: Tree,
    g0: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike,
    F_E: npt.ArrayLike = NO_WRENCH,
) -> Array:
    """Joint torque for a motion.

    Parameters
    ----------
    tree : Tree
        ``model.tree`` of a :class:`~arm_control.RobotModel`.
    g0 : array_like, shape (3,)
        Acceleration of free fall in the world [m/s^2].
    q, v, a : array_like, shape (n,)
        Joint positions [rad or m], velocities and accelerations.
    F_E : array_like, shape (6,)
        Force [N] and moment [N m] that the end effector exerts on its surroundings, in its own axes.

    Returns
    -------
    ndarray, shape (n,)
        [N m or N], without the motors' rotors.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> tree = RobotModel.from_urdf(urdf_path("ur5")).tree
    >>> rnea(tree, (0, 0, -9.81), [0.0] * 6, [0.0] * 6, [0.0] * 6).round(4) + 0.0
    array([  0.    , -53.8002, -15.6416,   0.    ,   0.    ,   0.    ])
    """
    tree = replace(tree, gravity=np.asarray(g0, dtype=float))
    q, v, a, wrench = (np.asarray(values, dtype=float) for values in (q, v, a, F_E))
    X = rec.joint_poses(tree, q)
    V = rec.velocities(tree, X, v)
    A = rec.accelerations(tree, X, V, v, a)
    return rec.inverse_dynamics(tree, X, V, A, Force(wrench[:3], wrench[3:]))


def rnea_world(
    tree: Tree,
    g0: npt.ArrayLike,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike,
    F_E: npt.ArrayLike = NO_WRENCH,
) -> Array:
    """The same in the world's axes, equations (1) to (6); arguments as for :func:`rnea`."""
    g0, q, v, a, wrench = (np.asarray(values, dtype=float) for values in (g0, q, v, a, F_E))
    bodies, X_W = tree.bodies, rec.world_poses(tree, rec.joint_poses(tree, q))
    w, wd, acc = ([np.zeros(3)] * len(bodies) for _ in range(3))
    f, n = [np.zeros(3)] * len(bodies), [np.zeros(3)] * len(bodies)
    tau = np.zeros(tree.n)
    for i, body in enumerate(bodies):
        p, z = body.parent, X_W[i].R[:, 2] * body.ratio
        w_p, wd_p, a_p = (w[p], wd[p], acc[p]) if p >= 0 else (np.zeros(3),) * 3
        r = X_W[i].p - (X_W[p].p if p >= 0 else np.zeros(3))
        zv, za = z * v[body.coordinate], z * a[body.coordinate]
        acc[i] = a_p + np.cross(wd_p, r) + np.cross(w_p, np.cross(w_p, r))
        if body.is_prismatic:
            w[i], wd[i], acc[i] = w_p, wd_p, acc[i] + za + 2.0 * np.cross(w_p, zv)
        else:
            w[i], wd[i] = w_p + zv, wd_p + za + np.cross(w_p, zv)
        f[i], n[i] = _needed(body.inertia.m, *_spread(tree, i, X_W[i]), w[i], wd[i], acc[i] - g0)
    tip = rec.frame_pose(tree.tip, X_W)
    f_E, at = tip.R @ wrench[:3], tip.p - X_W[tree.tip.body].p
    f[tree.tip.body] = f[tree.tip.body] + f_E
    n[tree.tip.body] = n[tree.tip.body] + tip.R @ wrench[3:] + np.cross(at, f_E)
    for i in reversed(range(len(bodies))):
        body, p = bodies[i], bodies[i].parent
        tau[body.coordinate] += X_W[i].R[:, 2] * body.ratio @ (f[i] if body.is_prismatic else n[i])
        if p >= 0:
            f[p] = f[p] + f[i]
            n[p] = n[p] + n[i] + np.cross(X_W[i].p - X_W[p].p, f[i])
    return tau


def _spread(tree: Tree, i: int, X: Pose) -> tuple[Array, Array]:
    """Centre of mass of body i, seen from its joint, and inertia about it, both in the world's axes."""
    inertia = tree.bodies[i].inertia
    c = inertia.h / inertia.m if inertia.m else np.zeros(3)
    about_c = inertia.J - inertia.m * (c @ c * np.eye(3) - np.outer(c, c))
    return X.R @ c, X.R @ about_c @ X.R.T


def _needed(m: float, c: Array, I: Array, w: Array, wd: Array, lifted: Array) -> tuple[Array, Array]:
    """Force and moment about the joint that move a body so; ``lifted`` is its acceleration less g0."""
    force = m * (lifted + np.cross(wd, c) + np.cross(w, np.cross(w, c)))
    return force, I @ wd + np.cross(w, I @ w) + np.cross(c, force)


def mass_matrix_by_columns(tree: Tree, q: npt.ArrayLike) -> Array:
    """Mass matrix without the motors' rotors, shape (n, n): a column is the torque of a unit acceleration."""
    rest = np.zeros(tree.n)
    return np.column_stack([rnea(tree, NO_GRAVITY, q, rest, unit) for unit in np.eye(tree.n)])


def velocity_torque(tree: Tree, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Coriolis and centrifugal torque ``C v``, shape (n,)."""
    return rnea(tree, NO_GRAVITY, q, v, np.zeros(tree.n))


def gravity_torque(tree: Tree, g0: npt.ArrayLike, q: npt.ArrayLike) -> Array:
    """Gravity torque ``g``, shape (n,)."""
    return rnea(tree, g0, q, np.zeros(tree.n), np.zeros(tree.n))


def centre_and_inertia(parameters: Array) -> tuple[Array, Array]:
    """Return the centre of mass (3,) [m] and the inertia about it (3, 3) [kg m^2] of m, h, J, shape (10,)."""
    body = inertia_of(parameters)
    c = body.h / body.m if body.m > 0.0 else np.zeros(3)
    return c, body.J - body.m * (c @ c * np.eye(3) - np.outer(c, c))
