"""Obstacles that move: constant velocity, from the begin to the end of a span of time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arm_control.maths.obstacles import Obstacle
from arm_control.maths.poses import Pose, rotation_from_vector


@dataclass(frozen=True)
class Span:
    """Time from the begin to the end of an obstacle or a push.

    Attributes
    ----------
    begin, end : float
        Begin, included, and end, excluded [s]; a moving obstacle starts at ``begin``.
    """

    begin: float = 0.0
    end: float = math.inf

    def holds(self, t: float) -> bool:
        """Return whether a time [s] is in the span."""
        return self.begin <= t < self.end


@dataclass(frozen=True)
class Mover:
    """An obstacle with constant velocity.

    Attributes
    ----------
    obstacle : Obstacle
        The obstacle when it appears.
    span : Span
        The time in which it is present.
    is_solid : bool
        Whether the end effector of a simulated arm touches it; it must not move, appear or vanish.
    """

    obstacle: Obstacle
    span: Span
    is_solid: bool = False

    def at(self, t: float) -> Obstacle:
        """Return the obstacle at a time [s]."""
        V = np.asarray(self.obstacle.V_WO)
        if not V.any():
            return self.obstacle
        motion = (t - self.span.begin) * V
        X = self.obstacle.X_WO
        R = rotation_from_vector(motion[3:]) @ X.R if V[3:].any() else X.R
        return Obstacle(self.obstacle.shape, Pose(R, X.p + motion[:3]), V)
