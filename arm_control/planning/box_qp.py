"""Smallest value of a quadratic function in a box:

    min  1/2 x^T H x + g^T x    with  low <= x <= high                                             (1)

An entry is held at a bound or free. With the free ones f, the held ones c,

    x_f = -H_ff^-1 (g_f + H_fc x_c)                                                                (2)

is the answer if it lies within the box and nothing wants to leave its bound: ``g + H x`` is positive at a low and
negative at a high one. Otherwise what leaves the box is held, and what wants to leave its bound is free from now
on: a full step of a projected Newton method. A few of them, from the set that held last time, nearly always end
at the answer (:func:`active_set_step`, written over any scalar). They may go in a circle; then the steps are
shortened until the function falls (Armijo), which always ends.

Sources: D. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982;
M. Hintermüller, K. Ito, K. Kunisch, "The primal-dual active set strategy as a semismooth Newton method", 2002;
Y. Tassa, N. Mansard, E. Todorov, "Control-limited differential dynamic programming", 2014.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths.linalg import is_numeric
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, maximum, select, sqrt

FULL_STEPS = 8
MAX_ITERATIONS = 100
_STEP_FACTOR, _ARMIJO, _SHORTEST = 0.6, 0.1, 1e-22


class BoxQpResult(NamedTuple):
    """Where the smallest value is.

    ``x`` (n,); ``held`` (n,): -1 at the low bound, 1 at the high one, 0 free; ``factor`` (n, n), the Cholesky factor
    of H with unit rows where held; whether it ``converged``, and ``iterations``.
    """

    x: Array
    held: Array
    factor: Array
    converged: bool
    iterations: int


def cholesky(S: Array) -> tuple[Array, Scalar]:
    """Lower factor L of ``S = L L^T`` with the reciprocals of its diagonal in place of that; and the smallest pivot.

    The factor is of use where that is above zero.
    """
    if is_numeric(S):
        return _numeric_cholesky(S)
    n = len(S)
    L = np.zeros((n, n), dtype=object)
    smallest: Any = None
    for j in range(n):
        pivot = S[j, j] - _dot(L[j, :j], L[j, :j])
        smallest = pivot if smallest is None else -maximum(-smallest, -pivot)
        L[j, j] = 1.0 / sqrt(maximum(pivot, 1e-300))
        for i in range(j + 1, n):
            L[i, j] = (S[i, j] - _dot(L[i, :j], L[j, :j])) * L[j, j]
    return L, smallest


def _numeric_cholesky(S: Array) -> tuple[Array, Scalar]:
    try:
        L = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return np.eye(len(S)), 0.0
    diagonal = np.diag(L).copy()
    np.fill_diagonal(L, 1.0 / diagonal)
    return L, float(np.min(diagonal)) ** 2


def cholesky_solve(L: Array, b: Array) -> Array:
    """The x of ``L L^T x = b``, b of shape (n,) or (n, m), for a factor of :func:`cholesky`."""
    n, x = len(L), np.array(b)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] * L[i, i]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - L[j, i] * x[j]
        x[i] = x[i] * L[i, i]
    return x


def _dot(a: Array, b: Array) -> Scalar:
    return sum((x * y for x, y in zip(a[1:], b[1:], strict=True)), a[0] * b[0]) if len(a) else 0.0


def active_set_step(H: Array, g: Array, low: Array, high: Array, held: Array) -> tuple[Array, Array, Array, Scalar]:
    """Equation (2) for a set, and the set after it: ``x, held, factor, pivot``; the answer, where the set stays."""
    free = 1.0 - held * held
    x_c = select(held, high, select(-held, low, 0.0 * low))
    H_f = H * np.outer(free, free) + np.diag(1.0 - free)
    L, pivot = cholesky(H_f)
    x = x_c - cholesky_solve(L, free * (g + H @ x_c))
    slope = g + H @ x
    out = select(x - high, 1.0 + 0.0 * x, select(low - x, -1.0 + 0.0 * x, 0.0 * x))
    stays = select(held * slope, 0.0 * x, held)
    return x, select(free, out, stays), L, pivot


def box_qp(H: Any, g: Any, low: Any, high: Any, held: Any = None) -> BoxQpResult:
    """Solve (1).

    Parameters
    ----------
    H : array_like, shape (n, n)
        Symmetric, positive definite where free.
    g, low, high : array_like, shape (n,)
    held : array_like, shape (n,), optional
        The set to begin with; all free by default.

    Raises
    ------
    InputError
        When bounds cross, something is not finite, or H is not positive definite where it has to be.

    Examples
    --------
    >>> box_qp([[2.0, 0.0], [0.0, 2.0]], [-2.0, -6.0], [0.0, 0.0], [2.0, 2.0]).x
    array([1., 2.])
    """
    H, g, low, high = (np.asarray(x, dtype=float) for x in (H, g, low, high))
    if not all(np.isfinite(x).all() for x in (H, g)) or not (low <= high).all():
        raise InputError(f"H and g must be finite and the bounds not cross: g {g}, low {low}, high {high}")
    held = np.zeros(len(g)) if held is None else np.asarray(held, dtype=float)
    for iteration in range(FULL_STEPS):
        x, following, L, pivot = _numbers(active_set_step(H, g, low, high, held))
        if not pivot > 0.0:
            break  # the set may be to blame: the slower method tries others
        if np.array_equal(following, held):
            return BoxQpResult(np.clip(x, low, high), held, L, True, iteration + 1)
        held = following
    return _projected_newton(H, g, low, high, np.clip(np.zeros(len(g)), low, high))


def _projected_newton(H: Array, g: Array, low: Array, high: Array, x: Array) -> BoxQpResult:
    def value(x: Array) -> float:
        return float(0.5 * x @ H @ x + g @ x)

    held, L = np.zeros(len(g)), np.eye(len(g))
    for iteration in range(MAX_ITERATIONS):
        slope = g + H @ x
        held = np.where((x <= low) & (slope > 0.0), -1.0, np.where((x >= high) & (slope < 0.0), 1.0, 0.0))
        best, following, L, pivot = _numbers(active_set_step(H, g, low, high, held))
        if not pivot > 0.0:
            raise InputError(f"H is not positive definite where x is free: {H.tolist()}")
        if np.array_equal(following, held):
            return BoxQpResult(best, held, L, True, FULL_STEPS + iteration + 1)
        size, old = 1.0, value(x)
        while True:
            new = np.clip(x + size * (best - x), low, high)
            if value(new) - old <= _ARMIJO * float(slope @ (new - x)) or size < _SHORTEST:
                break
            size *= _STEP_FACTOR
        x = new
    return BoxQpResult(x, held, L, False, FULL_STEPS + MAX_ITERATIONS)


def _numbers(parts: tuple[Any, ...]) -> list[Any]:
    return [np.asarray(x, dtype=float) if isinstance(x, np.ndarray) else float(x) for x in parts]
