"""The quadratic function in a box: against SciPy, and by the conditions of its smallest value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from exact_box_qp import Errors, Problem, errors, solve_exactly
from scipy.optimize import lsq_linear

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.optimal import box_constraints as module
from arm_control.optimal import box_qp
from arm_control.optimal.box_constraints import active_set_step


def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array, Array]:
    """Well and badly conditioned, with narrow and wide boxes that need not hold zero."""
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-1.5, 1.5, n)
    H = A @ A.T + 1e-3 * np.eye(n)
    middle, half = rng.standard_normal(n) * rng.integers(0, 2), 10.0 ** rng.uniform(-2, 1, n)
    return H, rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2), middle - half, middle + half


def conditions(H: Array, g: Array, low: Array, high: Array, x: Array) -> float:
    """How far a point is from the smallest value: what the gradient would move it by, relative."""
    slope = g + H @ x
    return float(np.max(np.abs(np.clip(x - slope / np.diag(H).max(), low, high) - x)))


def test_many_problems_against_scipy():
    rng, held_at_all = np.random.default_rng(0), 0
    for _ in range(300):
        H, g, low, high = draw(rng, int(rng.integers(1, 8)))
        found = box_qp(H, g, low, high, rng.integers(-1, 2, len(g)))
        L = np.linalg.cholesky(H)
        other = lsq_linear(L.T, -np.linalg.solve(L, g), (low, high), method="bvls", tol=1e-14).x
        assert found.converged
        value = [0.5 * x @ H @ x + g @ x for x in (found.x, other)]
        assert value[0] <= value[1] + 1e-9 * (1.0 + abs(value[1]))
        assert (low <= found.x).all()
        assert (found.x <= high).all()
        assert conditions(H, g, low, high, found.x) < 1e-9
        held_at_all += int((found.held != 0).sum())
        assert (found.x[found.held > 0] == high[found.held > 0]).all()
    assert held_at_all > 150


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
    Hard(
        [[37, 0, -26, -1, 0], [-14, 0, -9, 0, -1], [5, 0, 20, 0, 2], [-24, -1, -44, 0, 2], [34, 0, -4, -1, 2]],
        [-813, -1592, 944, -1144, 101],
        [-3.4, -0.8, -0.2, -0.8, -4.8],
        [4.0, 0.6, 5.8, 0.1, 1.1],
    ),
    Hard(
        [[-6, -38, 2, 9, 1], [12, -4, 1, -7, -1], [11, 23, 0, 6, -1], [-2, -2, 1, 21, 0], [7, -5, 1, 3, 0]],
        [33, 4, -11, 9, 11],
        [-0.2, -4.9, -1.9, -9.2, -3.4],
        [0.7, 0.1, 3.2, 1.2, 4.0],
    ),
    Hard(
        [[11, -21, 1, 0, -1], [21, 10, 0, 0, 0], [-20, -10, 0, 0, 0], [15, 0, -2, 1, 0], [-2, 30, -1, 0, 0]],
        [316, -328, 308, -1024, 72],
        [-2.6, -1.0, -7.4, -1.5, -0.2],
        [0.4, 0.4, 4.1, 2.2, 0.6],
    ),
)
"""Projected Newton steps with a line search stop far from the smallest point here: an entry is a rounding error away
from its bound, counts as free, and no step lowers the function."""
KINDS = ("inside", "starts on bounds", "equal bounds", "degenerate", "far", "rows of many sizes", "infinite bounds")
EPS = 2.0**-52


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


class Worst(NamedTuple):
    """Largest errors of many problems; the last one of x is relative to condition times precision."""

    errors: Errors
    x_per_condition: float
    iterations: int


def solve_many(count: int) -> Worst:
    """Solve random problems and compare each with exact arithmetic."""
    rng = np.random.default_rng(6)
    rows = []
    for number in range(count):
        problem = draw_hard(rng, KINDS[number % len(KINDS)])
        has_bounds = np.isfinite(problem.low) & np.isfinite(problem.high)
        result = box_qp(*problem, np.where(has_bounds, rng.integers(-1, 2, len(problem.g)), 0))
        assert result.converged
        assert (problem.low <= result.x).all()
        assert (result.x <= problem.high).all()
        found = errors(problem, result.x, result.held, solve_exactly(problem, result.held))
        assert found.value >= 0.0
        rows.append((*found, found.x / (EPS * np.linalg.cond(problem.H)), result.iterations))
    *largest, x_per_condition, iterations = np.max(rows, axis=0).tolist()
    return Worst(Errors(*largest), x_per_condition, int(iterations))


def check_many(count: int) -> None:
    worst = solve_many(count)
    print(worst)
    assert worst.x_per_condition < 10.0
    assert worst.errors.value < 1e-20
    assert worst.errors.kkt < 1e-13  # slopes of held entries inherit the rounding of x, times the root of the condition
    assert worst.iterations < 50


@pytest.mark.parametrize("full_steps", [module.FULL_STEPS, 0])
def test_many_hard_problems_against_exact_arithmetic(full_steps: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FULL_STEPS", full_steps)
    check_many(140)


@pytest.mark.campaign
@pytest.mark.parametrize("full_steps", [module.FULL_STEPS, 0])
def test_many_thousand_hard_problems_against_exact_arithmetic(full_steps: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FULL_STEPS", full_steps)
    check_many(100_000)


@pytest.mark.parametrize("hard", STALLS)
def test_problems_that_stall_a_line_search(hard: Hard):
    A = np.array(hard.A, dtype=float)
    problem = Problem(A @ A.T, *(np.array(x, dtype=float) for x in hard[1:]))
    result = box_qp(*problem)
    assert result.converged
    assert result.iterations > module.FULL_STEPS
    exact = np.array(solve_exactly(problem, result.held), dtype=float)
    np.testing.assert_allclose(result.x, exact, rtol=1e-6, atol=1e-9)


def test_rounding_does_not_move_a_hard_problem():
    """Two of those that SciPy solves, their entries changed by rounding errors: a line search stalls at a third."""
    rng, noise = np.random.default_rng(0), np.random.default_rng(5)
    problems = []
    for _ in range(800):
        problems.append(draw(rng, int(rng.integers(1, 8))))
        rng.integers(-1, 2, len(problems[-1][1]))
    for H, *rest in (problems[21], problems[796]):
        for _ in range(20):
            E = np.triu(1.0 + 2.0 * EPS * noise.integers(-1, 2, H.shape))
            problem = Problem(H * (E + np.triu(E, 1).T), *rest)
            result = box_qp(*problem)
            assert result.converged
            assert errors(problem, result.x, result.held, solve_exactly(problem, result.held)).value < 1e-20


def test_the_function_falls_with_every_change_of_the_set(monkeypatch: pytest.MonkeyPatch):
    rng, points = np.random.default_rng(7), []
    monkeypatch.setattr(module, "FULL_STEPS", 0)

    def spy(*args: Array) -> tuple[Array, Array]:
        points.append(args[0])
        return move(*args)

    move = module._move
    monkeypatch.setattr(module, "_move", spy)
    for _ in range(40):
        H, g, *box = draw(rng, 5)
        points.clear()
        points.append(box_qp(H, g, *box).x)
        values = np.array([0.5 * x @ H @ x + g @ x for x in points])
        assert (np.diff(values) <= 1e-12 * np.abs(values).max()).all()


def test_units_do_not_matter(monkeypatch: pytest.MonkeyPatch):
    """Other units of the entries of x and of the function give the same sets and the same point."""
    rng = np.random.default_rng(8)
    monkeypatch.setattr(module, "FULL_STEPS", 0)
    kinds = [kind for kind in KINDS if kind != "degenerate"]  # with two sets that are right
    for number in range(90):
        H, g, low, high = draw_hard(rng, kinds[number % len(kinds)])
        unit, size = 2.0 ** rng.integers(-20, 20, len(g)), 2.0 ** rng.integers(-60, 60)
        plain = box_qp(H, g, low, high)
        scaled = box_qp(size * H * np.outer(unit, unit), size * g * unit, low / unit, high / unit)
        np.testing.assert_array_equal(scaled.held, plain.held)
        np.testing.assert_allclose(scaled.x * unit, plain.x, rtol=1e-4, atol=1e-4 * np.abs(plain.x).max())
        assert scaled.iterations == plain.iterations


def test_the_entry_freed_is_the_steepest_in_units_of_the_function():
    H, g, held = np.diag([1.0, 1e6]), np.array([-1.0, -100.0]), np.array([-1.0, -1.0])
    assert module._entry_to_free(H, g, np.zeros(2), held) == 0
    assert module._entry_to_free(H, -g, np.zeros(2), held) is None


def test_infinite_bounds_are_none():
    inf = np.inf
    result = box_qp(np.eye(3), [2.0, -5.0, 3.0], [-inf, -1.0, -inf], [inf, inf, inf])
    np.testing.assert_array_equal(result.x, [-2.0, 5.0, -3.0])
    mixed = box_qp(np.eye(3), [2.0, -5.0, 3.0], [-inf, -1.0, -1.0], [inf, 1.0, inf], [0.0, 1.0, -1.0])
    np.testing.assert_array_equal(mixed.x, [-2.0, 1.0, -1.0])
    assert (result.converged, mixed.converged) == (True, True)


def test_the_active_set_method_alone_finds_the_same(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    problems = [draw(rng, 4) for _ in range(50)]
    quick = [box_qp(*p).x for p in problems]
    monkeypatch.setattr(module, "FULL_STEPS", 0)
    for p, x in zip(problems, quick, strict=True):
        assert box_qp(*p).converged
        np.testing.assert_allclose(box_qp(*p).x, x, rtol=1e-6, atol=1e-7)


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


def test_one_step_over_any_scalar_is_that_of_numpy():
    rng = np.random.default_rng(4)
    H, g, low, high = draw(rng, 4)
    held = np.array([0.0, 1.0, -1.0, 0.0])
    plain = active_set_step(H, g, low, high, held)
    text = active_set_step(*(x.astype(object) for x in (H, g, low, high, held)))
    for a, b in zip(plain[:2], text[:2], strict=True):
        np.testing.assert_allclose(a, b.astype(float), rtol=1e-10, atol=1e-12)


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
