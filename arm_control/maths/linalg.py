"""Linear algebra over any scalar: vectors in space; LAPACK for floats, written out without a branch for all others."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from arm_control.maths.poses import TINY
from arm_control.maths.scalars import Array, Scalar, maximum, minimum, select, sqrt

MIN_LENGTH = 1e-12
"""Length below which a vector has no direction [m]."""


def dot(a: Array, b: Array) -> Scalar:
    """``a^T b`` of vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Array, b: Array) -> Array:
    """``a x b``, shape (3,): ``numpy.cross`` for any scalar, and faster for one pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Array) -> Array:
    """The matrix ``[a]`` with ``[a] b = a x b``, shape (3, 3)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def length_and_direction(x: Array, default: Array) -> tuple[Scalar, Array]:
    """Length of a vector (3,), and its direction: ``default`` where it is shorter than :data:`MIN_LENGTH`."""
    length = sqrt(dot(x, x))
    has_direction = length - MIN_LENGTH
    return length, select(has_direction, x * (1.0 / select(has_direction, length, 1.0)), default)


def any_perpendicular(x: Array) -> Array:
    """A unit vector perpendicular to x, shape (3,); any unit vector where x has no direction."""
    is_near_x_axis = 2.0 * x[0] * x[0] - dot(x, x)
    across_z, across_x = np.array([-x[2], 0.0, x[0]]), np.array([0.0, x[2], -x[1]])
    return length_and_direction(select(is_near_x_axis, across_z, across_x), np.array([0.0, 0.0, 1.0]))[1]


# -- matrices


SMALL = 3
"""Rows of a matrix of which the eigenvectors are quickly found."""
SWEEPS = 7
"""Sweeps of Jacobi's method: six rows and columns converge to the last bit within six."""


def is_numeric(A: Array) -> bool:
    """Whether a matrix holds floats, not nodes or symbols."""
    return A.dtype != object


def inverse(S: Array) -> Array:
    """Inverse of a positive definite matrix, shape (n, n), from ``S = L^T D L``.

    For a mass matrix, elimination from the outermost joint inwards keeps the zeros of a tree's branches. The result
    for a singular matrix is not finite. Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008,
    section 6.5.
    """
    if is_numeric(S):
        return _numeric_inverse(S)
    n = len(S)
    L, D = _ltdl(S)
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
    """Solution x of ``S x = b`` for a positive definite matrix, cheaper than its inverse.

    Parameters
    ----------
    S : array, shape (n, n)
        Symmetric, positive definite.
    b : array, shape (n,)
        Right-hand side.
    """
    if is_numeric(S):
        return np.linalg.solve(S, b)
    L, D = _ltdl(S)
    x, n = np.array(b, dtype=object), len(b)
    for i in reversed(range(n)):
        x[:i] = x[:i] - L[i, :i] * x[i]
    x = x / D
    for i in range(1, n):
        x[i] = x[i] - L[i, :i] @ x[:i]
    return x


def smallest_pivot(S: Array) -> Scalar:
    """Smallest entry of D in ``S = L^T D L``: above zero exactly where S is positive definite."""
    _, D = _ltdl(S.astype(object))
    smallest = D[0]
    for pivot in D[1:]:
        smallest = select(smallest - pivot, pivot, smallest)
    return smallest


def _ltdl(S: Array) -> tuple[Array, Array]:
    """``L``, of unit diagonal, and the diagonal of D in ``S = L^T D L``."""
    L = np.array(S, dtype=object)
    for k in reversed(range(len(L))):
        row = L[k, :k] / L[k, k]
        for i in range(k):
            L[i, : i + 1] = L[i, : i + 1] - row[i] * L[k, : i + 1]
        L[k, :k] = row
    return L, np.diag(L)


class Cholesky(NamedTuple):
    """Cholesky's factors of a symmetric matrix, ``S = L L^T``.

    Attributes
    ----------
    L : array, shape (n, n)
        Lower triangular factor, valid where ``smallest_pivot`` is above zero.
    reciprocals : array, shape (n,)
        ``1 / L_ii``.
    smallest_pivot : scalar
        Smallest ``L_ii^2``: above zero exactly where S is positive definite.
    """

    L: Array
    reciprocals: Array
    smallest_pivot: Scalar

    def inverse(self) -> Array:
        """``L^-1``, lower triangular, shape (n, n)."""
        n = len(self.L)
        W = np.zeros((n, n), dtype=self.L.dtype)
        for i in range(n):
            W[i, i] = self.reciprocals[i]
            for j in range(i):
                W[i, j] = -W[i, i] * (self.L[i, j:i] @ W[j:i, j])
        return W

    def solve(self, b: Array) -> Array:
        """Solution x of ``L L^T x = b``, for b of shape (n,) or (n, m)."""
        n, x = len(self.L), np.array(b)
        for i in range(n):
            for j in range(i):
                x[i] = x[i] - self.L[i, j] * x[j]
            x[i] = x[i] * self.reciprocals[i]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - self.L[j, i] * x[j]
            x[i] = x[i] * self.reciprocals[i]
        return x


