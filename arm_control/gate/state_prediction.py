"""Prediction of the state of an arm that nobody measures, from the last state and the torque since then.

    (1)  a = M(q)^-1 (tau - h(q, v))
    (2)  v' = v + a dt,   q' = q + v' dt

It is as good as the model: friction stops an arm sooner, a link that is heavier than its model makes it sink.

    q, v, a     joint positions, velocities, accelerations     [rad, rad/s, rad/s^2; m, ... if prismatic]
    M, h, tau   mass matrix, bias, torque that is applied      [kg m^2; N m; N m]
    dt          time step, at most 1 ms                        [s]
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, procedure
from arm_control.gate.torque_rules import AT_REST, LARGEST
from arm_control.maths import Array

LONGEST_STEP = 1e-3
"""Longest ``dt`` [s]."""


def is_at_rest(v: Array) -> bool:
    """Whether an arm with these joint velocities, shape (nv,) [rad/s or m/s], stands."""
    return bool(np.abs(v).max() < AT_REST)


class PredictedState(NamedTuple):
    """A state that goes on by the model.

    Attributes
    ----------
    q, v : ndarray, shape (n,)
        The state.
    tau, h, a : ndarray, shape (n,)
        Torque, bias, acceleration, and what it is computed in.
    M : ndarray, shape (n * n,)
        Mass matrix, row by row; its Cholesky factor afterwards.
    dt : ndarray, shape (1,)
        Time step [s].
    """

    q: Floats
    v: Floats
    tau: Floats
    h: Floats
    a: Floats
    M: Floats
    dt: Floats
    n: int


def new_prediction(n: int) -> PredictedState:
    """Return the memory of a prediction of ``n`` joints."""
    q, v, tau, h, a = np.zeros((5, n))
    return PredictedState(q, v, tau, h, a, np.zeros(n * n), np.zeros(1), n)


@procedure
def predict(state: PredictedState) -> float:
    """Go on by one step, equations (1) and (2), unless the state is absurd; return 0."""
    n = state.n
    for i in range(n):  # M = L L^T, and L y = tau - h
        for j in range(i + 1):
            entry = state.M[n * i + j]
            for k in range(j):
                entry -= state.M[n * i + k] * state.M[n * j + k]
            state.M[n * i + j] = sqrt(entry) if i == j else entry / state.M[n * j + j]
        rest = state.tau[i] - state.h[i]
        for k in range(i):
            rest -= state.M[n * i + k] * state.a[k]
        state.a[i] = rest / state.M[n * i + i]
    is_finite = True
    for j in range(n):  # L^T a = y
        i = n - 1 - j
        rest = state.a[i]
        for k in range(i + 1, n):
            rest -= state.M[n * k + i] * state.a[k]
        state.a[i] = rest / state.M[n * i + i]
        is_finite = is_finite and abs(state.v[i] + state.a[i] * state.dt[0]) <= LARGEST
    if is_finite:
        for i in range(n):
            state.v[i] += state.a[i] * state.dt[0]  # (1)
            state.q[i] += state.v[i] * state.dt[0]  # (2)
    return 0.0
