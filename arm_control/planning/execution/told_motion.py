"""Obstacles as they are told, on another clock; and whether they still move as they were told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arm_control.collision import Told
from arm_control.maths import Mover, Obstacle, Span, rotation_vector


def from_time(told: Sequence[Told], t: float) -> list[Told]:
    """Return obstacles on a clock that begins at a time of theirs; what has vanished before it is left out.

    Parameters
    ----------
    told : sequence of Obstacle, Mover or sequence of Mover
        On the old clock.
    t : float
        Time of the old clock at which the new one is 0; below zero for obstacles without a span, too [s].
    """
    result: list[Told] = []
    for entry in told:
        if isinstance(entry, Obstacle):
            result.append(Mover(entry, Span()).at(t))
            continue
        movers = [entry] if isinstance(entry, Mover) else list(entry)
        later = [_later(mover, t) for mover in movers if mover.span.end >= t]
        if later:
            result.append(later[0] if isinstance(entry, Mover) else later)
    return result


def _later(mover: Mover, t: float) -> Mover:
    begin = max(mover.span.begin, t)
    return Mover(mover.at(begin), Span(begin - t, mover.span.end - t), mover.is_solid)


def present(told: Sequence[Told], t: float) -> list[Obstacle]:
    """Return the obstacles that are there at a time [s], with their poses then."""
    result = []
    for entry in told:
        if isinstance(entry, Obstacle):
            result.append(Mover(entry, Span()).at(t))
            continue
        movers = [entry] if isinstance(entry, Mover) else entry
        result += [mover.at(t) for mover in movers if mover.span.holds(t)][-1:]
    return result


@dataclass(frozen=True)
class Agreement:
    """Differences between an obstacle and what was told of it that do not count."""

    distance: float = 5e-3
    angle: float = 0.02
    speed: float = 0.02
    rate: float = 0.05

    def holds(self, told: Sequence[Obstacle], measured: Sequence[Obstacle]) -> bool:
        """Return whether obstacles are where they were told to be, each one of them, in any order."""
        left = list(told)
        for obstacle in measured:
            k = next((k for k, other in enumerate(left) if self._is_one(other, obstacle)), None)
            if k is None:
                return False
            left.pop(k)
        return not left

    def _is_one(self, told: Obstacle, measured: Obstacle) -> bool:
        V = np.asarray(measured.V_WO, dtype=float) - np.asarray(told.V_WO, dtype=float)
        return (
            told.shape == measured.shape
            and float(np.linalg.norm(measured.X_WO.p - told.X_WO.p)) <= self.distance
            and float(np.linalg.norm(rotation_vector(measured.X_WO.R @ told.X_WO.R.T))) <= self.angle
            and float(np.linalg.norm(V[:3])) <= self.speed
            and float(np.linalg.norm(V[3:])) <= self.rate
        )
