"""Derivatives of inverse and forward dynamics in closed form.

All quantities are in the world's frame. S_i, V_i, A_i are axis, velocity and acceleration (less that of free fall) of
body i; I_i and F_i are inertia and force of body i with all bodies it carries; and

    B_i = sum of ( V x* I  -  I V x  +  (I V) x ) / 2  over body i and the bodies it carries        (1)
    Sd_i = V_p x S_i          Sdd_i = A_p x S_i + V_p x Sd_i                                      (2)

With j body i itself or any body that carries it,

    d tau_i / d q_j = S_i . (2 B_i Sd_j + I_i Sdd_j)        d tau_i / d v_j = 2 S_i . (B_i S_j + I_i Sd_j)
    d tau_j / d q_i = S_j . (2 B_i Sd_i + I_i Sdd_i + S_i x* F_i)
                                                            d tau_j / d v_i = 2 S_j . (B_i S_i + I_i Sd_i)

The torque is quadratic in v, so half its derivative by v is a Coriolis matrix: the one with
``Mdot - 2 C`` skew. A sum over rigid bodies of (1) takes 12 numbers: it is ``[[0, -[f]], [0, D]]`` with
the momentum f and ``D = [w] (J - tr(J) / 2) - [h] [v]``.

Source: S. Singh, R. Russell, P. Wensing, "Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra", IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arm_control.maths import Array, Pose, cross, inverse, skew
from arm_control.model.recursions import REST, axis, numeric
from arm_control.model.spatial_vectors import Force, Inertia, SpatialMotion
from arm_control.model.tree import Tree


class TorqueDerivatives(NamedTuple):
    """Joint torque ``tau`` (n,) for an acceleration, and its derivatives by q, v and a, each (n, n)."""

    tau: Array
    tau_q: Array
    tau_v: Array
    tau_a: Array


@dataclass(frozen=True)
class _CoriolisInertia:
    """``B`` of equation (1)."""

    f: Array
    D: Array

    @classmethod
    def of(cls, inertia: Inertia, V: SpatialMotion) -> _CoriolisInertia:
        trace = inertia.J[0, 0] + inertia.J[1, 1] + inertia.J[2, 2]
        D = skew(V.w) @ (inertia.J - 0.5 * trace * np.eye(3)) - skew(inertia.h) @ skew(V.v)
        return cls((inertia * V).f, D)

    def __add__(self, other: _CoriolisInertia) -> _CoriolisInertia:
        return _CoriolisInertia(self.f + other.f, self.D + other.D)

    def __mul__(self, motion: SpatialMotion) -> Force:
        return Force(cross(motion.w, self.f), self.D @ motion.w)


def torque_derivatives(tree: Tree, X_W: list[Pose], v: Array, a: Array) -> TorqueDerivatives:
    """Joint torque for an acceleration, and its derivatives.

    Parameters
    ----------
    v, a : array, shape (n,)
        Joint velocity [rad/s or m/s] and acceleration [rad/s^2 or m/s^2].
    """
    bodies = tree.bodies
    S = [axis(body).in_parent(X) for body, X in zip(bodies, X_W, strict=True)]
    V, A, Sd, Sdd = _motions(tree, S, v, a)
    I = [body.inertia.in_parent(X) for body, X in zip(bodies, X_W, strict=True)]
    B = [_CoriolisInertia.of(I_i, V_i) for I_i, V_i in zip(I, V, strict=True)]
    F = [I_i * A_i + V_i.cross_force(I_i * V_i) for I_i, A_i, V_i in zip(I, A, V, strict=True)]
    tau, tau_q, tau_v, M = (np.zeros(shape, dtype=object) for shape in [tree.n, *[(tree.n, tree.n)] * 3])
    tau, M = tau + 0.0, M + np.diag(tree.armature)
    for i in reversed(range(len(bodies))):
        k, parent = bodies[i].coordinate, bodies[i].parent
        tau[k] += S[i].dot(F[i])
        by_q = _twice(B[i] * Sd[i]) + I[i] * Sdd[i] + S[i].cross_force(F[i])
        by_v = _twice(B[i] * S[i] + I[i] * Sd[i])
        by_a = I[i] * S[i]
        twice_B = 2.0 * (cross(B[i].f, S[i].v) + S[i].w @ B[i].D)  # for all bodies on the way to the base
        for j in tree.path(i):
            c = bodies[j].coordinate
            tau_q[k, c] += twice_B @ Sd[j].w + Sdd[j].dot(by_a)
            tau_v[k, c] += twice_B @ S[j].w + 2.0 * Sd[j].dot(by_a)
            M[k, c] += S[j].dot(by_a)
            if j != i:
                tau_q[c, k] += S[j].dot(by_q)
                tau_v[c, k] += S[j].dot(by_v)
                M[c, k] += S[j].dot(by_a)
        if parent >= 0:
            I[parent], B[parent], F[parent] = I[parent] + I[i], B[parent] + B[i], F[parent] + F[i]
    return TorqueDerivatives(*map(numeric, (tau + tree.armature * a, tau_q, tau_v, M)))


def _motions(tree: Tree, S: list[SpatialMotion], v: Array, a: Array) -> tuple[list[SpatialMotion], ...]:
    """``V``, ``A``, and ``Sd``, ``Sdd`` of equation (2), of every body."""
    V: list[SpatialMotion] = []
    A: list[SpatialMotion] = []
    Sd: list[SpatialMotion] = []
    Sdd: list[SpatialMotion] = []
    for body, S_i in zip(tree.bodies, S, strict=True):
        V_p = REST if body.parent < 0 else V[body.parent]
        A_p = SpatialMotion(-tree.gravity, np.zeros(3)) if body.parent < 0 else A[body.parent]
        Sd.append(V_p.cross(S_i))
        Sdd.append(A_p.cross(S_i) + V_p.cross(Sd[-1]))
        V.append(V_p + S_i * v[body.coordinate])
        A.append(A_p + S_i * a[body.coordinate] + Sd[-1] * v[body.coordinate])
    return V, A, Sd, Sdd


def _twice(force: Force) -> Force:
    return Force(2.0 * force.f, 2.0 * force.n)


class AccelerationDerivatives(NamedTuple):
    """Joint acceleration ``a`` (n,) and its derivatives by q, v and tau, each (n, n)."""

    a: Array
    a_q: Array
    a_v: Array
    a_tau: Array


def acceleration_derivatives(tree: Tree, X_W: list[Pose], v: Array, tau: Array) -> AccelerationDerivatives:
    """Forward dynamics ``a = M^-1 (tau - h)`` and its derivatives.

        a_tau = M^-1        a_q = -M^-1 tau_q        a_v = -M^-1 tau_v

    with the derivatives of the torque at this acceleration (J. Carpentier, N. Mansard, RSS 2018).
    """
    at_rest = torque_derivatives(tree, X_W, v, np.zeros(tree.n))
    M_inv = inverse(at_rest.tau_a)
    a = M_inv @ (tau - at_rest.tau)
    torque = torque_derivatives(tree, X_W, v, a)
    return AccelerationDerivatives(a, -(M_inv @ torque.tau_q), -(M_inv @ torque.tau_v), M_inv)
