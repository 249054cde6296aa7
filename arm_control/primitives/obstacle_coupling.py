"""Coupling with obstacles: a motion turns away from what it is heading for, in the plane, in space or in n dimensions.

For an obstacle with centre o and radius rho, with ``d = o - y`` and the motion's direction ``u = y' / |y'|``,

    (1)  d_along = u^T d,      d_across = d - d_along u
    (2)  theta = atan2(max(|d_across| - rho, 0), d_along)                    angle to its rim; 0: on course to hit it
    (3)  theta* = max(theta, 1 / beta)
    (4)  C = -gamma tau |y'| theta* exp(-beta theta*) exp(-gap / reach) d_across / |d_across|

with the distance from the rim, ``gap = max(|d| - rho, 0)``. C is the force of the transformation system (its other
terms are those of :mod:`~arm_control.primitives.discrete_law`), summed over all obstacles.

Variant: Hoffmann 2009 has ``C = gamma R y' theta exp(-beta theta)``, R a rotation by 90 degrees about the axis
``d x y'``. ``R y'`` is ``-|y'| d_across / |d_across|``, which needs no cross product and holds in n dimensions. Three
things differ. His obstacle is a point, (2) has a radius. His term grows up to ``theta = 1 / beta`` and is zero at
theta = 0: exactly head on nothing happens, and close to it little; (3) keeps the largest value below 1 / beta, so that
dead ahead is where the motion turns most. And his does not depend on the distance; reach is one more factor, as in
Rai 2014. At dead centre, where d_across has no direction, a fixed perpendicular of u decides:

    (5)  p = (u_2, -u_1, u_4, -u_3, ...)                                     the last coordinate of an odd number: 0

Sources: H. Hoffmann, P. Pastor, D.-H. Park, S. Schaal, "Biologically-inspired dynamical systems for movement
generation: automatic real-time goal adaptation and obstacle avoidance", 2009; A. Rai, F. Meier, A. Ijspeert, S. Schaal,
"Learning coupling terms for obstacle avoidance", 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import TINY, Array, Scalar, atan2, exp, maximum, select, sqrt

DEAD_CENTRE = 1e-9
"""Distance from the course below which an obstacle is dead ahead, as a share of its distance."""


@dataclass(frozen=True)
class ObstacleCoupling:
    """How strongly obstacles turn a motion.

    Attributes
    ----------
    gain : float
        gamma of (4) [1/rad].
    sharpness : float
        beta [1/rad]: an obstacle some 1 / beta aside acts most.
    reach : float
        Distance from the rim in which the force falls to 1/e [m, or the unit of the coordinates].
    """

    gain: float = 1000.0
    sharpness: float = 20.0 / math.pi
    reach: float = 0.1

    def __post_init__(self) -> None:
        for name in ("gain", "sharpness", "reach"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise InputError(f"{name} = {value}: a positive number is needed")

    def numbers(self) -> tuple[float, float, float]:
        """All of them in a row."""
        return self.gain, self.sharpness, self.reach


def obstacle_force(y: Array, v: Array, obstacles: Array, numbers: Array, tau: Scalar) -> Array:
    """Return C of all obstacles, equations (1) to (5), shape (n,), at a position y and a velocity v, n at least 2.

    An obstacle is a row of n + 2 numbers: centre, radius, and strength, a factor, 0 for none. The three numbers are
    those of :class:`ObstacleCoupling`, tau is the time scale of the transformation system [s].
    """
    n = len(y)
    speed = sqrt(v @ v)
    u = v * (1.0 / maximum(speed, TINY))
    C = np.zeros(n)
    for obstacle in obstacles:
        C = C + obstacle[n + 1] * _turn(obstacle[:n] - y, obstacle[n], u, numbers)
    return C * (tau * speed)


def _turn(d: Array, rho: Scalar, u: Array, numbers: Array) -> Array:
    """C for a speed and a time scale of 1."""
    gamma, beta, reach = numbers
    along = u @ d
    across = d - along * u  # (1)
    distance, aside = sqrt(d @ d), sqrt(across @ across)
    theta = maximum(atan2(maximum(aside - rho, 0.0), along), 1.0 / beta)  # (2), (3)
    has_direction = aside - DEAD_CENTRE * distance
    away = select(has_direction, -across * (1.0 / maximum(aside, TINY)), _perpendicular(u))
    return gamma * theta * exp(-beta * theta - maximum(distance - rho, 0.0) / reach) * away  # (4)


def _perpendicular(u: Array) -> Array:
    """A unit vector perpendicular to u, equation (5); the first axis where u is the last axis of an odd number."""
    n = len(u)
    pairs = n // 2
    p = np.zeros(n, dtype=u.dtype)
    p[0 : 2 * pairs : 2], p[1 : 2 * pairs : 2] = u[1 : 2 * pairs : 2], -u[0 : 2 * pairs : 2]
    first = np.eye(n)[0]
    length = sqrt(p @ p)
    return select(length - DEAD_CENTRE, p * (1.0 / maximum(length, TINY)), first)
