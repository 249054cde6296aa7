"""A cylinder without ends that nothing leaves, or nothing enters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arm_control.constraints.barriers import norm
from arm_control.constraints.constraint import NONE, Constraint, Gradient, Point, direction, size, vector
from arm_control.maths import Array


@dataclass(frozen=True)
class CylinderConstraint(Constraint):
    """Balls stay within a cylinder, or outside: ``h = +-(radius - |w|) - r``, w across its axis.

    Attributes
    ----------
    point, axis : sequence of float, shape (3,)
        A point of its axis in the world [m], and the direction of that.
    radius : float
        [m].
    outside : bool
        Whether the balls stay outside.
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

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """Along w; ``|w|`` bends by what of the velocity is across w."""
        x_0, z, radius, sign = numbers[:3], numbers[3:6], numbers[6], numbers[7]
        w, w_dot = x.p - x_0 - (z @ (x.p - x_0)) * z, x.v - (z @ x.v) * z
        length = norm(w)
        along = w @ w_dot / length
        bend = -sign * (w_dot @ w_dot - along * along) / length
        return Gradient(sign * (radius - length) - x.radius, w * (-sign / length), NONE, bend)
