"""Costs of a plan: sums of terms, each a weighted residual under a form phi.

At knot k, with the weight w_k of the term, the scale s_i and the residual r_i of each entry,

    (1)  l = w_k sum_i s_i phi(r_i(x, u))
    (2)  l_x = w_k sum_i s_i phi'(r_i) dr_i/dx,     l_xx = w_k sum_i s_i phi''(r_i) (dr_i/dx) (dr_i/dx)^T

and likewise by u. (2) is exact in the first derivatives, Gauss-Newton in the second; l_xx is never negative, as no
phi'' is. The unit of ``w_k s_i phi`` is that of the cost, so a running weight that is not to depend on the length of
a step is multiplied by it. Forms are

    (3)  Square       phi = r^2 / 2
    (4)  SmoothAbs    phi = sqrt(r^2 + width^2) - width
    (5)  Barrier      phi = max(1 - r / zone, 0)^3

with width and zone in the unit of r. Everything is written over any scalar. Numbers such as targets, weights and
scales are inputs of the compiled code. Residuals are in :mod:`arm_control.optimal.residuals`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Scalar, columns, maximum, rows, sqrt
from arm_control.optimal.arm_dynamics import Arm
from arm_control.optimal.residuals import Knot, Residual
from arm_control.optimal.riccati import Cost


class Form(Protocol):
    """A function phi of one number; ``numbers`` are its parameters at run time."""

    @property
    def numbers(self) -> tuple[float, ...]: ...  # noqa: D102

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """Return ``phi, phi', phi''`` of r; ``z`` are its numbers."""


@dataclass(frozen=True)
class Square:
    """``r^2 / 2``, equation (3)."""

    numbers: tuple[float, ...] = ()

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """See :class:`Form`."""
        return 0.5 * (r * r), r, 1.0


@dataclass(frozen=True)
class SmoothAbs:
    """Equation (4): round within ``width`` of zero, then straight."""

    width: float

    @property
    def numbers(self) -> tuple[float, ...]:
        """The width."""
        return (self.width,)

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """See :class:`Form`."""
        width = z[0]
        s = sqrt(r * r + width * width)
        return s - width, r / s, width * width / (s * s * s)


@dataclass(frozen=True)
class Barrier:
    """Equation (5): zero beyond the zone, 1 where r is zero, growing further below."""

    zone: float

    @property
    def numbers(self) -> tuple[float, ...]:
        """The zone."""
        return (self.zone,)

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """See :class:`Form`."""
        zone = z[0]
        x = maximum(1.0 - r / zone, 0.0)
        return x * x * x, -3.0 * (x * x) / zone, 6.0 * x / (zone * zone)


@dataclass(frozen=True, eq=False)
class Term:
    """One cost: a residual, its form and its weights.

    Parameters
    ----------
    running, terminal : float
        Weight w_k at each knot before the last one, and at the last.
    scale : array_like, shape (size,), optional
        Scale s_i of each entry of the residual; 1 by default.
    over_time : array_like, shape (N + 1,), optional
        A factor on the weight of each knot.

    Raises
    ------
    InputError
        When a weight is negative or not finite, or the scale has a wrong length.
    """

    residual: Residual
    running: float = 0.0
    terminal: float = 0.0
    form: Form = Square()
    scale: npt.ArrayLike | None = None
    over_time: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("running", "terminal", "scale", "over_time"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value).all() and np.min(value) >= 0.0):
                raise InputError(f"{name} of {type(self.residual).__name__} is {value}; weights are finite, 0 or above")
        if self.scale is not None and np.shape(self.scale) != (self.residual.size,):
            raise InputError(f"scale has shape {np.shape(self.scale)}, {self.residual.size} numbers are needed")

    @property
    def numbers(self) -> Array:
        """Run-time numbers of the term: scale, those of the form, those of the residual."""
        scale = np.ones(self.residual.size) if self.scale is None else np.asarray(self.scale, dtype=float)
        return np.concatenate([scale, self.form.numbers, self.residual.numbers]).astype(float)

    @property
    def structure(self) -> str:
        """Compile-time part of the term."""
        return f"{type(self.form).__name__}({self.residual.structure}, {self.residual.size})"

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        """Split the numbers of the term into scale, those of the form and those of the residual."""
        m, f = self.residual.size, self.residual.size + len(self.form.numbers)
        return z[:m], z[m:f], z[f:]


