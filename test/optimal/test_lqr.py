"""LQR: against SciPy's Riccati equation, and the two horizons against each other."""

from __future__ import annotations

import numpy as np
import pytest
from problems import UR5_HOME, random_linear
from scipy.linalg import expm, solve_discrete_are

from arm_control.exceptions import InputError
from arm_control.optimal import ArmDynamics
from arm_control.optimal.generic.lqr import finite_horizon, infinite_horizon, linearised


@pytest.mark.parametrize("seed", range(5))
def test_without_end(seed: int):
    rng = np.random.default_rng(seed)
    A, B = 0.6 * rng.standard_normal((4, 4)), rng.standard_normal((4, 2))
    Q, R = np.diag(rng.uniform(0.1, 2.0, 4)), np.diag(rng.uniform(0.1, 2.0, 2))
    K, P = infinite_horizon(A, B, Q, R)
    np.testing.assert_allclose(P, solve_discrete_are(A, B, Q, R), rtol=1e-8)
    assert np.max(np.abs(np.linalg.eigvals(A - B @ K))) < 1.0
    Ks, _ = finite_horizon(A, B, Q, R, Q, 500)
    np.testing.assert_allclose(Ks[0], K, rtol=1e-8, atol=1e-10)


def test_an_arm_is_held_by_it(ur5):
    """The named predecessor: linear about the state, Q for positions only, gravity compensated apart."""
    dynamics = ArmDynamics(ur5, 0.01)
    x, u = np.concatenate([UR5_HOME, np.zeros(6)]), ur5.gravity(UR5_HOME)
    A, B = linearised(dynamics, x, u)
    for found, exact in zip((A, B), dynamics.derivatives(x[None], u[None]), strict=True):
        np.testing.assert_allclose(found, exact[0], rtol=0, atol=1e-7)
    K, _ = infinite_horizon(A, B, np.diag([1000.0] * 6 + [0.0] * 6), 0.001 * np.eye(6))
    y = x + np.concatenate([np.full(6, 0.05), np.zeros(6)])
    for _ in range(300):
        y = dynamics.step(y[None], (u - K @ (y - x))[None])[0]
    assert np.max(np.abs(y - x)) < 1e-6


def test_the_random_linear_system_is_what_it_says():
    _, _, A, _ = random_linear(3)
    S = np.random.default_rng(3).standard_normal((10, 10))
    np.testing.assert_allclose(A, expm(0.01 * (S - S.T)), atol=1e-12)


def test_bad_input_is_refused():
    one = np.eye(2)
    with pytest.raises(InputError, match="shapes do not fit"):
        infinite_horizon(one, np.ones((3, 1)), one, [[1.0]])
    with pytest.raises(InputError, match="must be finite"):
        infinite_horizon(one, np.ones((2, 1)), np.nan * one, [[1.0]])
    with pytest.raises(InputError, match="no feedback"):
        infinite_horizon(np.diag([2.0, 0.5]), [[0.0], [1.0]], one, [[1.0]])
