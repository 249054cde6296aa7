"""The exponential of a matrix against SciPy's, closed forms, and powers of itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from arm_control.exceptions import InputError
from arm_control.maths import matrix_exponential


@pytest.mark.parametrize("n", [1, 6])
def test_it_equals_scipys_at_every_scale(n: int):
    rng = np.random.default_rng(n)
    for scale in np.logspace(-12, 1.5, 10):
        A = scale * rng.normal(size=(n, n))
        expected = expm(A)
        assert np.abs(matrix_exponential(A) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_closed_forms():
    turn = np.array([[0.0, -0.3], [0.3, 0.0]])
    np.testing.assert_allclose(
        matrix_exponential(turn), [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]], atol=1e-16
    )
    np.testing.assert_allclose(matrix_exponential(np.diag([-700.0, 1.0])), np.diag(np.exp([-700.0, 1.0])), rtol=1e-12)
    assert matrix_exponential(np.zeros((3, 3))).tolist() == np.eye(3).tolist()
    assert matrix_exponential(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("w", [1e-3, 2000.0])
def test_entries_of_different_units(w: float):
    """A critically damped spring after 1 ms: e^{-w t} [[1 + w t, t], [-w^2 t, 1 - w t]]."""
    t = 1e-3
    A = np.array([[0.0, 1.0], [-(w**2), -2.0 * w]])
    expected = np.exp(-w * t) * np.array([[1.0 + w * t, t], [-(w**2) * t, 1.0 - w * t]])
    np.testing.assert_allclose(matrix_exponential(A * t), expected, rtol=2e-14)


@pytest.mark.parametrize(
    ("A", "words"),
    [(np.zeros((2, 3)), "square"), (np.zeros(4), "square"), ([[np.nan]], "not finite"), ([[np.inf]], "not finite")],
)
def test_what_has_no_exponential_is_refused(A: object, words: str):
    with pytest.raises(InputError, match=words):
        matrix_exponential(A)
