"""Linear algebra written out for any scalar, against LAPACK's; scalars' functions on both kinds of scalar."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from program_runs import in_lanes, run

from arm_control.compiler import Law, Library, Tape, compile_code, python_function, scalar_code
from arm_control.maths import (
    Array,
    atan2,
    cholesky,
    eigen_symmetric,
    inverse,
    maximum,
    nearest,
    remove_range,
    select,
    solve,
    sqrt,
)


def random_symmetric(rng: np.random.Generator, n: int, spread: float) -> Array:
    """Eigenvalues spread over decades, all above zero."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = Q @ np.diag(10.0 ** rng.uniform(-spread, 0.0, n)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7])
def test_inverse_is_lapacks(n: int):
    rng = np.random.default_rng(n)
    for _ in range(5):
        S = random_symmetric(rng, n, 4.0)
        written_out = inverse(S.astype(object)).astype(float)
        np.testing.assert_allclose(written_out, np.linalg.inv(S), rtol=0, atol=1e-10 * np.abs(written_out).max())
        np.testing.assert_array_equal(inverse(S), np.linalg.inv(S))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7])
def test_solve_is_lapacks(n: int):
    rng = np.random.default_rng(n)
    for _ in range(5):
        S, b = random_symmetric(rng, n, 4.0), rng.normal(size=n)
        x = solve(S.astype(object), b.astype(object)).astype(float)
        np.testing.assert_allclose(S @ x, b, rtol=0, atol=1e-11 * np.abs(x).max())
        np.testing.assert_allclose(x, np.linalg.solve(S, b), rtol=0, atol=1e-10 * np.abs(x).max())
        np.testing.assert_array_equal(solve(S, b), np.linalg.solve(S, b))


@pytest.mark.parametrize("dtype", [float, object])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7])
def test_choleskys_factors_are_lapacks(n: int, dtype: type):
    rng = np.random.default_rng(n)
    for _ in range(5):
        S = random_symmetric(rng, n, 4.0)
        b, B, L = rng.normal(size=n), rng.normal(size=(n, 3)), np.linalg.cholesky(S)
        factors = cholesky(S.astype(dtype))
        np.testing.assert_allclose(factors.L.astype(float), L, rtol=0, atol=1e-11)
        np.testing.assert_allclose((factors.inverse() @ L).astype(float), np.eye(n), rtol=0, atol=1e-11)
        np.testing.assert_array_equal(factors.inverse().astype(float), np.tril(factors.inverse().astype(float)))
        for right in (b, B):
            x = factors.solve(right.astype(dtype)).astype(float)
            np.testing.assert_allclose(x, np.linalg.solve(S, right), rtol=0, atol=1e-10 * np.abs(x).max())
        assert factors.smallest_pivot == pytest.approx(np.min(np.diag(L)) ** 2)


@pytest.mark.parametrize("dtype", [float, object])
@pytest.mark.parametrize("S", [np.diag([1.0, -2.0, 3.0]), np.zeros((2, 2)), np.full((2, 2), np.nan)])
def test_cholesky_tells_a_matrix_that_is_not_positive_definite(S: Array, dtype: type):
    assert not cholesky(S.astype(dtype)).smallest_pivot > 0.0


def test_choleskys_factors_on_a_tape():
    S = random_symmetric(np.random.default_rng(0), 3, 1.0)
    tape = Tape()
    factors = cholesky(tape.inputs("S", 9).reshape(3, 3))
    program = tape.program({"L": factors.L, "pivot": factors.smallest_pivot})
    results = run(program, {"S": S.ravel()})
    np.testing.assert_allclose(results["L"].astype(float), np.linalg.cholesky(S), rtol=0, atol=1e-14)
    assert results["pivot"] == pytest.approx(cholesky(S).smallest_pivot)
    indefinite = S - np.diag([0.0, 0.0, 2.0])
    assert not run(program, {"S": indefinite.ravel()})["pivot"] > 0.0


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("spread", [0.5, 14.0])
def test_eigenvalues_and_vectors_of_any_symmetric_matrix(n: int, spread: float):
    rng = np.random.default_rng(n)
    for _ in range(5):
        S = random_symmetric(rng, n, spread) * rng.choice([1e-3, 1.0, 1e3])
        values, U = (x.astype(float) for x in eigen_symmetric(S.astype(object)))
        size = np.abs(S).max()
        np.testing.assert_allclose(U @ np.diag(values) @ U.T, S, rtol=0, atol=1e-14 * n * size)
        np.testing.assert_allclose(U.T @ U, np.eye(n), rtol=0, atol=1e-14 * n)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(S), rtol=0, atol=1e-14 * n * size)


