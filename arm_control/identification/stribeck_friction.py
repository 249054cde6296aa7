"""Stribeck friction of joints: what friction is more at low speed, and the speed at which that is gone.

    (1)  tau_j = s_j sign(v_j) exp(-(v_j / v_s)^2)        as simulated arms have it; v_s is one for all joints

(1) is linear in s_j and not in v_s. The averages over windows (:mod:`~arm_control.identification.torque_rows`) are
columns for each joint at the grid speeds V_k, V_k+1 / V_k constant; between them cubics through four neighbours give

    (2)  column_j(v_s) = sum_k w_k(x) column_jk,   x = log v_s

so that the coefficients of the columns are s_j w_k(x), with a derivative by s_j and by x: the search of
:mod:`~arm_control.identification.torque_fit` finds them with everything else, and their standard errors.

    s, v_s    Stribeck friction, Stribeck velocity       [N m; rad/s]

Sources: B. Armstrong-Helouvry, P. Dupont, C. Canudas de Wit, "A survey of models, analysis tools and compensation
methods for the control of machines with friction", 1994, for (1); R. Keys, "Cubic convolution interpolation for digital
image processing", 1981, for (2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.identification.momentum_regressor import BodyParameters
from arm_control.maths import Array

SPEEDS = np.geomspace(2e-3, 2.0, 31)
"""V_k [rad/s or m/s]; the first and the last one are neighbours only."""
USUAL = 0.05
"""v_s at which a search begins [rad/s or m/s]."""
CUBICS = 0.5 * np.array([[0, -1, 2, -1], [2, 0, -5, 3], [0, 1, 4, -3], [0, 0, -1, 1]])
"""Weights of four neighbours as polynomials of the place between the middle two."""
VELOCITY_DEVIATION = 3.0
"""Expected distance of log v_s from there."""
FRICTION_DEVIATION = 10.0
"""Expected size of s_j, as a share of the joint's torque."""
KNOWN = 0.5
"""A recording tells s_j where its standard error is less than this share of the joint's torque, and that of v_s less
than this share of v_s: beyond, (1) is no line within the errors."""


class StribeckFit(NamedTuple):
    """Identified Stribeck friction: s (n,), v_s, their standard errors, and which s the recording tells (n,)."""

    friction: Array
    friction_errors: Array
    velocity: float
    velocity_error: float
    is_identified: Array


def stribeck_columns(v: Array) -> Array:
    """Return sign(v_j) exp(-(v_j / V_k)^2) of velocities (N, n), shape (N, n, K)."""
    ratio: Array = v[:, :, None] / SPEEDS
    return np.sign(v)[:, :, None] * np.exp(-np.square(ratio))


def interpolation(x: float) -> tuple[Array, Array]:
    """Return w of (2), shape (K,), and its derivative by x = log v_s.

    Examples
    --------
    >>> w, _ = interpolation(np.log(SPEEDS[5]))
    >>> int(np.argmax(w)), bool(np.isclose(w.sum(), 1.0))
    (5, True)
    """
    width = float(np.log(SPEEDS[1] / SPEEDS[0]))
    u = (x - float(np.log(SPEEDS[0]))) / width
    k = int(np.clip(np.floor(u), 1, len(SPEEDS) - 3))
    f = u - k
    w, slope = np.zeros(len(SPEEDS)), np.zeros(len(SPEEDS))
    near = slice(k - 1, k + 3)
    w[near] = CUBICS @ [1.0, f, f * f, f**3]
    slope[near] = CUBICS @ [0.0, 1.0, 2.0 * f, 3.0 * f * f] / width
    return w, slope


class StribeckFriction:
    """Stribeck friction of n joints beside bodies: x = (log v_s, s_1 ... s_n, those of the bodies).

    Parameters
    ----------
    sizes : ndarray, shape (n,)
        Usual torques of the joints [N m or N].
    """

    def __init__(self, sizes: Array, bodies: BodyParameters) -> None:
        self._bodies, self._n = bodies, len(sizes)
        ones = np.ones(self._n)
        self.start = np.r_[np.log(USUAL), 0.0 * ones, bodies.start]
        self.low = np.r_[np.log(SPEEDS[1]), 0.0 * ones, bodies.low]
        self.high = np.r_[np.log(SPEEDS[-2]), np.inf * ones, bodies.high]
        self.deviation = np.r_[VELOCITY_DEVIATION, FRICTION_DEVIATION * sizes, bodies.deviation]

    def numbers(self, x: Array) -> Array:
        """Return s_j w_k of all joints, then the numbers of the bodies."""
        w, _ = interpolation(float(x[0]))
        return np.r_[np.outer(x[1 : self._n + 1], w).ravel(), self._bodies.numbers(x[self._n + 1 :])]

    def jacobian(self, x: Array) -> Array:
        """Return the derivative of :meth:`numbers`."""
        n, K = self._n, len(SPEEDS)
        w, slope = interpolation(float(x[0]))
        bodies = self._bodies.jacobian(x[n + 1 :])
        result = np.zeros((n * K + len(bodies), len(x)))
        result[: n * K, 0] = np.outer(x[1 : n + 1], slope).ravel()
        result[: n * K, 1 : n + 1] = np.kron(np.eye(n), w[:, None])
        result[n * K :, n + 1 :] = bodies
        return result


def stribeck_fit(x: Array, errors: Array, sizes: Array) -> StribeckFit:
    """Return what the parameters x of :class:`StribeckFriction` and their standard errors mean."""
    n = len(sizes)
    velocity = float(np.exp(x[0]))
    friction, friction_errors = x[1 : n + 1], errors[1 : n + 1]
    is_identified = (friction_errors < KNOWN * sizes) & (errors[0] < KNOWN)
    return StribeckFit(friction, friction_errors, velocity, velocity * float(errors[0]), is_identified)
