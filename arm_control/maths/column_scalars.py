"""Columns: a scalar type with one float for each of many cases, so that a law runs on all cases at once.

A law can also be compiled for many cases (:meth:`arm_control.RobotModel.compile_law`); columns need NumPy only, and
are the reference that a compiled law is compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_control.maths.poses import Array
from arm_control.maths.scalars import cos, exp, sin, sqrt


class Column:
    """Floats, shape (n,), with the arithmetic of a scalar; see :mod:`arm_control.maths.scalars`."""

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        self.values = values

    def __add__(self, other: Any) -> Any:
        return Column(self.values + _values(other)) if isinstance(other, _SCALAR) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return Column(self.values - _values(other)) if isinstance(other, _SCALAR) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return Column(self.values * _values(other)) if isinstance(other, _SCALAR) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return Column(self.values / _values(other)) if isinstance(other, _SCALAR) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return Column(other - self.values) if isinstance(other, _SCALAR) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return Column(other / self.values) if isinstance(other, _SCALAR) else NotImplemented

    def __neg__(self) -> Any:
        return Column(-self.values)

    def __abs__(self) -> Any:
        return Column(np.abs(self.values))

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Any:
        """Square root; also what ``numpy.sqrt`` calls."""
        return Column(np.sqrt(self.values))

    def maximum(self, other: Any) -> Any:
        """The larger of this and another scalar."""
        return Column(np.maximum(self.values, _values(other)))

    def select(self, a: Any, b: Any) -> Any:
        """``a`` where this is above zero, else ``b``."""
        return Column(np.where(self.values > 0.0, _values(a), _values(b)))

    def atan2(self, y: Any, x: Any) -> Any:
        """Angle of the point (x, y)."""
        return Column(np.arctan2(_values(y), _values(x)))

    def nearest(self) -> Any:
        """The nearest integer; halfway between two the even one."""
        return Column(np.rint(self.values))

    def stored(self, x: Any) -> Any:
        """Another scalar as it is: every operation rounds by itself."""
        return x


_SCALAR = (Column, int, float)


@sin.register
def _(x: Column) -> Any:
    return Column(np.sin(x.values))


@cos.register
def _(x: Column) -> Any:
    return Column(np.cos(x.values))


@exp.register
def _(x: Column) -> Any:
    return Column(np.exp(x.values))


@sqrt.register
def _(x: Column) -> Any:
    return x.sqrt()


def _values(x: Any) -> Any:
    return x.values if isinstance(x, Column) else x


def columns(rows: Any) -> Array:
    """Rows of floats, shape (k, n), as k columns: the k scalars of a law."""
    entries = np.empty(len(rows), dtype=object)
    entries[:] = [Column(row) for row in rows]
    return entries


def rows(entries: Any, n: int) -> Array:
    """Columns back to floats.

    Parameters
    ----------
    entries : column, float, or array of them
        Results of a law, any shape.

    Returns
    -------
    ndarray, shape (..., n)
        A float for every entry and case.
    """
    entries = np.asarray(entries, dtype=object)
    values = np.empty((entries.size, n))
    for row, entry in zip(values, entries.ravel(), strict=True):
        row[:] = _values(entry)
    return values.reshape(*entries.shape, n)
