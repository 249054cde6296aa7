"""Demonstrations and primitives that the tests share."""

from __future__ import annotations

import numpy as np
import pytest
from demonstrated_motions import cycle

from arm_control.primitives import Demonstration, Primitive


@pytest.fixture(scope="session")
def reach() -> Primitive:
    """Three coordinates, learned from a reach of 2 s."""
    t = np.linspace(0.0, 2.0, 401)
    s = t / 2.0
    lift = np.sin(np.pi * s) ** 4
    rise = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    return Primitive.learn(Demonstration(t, np.column_stack([0.4 * rise, 0.1 * lift, 0.2 * rise + 0.1 * lift])))


@pytest.fixture(scope="session")
def walk() -> Primitive:
    """Two joints, learned from a cycle of 2 s."""
    return Primitive.learn(Demonstration(*cycle()), "rhythmic")


@pytest.fixture(scope="session")
def pose_demonstration() -> Demonstration:
    """A hand that moves and turns by more than half a turn."""
    t = np.linspace(0.0, 1.5, 301)
    s = t / 1.5
    rise = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    half = 0.5 * 3.6 * rise
    axis = np.array([0.6, 0.0, 0.8])
    quats = np.column_stack([np.sin(half)[:, None] * axis, np.cos(half)])
    p = np.column_stack([0.3 + 0.2 * rise, 0.1 * np.sin(np.pi * s) ** 4, 0.5 - 0.1 * rise])
    return Demonstration(t, p, quats, frame="base_link")
