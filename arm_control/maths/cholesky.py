"""Cholesky's factors over any scalar."""

from __future__ import annotations

import numpy as np

from arm_control.maths.poses import Array
from arm_control.maths.scalars import sqrt


def lower(entries: Array, n: int) -> Array:
    """Lower triangle (n, n) from its n (n + 1) / 2 entries, row by row."""
    L = np.zeros((n, n), dtype=object)
    L[np.tril_indices(n)] = entries
    return L


def cholesky(M: Array) -> tuple[Array, Array]:
    """L of ``M = L L^T`` and its inverse, each (n, n), over any scalar."""
    n = len(M)
    L, W = (np.zeros((n, n), dtype=object) for _ in range(2))
    for j in range(n):
        pivot = sqrt(M[j, j] - L[j, :j] @ L[j, :j])
        L[j, j], W[j, j] = pivot, 1.0 / pivot
        for i in range(j + 1, n):
            L[i, j] = (M[i, j] - L[i, :j] @ L[j, :j]) * W[j, j]
    for i in range(n):
        for j in range(i):
            W[i, j] = -W[i, i] * (L[i, j:i] @ W[j:i, j])
    return L, W
