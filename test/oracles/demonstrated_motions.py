"""Motions to learn, in closed form."""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array


def bump(goal: float = 0.01, height: float = 0.28, n: int = 501, duration: float = 1.0) -> tuple[Array, Array]:
    """Times and positions of a motion from 0 to a goal that goes far beyond it on the way."""
    t = np.linspace(0.0, duration, n)
    s = t / duration
    return t, goal * s**3 * (10.0 - 15.0 * s + 6.0 * s * s) + height * np.sin(np.pi * s) ** 4


def cycle(n: int = 401, period: float = 2.0) -> tuple[Array, Array]:
    """Times and positions of two joints on one cycle; the centres are not the averages."""
    t = np.linspace(0.0, period, n)
    phi = 2.0 * np.pi * t / period
    return t, np.column_stack([np.sin(phi) + 0.3 * np.cos(2.0 * phi + 0.4), np.exp(np.cos(phi))])
