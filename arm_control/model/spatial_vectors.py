"""Spatial vectors over an abstract scalar: motions, forces and inertias, as the recursions use them.

A scalar is anything with ``+ - * /`` and the functions of :mod:`arm_control.maths.scalars`: a float, a SymPy
expression, a node of a :class:`~arm_control.compiler.tape.Tape`. Vectors and matrices are NumPy arrays of scalars.

    motion   V = (v, w)      linear, angular velocity (or acceleration) at the frame's origin
    force    F = (f, n)      force, moment about the frame's origin
    inertia  I = (m, h, J)   mass, first moment h = m c, second moment about the frame's origin

With the pose ``X_AB = (R, p)`` of frame B in frame A, its parent,

    X_AB V_B = (R v - R w x p, R w)       X_AB F_B = (R f, R n + p x R f)                          (1)
    V x U    = (w x v' + v x w', w x w')  V x* F   = (w x f, w x n + v x f)                        (2)
    I V      = (m v + w x h, J w + h x v)                                                         (3)

Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, chapter 2 and table A.1; linear
before angular, as in Pinocchio and in ROS messages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.maths import Array, Pose, Scalar, congruent, cross, mirrored, skew


@dataclass(frozen=True)
class SpatialMotion:
    """A velocity or an acceleration: ``v`` linear, ``w`` angular, each of shape (3,)."""

    v: Array
    w: Array

    def __add__(self, other: SpatialMotion) -> SpatialMotion:
        return SpatialMotion(self.v + other.v, self.w + other.w)

    def __mul__(self, scale: Scalar) -> SpatialMotion:
        return SpatialMotion(self.v * scale, self.w * scale)

    def cross(self, other: SpatialMotion) -> SpatialMotion:
        """``V x U``, equation (2)."""
        return SpatialMotion(cross(self.w, other.v) + cross(self.v, other.w), cross(self.w, other.w))

    def cross_force(self, force: Force) -> Force:
        """``V x* F``, equation (2)."""
        return Force(cross(self.w, force.f), cross(self.w, force.n) + cross(self.v, force.f))

    def dot(self, force: Force) -> Scalar:
        """Power of a force on this motion [W]."""
        return self.v @ force.f + self.w @ force.n

    def in_parent(self, X_AB: Pose) -> SpatialMotion:
        """``V_A`` of this ``V_B``, equation (1)."""
        w = X_AB.R @ self.w
        return SpatialMotion(X_AB.R @ self.v - cross(w, X_AB.p), w)

    def in_child(self, X_AB: Pose) -> SpatialMotion:
        """``V_B`` of this ``V_A``: the inverse of :meth:`in_parent`."""
        return SpatialMotion(X_AB.R.T @ (self.v + cross(self.w, X_AB.p)), X_AB.R.T @ self.w)

    def vector(self) -> Array:
        """Linear then angular, shape (6,)."""
        return np.concatenate([self.v, self.w])


@dataclass(frozen=True)
class Force:
    """A force ``f`` [N] and a moment ``n`` [N m], each of shape (3,)."""

    f: Array
    n: Array

    def __add__(self, other: Force) -> Force:
        return Force(self.f + other.f, self.n + other.n)

    def __sub__(self, other: Force) -> Force:
        return Force(self.f - other.f, self.n - other.n)

    def in_parent(self, X_AB: Pose) -> Force:
        """``F_A`` of this ``F_B``, equation (1)."""
        f = X_AB.R @ self.f
        return Force(f, X_AB.R @ self.n + cross(X_AB.p, f))

    def vector(self) -> Array:
        """Force then moment, shape (6,)."""
        return np.concatenate([self.f, self.n])


@dataclass(frozen=True)
class Inertia:
    """Inertia of a rigid body: mass ``m`` [kg], ``h = m c`` [kg m], second moment ``J`` (3, 3) [kg m^2]."""

    m: Scalar
    h: Array
    J: Array

    @classmethod
    def zero(cls) -> Inertia:
        """Return the inertia of a body without mass."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.J + other.J)

    def __mul__(self, motion: SpatialMotion) -> Force:
        """``I V``, equation (3): the momentum of a velocity, the force of an acceleration."""
        v, w = motion.v, motion.w
        return Force(self.m * v + cross(w, self.h), self.J @ w + cross(self.h, v))

    def in_parent(self, X_AB: Pose) -> Inertia:
        """``I_A`` of this ``I_B``: rotation, then the parallel-axis theorem."""
        R, p = X_AB
        h = R @ self.h
        J = congruent(R, self.J)
        shift = 2.0 * (h @ p) + self.m * (p @ p)
        products = np.outer(h, p)
        products = products + products.T + np.outer(self.m * p, p)
        return Inertia(self.m, h + self.m * p, mirrored(J + shift * np.eye(3) - products))

    def matrix(self) -> Array:
        """The inertia as a matrix, shape (6, 6)."""
        return np.block([[self.m * np.eye(3), -skew(self.h)], [skew(self.h), self.J]])


def motion_matrix(X_AB: Pose) -> Array:
    """The matrix of :meth:`SpatialMotion.in_parent`, shape (6, 6)."""
    return np.block([[X_AB.R, skew(X_AB.p) @ X_AB.R], [np.zeros((3, 3)), X_AB.R]])
