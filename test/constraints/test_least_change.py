"""The least change under rows: equations of its optimum, other solvers, levels, rows without sense."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from arm_control.constraints import (
    BROKEN,
    HOLDS,
    IS_CAPPED,
    N_IGNORED,
    N_ROWS,
    N_STEPS_MAX,
    NOT_FINITE,
    RELAXED,
    LeastChange,
    Solver,
    solve,
)
from arm_control.exceptions import InputError
from arm_control.maths import Array

X, Y = [1.0, 0.0], [0.0, 1.0]
LEFT = [-1.0, 0.0]


def draw(rng: np.random.Generator, d: int, m: int, condition: float = 1.0) -> tuple[Array, Array]:
    """Rows that a point satisfies, some of them just so; seen in a metric of this condition."""
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    metric = basis * np.geomspace(1.0, condition**-0.5, d) @ basis.T
    G, inside = rng.normal(size=(m, d)) @ metric, rng.normal(size=d)
    return G, G @ inside - np.linalg.norm(G, axis=1) * rng.uniform(0.0, 1.0, m) * (rng.random(m) < 0.8)


def draw_levels(rng: np.random.Generator, d: int, m: int) -> tuple[Array, Array, Array]:
    """Rows of which only those of level 0 are satisfied by a point."""
    (G, h), levels = draw(rng, d, m), rng.integers(0, 4, m)
    return G, h + (levels > 0) * rng.uniform(0.0, 3.0, m) * (rng.random(m) < 0.5), levels


def find_least_change(G: Any, h: Any, levels: Any = None) -> LeastChange:
    """Solve once."""
    rows = np.asarray(G, float)
    return Solver(rows.shape[1], max(1, len(rows))).solve(rows, h, levels)


def residual(G: Array, h: Array, answer: LeastChange) -> float:
    """Largest violation of the conditions of an optimum, each relative to what it is computed from."""
    y, u, active, length = answer.y, answer.u, answer.active, np.linalg.norm(G, axis=1)
    size, miss = max(np.linalg.norm(y), 1e-300), (h - G @ y) / np.where(length > 0.0, length, 1.0)
    stationary = np.abs(y - G[active].T @ u).max() / max(size, np.abs(u) @ length[active])
    return max(stationary, max(miss.max(), np.abs(miss[active]).max(initial=0.0)) / size, -u.min(initial=0.0))


def answer_of_nnls(G: Array, h: Array) -> Array:
    """The least distance as a problem of nonnegative least squares (C. L. Lawson, R. J. Hanson, 1974)."""
    d = G.shape[1]
    E, f = np.vstack([G.T, h]), np.eye(d + 1)[d]
    r = E @ nnls(E, f, maxiter=10_000)[0] - f
    return -r[:d] / r[d]


def answer_of_all_active_sets(G: Array, h: Array) -> Array:
    """The shortest of all y that hold, each the shortest one on its rows."""
    m, d = G.shape
    found = [np.zeros(d)]
    found += [np.linalg.pinv(G[list(c)]) @ h[list(c)] for k in range(1, d + 1) for c in combinations(range(m), k)]
    return min((y for y in found if (G @ y >= h - 1e-9).all()), key=lambda y: float(y @ y))


def relaxed_by_linear_programs(G: Array, h: Array, levels: Array) -> Array:
    """h as every level in its turn leaves it: the largest distances first, one linear program each."""
    d, length = G.shape[1], np.linalg.norm(G, axis=1)
    A, b = G / length[:, None], h / length
    for level in range(4):
        free, rows = levels == level, np.flatnonzero(levels <= level)
        while free.any():
            cost, bounds = np.eye(d + 1)[d], [(None, None)] * d + [(0.0, None)]
            one = linprog(cost, -np.c_[A[rows], free[rows]], 1e-12 - b[rows], bounds=bounds, method="highs-ds")
            if one.x[d] < 1e-9:
                break
            fixed = rows[(one.ineqlin.marginals < -1e-9) & free[rows]]
            b[fixed] -= one.x[d]
            free[fixed] = False
    return b * length


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
def test_random_problems_fulfil_the_equations_of_an_optimum(condition: float):
    rng = np.random.default_rng(0)
    for _ in range(100):
        G, h = draw(rng, int(rng.integers(1, 9)), int(rng.integers(1, 60)), condition)
        answer = find_least_change(G, h)
        assert answer.status == HOLDS
        assert residual(G, h, answer) <= 1e-9
        if condition == 1.0:
            np.testing.assert_allclose(answer.y, answer_of_nnls(G, h), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("d", [9, 16, 17])
def test_problems_of_more_unknowns_than_a_block_fulfil_them(d: int):
    rng = np.random.default_rng(d)
    for _ in range(20):
        G, h = draw(rng, d, 4 * d)
        answer = find_least_change(G, h)
        assert answer.status == HOLDS
        assert residual(G, h, answer) <= 1e-9
        np.testing.assert_allclose(answer.y, answer_of_nnls(G, h), rtol=0.0, atol=1e-9)
        G, h, levels = draw_levels(rng, d, 4 * d)
        answer = find_least_change(G, h, levels)
        assert not answer.capped
        assert answer.left[levels == 0].max() == 0.0


def test_each_column_counts_in_the_length_of_a_row():
    h = np.linspace(1.0, 2.0, 17)
    np.testing.assert_allclose(find_least_change(np.eye(17), h).y, h, rtol=1e-12)


def test_small_problems_have_the_shortest_answer_of_all_active_sets():
    rng = np.random.default_rng(1)
    for _ in range(100):
        G, h = draw(rng, int(rng.integers(1, 4)), int(rng.integers(1, 9)))
        np.testing.assert_allclose(find_least_change(G, h).y, answer_of_all_active_sets(G, h), rtol=0.0, atol=1e-8)


def test_the_most_violated_row_is_served_first_and_the_first_of_equals():
    for h, active in ([2.0, 1.0, 2.0], [0]), ([1.0, 2.0, 1.0], [1]), ([1.0, 1.0, 2.0], [2]):
        answer = find_least_change([X, X, X], h)
        assert (answer.active.tolist(), answer.steps) == (active, 1)


@pytest.mark.parametrize(
    ("G", "h", "levels", "steps"),
    [
        ([[0, -3, 0], [0, 3, 0], [1, -2, 3], [0, -2, -2]], [1, 3, -2, 2], [0, 0, 0, 0], 10),
        ([[2, 2, -1], [0, 1, 1], [0, -1, 2], [-3, 2, 2], [0, 0, 3]], [1, 2, 0, 1, 3], [0, 1, 0, 0, 1], 7),
        ([[-3, -1], [3, -3], [-3, 3], [-2, -1], [2, 1], [2, 0]], [2, 3, 1, 2, -1, -2], [1, 0, 1, 1, 0, 1], 20),
    ],
)
def test_a_row_joins_as_soon_as_no_multiplier_gets_negative_before(G: Any, h: Any, levels: Any, steps: int):
    assert find_least_change(G, h, levels).steps == steps


E = 2.0**-22
"""An angle at which rows nearly contradict each other."""


@pytest.mark.parametrize(
    ("G", "h", "levels", "left"),
    [
        ([[2], [-1], [-2 + E], [1]], [0, 1, 2.0**-29, -1], [0, 1, 0, 1], [9.3e-10, 1, 9.3e-10, 0]),
        ([[1], [-1], [-E]], [1, -1 + E, 1 - E / 2], [0, 1, 1], [0, E, 1 + E / 2]),
        (
            [[1, 0, 0], [-1, -1, 2], [0, 1, -1], [-1, E / 2, -E / 2], [1 - E / 2, 1 + E / 4, -2 + E / 4]]
            + [[E / 2, -1 + E / 4, 1 - E / 2]],
            [2, 0, -1, -2 + 2.0**-30, -(2.0**-30), 1 + 2.0**-30],
            [1, 0, 1, 0, 0, 1],
            [1.9e-9, 0, 0, 0, 0, 0.994791547],
        ),
    ],
)
def test_rows_that_nearly_contradict_each_other_yield_in_their_order(G: Any, h: Any, levels: Any, left: Any):
    answer = find_least_change(G, h, levels)
    assert not answer.capped
    np.testing.assert_allclose(answer.left, left, rtol=1e-5, atol=2e-11)


def test_the_first_of_two_rows_whose_multipliers_fall_to_zero_at_once_leaves():
    e = 2.0**-37
    rows = [[1, 1], [-1, 0], [0, 1], [1, 2], [-1 - e / 2, -1 - e], [1 + e, -e], [0, -1 + e], [-1 - e, -2 + e]]
    answer = find_least_change(rows, [2, 0, 2, 2, -2 + e / 2, 0, -2 + e, -2 + e], [1, 0, 2, 0, 0, 0, 0, 1])
    assert (answer.steps, answer.active.tolist()) == (11, [2])


def test_a_row_that_just_holds_gives_way_by_the_room_of_fixed_ones():
    rows = [[1, 0], [0, 0], [2, 2], [-2, -1], [-2, 2], [2, 1], [-2, 0], [-1, 0], [2, 0], [1, -1], [-1, 0]]
    answer = find_least_change(rows, [2, 2, 2, 1, 0, 1, -1, 1, -1, 2, 1])
    np.testing.assert_allclose(answer.y, [0.5, -0.5], rtol=1e-9)
    assert answer.left[6] == pytest.approx(2e-10, rel=1e-3)


def test_an_answer_scales_with_what_is_asked():
    rng, one, other = np.random.default_rng(12), Solver(4, 20), Solver(4, 20)
    for power in (2.0**-80, 2.0**60):
        for _ in range(20):
            G, h, levels = draw_levels(rng, 4, 20)
            answer, scaled = one.solve(G, h, levels), other.solve(G, power * h, levels)
            for name in ("y", "u", "left"):
                np.testing.assert_array_equal(getattr(scaled, name), power * getattr(answer, name))
            assert scaled[4:] == answer[4:]


def test_a_row_whose_multiplier_falls_to_zero_just_so_stays():
    answer = find_least_change([[-3.0, 1.0], Y], [1.0, 1.0], [0, 1])
    assert (answer.y.tolist(), answer.active.tolist(), answer.u.tolist()) == ([0.0, 1.0], [0, 1], [0.0, 1.0])


def test_equal_parallel_and_dependent_rows_do_no_harm():
    rng = np.random.default_rng(2)
    for _ in range(100):
        G, h = draw(rng, int(rng.integers(2, 9)), 12)
        weights = rng.uniform(size=(6, 12)) * (rng.random((6, 12)) < 0.2)
        G, h = np.vstack([G, G, 3.0 * G, weights @ G, G * (1.0 + 1e-15)]), np.r_[h, h, 3.0 * h - 0.1, weights @ h, h]
        answer = find_least_change(G, h)
        assert answer.status == HOLDS
        assert residual(G, h, answer) <= 1e-9
        assert len(answer.active) <= G.shape[1]
        np.testing.assert_allclose(answer.y, answer_of_nnls(G[:12], h[:12]), rtol=0.0, atol=1e-8)


def test_a_point_that_holds_is_not_changed():
    solver = Solver(2, 2)
    solver.solve([X, Y], [1.0, 1.0])
    answer = solver.solve([X, Y], [0.0, -1.0])
    assert (answer.y.tolist(), answer.u.tolist(), answer.status, answer.steps) == ([0.0, 0.0], [], HOLDS, 0)


# -- levels


ANSWERS: dict[str, tuple[Any, ...]] = {  # G, h, levels; y, what is left, status
    "one level": ([X, LEFT, Y], [1, 1, 0.5], [1, 1, 1], [0, 0.5], [1, 1, 0], RELAXED),
    "the second yields": ([X, LEFT, Y], [1, 1, 0.5], [1, 2, 3], [1, 0.5], [0, 2, 0], RELAXED),
    "the first yields": ([X, LEFT, Y], [1, 1, 0.5], [2, 1, 3], [-1, 0.5], [2, 0, 0], RELAXED),
    "the first yields to level 0": ([X, LEFT, Y], [1, 1, 0.5], [3, 0, 0], [-1, 0.5], [2, 0, 0], RELAXED),
    "two of a level yield": ([X, LEFT, Y], [1, 1, 0.5], [2, 2, 1], [0, 0.5], [1, 1, 0], RELAXED),
    "by distances, left in own units": ([[10, 0], LEFT], [10, 1], [1, 1], [0, 0], [10, 1], RELAXED),
    "level 0 just holds": ([[-2], [3]], [0, 1], [0, 1], [0], [0, 1], RELAXED),
    "level 0 yields last": ([X, LEFT, Y, X], [1, 1, 1, 5], [0, 0, 1, 2], [0, 1], [1, 1, 0, 5], BROKEN),
    "rows of zeros that hold": ([[0, 0], X, [0, 0]], [-1, 1, 0], [0, 0, 0], [1, 0], [0, 0, 0], HOLDS),
    "a row of zeros yields": ([[0, 0], X], [0.5, 1], [2, 0], [1, 0], [0.5, 0], RELAXED),
    "a row of zeros in level 0": ([[0, 0], X], [0.5, 1], [0, 0], [1, 0], [0.5, 0], BROKEN),
    "only a row of zeros": ([[0, 0]], [0.5], [0], [0, 0], [0.5], BROKEN),
}


@pytest.mark.parametrize(("G", "h", "levels", "y", "left", "status"), ANSWERS.values(), ids=ANSWERS)
def test_rows_that_contradict_yield_by_levels_and_what_is_left_is_said(
    G: Any, h: Any, levels: list[int], y: list[float], left: list[float], status: int
):
    answer = find_least_change(G, h, levels)
    np.testing.assert_allclose(answer.y, y, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(answer.left, left, rtol=0.0, atol=1e-9)
    assert [number == 0.0 for number in answer.left] == [number == 0.0 for number in left]
    assert (answer.status, answer.worst) == (status, np.argmax(answer.left) if any(left) else -1)


def test_nine_rows_that_contradict_as_a_whole_are_missed_by_equal_distances():
    rng = np.random.default_rng(11)
    for _ in range(3):
        rows = rng.normal(size=(8, 8))
        G = np.vstack([rows, -rng.uniform(0.5, 2.0, 8) @ rows])
        G[:, rng.integers(8)] *= 4.0
        distances = find_least_change(G, np.ones(9), np.ones(9)).left / np.linalg.norm(G, axis=1)
        np.testing.assert_allclose(distances, distances[0], rtol=1e-5)


def test_levels_agree_with_a_row_of_linear_programs():
    rng = np.random.default_rng(3)
    n_relaxed = 0
    for _ in range(80):
        G, h, levels = draw_levels(rng, int(rng.integers(1, 5)), int(rng.integers(2, 14)))
        answer, relaxed = find_least_change(G, h, levels), relaxed_by_linear_programs(G, h, levels)
        np.testing.assert_allclose(answer.y, answer_of_nnls(G, relaxed - 1e-9), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(G @ answer.y + answer.left, np.maximum(h, G @ answer.y), rtol=0.0, atol=1e-9)
        n_relaxed += answer.status == RELAXED
    assert n_relaxed > 40


@pytest.mark.parametrize(
    ("G", "h"),
    [
        ([[2, 0], [1, 1], [0, -2], [-2, -2], [1, 2]], [-2, 3, 2, 1, 3]),
        ([[-1, 3, 3], [0, -1, 1], [3, -1, 1], [-1, 3, 2], [-2, 2, -2], [-2, 2, -3]], [1, 1, 1, -2, -1, -2]),
        ([[-3, 0, -2], [2, -1, 1], [-3, 0, 3], [2, 2, 2], [3, -2, -2], [0, 0, 2], [3, 3, 2]], [2, 1, 3, 2, -1, -3, -2]),
    ],
)
def test_rows_of_one_level_that_contradict_twice_agree_with_linear_programs(G: Any, h: Any):
    rows, right, levels = np.array(G, float), np.array(h, float), np.zeros(len(h), int)
    answer, relaxed = find_least_change(rows, right), relaxed_by_linear_programs(rows, right, levels)
    np.testing.assert_allclose(answer.y, answer_of_nnls(rows, relaxed - 1e-9), rtol=1e-6, atol=1e-6)
    assert not answer.capped


def test_many_rows_that_contradict_level_0_take_few_steps():
    rng = np.random.default_rng(4)
    for _ in range(50):
        d = int(rng.integers(1, 9))
        G, h, levels = draw_levels(rng, d, 58)
        answer = find_least_change(G, h, levels)
        assert not answer.capped
        assert answer.status in (HOLDS, RELAXED)
        assert answer.left[levels == 0].max() == 0.0


def test_a_little_more_asked_changes_the_answer_a_little():
    rng = np.random.default_rng(5)
    for _ in range(40):
        G, h, levels = draw_levels(rng, 3, 8)
        one, other = find_least_change(G, h, levels), find_least_change(G, h + 1e-6 * rng.uniform(size=8), levels)
        assert np.abs(one.y - other.y).max() <= 1e-3


# -- thresholds: the last number on one side of each, and the first one on the other


def next_up(number: float) -> float:
    """Return the next larger number."""
    return float(np.nextafter(number, np.inf))


def test_a_row_is_violated_by_more_than_a_share_of_the_length_of_y():
    assert find_least_change([X, Y], [1.0, 1e-11], [0, 1]).active.tolist() == [0]
    assert find_least_change([X, Y], [1.0, next_up(1e-11)], [0, 1]).active.tolist() == [0, 1]


def test_what_is_left_is_said_from_twice_that_share_on():
    solver = Solver(2, 2)
    solver.record.counts[N_STEPS_MAX] = 1
    for number, left in (2e-11, 0.0), (next_up(2e-11), next_up(2e-11)):
        assert solver.solve([X, Y], [1.0, number], [0, 1]).left.tolist() == [0.0, left]


def test_rows_up_to_a_small_angle_are_dependent():
    for sine, status in (1e-10, RELAXED), (next_up(1e-10), HOLDS):  # the second one holds at y_2 = 1e4
        assert find_least_change([X, [-1.0, sine]], [1.0, -1.0 + 1e-6], [0, 1]).status == status


def test_short_rows_are_zero_and_large_numbers_infinite():
    for length, y_2 in (1e-50, 1.0), (float(np.nextafter(1e-50, 0.0)), 0.0):
        assert find_least_change([X, [0.0, length]], [1.0, length], [1, 1]).y.tolist() == [1.0, y_2]
    solver = Solver(2, 2)
    for number, n_ignored in (1e50, 0), (next_up(1e50), 1):
        for row, h in ([0.0, -number], 0.0), ([0.0, -1.0], -number), ([0.0, -number], -number):
            assert solver.solve([X, row], [1.0, h], [1, 1]).y.tolist() == [1.0, 0.0]
            assert solver.record.counts[N_IGNORED] == n_ignored


def test_a_row_that_hardly_adds_to_a_contradiction_does_not_yield_first():
    for sine, steps in (1e-8, 6), (next_up(1e-8), 8):
        answer = find_least_change([X, Y, [-1.0, -sine]], [1.0, 1.0, -1.0 - 0.99 * sine], [1, 2, 0])
        assert answer.steps == steps
        np.testing.assert_allclose(answer.y, [1.0, 1.0], rtol=1e-9)


def test_a_missed_row_in_the_span_of_fixed_ones_is_fixed_with_them():
    for sine, left in (1e-8, 0.5), (next_up(1e-8), 0.0):
        answer = find_least_change([X, LEFT, [1.0, sine]], [1.0, 1.0, 0.5], [1, 1, 1])
        assert answer.left[2] == pytest.approx(left, abs=1e-9)


def test_rows_at_a_small_angle_do_not_join_again_at_once():
    for sine, steps in (1.0000000000005e-6, 10), (next_up(1.0000000000005e-6), 9):  # over its length: 1e-6
        rows = [[1.0, 0.0, 0.0], [-1.0, sine, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
        answer = find_least_change(rows, [1.0, -1.0 + 1e-6, 1.0, 1.0], [0, 0, 1, 2])
        assert answer.steps == steps
        np.testing.assert_allclose(answer.y, [1.0, 1.0, 1.0], rtol=1e-9)


def test_a_row_in_the_noise_of_a_step_does_not_leave():
    for part, steps in (1e-11, 3), (next_up(1e-11), 4):
        answer = find_least_change([Y + [0.0], X + [0.0], [1.0, part, 1.0]], [1e-13, 1.0, 1.5], [0, 1, 2])
        assert (answer.steps, answer.active.tolist()) == (steps, [1, 2])
        np.testing.assert_allclose(answer.y, [1.0, 0.0, 0.5], rtol=0.0, atol=1e-11)
    solver = Solver(3, 3)
    for max_steps in 3, 4:  # it leaves in the end, after which all rows are asked again
        solver.record.counts[N_STEPS_MAX] = max_steps
        answer = solver.solve([Y + [0.0], X + [0.0], [1.0, 1e-11, 1.0]], [1e-13, 1.0, 1.5], [0, 1, 2])
        assert (answer.steps, answer.capped) == (3, max_steps == 3)


def test_rows_with_small_multipliers_wait_for_a_round_of_their_own():
    for weight, steps in (0.99e-3, 13), (1.01e-3, 8):
        small = np.array([[0.0, 0.6, 0.8], [0.0, 0.6, -0.8]])
        answer = find_least_change([[1.0, 0.0, 0.0], [-1.0, -1.2 * weight, 0.0], *small], np.ones(4), np.ones(4))
        assert answer.steps == steps
        np.testing.assert_allclose(answer.left, np.ones(4), rtol=1e-6)


def test_relaxed_rows_have_room_of_a_share_of_y_and_of_the_slack():
    answer = find_least_change([X, LEFT], [3.0, -1.0], [1, 1])  # x = 2, less 1e-10 of it and of the slack of 1
    assert 2.0 - answer.y[0] == pytest.approx(3e-10, rel=1e-3)


def test_a_slack_costs_so_much_that_only_what_is_in_the_noise_of_y_is_above_the_least_one():
    sine = np.sqrt(15.0 / 16.0)
    answer = find_least_change([[0.25, sine], [0.25, -sine], LEFT], [1.0, 1.0, -4.0 + 5e-10], [1, 1, 1])
    np.testing.assert_allclose(answer.left, [2e-9, 2e-9, 0.0], rtol=1e-3, atol=1e-13)  # 1e-10 (16 sum u + |y|)


# -- bounds, numbers


def test_an_answer_depends_on_its_problem_alone():
    rng, solver = np.random.default_rng(6), Solver(6, 30)
    for n_rows, max_steps in [(30, 200), (12, 200), (20, 4), (30, 200), (9, 2), (25, 200)] * 4:
        problem = draw_levels(rng, 6, n_rows)
        fresh = Solver(6, 30)
        fresh.record.counts[N_STEPS_MAX] = solver.record.counts[N_STEPS_MAX] = max_steps
        expected = fresh.solve(*problem)
        for _ in range(2):
            for found, same in zip(solver.solve(*problem), expected, strict=True):
                assert np.array_equal(found, same)
            np.testing.assert_array_equal(solver.record.counts, fresh.record.counts)
            assert solver.record.counts[IS_CAPPED] == expected.capped
        problem = np.eye(6), -np.ones(6)
        assert [part.tolist() for part in solver.solve(*problem)[:4]] == [[0.0] * 6, [], [], [0.0] * 6]
        assert (solver.record.u == 0.0).all()
        assert (solver.record.left == 0.0).all()


def test_too_few_steps_give_the_best_point_for_level_0():
    rng = np.random.default_rng(9)
    n_capped = 0
    for max_steps in (0, 2, 4, 8):
        for _ in range(20):
            G, h, levels = draw_levels(rng, 4, 20)
            h[levels == 0] = -np.abs(h[levels == 0])
            solver = Solver(4, 20)
            solver.record.counts[N_STEPS_MAX] = max_steps
            answer = solver.solve(G, h, levels)
            assert answer.left[levels == 0].max(initial=0.0) == 0.0
            assert answer.steps <= max_steps + 1
            assert not (answer.capped and answer.u.any())
            np.testing.assert_allclose(answer.left, np.maximum(h - G @ answer.y, 0.0), rtol=0.0, atol=1e-8)
            n_capped += answer.capped
    assert n_capped > 30


def test_the_last_of_equally_good_points_is_the_best_one():
    solver = Solver(2, 2)
    solver.record.counts[N_STEPS_MAX] = 1
    for _ in range(2):
        answer = solver.solve([X, Y], [1.0, 2.0], [1, 1])
        assert (answer.y.tolist(), answer.left.tolist(), answer.capped) == ([0.0, 2.0], [1.0, 0.0], True)
    assert solver.solve([X, Y], [3.0, 1.0], [0, 0]).y.tolist() == [3.0, 0.0]  # best of this one
    solver = Solver(3, 3)
    solver.record.counts[N_STEPS_MAX] = 1
    for part, x in (1e-11, 1.0), (next_up(1e-11), 0.0):  # the first one of level 0 holds up to the tolerance
        answer = solver.solve([[-part, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 1.0, 1.0], [0, 1, 2])
        assert (answer.y.tolist(), answer.capped) == ([x, 0.0, 0.0], True)


def test_the_best_point_counts_rows_of_level_0_that_have_a_length():
    solver = Solver(2, 3)
    assert solver.record.counts[N_STEPS_MAX] == 200
    for max_steps, x in (0, 0.0), (1, 0.0), (2, 0.0), (200, 0.5):  # the first step leaves level 0
        solver.record.counts[N_STEPS_MAX] = max_steps
        answer = solver.solve([[0.0, 0.0], X, LEFT], [-1.0, 1.0, -0.5], [0, 1, 0])
        assert answer.y.tolist() == pytest.approx([x, 0.0], abs=1e-9)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e60])
def test_rows_that_are_not_finite_are_ignored_but_in_level_0(number: float):
    solver = Solver(2, 3)
    for G, h in (([X, Y, [number, 1.0]], [1.0, -1.0, 1.0]), ([X, Y, Y], [1.0, -1.0, number])):
        answer = solver.solve(G, h, [0, 0, 1])
        assert (answer.y.tolist(), answer.status, answer.left.tolist()) == ([1.0, 0.0], HOLDS, [0.0, 0.0, 0.0])
        assert solver.record.counts[N_IGNORED] == 1
        answer = solver.solve(G, h, [0, 0, 0])
        assert (answer.y.tolist(), answer.status, answer.active.tolist()) == ([0.0, 0.0], NOT_FINITE, [])
        assert solver.solve(G, [-1.0, *h[1:]], [0, 0, 0]).status == NOT_FINITE
        answer = solver.solve([LEFT, *G[1:]], [2.0, *h[1:]], [0, 0, 1])  # where the row would be violated
        assert (answer.y.tolist(), answer.status) == ([-2.0, 0.0], HOLDS)
        answer = solver.solve([X, LEFT, LEFT], [1.0, 1.0, 1.0])
        np.testing.assert_allclose(answer.left, [1.0, 1.0, 1.0], rtol=1e-9)
    assert solver.solve([X], [number]).status == NOT_FINITE


def test_a_number_that_is_not_finite_is_seen_in_each_column():
    solver = Solver(17, 2)
    for j in range(17):
        G = np.eye(17)[[0, 0]]
        G[1, j] = 1e60
        answer = solver.solve(G, [1.0, 1.0], [0, 1])
        assert (answer.y.tolist(), answer.status) == (np.eye(17)[0].tolist(), HOLDS)
        assert solver.record.counts[N_IGNORED] == 1


def test_the_text_gives_the_bits_of_the_machine_code():
    rng = np.random.default_rng(10)
    problems = [draw_levels(rng, 4, 12) for _ in range(8)]
    rows = rng.normal(size=(8, 8))
    for small in range(8):  # nine active rows, one of which leaves
        weights = rng.uniform(0.5, 1.0, 8) * np.where(np.arange(8) == small, 1e-4, 1.0)
        problems.append((np.vstack([rows, -weights @ rows]), np.ones(9), np.ones(9, int)))
    problems.append(draw_levels(rng, 17, 40))
    for G, h, levels in problems:
        m, d = G.shape
        one, other = Solver(d, m), Solver(d, m)
        expected = one.solve(G, h, levels)
        s = other.record
        s.G[:d], s.h[:], s.level[:], s.counts[N_ROWS] = G.T, h, levels, m
        assert solve(s) == expected.status
        for found, same in zip(other.answer(), expected, strict=True):
            assert np.array_equal(found, same)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="0 unknowns; at least one is needed"):
        Solver(0, 1)
    with pytest.raises(InputError, match=r"G of shape \(2, 2\), h of 2 rows; allowed: 2 columns, 1 rows"):
        Solver(2, 1).solve(np.eye(2), np.ones(2))
