"""A limit of the energy that a contact transfers to a part of a person."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arm_control.constraints.constraint import Constraint, Gradient, Point, Priority, size
from arm_control.maths import TINY, Array, inverse, sqrt


@dataclass(frozen=True)
class EnergyConstraint(Constraint):
    """A point that meets a part of a person transfers no more than an energy E, in whatever direction they meet.

    Along a unit vector u the arm has the effective mass m_u; with a free part of mass m_H, at rest, in two-mass contact

        (1)  m_u = 1 / (u^T Lambda^-1 u),   1 / mu = 1 / m_u + 1 / m_H,   1/2 mu (u . v)^2
        (2)  at most T = 1/2 v^T B^-1 v,   B = Lambda^-1 + 1 / m_H,   where u is along w = B^-1 v
        (3)  h = sqrt(2 E / m_H) - w . v / sqrt(m_H w^T B w)

    with w for v, and for what v is to become. h is a speed that is left: with it the part alone has the energy T.
    Nothing is said of a part that is clamped, nor of pressure.

    Source: ISO/TS 15066:2016, annex A.3.4, for the energy and the masses of (1); O. Khatib, "Inertial properties in
    robotic manipulation", Int. J. Robotics Research 14(1), 1995, for m_u.

    Attributes
    ----------
    limit : float
        E [J].
    mass : float
        m_H, effective mass of the part [kg].
    """

    limit: float
    mass: float
    level: Priority = field(default=Priority.SPEED, kw_only=True)

    unit = "m/s"
    is_speed = True
    sees_inertia = True
    sides = ("", "")

    @property
    def numbers(self) -> list[list[float]]:
        """Speed of the part alone, its mass, and how much of the change ahead counts."""
        mass = size("mass", self.mass)
        speed = sqrt(2.0 * size("limit", self.limit) / mass)
        return [[speed, mass, 0.0], [speed, mass, 1.0]]

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """Against w, (3); the masses bend it."""
        speed, mass, ahead = numbers[:3]
        B = x.mobility + np.eye(3) / mass
        w = inverse(B) @ (x.v + ahead * x.ahead)
        square = mass * (w @ B @ w) + TINY
        f = w * (-1.0 / sqrt(square))
        bend = -0.5 * (f @ x.v) * mass * (w @ x.mobility_rate @ w) / square
        return Gradient(speed + f @ x.v, f, bend=bend, is_ahead=ahead)
