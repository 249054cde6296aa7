"""Linear systems in state space, continuous and discrete, with their transfer functions; the point attractor.

    (1)  dx/dt = A x + B u,         y = C x + D u        continuous
    (2)  x_{k+1} = A x_k + B u_k,   y_k = C x_k + D u_k  discrete, x_k = x(k dt)
    (3)  F(s) = C (s I - A)^-1 B + D                     transfer function; with z in the place of s for (2)

An input that is constant from one sample to the next (zero-order hold) makes (2) of (1), exactly:

    (4)  A_d = e^{A dt},    B_d = int_0^dt e^{A t} dt B,    C_d = C,    D_d = D

Both are in one exponential, which needs no inverse of A: an integrator has none.

    (5)  exp([[A, B], [0, 0]] dt) = [[A_d, B_d], [0, I]]

A state in other units, ``x' = S x``, is another system with the same transfer function:

    (6)  A' = S A S^-1,    B' = S B,    C' = C S^-1,    D' = D

The point attractor is a spring and a damper that pull a point to its goal x*:

    (7)  xdd = alpha (beta (x* - x) - xd)

It is critically damped for beta = alpha / 4: both poles are at -w, w = alpha / 2, and the point reaches its goal in
about 10 / alpha [s] without overshoot. As a system of first order, with the state (x, xd) and the input x*,

    (8)  A = [[0, 1], [-alpha beta, -alpha]],    B = [[0], [alpha beta]]

The velocity grows with alpha: a step of 1 gives a largest velocity of w / e. Neurons represent numbers up to about 1,
so their state is (x, xd / w), S = diag(1, 1/w), whose largest entries are of one size for every alpha:

    (9)  S A S^-1 = [[0, w], [-alpha beta / w, -alpha]],    S B = [[0], [alpha beta / w]]

For beta = alpha / 4, (9) is w times [[0, 1], [-1, -2]] and w times [[0], [1]].

Sources: C. F. Van Loan, "Computing integrals involving the matrix exponential", IEEE TAC 23(3), 1978, for (5);
K. J. Astrom, B. Wittenmark, "Computer-controlled systems", 3rd ed. 1997, section 2.3, for (4);
A. J. Ijspeert et al., "Dynamical movement primitives", Neural Computation 25(2), 2013, equation (2.1), for (7);
C. Eliasmith, C. H. Anderson, "Neural engineering", MIT Press 2003, section 8.1, for (9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, matrix_exponential


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """A linear system; its output is its state where C and D are left out.

    Attributes
    ----------
    A : ndarray, shape (n, n)
        State matrix [1/s, or 1 of a discrete system].
    B : ndarray, shape (n, m)
        Input matrix.
    C : ndarray, shape (p, n)
        Output matrix; by default the identity.
    D : ndarray, shape (p, m)
        Direct part of the output; by default zero.
    dt : float or None
        Time between two samples [s]; None: continuous.

    Raises
    ------
    InputError
        When shapes do not fit, a number is not finite, or dt is not positive.

    Examples
    --------
    >>> integrator = LinearSystem([[0.0]], [[1.0]])
    >>> integrator.transfer(2.0), integrator.discretized(0.5).B
    (array([[0.5]]), array([[0.5]]))
    """

    A: Array
    B: Array
    C: Array | None = None
    D: Array | None = None
    dt: float | None = None

    def __post_init__(self) -> None:
        A, B = (np.atleast_2d(np.asarray(X, dtype=float)) for X in (self.A, self.B))
        C = np.eye(len(A)) if self.C is None else np.atleast_2d(np.asarray(self.C, dtype=float))
        D = np.zeros((len(C), B.shape[1])) if self.D is None else np.atleast_2d(np.asarray(self.D, dtype=float))
        n, m, p = len(A), B.shape[1], len(C)
        shapes = (A.shape, B.shape, C.shape, D.shape)
        if shapes != ((n, n), (n, m), (p, n), (p, m)):
            raise InputError(f"A, B, C and D have the shapes {shapes}; needed: (n, n), (n, m), (p, n) and (p, m)")
        if not all(np.isfinite(X).all() for X in (A, B, C, D)):
            raise InputError("a linear system has a number that is not finite")
        if self.dt is not None and not 0.0 < self.dt < np.inf:
            raise InputError(f"dt = {self.dt} s between two samples; allowed: a positive number")
        for name, matrix in zip("ABCD", (A, B, C, D), strict=True):
            object.__setattr__(self, name, matrix)

    def transfer(self, s: complex) -> Array:
        """Equation (3), shape (p, m), at a complex frequency s [1/s], or at z of a discrete system."""
        assert self.C is not None
        assert self.D is not None
        return self.C @ np.linalg.solve(s * np.eye(len(self.A)) - self.A, self.B) + self.D

    def discretized(self, dt: float) -> LinearSystem:
        """Equation (5): the same system, its input held for dt [s] at a time.

        Raises
        ------
        InputError
            When it is discrete already.
        """
        if self.dt is not None:
            raise InputError(f"the system is discrete already, with dt = {self.dt} s")
        n, m = self.B.shape
        block = np.zeros((n + m, n + m))
        block[:n] = np.hstack([self.A, self.B]) * dt
        E = matrix_exponential(block)
        return LinearSystem(E[:n, :n], E[:n, n:], self.C, self.D, dt)

    def in_units(self, S: npt.ArrayLike) -> LinearSystem:
        """Equation (6), for a regular S, shape (n, n)."""
        assert self.C is not None
        S = np.asarray(S, dtype=float)
        S_inverse = np.linalg.inv(S)
        return LinearSystem(S @ self.A @ S_inverse, S @ self.B, self.C @ S_inverse, self.D, self.dt)

    def step(self, x: Array, u: Array) -> Array:
        """Equation (2): the next state of a discrete system from the state x (n,) and the input u (m,)."""
        return self.A @ x + self.B @ u


def point_attractor(alpha: float, beta: float | None = None) -> LinearSystem:
    """Equation (8), with a damping alpha [1/s], and beta, stiffness over damping [1/s], by default alpha / 4.

    Both must be positive: else an InputError.
    """
    beta = alpha / 4.0 if beta is None else beta
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} = {value} 1/s of a point attractor; allowed: positive numbers")
    return LinearSystem(np.array([[0.0, 1.0], [-alpha * beta, -alpha]]), np.array([[0.0], [alpha * beta]]))


def velocity_scale(alpha: float) -> float:
    """The w of equation (9) [1/s]: unit of the represented velocity, for a position of unit 1."""
    return alpha / 2.0


def scaled_attractor(alpha: float, beta: float | None = None) -> LinearSystem:
    """Equation (9); its state is (x, xd / w)."""
    return point_attractor(alpha, beta).in_units(np.diag([1.0, 1.0 / velocity_scale(alpha)]))
