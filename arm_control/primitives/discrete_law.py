"""The discrete primitive: one motion from a start to a goal, one step of it over any scalar.

Every equation says which variant it is, since "the" DMP does not exist. T is the duration, y any coordinate.

Phase (the canonical system). Time that is scaled to the motion, from 0 to 1, and that waits while the arm lags behind:

    (1)  ds/dt = 1 / (T (1 + k_e e^2)) for s < 1, else 0

e is the tracking error. Ijspeert 2013 has ``x = exp(-a s)`` instead; x and s are one phase on two scales, s ends.
Phase stopping is his, too, here with the square of the error.

Goal. It may be moved while the motion runs; a filter of second order follows it, so that no acceleration is infinite:

    (2)  T^2 g'' = omega^2 (g_user - g) - 2 omega T g'

Where the goal moves by d, the acceleration jumps by ``m(s) omega^2 / T^2 d``. (Ijspeert 2013 has a filter of first
order and a spring to g itself, of which the acceleration does not jump.)

Reference. The quintic from the start, at its velocity, to the goal, at the goal's velocity, without acceleration at
both ends, and after the end the goal:

    (3)  r = y_0 + m(s) (g - y_0) + T (k(s) v_0 + l(s) v_g)
         m = 10 s^3 - 15 s^4 + 6 s^5,    k = s - 6 s^3 + 8 s^4 - 3 s^5,    l = -4 s^3 + 7 s^4 - 3 s^5

Transformation system. The attractor of Muelling 2013, about the moving reference instead of the goal:

    (4)  T^2 (y'' - r'') = alpha (beta (r - y) + T (r' - y')) + A f(s) + C

In Ijspeert 2013 (and before) the spring goes to the goal, and f is multiplied by ``g - y_0``: where the two are near,
a new goal makes the motion huge, where their difference changes sign, it is mirrored. Hoffmann 2009 gave that up for a
spring to ``g - (g - y_0) x`` and a force without a factor; (4) is the same idea with a reference that ends at a known
time. Without a force y is the quintic. For every force, y is linear in weights, start, goal and both velocities.

Force. Gaussians at equal distances, normalised, faded in and out:

    (5)  f = (1 - (2 s - 1)^8) sum_i psi_i w_i / sum_i psi_i,      psi_i = exp(-h (s - c_i)^2)
         c_i = i / (n - 1),    h = (n - 1)^2 / (2 0.8^2):    a standard deviation of 0.8 distances

Ijspeert's factor x fades out only, never to zero; here the acceleration at both ends is zero, and after s = 1 nothing
is left of the force. Coupling with obstacles, C: :mod:`~arm_control.primitives.obstacle_coupling`. A is the
amplitude of the shape, 1 as learned.

Sources: A. J. Ijspeert et al., "Dynamical movement primitives: learning attractor models for motor behaviors", 2013;
H. Hoffmann, P. Pastor, D.-H. Park, S. Schaal, "Biologically-inspired dynamical systems for movement generation:
automatic real-time goal adaptation and obstacle avoidance", 2009; K. Muelling, J. Kober, O. Kroemer, J. Peters,
"Learning to select and generalize striking movements in robot table tennis", 2013.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.maths import Array, Scalar, exp, minimum, select
from arm_control.primitives.attractor import ALPHA, BETA, OMEGA, attract, fade

WIDTH = 0.8
"""Standard deviation of a Gaussian, in distances of two centres."""
END = 1.0 - 1e-9
"""A phase beyond it is at the end: it is a sum of many steps."""


class DiscreteState(NamedTuple):
    """What one step hands to the next.

    Phase s from 0 to 1, position y and velocity v, filtered goal g and its velocity g_v, and the force f at s, zero at
    the start, all (n,).
    """

    s: Scalar
    y: Array
    v: Array
    g: Array
    g_v: Array
    f: Array


class DiscreteTask(NamedTuple):
    """What a run does not change, or only from outside.

    Start ``y_0`` and velocities ``v_0`` there and ``v_g`` at the goal, the goal as it is wished now, all (n,), weights
    (n, n_basis), duration T [s] and amplitude A.
    """

    y_0: Array
    v_0: Array
    v_g: Array
    goal: Array
    weights: Array
    T: Scalar
    A: Scalar


def gaussians(s: Scalar, n_basis: int) -> Array:
    """Return psi of (5) at phases s (..., 1), shape (..., n_basis); n_basis is at least 2.

    Their sum is between 1.4 and 2.1 within the motion, so that it may divide.
    """
    z = ((n_basis - 1) * s - np.arange(n_basis)) * (1.0 / (np.sqrt(2.0) * WIDTH))
    return exp(-(z * z))  # (5)


def gate(s: Scalar) -> Scalar:
    """Return the factor of (5) that fades the force in and out, at a phase or an array of phases."""
    z = (2.0 * s - 1.0) * (2.0 * s - 1.0)
    return 1.0 - z * z * z * z


def discrete_force(s: Scalar, weights: Array) -> Array:
    """Return f of (5), shape (n,), for weights (n, n_basis)."""
    psi = gaussians(s, weights.shape[1])
    return (weights @ psi) * (gate(s) / psi.sum())  # (5)


def discrete_step(x: DiscreteState, task: DiscreteTask, dt: Scalar, slowing: Scalar, C: Array) -> DiscreteState:
    """Return the state after a time dt [s] above zero, equations (1) to (5).

    ``slowing`` is ``1 + k_e e^2`` of (1), which is 1 without phase stopping, and C, shape (n,), the coupling.
    """
    T, per_T = task.T, 1.0 / task.T
    rate = phase_rate(x.s, T, slowing)
    s_m, s_1 = (minimum(x.s + part * dt * rate, 1.0) for part in (0.5, 1.0))  # (1)
    h = dt * per_T
    g, g_u = fade(x.g - task.goal, T * x.g_v, h)
    g, g_v = g + task.goal, g_u * per_T  # (2)
    r_0, v_0, *_ = _reference(x.s, rate, x.g, x.g_v, task)
    r_1, v_1, *_ = _reference(s_1, rate, g, g_v, task)
    fs = x.f, discrete_force(s_m, task.weights), discrete_force(s_1, task.weights)
    e, e_u = attract(x.y - r_0, T * (x.v - v_0), [task.A * f + C for f in fs], h)  # (4)
    return DiscreteState(s_1, r_1 + e, v_1 + e_u * per_T, g, g_v, fs[2])


def discrete_acceleration(x: DiscreteState, task: DiscreteTask, slowing: Scalar, C: Array) -> Array:
    """Return ``y''`` of (4) in a state, shape (n,); arguments as for :func:`discrete_step`."""
    T = task.T
    per_T2 = 1.0 / (T * T)
    g_a = (OMEGA**2 * (task.goal - x.g) - 2.0 * OMEGA * T * x.g_v) * per_T2  # (2)
    r, r_v, r_a, m = _reference(x.s, phase_rate(x.s, T, slowing), x.g, x.g_v, task)
    pull = ALPHA * (BETA * (r - x.y) + T * (r_v - x.v))
    return r_a + m * g_a + (pull + task.A * x.f + C) * per_T2  # (4)


def phase_rate(s: Scalar, T: Scalar, slowing: Scalar) -> Scalar:
    """Return ``ds/dt`` of (1)."""
    return select(END - s, 1.0 / (T * slowing), 0.0)


def quintics(s: Scalar) -> tuple[tuple[Scalar, Scalar, Scalar], ...]:
    """Return m, k and l of (3), each with its first and second derivative by the phase s."""
    s2, s3 = s * s, s * s * s
    m = (10.0 - 15.0 * s + 6.0 * s2) * s3, 30.0 * s2 * (1.0 - s) * (1.0 - s), 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    k = (
        s - (6.0 - 8.0 * s + 3.0 * s2) * s3,
        1.0 - s2 * (18.0 - 32.0 * s + 15.0 * s2),
        -s * (36.0 - 96.0 * s + 60.0 * s2),
    )
    l = -(4.0 - 7.0 * s + 3.0 * s2) * s3, -s2 * (12.0 - 28.0 * s + 15.0 * s2), -s * (24.0 - 84.0 * s + 60.0 * s2)
    return m, k, l


def _reference(s: Scalar, rate: Scalar, g: Array, g_v: Array, task: DiscreteTask) -> tuple[Array, Array, Array, Scalar]:
    """Equation (3): r, its rate by time, its second derivative without the acceleration of the goal, and m."""
    (m, m_s, m_ss), (k, k_s, k_ss), (l, l_s, l_ss) = quintics(s)
    way, v_0, v_g = g - task.y_0, task.T * task.v_0, task.T * task.v_g
    r = task.y_0 + m * way + k * v_0 + l * v_g  # (3)
    v = (m_s * way + k_s * v_0 + l_s * v_g) * rate + m * g_v
    a = (m_ss * way + k_ss * v_0 + l_ss * v_g) * (rate * rate) + 2.0 * m_s * rate * g_v
    return r, v, a, m
