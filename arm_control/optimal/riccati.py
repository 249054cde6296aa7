"""One step of the backward pass, equations (2) to (4) of :mod:`arm_control.optimal.ilqr_solver`, over any scalar.

With semi-implicit Euler steps, ``v' = v + dt a``, ``q' = q + dt v'``, the derivatives of the next state are

    (a)  f_x = E + T G_x,    f_u = T G_u,    E = [[1, 0], [0, 0]],    T = [[dt], [1]]

with the derivatives ``G_x = [G_q, G_v] = [dt a_q, 1 + dt a_v]`` and ``G_u = dt a_tau`` of the velocity v' alone. So all
products are of half the size: with ``W = E^T V_xx T`` (its upper half), ``S = T^T V_xx T``, ``H = [H_q, H_v] = S G_x +
[W^T, 0]`` and ``s = T^T V_x``,

    (b)  Q_x = l_x + [V_q, 0] + G_x^T s,     Q_u = l_u + G_u^T s
         Q_ux = l_ux + G_u^T H,              Q_uu = l_uu + G_u^T S G_u
         Q_xx = l_xx + [[V_qq + H_q^T G_q + (W G_q)^T,  H_q^T G_v],  [.,  G_v^T S G_v]]

The sums of (4) cost half as much where (3) holds exactly, as ``Q_uu K = -Q_ux - lambda K`` in free rows:

    (c)  V_xx = Q_xx + R^T K,   R = Q_ux - lambda K
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array, Cholesky, Scalar, cholesky, is_numeric, mirrored, select
from arm_control.optimal.box_constraints import active_set_step, box_qp

PASSES = 4
"""Sets of held controls that compiled code tries at a knot before it returns NOT_SETTLED."""
DONE, NOT_SETTLED, NOT_POSITIVE = 1.0, 0.0, -1.0
"""Status of a step: solved; held controls still change; Q_uu is not positive definite."""


class Cost(NamedTuple):
    """Derivatives of the cost l at a knot by x and u."""

    l_x: Array
    l_u: Array
    l_xx: Array
    l_ux: Array
    l_uu: Array


class Expansion(NamedTuple):
    """Derivatives of the cost to go Q by the state and control of a knot."""

    Q_x: Array
    Q_u: Array
    Q_xx: Array
    Q_ux: Array
    Q_uu: Array


class ControlBounds(NamedTuple):
    """Bounds ``u_min - u`` and ``u_max - u`` of a change k (n_u,), and the controls last held at one (-1, 0, 1)."""

    low: Array
    high: Array
    held: Array


class KnotStep(NamedTuple):
    """Result at a knot.

    Attributes
    ----------
    k, K : array, shape (n_u,) and (n_u, n_x)
        Feed-forward change and feedback.
    V_x, V_xx : array, shape (n_x,) and (n_x, n_x)
        Derivatives of the cost to go.
    dV_1, dV_2 : float
        Expected change of the cost, ``alpha dV_1 + alpha^2 dV_2``.
    held : array, shape (n_u,)
        Controls at their lower (-1) or upper (1) bound, or free (0).
    """

    k: Array
    K: Array
    V_x: Array
    V_xx: Array
    dV_1: Scalar
    dV_2: Scalar
    held: Array
    status: Scalar


class Backward(NamedTuple):
    """Result of a backward pass over all knots.

    Attributes
    ----------
    dV_1, dV_2 : float
        Expected change of the cost, ``alpha dV_1 + alpha^2 dV_2``.
    gradient : float
        Mean over the knots of the largest ``|k| / (|u| + 1)``.
    failed_at : int
        The knot whose Q_uu is not positive definite; -1 for none.
    """

    dV_1: float
    dV_2: float
    gradient: float
    failed_at: int


def expand_semi_implicit(cost: Cost, G_x: Array, G_u: Array, dt: Scalar, V_x: Array, V_xx: Array) -> Expansion:
    """Equation (2) by (b).

    ``G_x`` (n, 2 n) and ``G_u`` (n, n), symmetric, are the derivatives of the next velocity, dt the step [s].
    """
    n = len(G_u)
    V_qq, V_qv, V_vv = V_xx[:n, :n], V_xx[:n, n:], V_xx[n:, n:]
    G_q, G_v = G_x[:, :n], G_x[:, n:]
    W = dt * V_qq + V_qv
    S = dt * (W + V_qv.T) + V_vv
    H_q = S @ G_q + W.T
    H_v = S @ G_v
    s = dt * V_x[:n] + V_x[n:]
    Q_qq = V_qq + symmetric_product(H_q, G_q, G_q, W.T)
    Q_qv = H_q.T @ G_v
    Q_xx = np.block([[Q_qq, Q_qv], [Q_qv.T, symmetric_product(G_v, H_v)]])
    return Expansion(
        cost.l_x + np.concatenate([V_x[:n], np.zeros(n)]) + G_x.T @ s,
        cost.l_u + G_u @ s,
        cost.l_xx + Q_xx,
        cost.l_ux + np.hstack([G_u @ H_q, G_u @ H_v]),
        cost.l_uu + symmetric_product(G_u, S @ G_u),
    )


def step(Q: Expansion, lambda_: Scalar, bounds: ControlBounds | None = None) -> KnotStep:
    """Equations (3) and (4) at one knot.

    On floats the box problem of (3) is solved to the end; over other scalars PASSES sets of held controls are tried.
    """
    k, factors, held, status = _controls(Q.Q_uu + lambda_ * np.eye(len(Q.Q_u)), Q.Q_u, bounds)
    K = -factors.solve((1.0 - held * held)[:, None] * Q.Q_ux if bounds else Q.Q_ux)  # (3)
    Q_k = Q.Q_uu @ k
    V_x = Q.Q_x + K.T @ (Q_k + Q.Q_u) + Q.Q_ux.T @ k  # (4)
    V_xx = Q.Q_xx + symmetric_product(Q.Q_ux - lambda_ * K, K)  # (c)
    return KnotStep(k, K, V_x, V_xx, k @ Q.Q_u, 0.5 * (k @ Q_k), held, status)


def _controls(Q_uu: Array, Q_u: Array, bounds: ControlBounds | None) -> tuple[Array, Cholesky, Array, Scalar]:
    """Equation (3): k, Cholesky's factors for K, the held controls, and the status."""
    if bounds is None:
        factors = cholesky(Q_uu)
        status = select(factors.smallest_pivot, DONE, NOT_POSITIVE)
        return -factors.solve(Q_u), factors, np.zeros(len(Q_u)), status
    if is_numeric(Q_uu):
        return _solved(Q_uu, Q_u, bounds)
    held = bounds.held
    for _ in range(PASSES):
        before = held
        k, held, factors = active_set_step(Q_uu, Q_u, bounds.low, bounds.high, before)
    changed = 0.0
    for old, new in zip(before, held, strict=True):
        changed = changed + (old - new) * (old - new)
    return k, factors, held, select(changed, NOT_SETTLED, select(factors.smallest_pivot, DONE, NOT_POSITIVE))


def _solved(Q_uu: Array, Q_u: Array, bounds: ControlBounds) -> tuple[Array, Cholesky, Array, Scalar]:
    """Equation (3) on floats; see :func:`_controls`."""
    try:
        solution = box_qp(Q_uu, Q_u, *bounds)
    except InputError:
        return np.zeros_like(Q_u), cholesky(np.eye(len(Q_u))), bounds.held, NOT_POSITIVE
    return solution.x, solution.factors, solution.held, DONE


def symmetric_product(*factors: Array) -> Array:
    """``A^T B + C^T D + ...``, shape (n, n), where that is known to be symmetric; the factors are A, B, C, D, ...

    Over scalars other than floats only the upper triangle is computed, then mirrored.
    """
    pairs = list(zip(factors[::2], factors[1::2], strict=True))
    if all(is_numeric(x) for x in factors):
        total: Array = sum(A.T @ B for A, B in pairs)
        return 0.5 * (total + total.T)
    n = pairs[0][0].shape[1]
    upper = np.zeros((n, n), dtype=object)
    for i in range(n):
        for j in range(i, n):
            upper[i, j] = sum(A[:, i] @ B[:, j] for A, B in pairs)
    return mirrored(upper)
