"""The linear-quadratic regulator of a linear system over a finite horizon.

For ``x_{k+1} = A x_k + B u_k`` and the cost ``1/2 sum (x^T Q x + u^T R u) + 1/2 x_N^T Q_N x_N`` the optimal control is
``u = -K x`` with

    (1)  K_k = (R + B^T P_{k+1} B)^-1 B^T P_{k+1} A,    P_k = Q + A^T P_{k+1} (A - B K_k),    P_N = Q_N
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array


def finite_horizon(A: Array, B: Array, Q: Array, R: Array, Q_N: Array, n: int) -> tuple[Array, Array]:
    """Equation (1): gains (n, n_u, n_x) and P (n + 1, n_x, n_x)."""
    K, P = np.empty((n, B.shape[1], len(A))), np.empty((n + 1, *A.shape))
    P[n] = Q_N
    for i in reversed(range(n)):
        K[i] = np.linalg.solve(R + B.T @ P[i + 1] @ B, B.T @ P[i + 1] @ A)
        P[i] = Q + A.T @ P[i + 1] @ (A - B @ K[i])
        P[i] = 0.5 * (P[i] + P[i].T)
    return K, P
