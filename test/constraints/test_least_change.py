"""The least change under rows: equations of its optimum, another solver, warm starts, rows without sense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from arm_control.constraints import HOLDS, LeastChange, Solver, find_least_change
from arm_control.exceptions import InputError
from arm_control.maths import Array


def feasible_problem(rng: np.random.Generator, d: int, m: int) -> tuple[Array, Array]:
    G, inside = rng.normal(size=(m, d)), rng.normal(size=d)
    return G, G @ inside - rng.uniform(0.0, 1.0, m) * (rng.random(m) < 0.8)


def residual(G: Array, h: Array, answer: LeastChange) -> float:
    """Largest of the four conditions of an optimum, each relative to what it is computed from."""
    y, u, rows = answer.y, answer.u, G[answer.active]
    length = np.linalg.norm(G, axis=1)
    size = np.linalg.norm(y)
    holds = np.where(length > 0.0, (h - G @ y) / np.where(length > 0.0, length, 1.0), 0.0)
    terms = np.abs(u) @ length[answer.active]
    stationary = np.abs(y - rows.T @ u).max(initial=0.0) / max(size, terms, 1e-300)
    slack = np.abs(holds[answer.active]).max(initial=0.0)
    return max(stationary, max(holds.max(initial=0.0), slack) / max(size, 1e-300), -u.min(initial=0.0))


def answer_of_nnls(G: Array, h: Array) -> Array:
    """The least distance as a problem of nonnegative least squares (Lawson, Hanson, 1974)."""
    d = G.shape[1]
    E, f = np.vstack([G.T, h]), np.eye(d + 1)[d]
    r = E @ nnls(E, f)[0] - f
    return -r[:d] / r[d]


def test_random_problems_fulfil_the_equations_of_an_optimum():
    rng = np.random.default_rng(0)
    for _ in range(300):
        G, h = feasible_problem(rng, int(rng.integers(1, 9)), int(rng.integers(1, 60)))
        answer = find_least_change(G, h)
        assert answer.status == HOLDS
        assert residual(G, h, answer) <= 1e-12
        np.testing.assert_allclose(answer.y, answer_of_nnls(G, h), rtol=0.0, atol=1e-9)


def test_a_point_that_holds_is_not_changed():
    answer = find_least_change([[1.0, 2.0], [0.0, 1.0]], [0.0, -1.0])
    assert answer.y.tolist() == [0.0, 0.0]
    assert (answer.steps, len(answer.active)) == (0, 0)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="9 unknowns; allowed: 1 to 8"):
        Solver(9, 1)
    with pytest.raises(InputError, match=r"G of shape \(2, 2\), h of 2 rows; allowed: 2 columns, 1 rows"):
        Solver(2, 1).solve(np.eye(2), np.ones(2))
