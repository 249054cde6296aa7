"""A cylinder without ends that nothing leaves, or nothing enters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from arm_control.constraints.barriers import norm
from arm_control.constraints.constraint import NONE, Constraint, Gradient, Point, direction, size, vector
from arm_control.maths import Array, maximum, select

MIDDLE = 0.5
"""Share of the radius within which the distance from the axis is a parabola, without an edge at the axis."""


@dataclass(frozen=True)
class CylinderConstraint(Constraint):
    """Balls stay within a cylinder, or outside: ``h = +-(radius - d) - r``, w across its axis.

    d is ``|w|``, and the parabola that touches it where ``|w| = rho``, half of the radius, nearer to the axis:

        d = 1/2 (w . w / m + m),   m = max(|w|, rho)

    Attributes
    ----------
    point, axis : sequence of float, shape (3,)
        A point of its axis in the world [m], and the direction of that.
    radius : float
        [m].
    """

    point: Sequence[float]
    axis: Sequence[float]
    radius: float
    outside: bool = False

    @property
    def numbers(self) -> list[list[float]]:
        """Point, axis, radius, and 1 or -1 for outside."""
        sign = -1.0 if self.outside else 1.0
        return [[*vector("point", self.point), *direction("axis", self.axis), size("radius", self.radius), sign]]

    def left(self, h: float) -> float:
        """Return the distance, which is more than h near the axis; of a ball h at least."""
        rho, d = MIDDLE * self.radius, self.radius - h
        return h if self.outside or d >= rho else self.radius - sqrt(max(0.0, rho * (2.0 * d - rho)))

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """Along w; ``|w|`` bends by what of the velocity is across w, the parabola by all of it."""
        x_0, z, radius, sign = numbers[:3], numbers[3:6], numbers[6], numbers[7]
        w, w_dot = x.p - x_0 - (z @ (x.p - x_0)) * z, x.v - (z @ x.v) * z
        length, rho = norm(w), MIDDLE * radius
        m = maximum(length, rho)
        along = select(length - rho, w @ w_dot / m, 0.0)
        bend = -sign * (w_dot @ w_dot - along * along) / m
        h = sign * (radius - 0.5 * (w @ w / m + m)) - x.radius
        return Gradient(h, w * (-sign / m), NONE, bend, length=length / m)
