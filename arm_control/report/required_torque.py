"""Inverse dynamics of a recording: the torque of the recorded motion by the model, beside the recorded effort.

    (1)  v(t + s) ~ v + a s        fitted to the recorded velocities within WINDOW of each state, least squares
    (2)  tau = M(q) a + h(q, v) + c sign(v) + b v    with that a and v
    (3)  g(q)                      the part of gravity

A recording holds no accelerations, so (1) computes them: a line through the velocities in a window filters their
noise, and all motion faster than about the window. Without recorded velocities, they are slopes of the positions. c and
b are the friction of an identified arm (``coulomb_friction``, ``viscous_friction``), else 0. The effort of many arms is
motor current, not torque: then only its correlation with the model's torque has a meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.bags import JointSeries
from arm_control.exceptions import BagError
from arm_control.maths import Array
from arm_control.model import RobotModel

WINDOW = 0.1
"""Half of the window of a line [s]."""
BLOCK = 1000
"""Number of states that share an origin of time."""

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class RequiredTorque:
    """Torque of a motion.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time since the first state [s].
    tau, gravity : ndarray, shape (n, nv)
        Torque by the model, and its part of gravity [N m or N].
    effort : ndarray, shape (n, nv)
        Recorded effort; NaN where there is none.
    a : ndarray, shape (n, nv)
        Accelerations of (1) [rad/s^2 or m/s^2].
    """

    t: Array
    tau: Array
    gravity: Array
    effort: Array
    a: Array


def inverse_dynamics(series: JointSeries, model: RobotModel) -> RequiredTorque:
    """Compute (1) to (3) for every recorded state.

    Parameters
    ----------
    series : JointSeries
        Joint states with increasing times.

    Raises
    ------
    BagError
        When the recording lacks joints of the model, or has fewer than three states.
    """
    t = series.t
    q = series.of(model, "position")
    v = series.of(model, "velocity")
    if len(t) < 3 or not t[-1] > t[0]:
        raise BagError("inverse dynamics needs at least three states at different times")
    if np.isnan(v).any():
        v = fitted(t, q)[1]
    v, a = fitted(t, v)
    tau = np.array([model.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
    tau += model.coulomb * np.sign(v) + model.viscous * v
    gravity = np.array([model.gravity(row) for row in q])
    return RequiredTorque(t, tau, gravity, series.of(model, "effort"), a)


def fitted(t: Array, x: Array, half: float = WINDOW) -> tuple[Array, Array]:
    """Return value and slope at each time of the line fitted to the values within ``half`` of it [s].

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times, increasing [s].
    x : ndarray, shape (n, m)
        Values.
    half : float
        Half of the window [s]; extended to the neighbours where it holds fewer than three times.

    Examples
    --------
    >>> t = np.array([0.0, 0.01, 0.03, 0.04])
    >>> value, slope = fitted(t, 2.0 + 3.0 * t[:, None])
    >>> value.ravel().round(9), slope.ravel().round(9)
    (array([2.  , 2.03, 2.09, 2.12]), array([3., 3., 3., 3.]))
    """
    n = len(t)
    low = np.minimum(np.searchsorted(t, t - half, "left"), np.maximum(np.arange(n) - 1, 0))
    high = np.maximum(np.searchsorted(t, t + half, "right"), np.minimum(np.arange(n) + 2, n))
    value = np.empty_like(x)
    slope = np.empty_like(x)
    for begin in range(0, n, BLOCK):  # each with an origin of its own: sums of squares of large times lose digits
        rows = slice(begin, min(begin + BLOCK, n))
        part = slice(low[rows][0], high[rows][-1])
        times = t[part, None] - t[begin]
        at = t[rows, None] - t[begin]
        value[rows], slope[rows] = _lines(times, x[part], low[rows] - part.start, high[rows] - part.start, at)
    return value, slope


def _lines(t: Array, x: Array, low: Indices, high: Indices, at: Array) -> tuple[Array, Array]:
    """Value at a time and slope of the lines through the rows from low to high."""
    sums = [np.vstack([0 * y[:1], np.cumsum(y, axis=0)]) for y in (t, t * t, x, t * x)]
    s_t, s_tt, s_x, s_tx = (total[high] - total[low] for total in sums)
    count = (high - low)[:, None]
    slope = (s_tx - s_t * s_x / count) / np.maximum(s_tt - s_t * s_t / count, 1e-15)
    return (s_x - slope * s_t) / count + slope * at, slope


def summary(dynamics: RequiredTorque, model: RobotModel) -> list[tuple[str, ...]]:
    """Return a table, its head first, with a row per joint: sizes of effort and torque, and their correlation.

    Parameters
    ----------
    model : RobotModel
        Names of the joints.
    """
    rows: list[tuple[str, ...]] = [
        ("joint", "effort rms", "model rms", "difference", "correlation", "with gravity", "R^2"),
    ]
    for i, name in enumerate(model.joint_names):
        known = np.isfinite(dynamics.effort[:, i])
        effort, tau, gravity = (x[known, i] for x in (dynamics.effort, dynamics.tau, dynamics.gravity))
        sizes = [f"{_rms(x):.4g}" for x in (effort, tau, tau - effort)]
        correlations = [f"{correlation(x, effort):.3f}" for x in (tau, gravity)]
        share = f"{explained(effort, tau):.3f}"
        rows.append((name, *(cell.replace("nan", "-") for cell in [*sizes, *correlations, share])))
    return rows


def correlation(x: Array, y: Array) -> float:
    """Return the correlation of two series; NaN where one of them is constant.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        The series.
    """
    if not len(x):
        return float("nan")
    x, y = x - np.mean(x), y - np.mean(y)
    scale = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / scale if scale > 1e-12 else float("nan")


def explained(x: Array, y: Array) -> float:
    """Return R^2, the share of the variance of a series that another one explains; NaN where it is constant.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        The series, and the other one.
    """
    variance = float(np.var(x)) if len(x) else 0.0
    return 1.0 - float(np.mean((x - y) ** 2)) / variance if variance > 1e-24 else float("nan")


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else float("nan")
