"""Spatial vectors over an abstract scalar: what the recursions are written in.

A scalar is anything with ``+ - * /`` and the functions of :mod:`arm_control.maths.scalars`: a float, a SymPy
expression, a node of a :class:`~arm_control.compiler.tape.Tape`. Vectors and matrices are NumPy arrays of scalars.

    motion     V = (v, w)      linear, angular velocity (or acceleration) at the frame's origin
    force      F = (f, n)      force, moment about the frame's origin
    inertia    I = (m, h, J)   mass, first moment h = m c, second moment about the frame's origin
    transform  X_AB = (R, p)   where frame B is, seen from frame A

    X_AB V_B = (R v - R w x p, R w)       X_AB F_B = (R f, R n + p x R f)                          (1)
    V x U    = (w x v' + v x w', w x w')  V x* F   = (w x f, w x n + v x f)                        (2)
    I V      = (m v + w x h, J w + h x v)                                                         (3)

Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, chapter 2 and table A.1; linear
before angular, as in Pinocchio and in ROS messages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.maths.linalg import mirrored
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar


def cross(a: Array, b: Array) -> Array:
    """``a x b``, shape (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Array) -> Array:
    """The matrix [a] with ``[a] b = a x b``, shape (3, 3)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


@dataclass(frozen=True)
class Motion:
    """A velocity or an acceleration: ``v`` linear, ``w`` angular, each of shape (3,)."""

    v: Array
    w: Array

    def __add__(self, other: Motion) -> Motion:
        return Motion(self.v + other.v, self.w + other.w)

    def __mul__(self, scale: Scalar) -> Motion:
        return Motion(self.v * scale, self.w * scale)

    def cross(self, other: Motion) -> Motion:
        """``V x U``, equation (2)."""
        return Motion(cross(self.w, other.v) + cross(self.v, other.w), cross(self.w, other.w))

    def cross_force(self, force: Force) -> Force:
        """``V x* F``, equation (2)."""
        return Force(cross(self.w, force.f), cross(self.w, force.n) + cross(self.v, force.f))

    def dot(self, force: Force) -> Scalar:
        """Power of a force on this motion [W]."""
        return self.v @ force.f + self.w @ force.n

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

    def vector(self) -> Array:
        """Force then moment, shape (6,)."""
        return np.concatenate([self.f, self.n])


@dataclass(frozen=True)
class Inertia:
    """A rigid body's inertia: mass ``m`` [kg], ``h = m c`` [kg m], second moment ``J`` (3, 3) [kg m^2]."""

    m: Scalar
    h: Array
    J: Array

    @classmethod
    def zero(cls) -> Inertia:
        """Return the inertia of nothing."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.J + other.J)

    def __mul__(self, motion: Motion) -> Force:
        """``I V``, equation (3): the momentum of a velocity, the force of an acceleration."""
        v, w = motion.v, motion.w
        return Force(self.m * v + cross(w, self.h), self.J @ w + cross(self.h, v))

    def matrix(self) -> Array:
        """The same as one matrix, shape (6, 6)."""
        return np.block([[self.m * np.eye(3), -skew(self.h)], [skew(self.h), self.J]])


@dataclass(frozen=True)
class Transform:
    """Where frame B is, seen from frame A: rotation ``R`` (3, 3) and position ``p`` (3,) [m]."""

    R: Array
    p: Array

    @classmethod
    def identity(cls) -> Transform:
        """Return the transform of a frame to itself."""
        return cls(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Transform) -> Transform:
        """``X_AC = X_AB X_BC``."""
        return Transform(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Transform:
        """``X_BA``."""
        return Transform(self.R.T, -(self.R.T @ self.p))

    def pull(self, motion: Motion) -> Motion:
        """Motion given in A, seen from B: the inverse of equation (1)."""
        return Motion(self.R.T @ (motion.v + cross(motion.w, self.p)), self.R.T @ motion.w)

    def push(self, motion: Motion) -> Motion:
        """Motion given in B, seen from A: equation (1)."""
        w = self.R @ motion.w
        return Motion(self.R @ motion.v - cross(w, self.p), w)

    def push_force(self, force: Force) -> Force:
        """Force given in B, seen from A: equation (1)."""
        f = self.R @ force.f
        return Force(f, self.R @ force.n + cross(self.p, f))

    def push_inertia(self, inertia: Inertia) -> Inertia:
        """Inertia given in B, seen from A (rotation, then the parallel-axis theorem)."""
        h = self.R @ inertia.h
        J = congruent(self.R, inertia.J)
        shift = 2.0 * (h @ self.p) + inertia.m * (self.p @ self.p)
        moved = np.outer(h, self.p)
        moved = moved + moved.T + np.outer(inertia.m * self.p, self.p)
        return Inertia(inertia.m, h + inertia.m * self.p, mirrored(J + shift * np.eye(3) - moved))

    def motion_matrix(self) -> Array:
        """The matrix of :meth:`push`, shape (6, 6)."""
        return np.block([[self.R, skew(self.p) @ self.R], [np.zeros((3, 3)), self.R]])

    def matrix(self) -> Array:
        """The homogeneous transform, shape (4, 4)."""
        return np.block([[self.R, self.p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def congruent(A: Array, S: Array) -> Array:
    """``A S A^T`` of a symmetric S, its upper triangle computed once."""
    AS = A @ S
    product = np.array([[AS[i] @ A[j] if j >= i else 0.0 for j in range(len(A))] for i in range(len(A))])
    return mirrored(product)
