"""Prediction of the state of an arm that nobody measures, from the last state and the torque since then.

    (1)  a = M(q)^-1 (tau - h(q, v))
    (2)  v' = v + a dt,   q' = q + v' dt

It is as good as the model: friction stops an arm sooner, a link that is heavier than its model makes it sink.

    q, v, a     joint positions, velocities, accelerations     [rad, rad/s, rad/s^2; m, ... if prismatic]
    M, h, tau   mass matrix, bias, torque that is applied      [kg m^2; N m; N m]
    dt          time step, at most 1 ms                        [s]
"""

from __future__ import annotations

import math

import numpy as np

from arm_control.maths.poses import Array
from arm_control.model import RobotModel

LONGEST_STEP = 1e-3
"""Longest ``dt`` [s]."""
AT_REST = 0.01
"""Largest joint speed of an arm that counts as being at rest [rad/s or m/s]."""


def is_at_rest(v: Array) -> bool:
    """Whether an arm with these joint velocities, shape (nv,) [rad/s or m/s], stands."""
    return bool(np.abs(v).max() < AT_REST)


class StatePrediction:
    """A state that goes on by the model.

    Parameters
    ----------
    model : RobotModel
        The arm.
    q, v : ndarray, shape (nv,)
        The last state [rad, rad/s; m, m/s if prismatic].

    Attributes
    ----------
    q, v : ndarray, shape (nv,)
        The predicted state.
    """

    def __init__(self, model: RobotModel, q: Array, v: Array) -> None:
        self._model = model
        self.q = q
        self.v = v

    def go_on(self, tau: Array, duration: float) -> None:
        """Predict how the arm moves under a constant torque, equations (1) and (2).

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            The torque [N m or N].
        duration : float
            How long it is applied [s].
        """
        n = math.ceil(duration / LONGEST_STEP)
        for _ in range(n):
            terms = self._model.evaluate(self.q, self.v)
            a = np.linalg.solve(terms.M, tau - terms.h)  # (1)
            v = self.v + a * (duration / n)
            if not np.isfinite(v).all():
                return
            self.v = v
            self.q = self.q + v * (duration / n)  # (2)
