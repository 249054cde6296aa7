"""Sines and cosines in machine code against the C library's."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import numpy as np
import pytest
from program_runs import in_lanes

from arm_control.compiler import Law, Library, Tape, compile_code, scalar_code
from arm_control.compiler.llvm_code import LARGEST_ANGLE
from arm_control.maths import cos, sin

Waves = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module", params=[2, 8])
def waves(request: pytest.FixtureRequest) -> Waves:
    """Sine and cosine of many angles in vectors of a width, shape (N, 2)."""
    law = Law("waves", lambda x: {"y": [sin(x["x"][0]), cos(x["x"][0])]}, {"x": 1})
    compute = in_lanes(law, request.param)
    return lambda x: compute(x[:, None])


def library(x: np.ndarray) -> np.ndarray:
    """Sine and cosine by the C library, shape (N, 2)."""
    return np.array([[math.sin(angle), math.cos(angle)] for angle in x.tolist()])


def worst(waves: Waves, x: np.ndarray) -> float:
    return float(np.abs(waves(x) - library(x)).max())


@pytest.fixture(scope="module")
def angles() -> tuple[np.ndarray, np.ndarray]:
    """Near and far angles, small ones and those next to quarter turns, with their sines and cosines."""
    rng = np.random.default_rng(17)
    plain = rng.uniform(-10, 10, 30_000), rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE, 30_000)
    small = np.logspace(-300, 0, 1001)
    quarters = np.concatenate([np.arange(-200, 201), np.linspace(-63661, 63661, 801).astype(int)]) * (math.pi / 2)
    away = np.array([0.0, *np.logspace(-15, -3, 13)])
    near = (quarters[:, None] + np.concatenate([-away, away])).ravel()
    x = np.concatenate([*plain, small, -small, near, np.nextafter(quarters, np.inf), np.nextafter(quarters, -np.inf)])
    x = x[np.abs(x) <= LARGEST_ANGLE]
    return x, library(x)


def test_sines_are_those_of_the_c_library(waves: Waves, angles: tuple[np.ndarray, np.ndarray]):
    """Where most of the angle cancels, the small rest must be right: relative, not only absolute."""
    x, expected = angles
    result = waves(x)
    assert np.abs(result - expected).max() <= 2.3e-16
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(waves(np.array([0.0, -0.0])), [[0, 1], [0, 1]])


def test_angles_far_away_are_the_c_librarys(waves: Waves):
    rng = np.random.default_rng(3)
    edge = [LARGEST_ANGLE, np.nextafter(LARGEST_ANGLE, np.inf), -LARGEST_ANGLE, 2 * LARGEST_ANGLE]
    x = np.array([*edge, *rng.uniform(-1e8, 1e8, 2000), 1e15, 1e17, 1e22, 1.7e308, -1e300])
    assert worst(waves, x) <= 2.3e-16
    mixed = np.where(rng.random(2000) < 0.2, rng.uniform(1e6, 1e8, 2000), rng.uniform(-3, 3, 2000))
    assert worst(waves, mixed) <= 2.3e-16


def test_more_angles_than_lanes_and_sines_of_sines():
    """Nineteen angles make three packs; a sine of a sine waits for the first."""
    tape = Tape()
    x = tape.inputs("x", 19)
    outputs = [f(angle) for angle in x for f in (sin, cos)] + [sin(cos(x[3]) + sin(x[4])), cos(sin(sin(x[5])))]
    result = tape.program({"y": outputs})
    angles = np.random.default_rng(1).uniform(-9, 9, 19)
    angles[7] = 1e7
    work = np.concatenate([angles, np.zeros(40)])
    assert Library(compile_code(scalar_code(result, "f"))).function("f", ctypes.c_void_p)(work.ctypes.data) == 0.0
    s, c = [math.sin(a) for a in angles], [math.cos(a) for a in angles]
    expected = [y for pair in zip(s, c, strict=True) for y in pair]
    expected += [math.sin(c[3] + s[4]), math.cos(math.sin(s[5]))]
    np.testing.assert_allclose(work[19:], expected, rtol=0, atol=5e-16)
