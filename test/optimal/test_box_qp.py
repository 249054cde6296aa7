"""The quadratic function in a box: a point that meets the conditions is the smallest one, whatever the problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal import box_constraints as module
from arm_control.optimal import box_qp


def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array, Array]:
    """Well and badly conditioned, with narrow and wide boxes that need not hold zero."""
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-1.5, 1.5, n)
    H = A @ A.T + 1e-3 * np.eye(n)
    middle, half = rng.standard_normal(n) * rng.integers(0, 2), 10.0 ** rng.uniform(-2, 1, n)
    return H, rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2), middle - half, middle + half


class Problem(NamedTuple):
    """H, shape (n, n), g, low and high, shape (n,)."""

    H: Array
    g: Array
    low: Array
    high: Array


class Hard(NamedTuple):
    """H = A A^T, g, low and high as lists."""

    A: list
    g: list
    low: list
    high: list


STALLS = (
    Hard(
        [[0, 0, -8, 0, 0], [9, -1, 48, 0, 1], [21, 0, 40, -1, -2], [7, -1, 5, 1, 2], [1, 0, -20, 0, -1]],
        [-3, -8, 22, -5, -7],
        [0.0, -3.1, 0.2, -9.9, -0.2],
        [0.3, 3.0, 0.3, 0.3, 0.3],
    ),
    Hard(
        [[-25, -1, 4, 3, -12], [17, 0, 2, -2, 2], [-6, 1, -3, -1, 10], [12, 1, -4, -1, 2], [-8, 0, 4, -1, 1]],
        [-141, 14, 38, -89, -70],
        [0.3, 0.0, -0.6, -0.2, -1.0],
        [5.1, 0.3, 6.6, 3.6, 0.1],
    ),
)
"""Projected Newton steps with a line search stop far from the smallest point here: an entry is a rounding error away
from its bound, counts as free, and no step lowers the function."""
KINDS = ("inside", "starts on bounds", "equal bounds", "degenerate", "far", "rows of many sizes", "infinite bounds")


def draw_hard(rng: np.random.Generator, kind: str) -> Problem:
    """Conditions of H to 1e10, entries of H from 1e-6 to 1e6."""
    n = int(rng.integers(1, 8))
    H = random_hessian(rng, n) if kind != "rows of many sizes" else draw(rng, n)[0]
    half = 10.0 ** rng.uniform(-2, 1, n)
    middle = rng.standard_normal(n) * rng.integers(0, 2)
    if kind == "starts on bounds":
        middle = half * rng.integers(-1, 2, n)
    low, high = middle - half, middle + half
    g = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2)
    if kind == "equal bounds":
        high = np.where(rng.random(n) < 0.3, low, high)
    if kind == "degenerate":  # the smallest point of all lies on bounds: slopes are zero
        g = -H @ np.choose(rng.integers(0, 3, n), [low, high, middle])
    if kind == "far":
        g = H @ (rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 3, n))
    if kind == "infinite bounds":
        low, high = np.where(rng.random(n) < 0.4, -np.inf, low), np.where(rng.random(n) < 0.4, np.inf, high)
    size = 10.0 ** rng.uniform(-6, 6)
    return Problem(size * H, size * g, low, high)


def random_hessian(rng: np.random.Generator, n: int) -> Array:
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    exponents = np.linspace(0.0, 1.0, n) if rng.integers(0, 2) else rng.random(n)
    H = (Q * 10.0 ** (-rng.uniform(0.0, 10.0) * exponents)) @ Q.T
    return 0.5 * (H + H.T)


def assert_smallest(problem: Problem, x: Array, held: Array) -> None:
    """Slopes that the conditions do not allow are rounding: H is positive definite, so the point is the only one."""
    H, g, x = (np.asarray(values, dtype=np.longdouble) for values in (problem.H, problem.g, x))
    assert (x >= problem.low).all()
    assert (x <= problem.high).all()
    np.testing.assert_array_equal(x[held > 0.0], problem.high[held > 0.0])
    np.testing.assert_array_equal(x[held < 0.0], problem.low[held < 0.0])
    slope, size = g + H @ x, np.abs(g) + np.abs(H) @ np.abs(x)
    excess = np.where(held == 0.0, np.abs(slope), np.where(problem.low == problem.high, 0.0, held * slope))
    assert (excess <= 1e-13 * size).all()


@pytest.mark.parametrize("full_steps", [module.FULL_STEPS, 0])
@pytest.mark.parametrize("count", [210, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_hard_problems(count: int, full_steps: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FULL_STEPS", full_steps)
    rng = np.random.default_rng(6)
    for number in range(count):
        problem = draw_hard(rng, KINDS[number % len(KINDS)])
        has_bounds = np.isfinite(problem.low) & np.isfinite(problem.high)
        result = box_qp(*problem, np.where(has_bounds, rng.integers(-1, 2, len(problem.g)), 0))
        assert result.converged
        assert result.iterations < 50
        assert_smallest(problem, result.x, result.held)


@pytest.mark.parametrize("hard", STALLS)
def test_problems_that_stall_a_line_search(hard: Hard):
    A = np.array(hard.A, dtype=float)
    problem = Problem(A @ A.T, *(np.array(x, dtype=float) for x in hard[1:]))
    result = box_qp(*problem)
    assert result.converged
    assert result.iterations > module.FULL_STEPS
    assert_smallest(problem, result.x, result.held)


def test_the_set_that_held_last_time_saves_steps():
    rng = np.random.default_rng(2)
    for _ in range(50):
        p = draw(rng, 5)
        first = box_qp(*p)
        assert box_qp(*p, first.held).iterations == 1
    assert max(box_qp(*draw(rng, 5)).iterations for _ in range(50)) > 1


def test_the_factor_is_that_of_the_free_part():
    H, g = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([-8.0, -1.0])
    found = box_qp(H, g, [-1.0, -1.0], [1.0, 1.0])
    np.testing.assert_array_equal(found.held, [1.0, 0.0])
    np.testing.assert_allclose(found.x, [1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.factors.solve(np.array([0.0, 3.0])), [0.0, 1.0])


@pytest.mark.parametrize(
    ("H", "g", "low", "high", "message"),
    [
        ([[1.0]], [0.0], [1.0], [-1.0], "not cross"),
        ([[np.nan]], [0.0], [-1.0], [1.0], "finite"),
        ([[-1.0]], [0.0], [-1.0], [1.0], "positive definite"),
    ],
)
def test_bad_input_is_refused(H, g, low, high, message):
    with pytest.raises(InputError, match=message):
        box_qp(H, g, low, high)
