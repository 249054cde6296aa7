"""Joint paths: a way of the joints without time, from which a time scaling makes a motion.

A path is a :class:`~arm_control.motion.joint_trajectory.JointTrajectory` whose parameter s is not time but the length
of the way. Through points q_0 ... q_n, at ``s_0 = 0`` and ``s_k = s_{k-1} + |q_k - q_{k-1}|``, it is the natural cubic
spline: position, direction and curvature are continuous, so that a motion along it needs no stop and its torque has no
step. With the curvatures ``m_k = q''(s_k)`` and ``h_k = s_{k+1} - s_k``,

    (1)  h_{k-1} m_{k-1} + 2 (h_{k-1} + h_k) m_k + h_k m_{k+1} = 6 ((q_{k+1} - q_k) / h_k - (q_k - q_{k-1}) / h_{k-1})
    (2)  q = q_k + ((q_{k+1} - q_k) / h_k - h_k (2 m_k + m_{k+1}) / 6) t + m_k / 2 t^2 + (m_{k+1} - m_k) / (6 h_k) t^3

with ``t = s - s_k`` and ``m_0 = m_n = 0``.

Source: C. de Boor, "A practical guide to splines", 1978, chapter 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.motion.joint_trajectory import JointTrajectory

SHORTEST = 1e-6
"""Distance of two points below which they are one [rad or m]."""


def spline_path(points: npt.ArrayLike) -> JointTrajectory:
    """Return the path through points, equations (1) and (2); one straight piece for two of them.

    Parameters
    ----------
    points : array_like, shape (n, nv)
        Joint positions [rad or m], at least two.

    Raises
    ------
    InputError
        When there are fewer than two points, a number is not finite, or two neighbours are one point.

    Examples
    --------
    >>> path = spline_path([[0.0, 0.0], [3.0, 4.0]])
    >>> path.duration, path.sample(2.5).q_des
    (5.0, array([1.5, 2. ]))
    """
    q = np.array(points, dtype=float)
    if q.ndim != 2 or len(q) < 2 or not np.isfinite(q).all():
        raise InputError(f"points of shape {q.shape}: two rows or more of finite numbers are needed")
    D = np.diff(q, axis=0)
    h = np.linalg.norm(D, axis=1)
    if h.min() < SHORTEST:
        raise InputError(f"points {h.argmin()} and {h.argmin() + 1} are one: leave one out")
    slopes, m = D / h[:, None], np.zeros_like(q)
    if len(q) > 2:
        system = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
        m[1:-1] = np.linalg.solve(system, 6.0 * np.diff(slopes, axis=0))  # (1)
    pieces = np.zeros((len(h), 6, q.shape[1]))
    pieces[:, 0] = q[:-1]
    pieces[:, 1] = slopes - h[:, None] * (2.0 * m[:-1] + m[1:]) / 6.0
    pieces[:, 2] = m[:-1] / 2.0
    pieces[:, 3] = np.diff(m, axis=0) / (6.0 * h[:, None])  # (2)
    return JointTrajectory(np.concatenate([[0.0], np.cumsum(h)]), pieces)
