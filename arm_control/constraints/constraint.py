"""What a constraint is made of: numbers, and a function of a point of the arm with its gradient.

A constraint is a frozen dataclass in a file of its own in ``kinds/``, named after the file. Its fields are what a
constraint file gives. Each point that it is about has a row for each list of its ``numbers``, which are read anew in
each tick, so that they may change in motion; ``gradient`` is text over any scalar.

For a point p of a body with twist v, w and the gradient f by p (of a speed: by v), m by the turn of the body (by w),

    (1)  hdot = f v_p + m w      (2)  hddot = f a_p + m alpha + bend
    (3)  c_i = sum over the joints that carry the body of  f . (z_i x (p - o_i)) + m . z_i
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, NamedTuple

import numpy as np

from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Scalar, cross

HAND = "hand"
"""The end effector, with its tool."""
ARM = "arm"
"""The ends of all capsules."""
NONE, NO_MOBILITY = np.zeros(3), np.zeros((3, 3))


class Priority(IntEnum):
    """What gives way last, and what first, where not all rows can hold."""

    TORQUE = 0
    JOINTS = 1
    CLEARANCE = 2
    WORKSPACE = 3
    SPEED = 4


class Point(NamedTuple):
    """A point of the arm in one state, over any scalar.

    Attributes
    ----------
    p, v : array, shape (3,)
        Where it is in the world [m], and its velocity [m/s].
    direction, w : array, shape (3,)
        Its place in the frame of its link as a vector in the world; the link's angular velocity [rad/s].
    radius : float
        Of the ball around it [m].
    ahead : array, shape (3,)
        Change of v until its acceleration is taken back, where a kind is one of speeds [m/s].
    mobility, mobility_rate : array, shape (3, 3)
        ``Lambda^-1 = J M^-1 J^T`` and its rate, where a kind sees inertia [1/kg, 1/(kg s)].
    """

    p: Array
    v: Array
    direction: Array
    w: Array
    radius: Scalar
    ahead: Array = NONE
    mobility: Array = NO_MOBILITY
    mobility_rate: Array = NO_MOBILITY


class Gradient(NamedTuple):
    """A constraint at a point, over any scalar.

    Attributes
    ----------
    h : float
        Not below zero where it holds.
    f, m : array, shape (3,)
        Gradients by the point and by the turn of its body; of a speed, by the velocities of both.
    bend : float
        What (2) has beside them.
    is_ahead : float
        1 where f of a speed is along what the velocity is to become.
    length : float
        Length of f or m, as a share of that where h = 0.
    """

    h: Scalar
    f: Array
    m: Array = NONE
    bend: Scalar = 0.0
    is_ahead: Scalar = 0.0
    length: Scalar = 1.0


@dataclass(frozen=True)
class Constraint:
    """A function of the state that stays at zero or above.

    Attributes
    ----------
    of : str
        What it is about: ``hand``, a link, or ``arm`` for the ends of all capsules.
    points : sequence of sequence of float
        Points of the hand, or of the link, in its frame [m]; its origin if none are given.
    """

    name: str
    of: str = field(default=HAND, kw_only=True)
    points: Sequence[Sequence[float]] = field(default=((0.0, 0.0, 0.0),), kw_only=True)
    level: Priority = field(default=Priority.WORKSPACE, kw_only=True)

    unit: ClassVar[str] = "m"
    """Unit of its functions."""
    is_speed: ClassVar[bool] = False
    """Whether it depends on velocities."""
    sees_obstacles: ClassVar[bool] = False
    """Whether it depends on obstacles."""
    sees_inertia: ClassVar[bool] = False
    """Whether it depends on the mass that a point is felt with."""
    sides: ClassVar[tuple[str, ...]] = ("",)
    """What each list of numbers is about."""

    @staticmethod
    def gradient(numbers: Array, x: Point) -> Gradient:
        """Return the constraint at a point; ``numbers`` is one list of them."""
        raise NotImplementedError

    @property
    def slope(self) -> float:
        """Largest change of the function per metre of its point, or per radian of its turn."""
        return 1.0

    @property
    def inside(self) -> float:
        """Value of the function well inside, where random postures of a plan are moved to."""
        return 0.01

    def left(self, h: float) -> float:
        """Return the distance, angle or speed that is left where the function is h."""
        return h

    @property
    def kind(self) -> str:
        """What a file calls its kind."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def numbers(self) -> list[list[float]]:
        """Numbers of each row of a point."""
        raise NotImplementedError


def motion_at(motion: Array, p: Array) -> tuple[Array, Array]:
    """Velocity of the point of a body that is at p, and its acceleration where no joint accelerates, over any scalar.

    ``motion``, shape (12,), has the twist about the origin of the world, linear part first, and its derivative.
    """
    v_0, w, a_0, alpha = motion.reshape(4, 3)
    v = v_0 + cross(w, p)
    return v, a_0 + cross(alpha, p) + cross(w, v)


def vector(name: str, values: Sequence[float]) -> list[float]:
    """Return three finite numbers of a constraint, or raise a ParameterError."""
    numbers = [float(x) for x in values if isinstance(x, int | float)] if isinstance(values, Sequence) else []
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise ParameterError(f"{name} is {values!r}; 3 finite numbers are needed")
    return numbers


def size(name: str, value: float) -> float:
    """Return a finite number above zero, or raise a ParameterError."""
    if not isinstance(value, int | float) or not np.isfinite(value) or value <= 0.0:
        raise ParameterError(f"{name} is {value!r}; a finite number above zero is needed")
    return float(value)


def direction(name: str, values: Sequence[float]) -> list[float]:
    """Return a unit vector, or raise a ParameterError."""
    numbers = np.array(vector(name, values))
    length = float(np.linalg.norm(numbers))
    if length < 1e-6:
        raise ParameterError(f"{name} is {values!r}; a vector with a length is needed")
    return [float(x) for x in numbers / length]
