"""The point attractor: a spring and a damper that pull a point to its goal x*.

    (1)  xdd = alpha (beta (x* - x) - xd)

It is critically damped for beta = alpha / 4: both poles are at -w, w = alpha / 2, and the point reaches its goal in
about 10 / alpha [s] without overshoot. As a system of first order, with the state (x, xd) and the input x*,

    (2)  A = [[0, 1], [-alpha beta, -alpha]],    B = [[0], [alpha beta]]

The velocity grows with alpha: a step of 1 gives a largest velocity of w / e. Neurons represent numbers up to about 1,
so their state is (x, xd / w), S = diag(1, 1/w), whose largest entries are of one size for every alpha:

    (3)  S A S^-1 = [[0, w], [-alpha beta / w, -alpha]],    S B = [[0], [alpha beta / w]]

For beta = alpha / 4, (3) is w times [[0, 1], [-1, -2]] and w times [[0], [1]].

Sources: A. J. Ijspeert et al., "Dynamical movement primitives", Neural Computation 25(2), 2013, equation (2.1);
C. Eliasmith, C. H. Anderson, "Neural engineering", MIT Press 2003, section 8.1.
"""

from __future__ import annotations

import math

import numpy as np

from arm_control.exceptions import InputError
from arm_control.neural.linear_systems import LinearSystem


def point_attractor(alpha: float, beta: float | None = None) -> LinearSystem:
    """Equation (2).

    Parameters
    ----------
    alpha : float
        Damping [1/s].
    beta : float, optional
        Stiffness over damping [1/s]; by default alpha / 4.

    Raises
    ------
    InputError
        When one is not positive.

    Examples
    --------
    >>> point_attractor(10.0).A
    array([[  0.,   1.],
           [-25., -10.]])
    """
    beta = alpha / 4.0 if beta is None else beta
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} = {value} 1/s of a point attractor; allowed: positive numbers")
    return LinearSystem(np.array([[0.0, 1.0], [-alpha * beta, -alpha]]), np.array([[0.0], [alpha * beta]]))


def velocity_scale(alpha: float) -> float:
    """The w of equation (3) [1/s]: unit of the represented velocity, for a position of unit 1."""
    return alpha / 2.0


def scaled_attractor(alpha: float, beta: float | None = None) -> LinearSystem:
    """Equation (3); its state is (x, xd / w).

    Parameters
    ----------
    alpha, beta : float
        As of :func:`point_attractor`.
    """
    return point_attractor(alpha, beta).in_units(np.diag([1.0, 1.0 / velocity_scale(alpha)]))
