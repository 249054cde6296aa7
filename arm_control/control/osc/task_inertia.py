r"""Inertia at the end effector, bounded at singularities: over any scalar, like the laws that use it.

The Jacobian's rows are brought to metres (angular rows times a characteristic length), S J, so that no threshold
mixes metres with radians. With ``A = S J M^-1 J^T S`` and ``S J J^T S = U diag(sigma^2) U^T``,

    none         Lambda = S A^-1 S                          without bound at a singularity
    truncate     Lambda = S A^+ S                           eigenvalues of A below s^2 / m are left out
    damp         Lambda = S (A + s^2 / m 1)^-1 S            bounded, but inexact everywhere
    fade         Lambda = S (A + sum_i c_i u_i u_i^T)^-1 S  bounded, smooth, and exact where no sigma_i < s

with the threshold s [m] and the mean inertia ``m = tr(M) / n`` of the joints. The first is O. Khatib's (1987,
eq. 45), the second truncates singular values as is often done, at a threshold without a scale; it jumps where
a direction comes and goes. The fourth is ours: a direction with ``sigma_i < s`` gets the weight
``w_i = x^2 (3 - 2 x)``, ``x = sigma_i / s``, through the extra compliance

    c_i = (1 / w_i - 1) sigma_i^2 / (v_i^T M v_i) = (s^2 / (3 - 2 x) - sigma_i^2) / (v_i^T M v_i)

where v_i, ``sigma_i v_i = J^T S u_i``, is how the joints move along u_i, and ``v_i^T M v_i / sigma_i^2`` the inertia
that is felt there. Then the task gets the share w_i of the acceleration that it asks for along u_i, the torque for
it is ``M v_i w_i / sigma_i`` times that, which vanishes at ``sigma_i = 0``, and Lambda becomes the inertia of the task
without the direction. (A compliance taken from ``v_i^T M^-1 v_i`` would be many times larger in an arm whose joints
carry each other: the task would give up where it still can move.) An arm with fewer joints than the task has rows
lacks some directions for good; for them ``sigma_i = 0``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.maths.linalg import eigen_symmetric, inverse, smallest_pivot
from arm_control.maths.poses import TINY, Array
from arm_control.maths.scalars import Scalar, maximum, select, sqrt

SINGULARITIES = ("fade", "truncate", "damp", "none")
"""What may be done near a singularity."""
ALL = tuple(range(6))
CHARACTERISTIC_LENGTH = 0.3
"""Length [m] by which :func:`condition_number` scales the angular rows."""


def scaled_jacobian(J: Array, length: Scalar, rows: Sequence[int] = ALL) -> Array:
    """``S J``: the angular rows times a length, so that metres and radians compare, shape (m, n) [m]."""
    return scale(length, rows)[:, None] * J


def condition_number(J: Array) -> float:
    """Condition number of a Jacobian, shape (6, nv), with its angular rows in metres."""
    sigma = np.linalg.svd(scaled_jacobian(J, CHARACTERISTIC_LENGTH), compute_uv=False)
    return float(sigma[0] / max(sigma[-1], 1e-12))


def scale(length: Scalar, rows: Sequence[int] = ALL) -> Array:
    """Diagonal of S, shape (m,)."""
    return np.array([1.0 if row < 3 else length for row in rows])


def task_inertia(
    J: Array,
    M: Array,
    length: Scalar,
    singular_value: Scalar,
    *,
    M_inv: Array | None = None,
    rows: Sequence[int] = ALL,
    singularity: str = "fade",
    is_regular: bool = False,
) -> Array:
    """Inertia that a task feels, shape (m, m).

    Parameters
    ----------
    J : array, shape (m, n)
        Jacobian of the task.
    M : array, shape (n, n)
        Mass matrix.
    length : float
        Characteristic length [m].
    singular_value : float
        The threshold s [m].
    M_inv : array, shape (n, n), optional
        ``M^-1``, where it is known.
    rows : sequence of int
        Which rows of a twist these are.
    singularity : str
        One of SINGULARITIES.
    is_regular : bool
        No singular value is below the threshold.
    """
    M_inv = inverse(M) if M_inv is None else M_inv
    S, SJ = scale(length, rows), scaled_jacobian(J, length, rows)
    A = SJ @ M_inv @ SJ.T
    s, m = maximum(singular_value, TINY), np.trace(M) / len(M)
    if singularity == "truncate":
        return S[:, None] * _truncated(A, s * s / m) * S
    if singularity == "damp":
        A = A + s * s / m * np.eye(len(A))
    elif singularity == "fade" and not is_regular:
        A = A + _fading(SJ, M, m, s)
    return S[:, None] * inverse(A) * S


def _fading(SJ: Array, M: Array, mean: Scalar, threshold: Scalar) -> Array:
    """``sum_i c_i u_i u_i^T``."""
    B, B_M = SJ @ SJ.T, SJ @ M @ SJ.T
    total = np.zeros(B.shape)
    vague = 1e-3 * threshold * threshold  # a direction this close to lost has no inertia of its own to tell
    values, U = eigen_symmetric(B)
    for value, u in zip(values, U.T, strict=True):
        sigma_2 = maximum(value, 0.0)
        sigma = sqrt(sigma_2)
        mobility = (sigma_2 + vague) / (u @ B_M @ u + vague * mean)
        x = select(threshold - sigma, sigma / threshold, 1.0)
        c = (threshold * threshold / (3.0 - 2.0 * x) - sigma_2) * mobility
        total = total + np.outer(select(threshold - sigma, c, 0.0) * u, u)
    return total


def _truncated(A: Array, smallest: Scalar) -> Array:
    """Inverse of A in the directions whose eigenvalue is above ``smallest``, zero in the others."""
    values, U = eigen_symmetric(A)
    kept = [select(value - smallest, 1.0 / select(value - smallest, value, 1.0), 0.0) for value in values]
    return (U * np.array(kept)) @ U.T


def regularity(J: Array, length: Scalar, singular_value: Scalar, rows: Sequence[int] = ALL) -> Scalar:
    """A number above zero exactly where no direction fades: without eigenvalues, from pivots."""
    SJ = scaled_jacobian(J, length, rows)
    return smallest_pivot(SJ @ SJ.T - singular_value * singular_value * np.eye(len(SJ)))
