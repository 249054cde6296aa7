"""The quadratic function in a box: against SciPy, and by the conditions of its smallest value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.planning import box_qp as module
from arm_control.planning.box_qp import active_set_step, box_qp, cholesky, cholesky_solve


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


def test_a_thousand_problems_against_scipy():
    rng, held_at_all = np.random.default_rng(0), 0
    for _ in range(1000):
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
    assert held_at_all > 500


def test_shortened_steps_find_the_same(monkeypatch: pytest.MonkeyPatch):
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
    np.testing.assert_allclose(cholesky_solve(found.factor, np.array([0.0, 3.0])), [0.0, 1.0])


def test_the_text_is_that_of_lapack():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((5, 5))
    S, b = A @ A.T, rng.standard_normal((5, 3))
    for scalars in (S, S.astype(object)):
        L, pivot = cholesky(scalars)
        np.testing.assert_allclose(cholesky_solve(L, b).astype(float), np.linalg.solve(S, b), rtol=1e-9)
        assert pivot == pytest.approx(np.min(np.diag(np.linalg.cholesky(S))) ** 2)
        assert not cholesky(np.full((2, 2), np.nan).astype(scalars.dtype))[1] > 0.0
        S_bad = S - 2.0 * np.eye(5) * np.linalg.eigvalsh(S)[-1]
        assert not cholesky(S_bad if scalars is S else S_bad.astype(object))[1] > 0.0


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
