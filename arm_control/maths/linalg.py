"""Linear algebra over any scalar: LAPACK's for floats, written out for everything else."""

from __future__ import annotations

import numpy as np

from arm_control.maths.poses import TINY, Array
from arm_control.maths.scalars import Scalar, select, sqrt

SWEEPS = 7
"""Of Jacobi's method: six rows and columns have converged to the last bit after six, with one to spare."""


def is_numeric(A: Array) -> bool:
    """Whether a matrix holds floats, not nodes or symbols."""
    return A.dtype != object


def inverse(S: Array) -> Array:
    """Inverse of a positive definite matrix, shape (n, n), from ``S = L^T D L``.

    For a mass matrix, eliminating the outermost joints first keeps the zeros of a tree's branches.
    That of a singular matrix is not finite. Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer
    2008, section 6.5.
    """
    if is_numeric(S):
        return _numeric_inverse(S)
    n = len(S)
    L, D = _factors(S)
    W = np.eye(n).astype(object)
    for i in range(1, n):
        W[i, :i] = -(L[i, :i] @ W[:i, :i])
    scaled = W / D
    upper = [[scaled[i, : i + 1] @ W[j, : i + 1] if j >= i else 0.0 for j in range(n)] for i in range(n)]
    return mirrored(np.array(upper))


def _numeric_inverse(S: Array) -> Array:
    try:
        return np.linalg.inv(S)
    except np.linalg.LinAlgError:
        return np.full(S.shape, np.nan)


def solve(S: Array, b: Array) -> Array:
    """The x of ``S x = b``, shape (n,), for a positive definite matrix: cheaper than its inverse."""
    if is_numeric(S):
        return np.linalg.solve(S, b)
    L, D = _factors(S)
    x, n = np.array(b, dtype=object), len(b)
    for i in reversed(range(n)):
        x[:i] = x[:i] - L[i, :i] * x[i]
    x = x / D
    for i in range(1, n):
        x[i] = x[i] - L[i, :i] @ x[:i]
    return x


def smallest_pivot(S: Array) -> Scalar:
    """Smallest entry of D in ``S = L^T D L``: above zero exactly where S is positive definite."""
    _, D = _factors(S.astype(object))
    smallest = D[0]
    for pivot in D[1:]:
        smallest = select(smallest - pivot, pivot, smallest)
    return smallest


def _factors(S: Array) -> tuple[Array, Array]:
    """``L``, of unit diagonal, and the diagonal of D."""
    L = np.array(S, dtype=object)
    for k in reversed(range(len(L))):
        row = L[k, :k] / L[k, k]
        for i in range(k):
            L[i, : i + 1] = L[i, : i + 1] - row[i] * L[k, : i + 1]
        L[k, :k] = row
    return L, np.diag(L)


def mirrored(A: Array) -> Array:
    """A symmetric matrix from its upper triangle."""
    A = np.array(A)
    below = np.tril_indices(len(A), -1)
    A[below] = A.T[below]
    return A


def eigen_symmetric(S: Array) -> tuple[Array, Array]:
    """Eigenvalues (n,) and eigenvectors, the columns of (n, n), of a symmetric matrix; in any order.

    Jacobi's cyclic method with a fixed number of sweeps: a rotation for every pair of rows, whose tangent is
    the smaller root of ``t^2 + 2 t theta - 1``, written so that nothing divides by zero.
    Source: G. Golub, C. Van Loan, "Matrix Computations", section 8.5.
    """
    if is_numeric(S):
        return np.linalg.eigh(S)
    n = len(S)
    A, U = np.array(S, dtype=object), np.eye(n).astype(object)
    for _ in range(SWEEPS):
        for p in range(n - 1):
            for q in range(p + 1, n):
                _rotate(A, U, p, q)
    return np.diag(A).copy(), U


def _rotate(A: Array, U: Array, p: int, q: int) -> None:
    """Turn rows and columns p, q so that ``A[p, q]`` vanishes."""
    difference, coupling = A[q, q] - A[p, p], 2.0 * A[p, q]
    size = select(difference, difference, -difference)
    t = select(difference, coupling, -coupling) / (size + sqrt(difference * difference + coupling * coupling) + TINY)
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    a_p, a_q, change = A[p, p], A[q, q], t * A[p, q]
    for k in (k for k in range(len(A)) if k not in (p, q)):
        x, y = A[k, p], A[k, q]
        A[k, p] = A[p, k] = c * x - s * y
        A[k, q] = A[q, k] = s * x + c * y
    A[p, p], A[q, q] = a_p - change, a_q + change
    A[p, q] = A[q, p] = 0.0
    x, y = U[:, p].copy(), U[:, q].copy()
    U[:, p], U[:, q] = c * x - s * y, s * x + c * y
