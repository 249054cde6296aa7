"""Responses: what one unit of a weight, of the start or of the goal makes of a whole motion.

A primitive without coupling is linear: at any time t

    (1)  y = m_0 y_0 + m_1 g + k T v_0 + l T v_g + sum_i w_i Phi_i(s)                    discrete
    (2)  y = g + sum_i w_i Phi_i(phi) + (d_0 e_0 + d_1 tau e'_0)                        rhythmic
         e_0 = y_0 - g - sum_i w_i Phi_i(phi_0),      d_0 = (1 + omega u) exp(-omega u),      d_1 = u exp(-omega u)

Phi_i is the attractor's answer to the i-th basis function alone: from rest for (1), on the cycle for (2), where all
answers are one function, shifted, whose Fourier coefficients are those of the basis function divided by
``omega^2 + 2 i k omega - k^2``. So rollouts are one product of matrices, and learning is a linear problem in the
positions themselves: no acceleration of the recording is needed.

Answers are kept at points of the phase, and follow the cubic through value and slope between two of them: to 1e-9.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from arm_control.maths import Array
from arm_control.primitives.attractor import ALPHA, BETA, OMEGA, attract, fade
from arm_control.primitives.discrete_law import END, gate, gaussians, quintics
from arm_control.primitives.rhythmic_law import TURN, rhythmic_basis

POINTS, CYCLE_POINTS = 48, 64
"""Points of the phase for each function, of a motion and of a cycle."""


@lru_cache(maxsize=16)
def _discrete_table(n_basis: int) -> tuple[Array, Array, Array]:
    """Answers and two derivatives at equally spaced phases from 0 to 1, shapes (M + 1, n_basis)."""
    n = POINTS * n_basis
    F = _discrete_functions(np.linspace(0.0, 1.0, 2 * n + 1), n_basis)
    rest = np.zeros_like(F[1::2])
    pushes = np.stack(attract(rest, rest, [F[:-1:2], F[1::2], F[2::2]], 1.0 / n), axis=1)
    step = np.array(fade(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.0 / n))
    states = np.zeros((n + 1, 2, n_basis))
    for k, push in enumerate(pushes):
        states[k + 1] = step @ states[k] + push
    y, v = states[:, 0].copy(), states[:, 1].copy()
    return y, v, F[::2] - ALPHA * (BETA * y + v)


def _discrete_functions(s: Array, n_basis: int) -> Array:
    """Force of a unit of every weight, shape (N, n_basis)."""
    psi = gaussians(s[:, None], n_basis)
    return psi * (gate(s) / psi.sum(axis=1))[:, None]


def discrete_responses(s: Array, n_basis: int, derivatives: int = 2) -> list[Array]:
    """Return Phi of (1) and 0 to 2 derivatives by the scaled time t / T, a list of arrays of shape (N, n_basis).

    Scaled times (N,) are not negative; beyond 1 the answers fade.
    """
    table = _discrete_table(n_basis)
    late = np.maximum(s - 1.0, 0.0)[:, None]
    inside = np.minimum(s, 1.0)
    n_needed = 2 if late.any() or derivatives else 1
    places = inside * POINTS * n_basis
    k = np.minimum(places.astype(int), POINTS * n_basis - 1)
    ends = [(x[k], x[k + 1]) for x in table[: n_needed + 1]]
    values = _cubics(ends, (places - k)[:, None], 1.0 / (POINTS * n_basis))
    if late.any():
        values = [*fade(values[0], values[1], late)]
    if derivatives == 2:
        F = _discrete_functions(inside, n_basis) * (late == 0.0)
        values.append(F - ALPHA * (BETA * values[0] + values[1]))
    return values[: derivatives + 1]


@lru_cache(maxsize=16)
def _cycle_table(n_basis: int) -> tuple[Array, Array, Array]:
    """Answers on the cycle and two derivatives, shapes (M + 1, n_basis, n_basis): views, without memory of their own.

    The first index is a place between two centres, the second one counts centres, backwards; the last one is the
    function. All functions are one, shifted.
    """
    part = rhythmic_basis(TURN / (n_basis * CYCLE_POINTS) * np.arange(CYCLE_POINTS)[:, None], n_basis)
    first = part[:, -np.arange(n_basis) % n_basis].T.ravel()
    k = np.arange(len(first) // 2 + 1)
    answer = np.fft.rfft(first) / (OMEGA**2 + 2j * OMEGA * k - k * k)
    y, v, a = (_shifted(np.fft.irfft((1j * k) ** order * answer, len(first)), n_basis) for order in range(3))
    return y, v, a


def _shifted(y: Array, n_basis: int) -> Array:
    rows = np.append(y, y[:CYCLE_POINTS]).reshape(n_basis + 1, CYCLE_POINTS)
    ends = np.column_stack([rows[:-1], rows[1:, 0]])[::-1].T
    return np.lib.stride_tricks.sliding_window_view(np.hstack([ends, ends]), n_basis, axis=1)


def cycle_responses(phi: Array, n_basis: int, derivatives: int = 2) -> list[Array]:
    """Return Phi of (2) at phases (N,) [rad] and 0 to 2 derivatives by the scaled time t / tau, arrays (N, n_basis)."""
    distances = (phi / TURN % 1.0) * n_basis
    centre = np.minimum(distances.astype(int), n_basis - 1)
    places = (distances - centre) * CYCLE_POINTS
    k, h = np.minimum(places.astype(int), CYCLE_POINTS - 1), TURN / (n_basis * CYCLE_POINTS)
    n_needed = min(derivatives, 1) + 1
    ends = [(x[k, n_basis - 1 - centre], x[k + 1, n_basis - 1 - centre]) for x in _cycle_table(n_basis)[: n_needed + 1]]
    values = _cubics(ends, (places - k)[:, None], h)
    if derivatives == 2:
        values.append(rhythmic_basis(phi[:, None], n_basis) - ALPHA * (BETA * values[0] + values[1]))
    return values


def _cubics(ends: list[tuple[Array, Array]], u: Array, h: float) -> list[Array]:
    """Values between two points, h apart, each cubic by the value at both and by its derivative, which comes next."""
    share, z_0, z_1 = u * u * (3.0 - 2.0 * u), h * u * (1.0 - u) * (1.0 - u), -h * u * u * (1.0 - u)
    return [
        (1.0 - share) * x_0 + share * x_1 + z_0 * v_0 + z_1 * v_1 for (x_0, x_1), (v_0, v_1) in itertools.pairwise(ends)
    ]


def discrete_matrix(t: Array, T: float, n_basis: int, derivatives: int = 2) -> list[Array]:
    """Return the matrices of (1), each (N, 4 + n_basis), at times t (N,) [s] of a motion of the duration T [s].

    y, its velocity and its acceleration are one times ``[y_0, g, v_0, v_g, w_1, ...]``.
    """
    s = np.maximum(t / T, 0.0)
    is_moving = s < END
    ms, ks, ls = quintics(np.minimum(s, 1.0))
    answers = discrete_responses(s, n_basis, derivatives)
    late = np.maximum(s - 1.0, 0.0)
    ends = [*fade(np.zeros_like(s), np.ones_like(s), late)]  # of the velocity at the goal
    ends.append(-ALPHA * (BETA * ends[0] + ends[1]))
    matrices = []
    for order in range(derivatives + 1):
        m, k, l = (np.where(is_moving, x[order], float(order == 0) * x[0]) for x in (ms, ks, ls))
        l = np.where(is_moving, l, ends[order])
        start = float(order == 0) - m
        matrices.append(np.column_stack([start, m, T * k, T * l, answers[order]]) / T**order)
    return matrices


def rhythmic_matrix(t: Array, P: float, n_basis: int, phi_0: float, is_on_cycle: bool) -> list[Array]:
    """Return the matrices of (2), each (N, 3 + n_basis): y, v and a are one times ``[y_0, v_0, g, w_1, ...]``.

    At times from the start (N,) [s], with a period P [s] and a phase at the start [rad]. Where the motion starts on the
    cycle, it does so wherever y_0 and v_0 are.
    """
    tau = P / TURN
    u = np.maximum(t, 0.0) / tau
    answers = cycle_responses(phi_0 + u, n_basis)
    if is_on_cycle:
        zero, one = np.zeros_like(u), np.ones_like(u)
        return [
            np.column_stack([zero, zero, one if order == 0 else zero, answer]) / tau**order
            for order, answer in enumerate(answers)
        ]
    y_0, v_0 = (x[0] for x in cycle_responses(np.array([phi_0]), n_basis, 1))
    one = np.ones_like(u)
    d_0, d_1 = ([*fade(e, e_u, u)] for e, e_u in ((one, 0.0 * one), (0.0 * one, one)))
    for d in (d_0, d_1):
        d.append(-ALPHA * (BETA * d[0] + d[1]))
    return [
        np.column_stack(
            [
                d_0[order],
                tau * d_1[order],
                float(order == 0) - d_0[order],
                answer - np.outer(d_0[order], y_0) - np.outer(d_1[order], v_0),
            ]
        )
        / tau**order
        for order, answer in enumerate(answers)
    ]
