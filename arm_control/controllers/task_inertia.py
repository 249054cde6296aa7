"""Inertia at the end effector, bounded at singularities: over any scalar, like the laws that use it."""

from __future__ import annotations

import numpy as np

from arm_control.matrices import eigen_symmetric, inverse, smallest_pivot
from arm_control.scalars import Scalar, maximum, select, sqrt
from arm_control.spatial import TINY, Array


def scaled_jacobian(J: Array, length: Scalar) -> Array:
    """``S J``: the angular rows times a length, so that metres and radians compare, shape (6, n) [m]."""
    return np.array([1.0, 1.0, 1.0, length, length, length])[:, None] * J


def task_inertia(J: Array, M_inv: Array, length: Scalar, singular_value: Scalar, is_regular: bool = False) -> Array:
    r"""Inertia at the end effector, equation (1), bounded at singularities, shape (6, 6).

    The Jacobian's rows are brought to metres (angular rows times ``length``) and decomposed,
    ``S J J^T S = U diag(sigma^2) U^T``. A direction ``u_i`` with ``sigma_i`` below ``singular_value`` gets the
    weight ``w_i = s^2 (3 - 2 s)``, ``s = sigma_i / singular_value``, through an extra compliance

        Lambda = S (A + sum_i (1 / w_i - 1) (u_i^T A u_i) u_i u_i^T)^-1 S,    A = S J M^-1 J^T S.

    Where all weights are 1 this is exactly (1); where ``w_i`` goes to 0 it becomes the inertia of the task
    without the direction ``u_i``. In between it is smooth, and the torque stays bounded: ``u_i^T A u_i`` is
    ``sigma_i^2`` times the mobility of the joints in that direction, so the extra compliance is
    ``(singular_value^2 / (3 - 2 s) - sigma_i^2)`` times the mobility, which is finite at ``sigma_i = 0``. There
    the mobility of all directions together stands in for the one that cannot be told. An arm with fewer than
    six joints lacks some directions for good; for them ``sigma_i = 0``.

    Parameters
    ----------
    J : array, shape (6, n)
        Jacobian.
    M_inv : array, shape (n, n)
        ``M^-1``.
    length : float
        Characteristic length [m].
    singular_value : float
        Where a direction begins to fade [m]; 0 switches the protection off.
    is_regular : bool
        No direction fades.
    """
    SJ = scaled_jacobian(J, length)
    A = SJ @ M_inv @ SJ.T
    if not is_regular:
        A = A + _fading(SJ @ SJ.T, A, maximum(singular_value, TINY))
    S = np.array([1.0, 1.0, 1.0, length, length, length])
    return S[:, None] * inverse(A) * S


def _fading(B: Array, A: Array, threshold: Scalar) -> Array:
    """The extra compliance; B is ``S J J^T S``."""
    total = np.zeros((6, 6))
    vague = 1e-3 * threshold * threshold  # a direction this close to lost has no mobility of its own to tell
    all_directions = np.trace(A) / np.trace(B)
    values, U = eigen_symmetric(B)
    for value, u in zip(values, U.T, strict=True):
        sigma_2 = maximum(value, 0.0)
        sigma = sqrt(sigma_2)
        mobility = (u @ A @ u + vague * all_directions) / (sigma_2 + vague)
        s = select(threshold - sigma, sigma / threshold, 1.0)
        extra = (threshold * threshold / (3.0 - 2.0 * s) - sigma_2) * mobility
        total = total + np.outer(select(threshold - sigma, extra, 0.0) * u, u)
    return total


def regularity(J: Array, length: Scalar, singular_value: Scalar) -> Scalar:
    """A number above zero exactly where no direction fades: without eigenvalues, from pivots."""
    SJ = scaled_jacobian(J, length)
    return smallest_pivot(SJ @ SJ.T - singular_value * singular_value * np.eye(6))
