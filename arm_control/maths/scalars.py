"""Functions of an abstract scalar: a float, or what a law is traced or batched with; and columns of floats.

Text written with ``+ - * /`` and these functions runs on floats as it stands, on many cases at once
(:class:`Column`), and on the nodes of a tape that compiles it
(:mod:`arm_control.compiler.tape`). A scalar type of its own registers sine, cosine, exponential and square root, and
has the methods ``maximum``, ``select``, ``atan2``, ``nearest`` and ``stored``.

:func:`exp`, :func:`maximum`, :func:`minimum`, :func:`select` and :func:`clamp` also take arrays of scalars, whose
shapes broadcast. ``numpy.abs``, ``numpy.sqrt``, sums and products work on arrays of any scalar by themselves.

A law can also be compiled for many cases (:meth:`arm_control.RobotModel.compile_law`); columns need NumPy only, and
are the reference that a compiled law is compared with.
"""

from __future__ import annotations

import math
from functools import reduce, singledispatch
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Scalar: TypeAlias = Any
"""A float, a SymPy expression, a column of floats or a node of a tape."""
Array = npt.NDArray[Any]
"""An array of floats or of any scalar."""

LARGEST_EXPONENT = 709.782712893384
"""The exponential of a larger number is infinite in double precision."""
_NUMBER = (int, float)
_OBJECT = np.dtype(object)


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


@singledispatch
def exp(x: Scalar) -> Scalar:
    """Exponential of a scalar, or of an array entry by entry; infinite where it overflows."""
    return math.exp(x) if not x > LARGEST_EXPONENT else math.inf


@exp.register
def _(x: np.ndarray) -> Any:
    return np.exp(x) if _is_numeric(x) else _EXP(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) [rad], in [-pi, pi]."""
    if isinstance(y, _NUMBER) and isinstance(x, _NUMBER):
        return math.atan2(y, x)
    return (x if isinstance(y, _NUMBER) else y).atan2(y, x)


def nearest(x: Scalar) -> Scalar:
    """Return the nearest integer; halfway between two the even one."""
    return float(round(x)) if isinstance(x, _NUMBER) else x.nearest()


def stored(x: Scalar, like: Scalar) -> Scalar:
    """Return a scalar, or an array of them, as if it had been written to memory and read again.

    The value is the same. But what is computed from it is computed as from an input: a tape folds no constant into it,
    and machine code makes no single operation of a product before it and a sum behind it. So two laws, one behind the
    other in one kernel, give the same bits as in two kernels.

    Parameters
    ----------
    x : scalar or array of scalars
        The value; among the scalars of a tape it may be a number, too.
    like : scalar
        Any scalar of the kind that the law runs on.
    """
    if isinstance(like, _NUMBER):
        return x
    return _STORED(x, like) if _is_array(x) else like.stored(x)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """Return the larger of two scalars, or of two arrays entry by entry."""
    if isinstance(x, _NUMBER) and isinstance(y, _NUMBER):
        return x if x >= y else y
    if _is_array(x) or _is_array(y):
        return np.maximum(x, y) if _is_numeric(x, y) else _MAXIMUM(x, y)
    if isinstance(x, _NUMBER):
        return y.maximum(x)
    return x.maximum(y)


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """Return the smaller of two scalars, or of two arrays entry by entry."""
    if _is_array(x) or _is_array(y):
        return np.minimum(x, y) if _is_numeric(x, y) else _MINIMUM(x, y)
    return -maximum(-x, -y)


def select(x: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Return ``a`` where x > 0, else ``b``, also where x is NaN: a choice without a branch; shapes broadcast."""
    if isinstance(x, _NUMBER) and isinstance(a, _NUMBER) and isinstance(b, _NUMBER):
        return a if x > 0.0 else b
    if _is_array(x) or _is_array(a) or _is_array(b):
        return np.where(x > 0.0, a, b) if _is_numeric(x, a, b) else _SELECT(x, a, b)
    if isinstance(x, _NUMBER):
        return a if x > 0.0 else b
    return x.select(a, b)


def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Return the value nearest to x between two bounds.

    Parameters
    ----------
    x, low, high : scalar or array of scalars
        The value and its bounds, in one unit; shapes broadcast. Where the bounds cross, the upper one counts.
    """
    return minimum(maximum(x, low), high)


def largest(x: Scalar) -> Scalar:
    """Return the largest entries of an array of scalars along its last axis."""
    return x.max(-1) if _is_numeric(x) else reduce(maximum, [x[..., k] for k in range(x.shape[-1])])


_EXP = np.frompyfunc(exp, 1, 1)
_MAXIMUM = np.frompyfunc(maximum, 2, 1)
_MINIMUM = np.frompyfunc(minimum, 2, 1)
_SELECT = np.frompyfunc(select, 3, 1)
_STORED = np.frompyfunc(stored, 2, 1)


def _is_array(x: Scalar) -> bool:
    return isinstance(x, np.ndarray)


def _is_numeric(*values: Scalar) -> bool:
    """Whether NumPy's own functions apply: to floats and arrays of numbers."""
    for x in values:  # noqa: SIM110 - a generator takes twice the time
        if not isinstance(x, _NUMBER) and getattr(x, "dtype", _OBJECT) == _OBJECT:
            return False
    return True


# -- columns


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
