"""Functions of an abstract scalar: a number, or whatever a law is written down with.

What is written with ``+ - * /`` and these functions runs on floats, and can be traced and compiled as it
stands. A kind of scalar that is no number registers its own sine, cosine and square root, and has the methods
``maximum``, ``select``, ``atan2`` and ``nearest``.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, TypeAlias

Scalar: TypeAlias = Any
"""A float, a SymPy expression or a node of a tape."""

_NUMBER = (int, float)


@singledispatch
def sin(x: Scalar) -> Scalar:
    """Sine of a scalar [rad]."""
    return math.sin(x)


@singledispatch
def cos(x: Scalar) -> Scalar:
    """Cosine of a scalar [rad]."""
    return math.cos(x)


@singledispatch
def sqrt(x: Scalar) -> Scalar:
    """Square root of a scalar."""
    return math.sqrt(x)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """Return the larger one."""
    if isinstance(x, _NUMBER):
        return (x if x >= y else y) if isinstance(y, _NUMBER) else y.maximum(x)
    return x.maximum(y)


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """Return the smaller one."""
    return -maximum(-x, -y)


def select(x: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Return a where x > 0, else b."""
    if isinstance(x, _NUMBER):
        return a if x > 0.0 else b
    return x.select(a, b)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) [rad], in [-pi, pi]."""
    if isinstance(y, _NUMBER) and isinstance(x, _NUMBER):
        return math.atan2(y, x)
    return (x if isinstance(y, _NUMBER) else y).atan2(y, x)


def nearest(x: Scalar) -> Scalar:
    """Return the nearest whole number; the even one halfway between two."""
    return float(round(x)) if isinstance(x, _NUMBER) else x.nearest()
