r"""The task inertia Lambda, bounded at singularities; over any scalar, like the law that uses it.

The rows of the Jacobian are brought to metres, S J, with ``S = diag(1 or L)`` and the characteristic length L [m] for
the angular rows, so that no threshold mixes metres with radians. With the singular values sigma_i [m], ``S J J^T S = U
diag(sigma_i^2) U^T``, their directions u_i, and the threshold s [m],

    (1)  Lambda = S (A + sum_i c_i u_i u_i^T)^-1 S,   A = S J M^-1 J^T S                    A: mobility [1/kg]
    (2)  c_i = (1 / w_i - 1) sigma_i^2 / (v_i^T M v_i),   v_i = J^T S u_i / sigma_i         c_i: extra mobility [1/kg]
             = (s^2 / (3 - 2 x_i) - sigma_i^2) / (v_i^T M v_i)
    (3)  w_i = x_i^2 (3 - 2 x_i),   x_i = sigma_i / s   where sigma_i < s,   w_i = 1 elsewhere

A direction with ``sigma_i < s`` fades: the task gets the share w_i of the acceleration requested along u_i. Lambda is
bounded and smooth everywhere, and exact, ``Lambda = (J M^-1 J^T)^-1``, where no sigma_i is below s.

v_i is the joint motion along u_i, and ``v_i^T M v_i / sigma_i^2`` the inertia felt there. The torque for a unit of
requested acceleration is ``M v_i w_i / sigma_i``, which vanishes at ``sigma_i = 0``; Lambda becomes the inertia of the
task without the direction. (A mobility taken from ``v_i^T M^-1 v_i`` would be many times larger in an arm whose joints
carry each other: the task would give up where it still can move.) An arm with fewer joints than the task has rows
lacks some directions for good; for them ``sigma_i = 0``.

Other ways to bound Lambda, to compare with, are in :mod:`arm_control.control.osc.law_variants`.

Source: O. Khatib, "A unified approach for motion and force control of robot manipulators", 1987, for ``Lambda = (J
M^-1 J^T)^-1``, the kinetic energy matrix of redundant arms, without (2) and (3), which are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from arm_control.maths import TINY, Array, Scalar, eigen_symmetric, inverse, maximum, select, smallest_pivot, sqrt

ALL = tuple(range(6))
CHARACTERISTIC_LENGTH = 0.3
"""Length [m] by which :func:`condition_number` scales the angular rows by default."""
VAGUE = 1e-3
"""Share of ``s^2`` below which ``sigma_i^2`` is too small to tell the inertia along u_i: the mean one is mixed in."""


class Mobility(NamedTuple):
    """What Lambda is computed from: S (m,), S J (m, n) [m], A of (1) (m, m) [1/kg], M (n, n), and s [m]."""

    S: Array
    SJ: Array
    A: Array
    M: Array
    s: Scalar


TaskInertia = Callable[[Mobility], Array]
"""Lambda, shape (m, m) [kg, kg m or kg m^2], from the mobility."""


def task_inertia(
    J: Array,
    M: Array,
    length: Scalar,
    singular_value: Scalar,
    *,
    M_inv: Array | None = None,
    rows: Sequence[int] = ALL,
    inertia: TaskInertia | None = None,
) -> Array:
    """Lambda of equation (1), shape (m, m) [kg, kg m or kg m^2].

    Parameters
    ----------
    M : array, shape (n, n)
        Mass matrix, or the weighted one of the null space.
    length : float
        Characteristic length L [m].
    singular_value : float
        Threshold s [m].
    M_inv : array, shape (n, n), optional
        ``M^-1``, to save its computation.
    rows : sequence of int
        Rows of a twist that J consists of.
    inertia : function, optional
        Another way to bound Lambda; by default :func:`fading_inertia`.
    """
    M_inv = inverse(M) if M_inv is None else M_inv
    SJ = scaled_jacobian(J, length, rows)
    mobility = Mobility(row_scales(length, rows), SJ, SJ @ M_inv @ SJ.T, M, maximum(singular_value, TINY))
    return (inertia or fading_inertia)(mobility)


def fading_inertia(mobility: Mobility) -> Array:
    """Lambda of equation (1)."""
    S, SJ, A, M, s = mobility
    return S[:, None] * inverse(A + _fading(SJ, M, s)) * S  # (1)


def plain_inertia(mobility: Mobility) -> Array:
    """Lambda without fading, ``(J M^-1 J^T)^-1``: that of (1) where no sigma_i is below s."""
    S = mobility.S
    return S[:, None] * inverse(mobility.A) * S


def scaled_jacobian(J: Array, length: Scalar, rows: Sequence[int] = ALL) -> Array:
    """``S J``, shape (m, n) [m]: metres and radians compare."""
    return row_scales(length, rows)[:, None] * J


def row_scales(length: Scalar, rows: Sequence[int] = ALL) -> Array:
    """Diagonal of S, shape (m,): 1 for linear rows, L [m] for angular ones."""
    return np.array([1.0 if row < 3 else length for row in rows])


def condition_number(J: Array, rank: int, length: float = CHARACTERISTIC_LENGTH) -> Any:
    """Condition number of a Jacobian with its angular rows in metres; of Jacobians, shape (..., 6, nv), each its own.

    Parameters
    ----------
    rank : int
        Singular values that count: a planar arm has 3, however many its joints are.
    length : float
        Characteristic length [m].
    """
    sigma = np.linalg.svd(scaled_jacobian(J, length), compute_uv=False)[..., :rank]
    return sigma[..., 0] / np.maximum(sigma[..., -1], 1e-12)


def _fading(SJ: Array, M: Array, s: Scalar) -> Array:
    """``sum_i c_i u_i u_i^T`` of equations (2) and (3), shape (m, m)."""
    B = SJ @ SJ.T
    B_M = SJ @ M @ SJ.T
    mean_inertia = np.trace(M) / len(M)
    vague = VAGUE * s * s
    total = np.zeros(B.shape)
    values, U = eigen_symmetric(B)
    for value, u in zip(values, U.T, strict=True):
        sigma_2 = maximum(value, 0.0)
        sigma = sqrt(sigma_2)
        mobility = (sigma_2 + vague) / (u @ B_M @ u + vague * mean_inertia)  # 1 / (v_i^T M v_i)
        x = select(s - sigma, sigma / s, 1.0)
        c = (s * s / (3.0 - 2.0 * x) - sigma_2) * mobility  # (2)
        total = total + np.outer(select(s - sigma, c, 0.0) * u, u)
    return total


def regularity(J: Array, length: Scalar, singular_value: Scalar, rows: Sequence[int] = ALL) -> Scalar:
    """Smallest pivot of ``S J J^T S - s^2 1``: above zero exactly where no sigma_i is below s."""
    SJ = scaled_jacobian(J, length, rows)
    return smallest_pivot(SJ @ SJ.T - singular_value * singular_value * np.eye(len(SJ)))
