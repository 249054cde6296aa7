"""Linear systems: the point attractor and zero-order hold against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.neural import LinearSystem, point_attractor, scaled_attractor


def test_the_point_attractor_answers_a_step_as_in_the_closed_form():
    """Critically damped: x = 1 - (1 + w t) e^{-w t}, xd = w^2 t e^{-w t}; scaled, its velocity is xd / w."""
    alpha, t = 12.0, 0.3
    w = alpha / 2.0
    x, xd = 1.0 - (1.0 + w * t) * np.exp(-w * t), w**2 * t * np.exp(-w * t)
    for system, state in ((point_attractor(alpha), [x, xd]), (scaled_attractor(alpha), [x, xd / w])):
        np.testing.assert_allclose(system.discretized(t).step(np.zeros(2), np.ones(1)), state, rtol=1e-13)


def test_a_singular_matrix_is_discretized_too():
    double_integrator = LinearSystem([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]])
    discrete = double_integrator.discretized(0.2)
    np.testing.assert_allclose(discrete.A, [[1.0, 0.2], [0.0, 1.0]], atol=1e-17)
    np.testing.assert_allclose(discrete.B, [[0.02], [0.2]], atol=1e-17)
    assert discrete.dt == 0.2


def test_what_is_no_system_is_refused():
    for A, B, words in (
        ([[1.0, 2.0]], [[1.0]], "shapes"),
        ([[1.0]], [[1.0], [2.0]], "shapes"),
        ([[np.nan]], [[1.0]], "not finite"),
    ):
        with pytest.raises(InputError, match=words):
            LinearSystem(A, B)
    with pytest.raises(InputError, match="positive"):
        LinearSystem([[1.0]], [[1.0]], dt=0.0)
    with pytest.raises(InputError, match="discrete already"):
        LinearSystem([[1.0]], [[1.0]], dt=0.1).discretized(0.1)
    for alpha in (0.0, np.inf):
        with pytest.raises(InputError, match="positive numbers"):
            point_attractor(alpha)
