"""A box that nothing leaves: the space that the arm may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arm_control.constraints.constraint import Constraint, size, vector
from arm_control.constraints.kinds.half_space import HalfSpaceConstraint
from arm_control.maths import rotation_from_rpy


@dataclass(frozen=True)
class BoxConstraint(Constraint):
    """Balls stay within a box: half-spaces at its six sides.

    Attributes
    ----------
    centre : sequence of float, shape (3,)
        In the world [m].
    size : sequence of float, shape (3,)
        Lengths of its edges [m].
    rpy : sequence of float, shape (3,)
        How it is turned [rad].
    """

    centre: Sequence[float]
    size: Sequence[float]
    rpy: Sequence[float] = (0.0, 0.0, 0.0)

    sides = tuple(f"at {sign}{axis}" for axis in "xyz" for sign in "+-")
    gradient = HalfSpaceConstraint.gradient

    @property
    def numbers(self) -> list[list[float]]:
        """Those of a half-space for each side."""
        axes = np.asarray(rotation_from_rpy(np.array(vector("rpy", self.rpy))), dtype=float).T
        centre, edges = (
            np.array(vector("centre", self.centre)),
            [size("size", edge) for edge in vector("size", self.size)],
        )
        return [
            [*(-sign * axis).tolist(), float(-sign * axis @ centre - 0.5 * edge)]
            for axis, edge in zip(axes, edges, strict=True)
            for sign in (1.0, -1.0)
        ]
