"""Parameters of rigid bodies that are physically consistent whatever their numbers are.

A body is possible where its pseudo-inertia is positive definite,

    (1)  P = [Sigma  h; h^T  m],   Sigma = 1/2 tr(J) 1 - J          so that   J = tr(Sigma) 1 - Sigma

which holds for masses above zero and moments that keep the triangle inequality, and for no others. Near a body with
P_0 = L_0 L_0^T, a URDF's, each possible body is

    (2)  P = L_0 U U^T L_0^T,   U lower triangular, U_ii = exp(x_ii),   x = 0 at the URDF's

and x measures how far it is from there, whatever the units and the frame: x_ii is half a relative change. A payload is
a point mass:

    (3)  m,   h = m c,   J = m (c.c 1 - c c^T)

    m, h, J     mass, first moment, second moment about the frame's origin      [kg; kg m; kg m^2]
    c           centre of mass                                                  [m]

Sources: P. Wensing, S. Kim, J.-J. Slotine, "Linear matrix inequalities for physically-consistent inertial parameter
identification", 2018, for (1); C. Rucker, P. Wensing, "Smooth parameterization of rigid-body inertia", 2022, for (2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arm_control.identification.momentum_regressor import N_PARAMETERS, UPPER, parameters_of
from arm_control.maths import Array
from arm_control.model import Inertia

LARGEST_CENTRE = 1.0
"""Bound of each coordinate of a payload's centre of mass [m]."""
CENTRE_DEVIATION = 0.2
"""Expected size of them [m]: decides where the recording does not tell."""
MASS_DEVIATION = 100.0
"""The same of a payload's mass [kg]: the recording tells."""
INERTIA_DEVIATION = 0.3
"""Expected size of x in (2)."""
THINNEST = 5e-3
"""Smallest radius of gyration of a link in (2) [m]: makes rods, plates and point masses bodies."""
LOWER = tuple(np.argwhere(np.tri(4) > 0.0).T)
"""Rows and columns of the entries x of U."""


class BodyParameters(Protocol):
    """Free parameters x of rigid bodies.

    Attributes
    ----------
    start, low, high, deviation : ndarray, shape (k,)
        Where a search begins, bounds, and the expected distance from the start.
    """

    start: Array
    low: Array
    high: Array
    deviation: Array

    def numbers(self, x: Array) -> Array:
        """Return m, h and J of all bodies, shape (10 n_bodies,)."""

    def jacobian(self, x: Array) -> Array:
        """Return the derivative of :meth:`numbers`, shape (10 n_bodies, k)."""


class NoBodies:
    """No rigid body is searched for."""

    start = low = high = deviation = np.zeros(0)

    def numbers(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        return np.zeros(0)

    def jacobian(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        return np.zeros((0, 0))


class PointMass:
    """A payload: x = (m, c), equation (3).

    Examples
    --------
    >>> PointMass().numbers(np.array([2.0, 0.0, 0.0, 0.1])).round(3)
    array([2.  , 0.  , 0.  , 0.2 , 0.02, 0.  , 0.  , 0.02, 0.  , 0.  ])
    """

    start = np.array([1.0, 0.0, 0.0, 0.0])
    low = np.array([0.0, *[-LARGEST_CENTRE] * 3])
    high = np.array([np.inf, *[LARGEST_CENTRE] * 3])
    deviation = np.array([MASS_DEVIATION, *[CENTRE_DEVIATION] * 3])

    def numbers(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        m, c = x[0], x[1:]
        return np.array([m, *(m * c), *(m * (c @ c * np.eye(3) - np.outer(c, c)))[UPPER]])

    def jacobian(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        m, c = x[0], x[1:]
        columns = [self.numbers(np.array([1.0, *c]))]
        for k, e in enumerate(np.eye(3)):
            dJ = m * (2.0 * c[k] * np.eye(3) - np.outer(e, c) - np.outer(c, e))
            columns.append(np.array([0.0, *(m * e), *dJ[UPPER]]))
        return np.stack(columns, axis=1)


class LinkInertias:
    """The links of an arm: ten x for each, equation (2), in the order of :data:`LOWER`.

    Parameters
    ----------
    inertias : sequence of Inertia
        Those of the URDF; bodies without mass stay so.

    Examples
    --------
    >>> links = LinkInertias([Inertia(2.0, np.zeros(3), 0.1 * np.eye(3))])
    >>> links.numbers(links.start)[:5].round(6)
    array([2. , 0. , 0. , 0. , 0.1])
    """

    def __init__(self, inertias: Sequence[Inertia]) -> None:
        self._fixed = [parameters_of(inertia) for inertia in inertias]
        self._factors = [_factor(inertia) if inertia.m > 0.0 else None for inertia in inertias]
        n = N_PARAMETERS * len(inertias)
        self.start, self.deviation = np.zeros(n), np.full(n, INERTIA_DEVIATION)
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)

    def numbers(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        bodies = zip(self._factors, self._fixed, x.reshape(-1, N_PARAMETERS), strict=True)
        parts = [fixed if L_0 is None else _from_pseudo_inertia(_product(L_0, _U(x_i))) for L_0, fixed, x_i in bodies]
        return np.concatenate(parts)

    def jacobian(self, x: Array) -> Array:
        """See :class:`BodyParameters`."""
        result = np.zeros((len(x), len(x)))
        for i, (L_0, x_i) in enumerate(zip(self._factors, x.reshape(-1, N_PARAMETERS), strict=True)):
            if L_0 is not None:
                block = slice(N_PARAMETERS * i, N_PARAMETERS * (i + 1))
                result[block, block] = _derivative(L_0, _U(x_i))
        return result


def _factor(inertia: Inertia) -> Array:
    """``L_0`` of a body, made at least as thick as :data:`THINNEST`."""
    J = np.asarray(inertia.J, dtype=float)
    m, c = float(inertia.m), np.asarray(inertia.h, dtype=float) / inertia.m
    Sigma_c = 0.5 * np.trace(J) * np.eye(3) - J - m * np.outer(c, c)
    moments, axes = np.linalg.eigh(Sigma_c)
    Sigma_c = axes @ np.diag(np.maximum(moments, m * THINNEST**2)) @ axes.T
    P = m * np.outer([*c, 1.0], [*c, 1.0])
    P[:3, :3] += Sigma_c
    return np.linalg.cholesky(P)


def _U(x: Array) -> Array:
    U = np.zeros((4, 4))
    U[LOWER] = x
    U[np.diag_indices(4)] = np.exp(U.diagonal())
    return U


def _product(L_0: Array, U: Array) -> Array:
    L = L_0 @ U
    return L @ L.T


def _derivative(L_0: Array, U: Array) -> Array:
    """Derivative of a body's ten parameters by its ten x."""
    columns = []
    for i, j in zip(*LOWER, strict=True):
        dL = np.outer(L_0[:, i], np.eye(4)[j]) * (U[i, i] if i == j else 1.0)
        dP = dL @ (L_0 @ U).T
        columns.append(_from_pseudo_inertia(dP + dP.T))
    return np.stack(columns, axis=1)


def _from_pseudo_inertia(P: Array) -> Array:
    """Return m, h and J of (1), shape (10,)."""
    Sigma = P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *(np.trace(Sigma) * np.eye(3) - Sigma)[UPPER]])
