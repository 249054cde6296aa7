"""A cone that an axis of the hand stays in: a glass is carried upright."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import acos, cos, pi, sin

from arm_control.constraints.barriers import norm
from arm_control.constraints.constraint import NONE, Constraint, Gradient, Point, direction, size
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, cross


@dataclass(frozen=True)
class UprightConstraint(Constraint):
    """An axis z of a link stays within an angle of a direction: ``h = (z . up - cos angle) / sin angle``.

    Near the cone h is the angle that is left [rad].

    Attributes
    ----------
    points : sequence of sequence of float
        The axis, in the frame of the hand or link, of length 1.
    angle : float
        Half of the cone's opening, below pi/2 [rad].
    up : sequence of float, shape (3,)
        In the world.
    """

    angle: float
    up: Sequence[float] = (0.0, 0.0, 1.0)
    points: Sequence[Sequence[float]] = field(default=((0.0, 0.0, 1.0),), kw_only=True)

    unit = "rad"

    @property
    def numbers(self) -> list[list[float]]:
        """Direction, cosine and sine of the angle."""
        if not size("angle", self.angle) < pi / 2.0:
            raise ParameterError(f"angle is {self.angle!r}; it must be below pi/2")
        return [[*direction("up", self.up), cos(self.angle), sin(self.angle)]]

    @property
    def slope(self) -> float:
        """Of a cosine, divided by the sine."""
        return 1.0 / sin(self.angle)

    @property
    def inside(self) -> float:
        """At half of the angle."""
        return (cos(self.angle / 2.0) - cos(self.angle)) / sin(self.angle)

    def left(self, h: float) -> float:
        """Return the angle, of which h is a multiple near the cone only."""
        return self.angle - acos(min(1.0, max(-1.0, cos(self.angle) + h * sin(self.angle))))

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """``z x up`` by the turn; z bends by ``w x (w x z)``."""
        up, cosine, sine = numbers[:3], numbers[3], numbers[4]
        z, w = x.direction, x.w
        bend = up @ cross(w, cross(w, z)) / sine
        m = cross(z, up) * (1.0 / sine)
        return Gradient((up @ z - cosine) / sine, NONE, m, bend, length=norm(m))
