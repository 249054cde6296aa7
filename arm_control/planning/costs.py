"""What a planner is to keep small: the sum over the knots of

    l = weight_k  sum_i  scale_i  phi(r_i(x, u))                                                    (1)

of residuals r (an end effector's distance from its target, a control, the way to an obstacle) under a form phi (half
its square, its smooth absolute value, a barrier). Derivatives are those of Gauss and Newton, exact in the first,

    l_x = weight  sum_i scale_i phi'(r_i) r_i,x         l_xx = weight  sum_i scale_i phi''(r_i) r_i,x r_i,x^T     (2)

so that l_xx is never negative, as no phi'' is. Everything is written over any scalar; numbers such as targets are
no part of what is compiled. Residuals are in :mod:`arm_control.planning.residuals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.columns import columns, rows
from arm_control.maths.poses import Array
from arm_control.maths.scalars import Scalar, maximum, sqrt
from arm_control.planning.arm_dynamics import Arm
from arm_control.planning.knot import Knot
from arm_control.planning.residuals import Residual
from arm_control.planning.riccati import Cost


class Form(Protocol):
    """A function phi of one number."""

    @property
    def numbers(self) -> tuple[float, ...]: ...  # noqa: D102

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """Return ``phi, phi', phi''``; ``z`` are its numbers."""


@dataclass(frozen=True)
class Square:
    """``r^2 / 2``."""

    numbers: tuple[float, ...] = ()

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """See :class:`Form`."""
        return 0.5 * (r * r), r, 1.0


@dataclass(frozen=True)
class SmoothAbs:
    """``sqrt(r^2 + p^2) - p``: round within ``width`` p of zero, then straight."""

    width: float

    @property
    def numbers(self) -> tuple[float, ...]:
        """The width."""
        return (self.width,)

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """See :class:`Form`."""
        p = z[0]
        s = sqrt(r * r + p * p)
        return s - p, r / s, p * p / (s * s * s)


@dataclass(frozen=True)
class Barrier:
    """``max(1 - r / zone, 0)^3``: nothing beyond the zone, 1 where r is zero, more and more below."""

    zone: float

    @property
    def numbers(self) -> tuple[float, ...]:
        """The zone."""
        return (self.zone,)

    def __call__(self, r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        """See :class:`Form`."""
        x = maximum(1.0 - r / z[0], 0.0)
        return x * x * x, -3.0 * (x * x) / z[0], 6.0 * x / (z[0] * z[0])


@dataclass(frozen=True, eq=False)
class Term:
    """One cost: a residual, its form and its weights.

    Parameters
    ----------
    residual : Residual
        What is to be small.
    running, terminal : float
        Its weight at each knot before the last one, and at the last.
    form : Form
    scale : array_like, optional
        Weight of each entry of the residual; 1 by default.
    over_time : array_like, optional
        A factor for each knot, shape (N + 1,).

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
        """All numbers of it that are not compiled: scale, form, residual."""
        scale = np.ones(self.residual.size) if self.scale is None else np.asarray(self.scale, dtype=float)
        return np.concatenate([scale, self.form.numbers, self.residual.numbers]).astype(float)

    @property
    def structure(self) -> str:
        """Says what of it is compiled."""
        return f"{type(self.form).__name__}({self.residual.structure}, {self.residual.size})"

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        """Scale, the form's and the residual's numbers."""
        m, f = self.residual.size, self.residual.size + len(self.form.numbers)
        return z[:m], z[m:f], z[f:]


class Costs:
    """The sum of terms.

    Parameters
    ----------
    *terms : Term
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
        """Equation (1), for one knot."""
        total: Scalar = 0.0
        for i, (term, r, scale, numbers) in enumerate(self._each(knot, z)):
            phis = [s * term.form(r_i, numbers)[0] for s, r_i in zip(scale, r, strict=True)]
            total = total + weights[i] * sum(phis[1:], phis[0])
        return total

    def _each(self, knot: Knot, z: Array) -> Any:
        for term, first, last in zip(self.terms, [0, *self._ends], self._ends, strict=False):
            scale, form, own = term.split(z[first:last])
            yield term, term.residual.value(knot, own), scale, form

    def expand(self, knot: Knot, weights: Array, z: Array) -> Cost:
        """Equations (1) and (2), for one knot."""
        n_x, n_u = len(knot.x), len(knot.u)
        total, slope, curve = 0.0, np.zeros(n_x + n_u, dtype=object), np.zeros((n_x + n_u, n_x + n_u), dtype=object)
        for i, (term, first, last) in enumerate(zip(self.terms, [0, *self._ends], self._ends, strict=False)):
            scale, form, own = term.split(z[first:last])
            r, r_xu = term.residual.expand(knot, own)
            for s, r_i, row in zip(scale, r, r_xu, strict=True):
                phi, phi_r, phi_rr = term.form(r_i, form)
                used = [j for j, entry in enumerate(row) if not (isinstance(entry, (int, float)) and entry == 0.0)]
                weight = s * weights[i]
                total = total + weight * phi
                a, b = weight * phi_r, weight * phi_rr
                for j in used:
                    slope[j] = slope[j] + a * row[j]
                    scaled = b * row[j]
                    for m in (m for m in used if m >= j):
                        curve[j, m] = curve[j, m] + scaled * row[m]
        below = np.tril_indices(n_x + n_u, -1)
        curve[below] = curve.T[below]
        x, u = slice(0, n_x), slice(n_x, None)
        return Cost(total, slope[x], slope[u], curve[x, x], curve[u, x], curve[u, u])

    def values(self, xs: Array, us: Array, weights: Array, arm: Arm) -> Array:
        """Equation (1) at many knots, shape (N + 1,)."""
        with np.errstate(all="ignore"):
            return rows([self.value(*self._columns(xs, us, weights, arm))], len(xs))[0]

    def expansions(self, xs: Array, us: Array, weights: Array, arm: Arm) -> Cost:
        """Equations (1) and (2) at many knots: every part has one more axis, the first."""
        with np.errstate(all="ignore"):
            found = self.expand(*self._columns(xs, us, weights, arm))
        return Cost(*(np.moveaxis(rows(part, len(xs)), -1, 0) for part in found))

    def _columns(self, xs: Array, us: Array, weights: Array, arm: Arm) -> tuple[Knot, Array, Array]:
        x, u = columns(xs.T), columns(us.T)
        return Knot(x, u, None if arm is None else arm(x, u)), columns(weights.T), self.numbers