def cholesky(S: Array) -> Cholesky:
    """Cholesky's factors of a symmetric matrix, shape (n, n), of which the lower triangle counts.

    Examples
    --------
    >>> factors = cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> factors.L
    array([[2., 0.],
           [1., 2.]])
    >>> factors.solve(np.array([8.0, 12.0]))
    array([1., 2.])
    """
    if is_numeric(S):
        return _numeric_cholesky(S)
    n = len(S)
    L = np.zeros((n, n), dtype=object)
    reciprocals = np.zeros(n, dtype=object)
    pivots = []
    for j in range(n):
        pivots.append(S[j, j] - L[j, :j] @ L[j, :j])
        L[j, j] = sqrt(maximum(pivots[j], TINY))
        reciprocals[j] = 1.0 / L[j, j]
        for i in range(j + 1, n):
            L[i, j] = (S[i, j] - L[i, :j] @ L[j, :j]) * reciprocals[j]
    return Cholesky(L, reciprocals, reduce(minimum, pivots))


def _numeric_cholesky(S: Array) -> Cholesky:
    try:
        L = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return Cholesky(np.eye(len(S)), np.ones(len(S)), 0.0)
    diagonal = np.diag(L)
    return Cholesky(L, 1.0 / diagonal, float(np.min(diagonal)) ** 2)


def lower_triangle(entries: Array, n: int) -> Array:
    """Lower triangular matrix from its entries row by row, shape (n (n + 1) / 2,)."""
    L = np.zeros((n, n), dtype=object)
    L[np.tril_indices(n)] = entries
    return L


def mirrored(A: Array) -> Array:
    """A symmetric matrix, shape (n, n), from its upper triangle."""
    A = np.array(A)
    below = np.tril_indices(len(A), -1)
    A[below] = A.T[below]
    return A


def congruent(A: Array, S: Array) -> Array:
    """``A S A^T``, each entry of the upper triangle computed once.

    Parameters
    ----------
    A : array, shape (m, n)
        Any matrix.
    S : array, shape (n, n)
        Symmetric.
    """
    AS = A @ S
    product = np.array([[AS[i] @ A[j] if j >= i else 0.0 for j in range(len(A))] for i in range(len(A))])
    return mirrored(product)


def geometric_mean(A: Array, B: Array) -> Array:
    """Geometric mean ``A # B = L (L^-1 B L^-T)^(1/2) L^T`` with ``A = L L^T``: the solution X of ``X A^-1 X = B``.

    Parameters
    ----------
    A : array, shape (n, n)
        Symmetric, positive definite.
    B : array, shape (n, n)
        Symmetric, positive semidefinite.

    Returns
    -------
    array, shape (n, n)
        Symmetric, in the unit of the root of A times B.

    Examples
    --------
    >>> geometric_mean(np.diag([4.0, 1.0]), np.diag([9.0, 2.25]))
    array([[6. , 0. ],
           [0. , 1.5]])
    """
    factors = cholesky(A)
    L_inv = factors.inverse()
    values, U = eigen_symmetric(congruent(L_inv, B))
    root = congruent(U, np.diag([sqrt(maximum(value, 0.0)) for value in values]))
    return congruent(factors.L, root)


def remove_range(y: Array, S: Array, tolerance: float, least: float = TINY) -> Array:
    """``y`` less its projection on the range of a positive semidefinite matrix, shape (n,).

    Up to three rows by eigenvectors. A larger matrix is taken apart: for a direction q in the range, the column of the
    largest entry on the diagonal at length one, ``y - q q^T y`` and ``P S P`` with ``P = 1 - q q^T`` have no part along
    q any more; n times, and nothing is left of S. For six rows that is a tenth of the work of eigenvectors.

    Parameters
    ----------
    tolerance : float
        Share of the largest eigenvalue, or ``q^T S q``, below which another, or what is left of the trace, counts as
        nothing.
    least : float
        Eigenvalue or trace that counts as nothing in any case.

    Examples
    --------
    >>> b = np.array([3.0, 4.0, 0.0, 0.0])
    >>> remove_range(np.array([1.0, 0.0, 0.0, 2.0]), np.outer(b, b), 1e-9)
    array([ 0.64, -0.48,  0.  ,  2.  ])
    """
    n = len(y)
    if n <= SMALL:
        return _remove_eigenvectors(y, S, tolerance, least)
    largest = 0.0
    for _ in range(n):
        pivot, column = S[0, 0], S[:, 0]
        for k in range(1, n):
            is_larger = S[k, k] - pivot
            pivot, column = maximum(S[k, k], pivot), select(is_larger, S[:, k], column)
        counts = np.trace(S) - maximum(tolerance * largest, least)
        q = column * select(counts, 1.0 / sqrt(select(counts, column @ column, 1.0)), 0.0)
        y = y - q * (q @ y)
        u = S @ q
        along = q @ u
        largest = maximum(along, largest)
        u = u - q * (0.5 * along)
        S = mirrored(np.array([[S[i, j] - q[i] * u[j] - u[i] * q[j] for j in range(n)] for i in range(n)]))
    return y


def _remove_eigenvectors(y: Array, S: Array, tolerance: float, least: float) -> Array:
    values, U = eigen_symmetric(S)
    threshold = maximum(tolerance * reduce(maximum, values), least)
    result = y
    for value, u in zip(values, U.T, strict=True):
        result = result - u * select(value - threshold, u @ y, 0.0)
    return result


def eigen_symmetric(S: Array) -> tuple[Array, Array]:
    """Eigenvalues (n,) and eigenvectors, the columns of (n, n), of a symmetric matrix; in any order.

    Jacobi's cyclic method with a fixed number of sweeps: a rotation for every pair of rows, whose tangent is
    the smaller root of ``t^2 + 2 t theta - 1``, written so that no divisor is zero.
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