@pytest.mark.parametrize(
    "S",
    [np.zeros((6, 6)), np.diag([1.0, 1, 0, 0, 2, 2]), np.ones((6, 6))],
    ids=["zero", "equal pairs", "rank one"],
)
def test_eigenvalues_that_are_equal_or_zero(S: Array):
    values, U = (x.astype(float) for x in eigen_symmetric(S.astype(object)))
    np.testing.assert_allclose(U @ np.diag(values) @ U.T, S, rtol=0, atol=1e-14)
    np.testing.assert_allclose(U.T @ U, np.eye(6), rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [2, 6])
def test_a_range_is_removed_as_by_eigenvectors(n: int):
    rng = np.random.default_rng(n)
    for rank in (0, 1, 2, n, 3 * n):
        B, y = rng.normal(size=(n, rank)), rng.normal(size=n)
        S = B @ B.T
        values, U = np.linalg.eigh(S)
        range_ = U[:, values > 1e-9 * values.max()]
        expected = y - range_ @ (range_.T @ y)
        for dtype in (float, object):
            found = remove_range(y.astype(dtype), S.astype(dtype), 1e-9)
            np.testing.assert_allclose(found.astype(float), expected, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(remove_range(y, 1e-20 * S, 1e-9, 1e-12), y)


CASES = [(2.0, -3.0), (-3.0, 2.0), (0.0, 0.0), (-0.0, 1.5), (1.5, -0.0), (2.5, 2.5), (-7.49, 1e-9), (1e9, -1e-9)]


def outputs(x: object, y: object) -> list[object]:
    return [
        maximum(x, y), maximum(x, 1.0), maximum(1.0, x), select(x, y, -1.0), select(x, 2.0, y), atan2(x, y),
        atan2(x, 1.0), atan2(-1.0, x), nearest(x), nearest(y), sqrt(maximum(x, 0.0)),
    ]  # fmt: skip


def expected(x: float, y: float) -> list[float]:
    return [
        max(x, y), max(x, 1.0), max(1.0, x), y if x > 0 else -1.0, 2.0 if x > 0 else y, math.atan2(x, y),
        math.atan2(x, 1.0), math.atan2(-1.0, x), round(x), round(y), math.sqrt(max(x, 0.0)),
    ]  # fmt: skip


def test_the_functions_of_a_scalar_are_the_same_for_numbers_and_on_a_tape():
    tape = Tape()
    x, y = tape.inputs("x", 2)
    program = tape.program({"z": outputs(x, y)})
    work = np.zeros(2 + len(program.results))
    machine = Library(compile_code(scalar_code(program, "f"))).function("f", ctypes.c_void_p)
    for case in CASES:
        wanted = expected(*case)
        np.testing.assert_array_equal(np.array(outputs(*case)), wanted)
        np.testing.assert_array_equal(python_function(program)(case), wanted)
        work[:2] = case
        assert machine(work.ctypes.data) == 0.0
        np.testing.assert_allclose(work[2:], wanted, rtol=0, atol=5e-16)


@pytest.mark.parametrize("width", [2, 8])
def test_and_for_many_states_at_once(width: int):
    found = in_lanes(Law("of a test", lambda x: {"z": outputs(*x["x"])}, {"x": 2}), width)(np.array(CASES))
    np.testing.assert_allclose(found, [expected(*case) for case in CASES], rtol=0, atol=5e-16)
