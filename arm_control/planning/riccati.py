"""One step of the backward pass, equations (2) to (4) of :mod:`arm_control.planning.ilqr`, over any scalar.

With semi-implicit Euler steps, ``v' = v + dt a``, ``q' = q + dt v'``, the derivatives of the next state are

    f_x = E + T G_x,    f_u = T G_u,    E = [[1, 0], [0, 0]],    T = [[dt], [1]]                    (a)

with the derivatives ``G_x = [dt a_q, 1 + dt a_v]`` and ``G_u = dt a_tau`` of the velocity alone. So all products are
of half the size: with ``W = E^T V_xx T`` (its upper half), ``S = T^T V_xx T`` and ``H = S G_x + [W^T, 0]``,

    Q_ux = l_ux + G_u^T H,     Q_uu = l_uu + G_u^T S G_u,
    Q_xx = l_xx + [[V_qq + H_q^T G_q + (W G_q)^T,  H_q^T G_v],  [.,  G_v^T S G_v]]                  (b)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths.linalg import is_numeric, mirrored
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, select
from arm_control.planning.box_qp import active_set_step, box_qp, cholesky, cholesky_solve

PASSES = 4
"""Sets of held controls that compiled code tries at a knot before it says so; it may be asked to go on from there."""
DONE, NOT_SETTLED, NOT_POSITIVE = 1.0, 0.0, -1.0
"""What a step can come to."""


class Cost(NamedTuple):
    """Cost at a knot: ``l``, and its derivatives."""

    l: Scalar
    l_x: Array
    l_u: Array
    l_xx: Array
    l_ux: Array
    l_uu: Array


class Expansion(NamedTuple):
    """Of the cost to go, by what is done now."""

    Q_x: Array
    Q_u: Array
    Q_xx: Array
    Q_ux: Array
    Q_uu: Array


class Limits(NamedTuple):
    """What a control may still be changed by, (n_u,) each, and which were held last time (-1, 0, 1)."""

    low: Array
    high: Array
    held: Array


class Step(NamedTuple):
    """Gains, cost to go, what the model expects of alpha (``dV = alpha dV_1 + alpha^2 dV_2``), and the status."""

    k: Array
    K: Array
    V_x: Array
    V_xx: Array
    dV_1: Scalar
    dV_2: Scalar
    held: Array
    status: Scalar


def expand(cost: Cost, f_x: Array, f_u: Array, V_x: Array, V_xx: Array) -> Expansion:
    """Equation (2)."""
    V_f = V_xx @ f_x
    return Expansion(
        cost.l_x + f_x.T @ V_x,
        cost.l_u + f_u.T @ V_x,
        cost.l_xx + symmetric_product(f_x, V_f),
        cost.l_ux + f_u.T @ V_f,
        cost.l_uu + symmetric_product(f_u, V_xx @ f_u),
    )


def expand_semi_implicit(cost: Cost, G_x: Array, G_u: Array, dt: Scalar, V_x: Array, V_xx: Array) -> Expansion:
    """Equation (2) by (b); ``G_u`` is symmetric."""
    n = len(G_u)
    V_qq, V_qv, V_vv = V_xx[:n, :n], V_xx[:n, n:], V_xx[n:, n:]
    G_q, G_v = G_x[:, :n], G_x[:, n:]
    W = dt * V_qq + V_qv
    S = dt * (W + V_qv.T) + V_vv
    H_q, H_v = S @ G_q + W.T, S @ G_v
    slope = dt * V_x[:n] + V_x[n:]
    Q_qq = V_qq + symmetric_product(H_q, G_q, G_q, W.T)
    Q_qv = H_q.T @ G_v
    Q_xx = np.block([[Q_qq, Q_qv], [Q_qv.T, symmetric_product(G_v, H_v)]])
    return Expansion(
        cost.l_x + np.concatenate([V_x[:n], np.zeros(n)]) + G_x.T @ slope,
        cost.l_u + G_u @ slope,
        cost.l_xx + Q_xx,
        cost.l_ux + np.hstack([G_u @ H_q, G_u @ H_v]),
        cost.l_uu + symmetric_product(G_u, S @ G_u),
    )


def step(Q: Expansion, lamb: Scalar, limits: Limits | None = None, state: Expansion | None = None) -> Step:
    """Equations (3) and (4), regularised by ``lamb`` in the controls, or by the Q_ux and Q_uu of ``state``.

    On floats the box is solved to the end; over other scalars PASSES sets of held controls are tried.
    """
    n = len(Q.Q_u)
    Q_uu = Q.Q_uu + lamb * np.eye(n) if state is None else state.Q_uu
    Q_ux = Q.Q_ux if state is None else state.Q_ux
    k, L, held, status = _controls(Q_uu, Q.Q_u, limits)
    K = -cholesky_solve(L, (1.0 - held * held)[:, None] * Q_ux if limits else Q_ux)
    Q_k = Q.Q_uu @ k
    # What (4) adds up to where (3) holds exactly costs half as much: Q_uu K = -Q_ux - lambda K in free rows.
    R = Q.Q_ux - lamb * K if state is None else Q.Q_ux + 0.5 * (Q.Q_uu @ K)
    V_xx = Q.Q_xx + (symmetric_product(R, K) if state is None else symmetric_product(R, K, K, R))
    return Step(k, K, Q.Q_x + K.T @ (Q_k + Q.Q_u) + Q.Q_ux.T @ k, V_xx, k @ Q.Q_u, 0.5 * (k @ Q_k), held, status)


def _controls(Q_uu: Array, Q_u: Array, limits: Limits | None) -> tuple[Array, Array, Array, Scalar]:
    """Equation (3): k, the factor for K, the controls held, and the status."""
    if limits is None:
        L, pivot = cholesky(Q_uu)
        return -cholesky_solve(L, Q_u), L, np.zeros(len(Q_u)), select(pivot, DONE, NOT_POSITIVE)
    if is_numeric(Q_uu):
        return _solved(Q_uu, Q_u, limits)
    held, changed = limits.held, 0.0
    for _ in range(PASSES):
        now = held
        k, held, L, pivot = active_set_step(Q_uu, Q_u, limits.low, limits.high, now)
    for before, after in zip(now, held, strict=True):
        changed = changed + (before - after) * (before - after)
    return k, L, held, select(changed, NOT_SETTLED, select(pivot, DONE, NOT_POSITIVE))


def _solved(Q_uu: Array, Q_u: Array, limits: Limits) -> tuple[Array, Array, Array, Scalar]:
    try:
        found = box_qp(Q_uu, Q_u, *limits)
    except InputError:
        return np.zeros_like(Q_u), np.eye(len(Q_u)), limits.held, NOT_POSITIVE
    return found.x, found.factor, found.held, DONE


def symmetric_product(*factors: Array) -> Array:
    """``A^T B + C^T D ...`` where that is known to be symmetric: over scalars that cost something, half of it."""
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
