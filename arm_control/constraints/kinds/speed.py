"""A limit of how fast points of the arm are."""

from __future__ import annotations

from dataclasses import dataclass, field

from arm_control.constraints.barriers import norm
from arm_control.constraints.constraint import Constraint, Gradient, Point, Priority, size
from arm_control.maths import Array


@dataclass(frozen=True)
class SpeedConstraint(Constraint):
    """Points are not faster than a limit: ``h = limit - |v|``.

    Attributes
    ----------
    limit : float
        [m/s].
    """

    limit: float
    level: Priority = field(default=Priority.SPEED, kw_only=True)

    unit = "m/s"
    is_speed = True

    @property
    def numbers(self) -> list[list[float]]:
        """The limit."""
        return [[size("limit", self.limit)]]

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """Against the velocity."""
        speed = norm(x.v)
        return Gradient(numbers[0] - speed, x.v * (-1.0 / speed))
