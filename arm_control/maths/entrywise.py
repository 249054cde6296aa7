"""Functions of arrays of any scalars, entry by entry: NumPy's for floats, those of one scalar for all others.

Shapes broadcast; a scalar counts as an array of one entry. ``numpy.abs``, ``numpy.sqrt``, sums and products know
every scalar by themselves.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from arm_control.maths import scalars
from arm_control.maths.poses import Array

_MAXIMUM, _MINIMUM = np.frompyfunc(scalars.maximum, 2, 1), np.frompyfunc(scalars.minimum, 2, 1)
_OBJECT = np.dtype(object)
_SELECT = np.frompyfunc(scalars.select, 3, 1)


def maximum(x: Any, y: Any) -> Array:
    """Return the larger ones."""
    return np.maximum(x, y) if _are_numbers(x, y) else _MAXIMUM(x, y)


def minimum(x: Any, y: Any) -> Array:
    """Return the smaller ones."""
    return np.minimum(x, y) if _are_numbers(x, y) else _MINIMUM(x, y)


def select(x: Any, a: Any, b: Any) -> Array:
    """Return a where x > 0, else b: also where x is no number."""
    return np.where(x > 0.0, a, b) if _are_numbers(x, a, b) else _SELECT(x, a, b)


def clamp(x: Any, low: Any, high: Any) -> Array:
    """Return what is nearest to x between two bounds; the upper one where they cross."""
    return minimum(maximum(x, low), high)


def largest(x: Array) -> Any:
    """Return the largest along the last axis."""
    return x.max(-1) if _are_numbers(x) else reduce(maximum, [x[..., k] for k in range(x.shape[-1])])


def _are_numbers(*arrays: Any) -> bool:
    return all(isinstance(x, float) or getattr(x, "dtype", _OBJECT) != _OBJECT for x in arrays)
