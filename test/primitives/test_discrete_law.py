"""The discrete law, step by step, against its equations integrated by SciPy while all that may change changes."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from arm_control.maths import Array
from arm_control.primitives import Primitive, PrimitiveRun

N_BASIS, DT, T = 7, 1e-3, 1.2
START, VELOCITY, FINAL = np.array([0.2, 0.4]), np.array([1.0, -1.0]), np.array([0.5, 0.2])
GOALS = np.array([[1.0, -0.5], [0.4, 0.8]])
K_E, LAG = 50.0, 0.1


def wished(t: float) -> tuple[Array, float, float]:
    """Goal, amplitude, and tracking error at a time."""
    return GOALS[0 if t < 0.3 else 1], 1.0 if t < 0.5 else 1.4, LAG if 0.6 <= t < 0.8 else 0.0


def rates(t: float, x: Array, primitive: Primitive) -> Array:
    """Equations (1) to (5) of the law for phase, y, y', g and g'."""
    s, y, v, g, g_v = x[0], *x[1:].reshape(4, 2)
    goal, amplitude, error = wished(t)
    alpha, omega = 25.0, 12.5
    rate = 1.0 / (T * (1.0 + K_E * error**2)) if s < 1.0 else 0.0
    g_a = (omega**2 * (goal - g) - 2.0 * omega * T * g_v) / T**2
    m, m_s, m_ss = 10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 - 60 * s**3 + 30 * s**4, 60 * s - 180 * s**2 + 120 * s**3
    k, k_s, k_ss = (
        s - 6 * s**3 + 8 * s**4 - 3 * s**5,
        1 - 18 * s**2 + 32 * s**3 - 15 * s**4,
        -36 * s + 96 * s**2 - 60 * s**3,
    )
    l, l_s, l_ss = -4 * s**3 + 7 * s**4 - 3 * s**5, -12 * s**2 + 28 * s**3 - 15 * s**4, -24 * s + 84 * s**2 - 60 * s**3
    r = START + m * (g - START) + T * (k * VELOCITY + l * FINAL)
    r_v = (m_s * (g - START) + T * (k_s * VELOCITY + l_s * FINAL)) * rate + m * g_v
    r_a = (m_ss * (g - START) + T * (k_ss * VELOCITY + l_ss * FINAL)) * rate**2 + 2 * m_s * rate * g_v + m * g_a
    psi = np.exp(-((N_BASIS - 1) ** 2) / (2.0 * 0.8**2) * (s - np.arange(N_BASIS) / (N_BASIS - 1)) ** 2)
    f = (1.0 - (2.0 * s - 1.0) ** 8) * (primitive.weights @ psi) / psi.sum()
    a = r_a + (alpha * (alpha / 4.0 * (r - y) + T * (r_v - v)) + amplitude * f) / T**2
    return np.concatenate([[rate], v, a, g_v, g_a])


def test_steps_follow_the_equations_while_goal_amplitude_and_phase_change():
    weights = 50.0 * np.random.default_rng(1).normal(size=(2, N_BASIS))
    primitive = Primitive("discrete", 1.0, START, GOALS[0], weights, FINAL)
    run = PrimitiveRun(primitive, duration=T, start_velocity=VELOCITY, phase_stopping=K_E)
    x, t = np.concatenate([[0.0], START, VELOCITY, GOALS[0], [0.0, 0.0]]), 0.0
    for end in (0.3, 0.5, 0.6, 0.8, 1.25):
        v_before = x[3:5].copy()
        x = solve_ivp(rates, (t, end - 1e-12), x, args=(primitive,), rtol=1e-11, atol=1e-12).y[:, -1]
        goal, amplitude, error = wished(t)
        run.set_goal(goal)
        run.set_amplitude(amplitude)
        for k in range(round((end - t) / DT)):
            reference = run.step(DT, error)
            if k == 0:  # whatever has changed, the velocity is what it was
                np.testing.assert_allclose(reference.v_des, v_before, atol=0.1)
        np.testing.assert_allclose(reference.q_des, x[1:3], atol=1e-6)
        np.testing.assert_allclose(reference.v_des, x[3:5], atol=1e-5)
        np.testing.assert_allclose(reference.a_des, rates(end - 1e-12, x, primitive)[3:5], atol=1e-3)
        assert abs(run.phase - x[0]) < 1e-9
        t = end
