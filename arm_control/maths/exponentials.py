"""Exponential of a square matrix, by scaling and squaring.

With the diagonal rational approximation of degree (13, 13), which has all figures of a double while the 1-norm of the
matrix is at most theta = 5.37,

    (1)  e^A = (e^{A / 2^s})^{2^s},    s = max(0, ceil(log2(|A|_1 / theta)))
    (2)  e^X ~ (V - U)^-1 (V + U),     U = X (b_1 I + b_3 X^2 + .. + b_13 X^12),    V = b_0 I + b_2 X^2 + .. + b_12 X^12
    (3)  b_k / b_0 = 13! (26 - k)! / (26! k! (13 - k)!)

Squaring costs figures where the norm is large only because the entries have different units, as a spring of 10^6 1/s^2
beside a velocity. So the matrix is balanced first, by powers of two that make rows and columns about equally large:

    (4)  e^A = T e^{T^-1 A T} T^-1,    T diagonal

Sources: N. J. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal.
Appl. 26(4), 2005, sections 2 and 3; E. E. Osborne, "On pre-conditioning of matrices", J. ACM 7(4), 1960, for (4).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.scalars import Array

DEGREE = 13
BALANCING_ROUNDS = 20
"""Rounds of (4), of which a few suffice."""
LARGEST_NORM = 5.371920351148152
"""theta: below it the error of (2) is less than the rounding of a double."""
COEFFICIENTS = [
    math.factorial(DEGREE)
    * math.factorial(2 * DEGREE - k)
    / (math.factorial(2 * DEGREE) * math.factorial(k) * math.factorial(DEGREE - k))
    for k in range(DEGREE + 1)
]
"""Equation (3)."""


def matrix_exponential(A: npt.ArrayLike) -> Array:
    """Exponential of a matrix.

    Parameters
    ----------
    A : array_like, shape (n, n)
        Any square matrix of finite numbers, singular ones included.

    Returns
    -------
    ndarray, shape (n, n)

    Raises
    ------
    InputError
        When A is not square, or has a number that is not finite.

    Examples
    --------
    >>> matrix_exponential([[0.0, 2.0], [0.0, 0.0]])
    array([[1., 2.],
           [0., 1.]])
    """
    A = np.asarray(A, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"a matrix of the shape {A.shape} has no exponential; allowed: a square one")
    if not np.isfinite(A).all():
        raise InputError("a matrix with a number that is not finite has no exponential")
    T = _units(A)
    X = A / T[:, None] * T
    norm = float(np.linalg.norm(X, 1)) if A.size else 0.0
    n_squarings = max(0, math.ceil(math.log2(norm / LARGEST_NORM))) if norm else 0
    E = _approximation(X / 2.0**n_squarings)
    for _ in range(n_squarings):
        E = E @ E
    return E * T[:, None] / T


def _units(A: Array) -> Array:
    """Diagonal of T in equation (4); a row or column of zeros stays as it is."""
    T = np.ones(len(A))
    for _ in range(BALANCING_ROUNDS):
        before = T.copy()
        for i in range(len(A)):
            others = np.arange(len(A)) != i
            row = float(np.abs(A[i, others] * T[others]).sum()) / T[i]
            column = float(np.abs(A[others, i] / T[others]).sum()) * T[i]
            if row > 0.0 and column > 0.0:
                T[i] *= 2.0 ** round(0.5 * math.log2(row / column))
        if np.array_equal(T, before):
            break
    return T


def _approximation(X: Array) -> Array:
    """Equation (2)."""
    powers = [np.eye(len(X))]
    for _ in range(DEGREE // 2):
        powers.append(powers[-1] @ X @ X if len(powers) < 2 else powers[-1] @ powers[1])
    V = sum(b * P for b, P in zip(COEFFICIENTS[0::2], powers, strict=True))
    U = X @ sum(b * P for b, P in zip(COEFFICIENTS[1::2], powers, strict=True))
    return np.linalg.solve(V - U, V + U)
