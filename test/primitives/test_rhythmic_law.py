"""The rhythmic law, step by step, against its equations integrated by SciPy while all that may change changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from arm_control.maths import Array
from arm_control.primitives import Primitive, PrimitiveRun

N_BASIS, DT = 7, 2e-3
START, VELOCITY = [0.2, 0.4], [1.0, -1.0]
CENTRE = [0.3, -0.1]


@pytest.fixture(scope="module")
def primitive() -> Primitive:
    weights = 100.0 * np.random.default_rng(1).normal(size=(2, N_BASIS))
    return Primitive("rhythmic", 1.1, np.zeros(2), np.array(CENTRE), weights, np.zeros(2))


def wished(t: float) -> tuple[Array, float, float]:
    """Centre, amplitude and period at a time."""
    return np.array(CENTRE if t < 0.3 else [0.1, 0.5]), 1.0 if t < 0.3 else 1.6, 1.1 if t < 0.6 else 0.6


def rates(t: float, x: Array, primitive: Primitive) -> Array:
    """Equations (1) to (4) of the law for phase, y, y', g, A and P."""
    phi, y, v, g, A, P = x[0], x[1:3], x[3:5], x[5:7], x[7], x[8]
    goal, amplitude, period = wished(t)
    tau, alpha = P / (2.0 * np.pi), 25.0
    centres, h = 2.0 * np.pi * np.arange(N_BASIS) / N_BASIS, (N_BASIS / (2.0 * np.pi * 0.8)) ** 2
    psi = np.exp(h * (np.cos(phi - centres) - 1.0))
    force = A * (primitive.weights @ psi) / psi.sum()
    a = (alpha * (alpha / 4.0 * (g - y) - tau * v) + force) / tau**2
    filtered = alpha / 8.0 / tau * np.array([*(goal - g), amplitude - A, period - P])
    return np.array([1.0 / tau, *v, *a, *filtered])


def test_steps_follow_the_equations_while_centre_amplitude_and_period_change(primitive: Primitive):
    run = PrimitiveRun(primitive, start=START, start_velocity=VELOCITY)
    x = np.array([0.0, *START, *VELOCITY, *CENTRE, 1.0, 1.1])
    for begin, end in ((0.0, 0.3), (0.3, 0.6), (0.6, 0.9)):
        goal, amplitude, period = wished(begin + 1e-9)
        run.set_goal(goal)
        run.set_amplitude(amplitude)
        run.set_duration(period)
        n = round((end - begin) / DT)
        for _ in range(n):
            reference = run.step(DT)
        inside = (begin + 1e-9, end - 1e-9)
        x = solve_ivp(rates, inside, x, args=(primitive,), rtol=1e-9, atol=1e-10, method="DOP853").y[:, -1]
        np.testing.assert_allclose(reference.q_des, x[1:3], rtol=0, atol=1e-5)
        np.testing.assert_allclose(reference.v_des, x[3:5], rtol=0, atol=2e-4)
        np.testing.assert_allclose(reference.a_des, rates(end - 2e-9, x, primitive)[3:5], rtol=0, atol=0.05)
