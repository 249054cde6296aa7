"""A plane that nothing crosses: a table, a wall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arm_control.constraints.constraint import Constraint, Gradient, Point, direction, vector
from arm_control.maths import Array


@dataclass(frozen=True)
class HalfSpaceConstraint(Constraint):
    """Balls stay on the side of a plane to which its normal points: ``h = n . (p - x_0) - r``.

    Attributes
    ----------
    point : sequence of float, shape (3,)
        x_0 in the world [m].
    normal : sequence of float, shape (3,)
        n, of any length.
    """

    point: Sequence[float]
    normal: Sequence[float]

    @property
    def numbers(self) -> list[list[float]]:
        """``n``, ``n . x_0``."""
        n, x_0 = direction("normal", self.normal), vector("point", self.point)
        return [[*n, sum(a * b for a, b in zip(n, x_0, strict=True))]]

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """N."""
        n = numbers[:3]
        return Gradient(n @ x.p - numbers[3] - x.radius, n)
