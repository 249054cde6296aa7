"""Velocities of a recording: those of its positions where it has none, or only steps.

A cubic is fitted to the positions around each state, least squares with weights that fade to zero:

    (1)  q(t + s) ~ c_0 + c_1 s + c_2 s^2 + c_3 s^3       weights (1 - (s / T)^2)^3,   |s| < T
    (2)  q = c_0,   v = c_1

States before and behind count alike, so that nothing lags, which no filter of a live run achieves. Differences of
encoder counts lag by half a state, and each count stands in one of them: the mean of their signs is no friction. Within
T, 12 bits (counts of 1.5 mrad) become velocities that are 0.006 rad/s off, where their differences are 0.6.

    q, v, t    positions, velocities, time         [rad, rad/s; m, m/s if prismatic; s]
    T          half of the window                  [s]

Source: W. Cleveland, "Robust locally weighted regression and smoothing scatterplots", 1979.
"""

from __future__ import annotations

import numpy as np

from arm_control.gate import VelocityFilter
from arm_control.maths import Array

HALF_WINDOW = 0.05
"""T."""
FEWEST_NEIGHBOURS = 4
"""States before a state and behind it that count in any case; T is longer where they need it."""
BLOCK = 1000
"""States whose windows are in memory at once."""
POWERS = np.arange(4)
RIDGE = 1e-12
"""Decides where there are fewer than four states."""


def motion_of_states(t: Array, q: Array, v: Array) -> tuple[Array, Array, str]:
    """Return positions and velocities to identify an arm with, as recorded or by (2), and a sentence in that case.

    Parameters
    ----------
    t : ndarray, shape (N,)
        Times, increasing [s].
    q, v : ndarray, shape (N, n)
        Recorded positions and velocities; NaN where there are none.
    """
    if np.isnan(v).any():
        return *smoothed(t, q), "no velocities were recorded: those of the positions are used"
    step = step_of_velocities(t, q, v)
    if not step:
        return q, v, ""
    return *smoothed(t, q), f"velocities come in steps of {step:.2g} rad/s: those of the positions are used"


def step_of_velocities(t: Array, q: Array, v: Array) -> float:
    """Return the steps in which velocities come, as a gate finds them [rad/s or m/s]; 0 where they do not."""
    velocities = VelocityFilter(q.shape[1])
    for q_k, v_k, dt in zip(q, v, np.diff(t, prepend=t[0]).tolist(), strict=True):
        velocities.filtered(q_k, v_k, dt)
    return velocities.step


def smoothed(t: Array, x: Array) -> tuple[Array, Array]:
    """Return value and slope of (2) at each time, shape of x.

    Parameters
    ----------
    t : ndarray, shape (N,)
        Times, increasing [s].
    x : ndarray, shape (N, n)
        Values.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101) ** 1.2
    >>> value, slope = smoothed(t, t[:, None] ** 3)
    >>> bool(np.abs(value[:, 0] - t**3).max() < 1e-9), bool(np.abs(slope[:, 0] - 3.0 * t**2).max() < 1e-7)
    (True, True)
    """
    n, at = len(t), np.arange(len(t))
    low = np.maximum(np.minimum(np.searchsorted(t, t - HALF_WINDOW, "left"), at - FEWEST_NEIGHBOURS), 0)
    high = np.minimum(np.maximum(np.searchsorted(t, t + HALF_WINDOW, "right"), at + FEWEST_NEIGHBOURS + 1), n)
    value, slope = np.empty_like(x), np.empty_like(x)
    for begin in range(0, n, BLOCK):
        rows = slice(begin, begin + BLOCK)
        near = low[rows, None] + np.arange((high - low)[rows].max())
        is_inside = near < high[rows, None]
        near = np.minimum(near, n - 1)
        s = np.where(is_inside, t[near] - t[rows, None], 0.0)
        widest = np.maximum(1.001 * np.abs(s).max(axis=1, keepdims=True), HALF_WINDOW)
        s /= widest
        weights = np.where(is_inside, (1.0 - s * s) ** 3, 0.0)
        V = s[..., None] ** POWERS
        VTw = np.swapaxes(V * weights[..., None], 1, 2)
        c = np.linalg.solve(VTw @ V + RIDGE * np.eye(4), VTw @ x[near])  # (1)
        value[rows], slope[rows] = c[:, 0], c[:, 1] / widest  # (2)
    return value, slope
