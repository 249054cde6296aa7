"""The attractor that both kinds of primitives share, and its exact step.

A critically damped spring pulls the error e, the distance from a moving or resting reference, to zero, while a force F
shapes the way. In time u that is scaled to the motion (u = t / tau),

    (1)  e'' + alpha e' + alpha beta e = F,      beta = alpha / 4,      omega = alpha / 2:      both poles at -omega

(Ijspeert 2013; written as one equation of second order, and without his variable ``z = tau y'``: a state
z would let the velocity jump where tau changes.) Over a step of length h the force is the parabola through its values
at the start, in the middle and at the end, ``F = a_0 + a_1 u + a_2 u^2``; equation (1) then has the solution

    (2)  e = b_0 + b_1 u + b_2 u^2 + (c_0 + c_1 u) exp(-omega u)
    (3)  b_2 = a_2 / omega^2,   b_1 = (a_1 - 4 omega b_2) / omega^2,   b_0 = (a_0 - 2 omega b_1 - 2 b_2) / omega^2
    (4)  c_0 = e(0) - b_0,      c_1 = e'(0) - b_1 + omega c_0

which is stable for every h, and off by a term in h^5 that only the shape of F causes: without a force it is exact.

Source: A. J. Ijspeert, J. Nakanishi, H. Hoffmann, P. Pastor, S. Schaal, "Dynamical movement primitives: learning
attractor models for motor behaviors", 2013.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_control.maths import Array, Scalar, exp, largest

ALPHA = 25.0
"""Stiffness of the attractor in scaled time; the value of Ijspeert 2013."""
BETA = ALPHA / 4.0
OMEGA = ALPHA / 2.0


def attract(e: Array, e_u: Array, forces: Sequence[Array], h: Scalar) -> tuple[Array, Array]:
    """Return the error and its rate at the end of a step, equations (2) to (4).

    At the start are the error, and its rate by scaled time, shape (n,); the forces (n,) are those at the start, in the
    middle and at the end; the step has a length h in scaled time, above zero.
    """
    F_0, F_m, F_1 = forces
    per_h = 1.0 / h
    a_1, a_2 = (4.0 * F_m - 3.0 * F_0 - F_1) * per_h, 2.0 * (F_0 - 2.0 * F_m + F_1) * (per_h * per_h)
    b_2 = a_2 / OMEGA**2  # (3)
    b_1 = (a_1 - 4.0 * OMEGA * b_2) / OMEGA**2
    b_0 = (F_0 - 2.0 * OMEGA * b_1 - 2.0 * b_2) / OMEGA**2
    c_0 = e - b_0  # (4)
    c_1 = e_u - b_1 + OMEGA * c_0
    decay = exp(-OMEGA * h)
    fading = (c_0 + c_1 * h) * decay
    return b_0 + (b_1 + b_2 * h) * h + fading, b_1 + 2.0 * b_2 * h + c_1 * decay - OMEGA * fading  # (2)


def fade(e: Array, e_u: Array, h: Scalar) -> tuple[Array, Array]:
    """Return the error and its rate by scaled time after a scaled time h without a force: equation (2) with b = 0."""
    decay, c = exp(-OMEGA * h), e_u + OMEGA * e
    return (e + c * h) * decay, (e_u - OMEGA * c * h) * decay


def normalised(exponents: Array) -> Array:
    """Return ``exp(x_i) / sum exp(x_j)`` along the last axis, whatever the size of the exponents x.

    The largest exponent is taken off all of them: the largest term is exp(0) = 1, so that nothing overflows and the
    sum is never zero.

    Examples
    --------
    >>> normalised(np.array([-2000.0, -2000.0, 0.0 - 3000.0]))
    array([0.5, 0.5, 0. ])
    """
    terms = exp(exponents - np.asarray(largest(exponents))[..., None])
    return terms / np.asarray(terms.sum(-1))[..., None]