class Costs:
    """The sum of terms.

    Parameters
    ----------
    *terms : Term
        At least one.

    Attributes
    ----------
    structure : str
        Compile-time part of all terms.
    numbers : ndarray
        Run-time numbers of all terms.
    """

    def __init__(self, *terms: Term) -> None:
        if not terms:
            raise InputError("there is no cost: at least one term is needed")
        self.terms = terms
        self.structure = ", ".join(term.structure for term in terms)
        self.numbers = np.concatenate([term.numbers for term in terms])
        self._ends = np.cumsum([len(term.numbers) for term in terms]).tolist()

    def weights(self, n: int) -> Array:
        """Weight of each term at each of n + 1 knots, shape (n + 1, terms)."""
        weights = np.empty((n + 1, len(self.terms)))
        for column, term in zip(weights.T, self.terms, strict=True):
            factors = np.ones(n + 1) if term.over_time is None else np.asarray(term.over_time, dtype=float)
            if factors.shape != (n + 1,):
                raise InputError(f"over_time has shape {factors.shape}, a factor for each of {n + 1} knots is needed")
            column[:] = factors * np.array([term.running] * n + [term.terminal])
        return weights

    def value(self, knot: Knot, weights: Array, z: Array) -> Scalar:
        """Cost l at one knot, equation (1).

        Parameters
        ----------
        weights : array, shape (terms,)
            Weight of each term at this knot.
        z : array
            Run-time numbers of all terms.
        """
        total: Scalar = 0.0
        for (term, scale, form, own), weight in zip(self._split(z), weights, strict=True):
            r = term.residual.value(knot, own)
            phis = [s * term.form(r_i, form)[0] for s, r_i in zip(scale, r, strict=True)]
            total = total + weight * sum(phis[1:], phis[0])
        return total

    def _split(self, z: Array) -> Iterator[tuple[Term, Array, Array, Array]]:
        """Each term with its scale and the numbers of its form and residual."""
        for term, first, last in zip(self.terms, [0, *self._ends], self._ends, strict=False):
            yield term, *term.split(z[first:last])

    def expand(self, knot: Knot, weights: Array, z: Array) -> Cost:
        """Cost and its derivatives at one knot, equations (1) and (2); parameters of :meth:`value`."""
        n_x, n_u = len(knot.x), len(knot.u)
        l: Scalar = 0.0
        l_xu = np.zeros(n_x + n_u, dtype=object)
        l_xuxu = np.zeros((n_x + n_u, n_x + n_u), dtype=object)
        for (term, scale, form, own), weight in zip(self._split(z), weights, strict=True):
            r, r_xu = term.residual.expand(knot, own)
            for s_i, r_i, row in zip(scale, r, r_xu, strict=True):
                phi, phi_r, phi_rr = term.form(r_i, form)
                w = s_i * weight
                l = l + w * phi
                _add_derivatives(l_xu, l_xuxu, row, w * phi_r, w * phi_rr)
        below = np.tril_indices(n_x + n_u, -1)
        l_xuxu[below] = l_xuxu.T[below]
        x, u = slice(0, n_x), slice(n_x, None)
        return Cost(l, l_xu[x], l_xu[u], l_xuxu[x, x], l_xuxu[u, x], l_xuxu[u, u])

    def values(self, xs: Array, us: Array, weights: Array, arm: Arm) -> Array:
        """Cost at many knots, equation (1), shape (N + 1,).

        Of states (N + 1, n_x), controls (N + 1, n_u) and the weights of :meth:`weights`; ``arm`` is that of
        :class:`~arm_control.optimal.arm_dynamics.Dynamics`.
        """
        with np.errstate(all="ignore"):
            return rows([self.value(*self._columns(xs, us, weights, arm))], len(xs))[0]

    def expansions(self, xs: Array, us: Array, weights: Array, arm: Arm) -> Cost:
        """Cost and its derivatives at many knots, each with one more axis, the first; parameters of :meth:`values`."""
        with np.errstate(all="ignore"):
            cost = self.expand(*self._columns(xs, us, weights, arm))
        return Cost(*(np.moveaxis(rows(part, len(xs)), -1, 0) for part in cost))

    def _columns(self, xs: Array, us: Array, weights: Array, arm: Arm) -> tuple[Knot, Array, Array]:
        x, u = columns(xs.T), columns(us.T)
        return Knot(x, u, None if arm is None else arm(x, u)), columns(weights.T), self.numbers


def _add_derivatives(l_xu: Array, l_xuxu: Array, row: Array, slope: Scalar, curvature: Scalar) -> None:
    """Add one entry of equation (2), upper triangle only; zeros of ``dr_i/d(x, u)`` cost nothing."""
    used = [j for j, entry in enumerate(row) if not (isinstance(entry, (int, float)) and entry == 0.0)]
    for j in used:
        l_xu[j] = l_xu[j] + slope * row[j]
        scaled = curvature * row[j]
        for m in (m for m in used if m >= j):
            l_xuxu[j, m] = l_xuxu[j, m] + scaled * row[m]
