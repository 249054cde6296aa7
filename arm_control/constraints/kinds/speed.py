"""A limit of how fast points of the arm are."""

from __future__ import annotations

from dataclasses import dataclass, field

from arm_control.constraints.barriers import norm
from arm_control.constraints.constraint import Constraint, Gradient, Point, Priority, size
from arm_control.maths import Array


@dataclass(frozen=True)
class SpeedConstraint(Constraint):
    """Points are not faster than a limit: ``h = limit - u . v``, u along v, and along what v is to become.

    Attributes
    ----------
    limit : float
        [m/s].
    """

    limit: float
    level: Priority = field(default=Priority.SPEED, kw_only=True)

    unit = "m/s"
    is_speed = True
    sides = ("", "")

    @property
    def numbers(self) -> list[list[float]]:
        """The limit, and how much of the change ahead counts."""
        limit = size("limit", self.limit)
        return [[limit, 0.0], [limit, 1.0]]

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """Against u."""
        foreseen = x.v + numbers[1] * x.ahead
        u = foreseen * (1.0 / norm(foreseen))
        return Gradient(numbers[0] - u @ x.v, -u, is_ahead=numbers[1])
