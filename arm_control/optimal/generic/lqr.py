"""Linear-quadratic regulators of linear systems; for an arm see :mod:`arm_control.optimal.local_lqr`.

For ``x_{k+1} = A x_k + B u_k`` and the cost ``1/2 sum (x^T Q x + u^T R u) + 1/2 x_N^T Q_N x_N`` the optimal control is
``u = -K x`` with

    (1)  K_k = (R + B^T P_{k+1} B)^-1 B^T P_{k+1} A,    P_k = Q + A^T P_{k+1} (A - B K_k),    P_N = Q_N

and, over an infinite horizon, with the fixed point P of (1), computed by doubling: each step takes twice as many knots
in.

For an arm, A and B come from finite differences about its state; the drift of that state is left out, so gravity has
to be compensated separately.

Source: E. Chu, H. Fan, W. Lin, "A structure-preserving doubling algorithm for continuous-time algebraic Riccati
equations", 2005 (its discrete form).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal.arm_dynamics import Dynamics
from arm_control.optimal.generic.user_dynamics import differences

_DOUBLINGS = 60


def finite_horizon(
    A: npt.ArrayLike, B: npt.ArrayLike, Q: npt.ArrayLike, R: npt.ArrayLike, Q_N: npt.ArrayLike, n: int
) -> tuple[Array, Array]:
    """Equation (1) over n steps.

    Parameters
    ----------
    A, B : array_like, shape (n_x, n_x) and (n_x, n_u)
        Dynamics.
    Q, R, Q_N : array_like, shape (n_x, n_x), (n_u, n_u) and (n_x, n_x)
        Weights.
    n : int
        Number of steps N.

    Returns
    -------
    K : ndarray, shape (n, n_u, n_x)
    P : ndarray, shape (n + 1, n_x, n_x)
    """
    A, B, Q, R, Q_N = _checked(A, B, Q, R, Q_N)
    K, P = np.empty((n, B.shape[1], len(A))), np.empty((n + 1, *A.shape))
    P[n] = Q_N
    for i in reversed(range(n)):
        K[i] = np.linalg.solve(R + B.T @ P[i + 1] @ B, B.T @ P[i + 1] @ A)
        P[i] = Q + A.T @ P[i + 1] @ (A - B @ K[i])
        P[i] = 0.5 * (P[i] + P[i].T)
    return K, P


def infinite_horizon(A: npt.ArrayLike, B: npt.ArrayLike, Q: npt.ArrayLike, R: npt.ArrayLike) -> tuple[Array, Array]:
    """Fixed point of equation (1): ``K`` (n_u, n_x) and ``P`` (n_x, n_x); parameters of :func:`finite_horizon`.

    Raises
    ------
    InputError
        When shapes do not fit, or no such control makes the system stable.
    """
    A, B, Q, R, _ = _checked(A, B, Q, R, Q)
    one = np.eye(len(A))
    A_k, G, P = A, B @ np.linalg.solve(R, B.T), Q
    for _ in range(_DOUBLINGS):
        with np.errstate(all="ignore"):
            W = np.linalg.solve(one + G @ P, np.hstack([A_k, G]))
            change = A_k.T @ P @ W[:, : len(A)]
            G, A_k, P = G + A_k @ W[:, len(A) :] @ A_k.T, A_k @ W[:, : len(A)], P + 0.5 * (change + change.T)
        if np.max(np.abs(change)) <= 1e-14 * np.max(np.abs(P)):
            return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), P
    raise InputError("no feedback makes this system stable: an uncontrolled part of it does not decay")


def linearised(dynamics: Dynamics, x: npt.ArrayLike, u: npt.ArrayLike) -> tuple[Array, Array]:
    """``A`` and ``B`` of dynamics about a state and a control, by finite differences.

    Parameters
    ----------
    dynamics : Dynamics
        The dynamics f.
    x : array_like, shape (n_x,)
        State.
    u : array_like, shape (n_u,)
        Control.
    """
    x, u, n = np.asarray(x, dtype=float), np.asarray(u, dtype=float), dynamics.n_x
    AB = differences(lambda xus: dynamics.step(xus[:, :n], xus[:, n:]), np.concatenate([x, u])[None])[0]
    return AB[:, :n], AB[:, n:]


def _checked(*matrices: npt.ArrayLike) -> list[Array]:
    A, B, Q, R, Q_N = (np.atleast_2d(np.asarray(x, dtype=float)) for x in matrices)
    n_x, n_u = B.shape
    if A.shape != (n_x, n_x) or Q.shape != A.shape or Q_N.shape != A.shape or R.shape != (n_u, n_u):
        raise InputError(f"shapes do not fit: A {A.shape}, B {B.shape}, Q {Q.shape}, R {R.shape}, Q_N {Q_N.shape}")
    if not all(np.isfinite(x).all() for x in (A, B, Q, R, Q_N)):
        raise InputError("A, B, Q, R and Q_N must be finite")
    return [A, B, Q, R, Q_N]
