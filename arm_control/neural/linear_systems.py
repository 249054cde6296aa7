"""Linear systems in state space, continuous and discrete; the point attractor.

    (1)  dx/dt = A x + B u             continuous
    (2)  x_{k+1} = A x_k + B u_k       discrete, x_k = x(k dt)

An input that is constant from one sample to the next (zero-order hold) makes (2) of (1), exactly:

    (3)  A_d = e^{A dt},    B_d = int_0^dt e^{A t} dt B

Both are in one exponential, which needs no inverse of A: an integrator has none.

    (4)  exp([[A, B], [0, 0]] dt) = [[A_d, B_d], [0, I]]

The point attractor is a spring and a damper that pull a point to its goal x*:

    (5)  xdd = alpha (beta (x* - x) - xd),    beta = alpha / 4

It is critically damped: both poles are at -w, w = alpha / 2, and the point reaches its goal in about 10 / alpha [s]
without overshoot. As a system of first order, with the state (x, xd) and the input x*,

    (6)  A = [[0, 1], [-alpha beta, -alpha]],    B = [[0], [alpha beta]]

The velocity grows with alpha: a step of 1 gives a largest velocity of w / e. Neurons represent numbers up to about 1,
so their state is (x, xd / w), S = diag(1, 1/w), whose largest entries are of one size for every alpha:

    (7)  S A S^-1 = w [[0, 1], [-1, -2]],    S B = w [[0], [1]]

Sources: C. F. Van Loan, "Computing integrals involving the matrix exponential", IEEE TAC 23(3), 1978, for (4);
K. J. Astrom, B. Wittenmark, "Computer-controlled systems", 3rd ed. 1997, section 2.3, for (3);
A. J. Ijspeert et al., "Dynamical movement primitives", Neural Computation 25(2), 2013, equation (2.1), for (5);
C. Eliasmith, C. H. Anderson, "Neural engineering", MIT Press 2003, section 8.1, for (7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array, matrix_exponential


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """A linear system.

    Attributes
    ----------
    A : ndarray, shape (n, n)
        State matrix [1/s, or 1 of a discrete system].
    B : ndarray, shape (n, m)
        Input matrix.
    dt : float or None
        Time between two samples [s]; None: continuous.

    Raises
    ------
    InputError
        When shapes do not fit, a number is not finite, or dt is not positive.

    Examples
    --------
    >>> LinearSystem([[0.0]], [[1.0]]).discretized(0.5).B
    array([[0.5]])
    """

    A: Array
    B: Array
    dt: float | None = None

    def __post_init__(self) -> None:
        A, B = (np.atleast_2d(np.asarray(X, dtype=float)) for X in (self.A, self.B))
        if A.shape != (len(A), len(A)) or len(B) != len(A):
            raise InputError(f"A and B have the shapes {A.shape} and {B.shape}; needed: (n, n) and (n, m)")
        if not (np.isfinite(A).all() and np.isfinite(B).all()):
            raise InputError("a linear system has a number that is not finite")
        if self.dt is not None and not 0.0 < self.dt < np.inf:
            raise InputError(f"dt = {self.dt} s between two samples; allowed: a positive number")
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "B", B)

    def discretized(self, dt: float) -> LinearSystem:
        """Equation (4): the same system, its input held for dt [s] at a time.

        An InputError when it is discrete already.
        """
        if self.dt is not None:
            raise InputError(f"the system is discrete already, with dt = {self.dt} s")
        n, m = self.B.shape
        block = np.zeros((n + m, n + m))
        block[:n] = np.hstack([self.A, self.B]) * dt
        E = matrix_exponential(block)
        return LinearSystem(E[:n, :n], E[:n, n:], dt)

    def step(self, x: Array, u: Array) -> Array:
        """Equation (2): the next state of a discrete system from the state x (n,) and the input u (m,)."""
        return self.A @ x + self.B @ u


def point_attractor(alpha: float) -> LinearSystem:
    """Equation (6), with a damping alpha [1/s]; an InputError where it is not positive."""
    if not 0.0 < alpha < math.inf:
        raise InputError(f"alpha = {alpha} 1/s of a point attractor; allowed: positive numbers")
    stiffness = alpha * (alpha / 4.0)
    return LinearSystem(np.array([[0.0, 1.0], [-stiffness, -alpha]]), np.array([[0.0], [stiffness]]))


def velocity_scale(alpha: float) -> float:
    """The w of equation (7) [1/s]: unit of the represented velocity, for a position of unit 1."""
    return alpha / 2.0


def scaled_attractor(alpha: float) -> LinearSystem:
    """Equation (7); its state is (x, xd / w)."""
    system, S = point_attractor(alpha), np.diag([1.0, 1.0 / velocity_scale(alpha)])
    return LinearSystem(S @ system.A @ np.linalg.inv(S), S @ system.B)
