"""The wrench on the hand: what a disturbance observer knows of it, what a sensor measures, and what yields to it.

The observer (:mod:`arm_control.control.disturbance_observer`) estimates a torque r on the joints. The wrench at the
hand that would do the same to its motion is ``J#^T r``, with the scales S and a small threshold s as in
:mod:`~arm_control.control.osc.task_inertia`

    (1)  F_hat = S (A + s^2 / m 1)^-1 S J M^-1 r,   A = S J M^-1 J^T S        m: mean inertia, tr(M) / n

It is the contact's wrench plus all else that the model does not know: friction, a payload, wrong masses. The observer
compensates r, and so it would cancel what the hand is to yield to. With the projector P on the rows in which a force
from outside may move the hand,

    (2)  tau = tau_law - r + J^T P (F_hat - F_0)
    (3)  F_0 <- F_hat   while no row yields or a sensor counts,   F_0 = 0 for a spring

so that along a force axis the compensation stays what it was in free motion (the weight of a payload). At rest r is
the torque sent minus the model's weight: friction that holds the arm and a contact that does look the same, and F_hat
says nothing about the difference. A sensor does. Its wrench F_meas is known to the observer,

    (4)  tau_dist <- tau_dist + J^T P F_meas

and is not compensated, while the rest is, friction too, by the observer's integral part, which is bounded.

A floor of inertia f scales accelerations, ``M a <- (M + f) a``. Of the force of a hand at rest it would make another
one, many times as large where the wrist is light, and not along the force axis, so that r grows until friction gives
way. Without a sensor, which shows what is missing of it, the force F of the hand is not scaled,

    (5)  tau = (M + f) M^-1 (tau_law - J^T F + tau_dist - h) + J^T F + h - tau_dist - r

    r, F_hat, F_0   torque of the observer; wrench on the hand, now and before the contact   [N m; N, N m]
    F, F_meas       wrench that the hand exerts; wrench on it by a sensor                    [N, N m]
    P               projector on the rows that yield, in world axes                          [-]

Source: A. De Luca, A. Albu-Schaeffer, S. Haddadin, G. Hirzinger, "Collision detection and safe reaction with the
DLR-III lightweight manipulator arm", 2006, for the wrench of a contact from r.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from arm_control.control.osc.force_follower import HandWrench
from arm_control.control.osc.task_inertia import row_scales
from arm_control.core import NANOSECONDS
from arm_control.maths import Array, cross
from arm_control.model import RobotModel, Terms

LENGTH, SINGULAR_VALUE = 0.3, 1e-3
"""Characteristic length in S, and threshold s [m]."""
SENSOR_TIMEOUT = 0.1
"""Age at which a measured wrench counts no more [s]."""
READINGS = 8
"""Readings of a sensor that are kept."""


class SensorReading(NamedTuple):
    """What a sensor of force and moment measures.

    Attributes
    ----------
    frame : str
        The link along whose axes, and about whose origin, the wrench is.
    wrench : ndarray, shape (6,)
        Wrench that the surroundings exert on the hand [N, N m].
    """

    stamp_ns: int
    frame: str
    wrench: Array


class WrenchEstimate:
    """The wrench on the hand, equations (1) to (4)."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._readings: deque[SensorReading] = deque(maxlen=READINGS)
        self.reset()

    def reset(self) -> None:
        """Forget what was before: a run begins."""
        self._F_0 = np.zeros(6)
        self._before: tuple[Terms, Array] | None = None
        self._readings.clear()

    @property
    def F_0(self) -> Array:
        """Wrench before the contact, about the hand's origin, in world axes, shape (6,) [N, N m]."""
        if self._before is not None:  # computed when it is needed, not in every state before
            self._F_0 = hand_wrench(*self._before)
            self._before = None
        return self._F_0

    def measure(self, reading: SensorReading) -> None:
        """Take note of what a sensor measures."""
        self._readings.append(reading)

    def is_measured(self, stamp_ns: int) -> bool:
        """Whether a sensor has measured not long before the state with a stamp [ns]."""
        return self._reading_before(stamp_ns) is not None

    def _reading_before(self, stamp_ns: int) -> SensorReading | None:
        reading = next((reading for reading in reversed(self._readings) if reading.stamp_ns < stamp_ns), None)
        is_old = reading is None or stamp_ns - reading.stamp_ns > SENSOR_TIMEOUT * NANOSECONDS
        return None if is_old else reading

    def measured(self, stamp_ns: int, terms: Terms) -> Array | None:
        """Return the wrench of a sensor about the hand's origin, in world axes, shape (6,) [N, N m].

        The newest reading before the state counts, whether or not that of the state itself has come already.

        Returns
        -------
        ndarray, shape (6,), or None
            None where there is no reading, or it is too old.
        """
        reading = self._reading_before(stamp_ns)
        if reading is None:
            return None
        X_WL = terms.X_WE if reading.frame == self._model.tip else self._model.pose(terms.q, reading.frame)
        force, moment = X_WL.R @ reading.wrench[:3], X_WL.R @ reading.wrench[3:]
        return np.concatenate([force, moment + cross(X_WL.p - terms.X_WE.p, force)])

    def at(self, terms: Terms, r: Array) -> Array:
        """Wrench on the hand that nobody has measured, about its origin, in world axes, shape (6,) [N, N m]."""
        return hand_wrench(terms, r) - self.F_0

    def known(self, terms: Terms, hand: HandWrench, F_meas: Array) -> Array:
        """Torque of (4) that the observer knows of, shape (nv,) [N m or N].

        Parameters
        ----------
        F_meas : ndarray, shape (6,)
            Wrench of the sensor, in world axes [N, N m].
        """
        return terms.J.T @ hand.yielding(F_meas)

    def released(self, terms: Terms, r: Array, hand: HandWrench, *, is_measured: bool) -> Array:
        """Torque of (2) that is not compensated, shape (nv,) [N m or N]."""
        if is_measured or not hand.shares.any():
            self._before = terms, r.copy()  # (3)
            return np.zeros(len(r))
        return terms.J.T @ hand.yielding(self.at(terms, r))  # (2)


def hand_wrench(terms: Terms, r: Array) -> Array:
    """``F_hat`` of equation (1), in world axes, shape (6,) [N, N m]."""
    return wrench_map(terms) @ r


def wrench_map(terms: Terms) -> Array:
    """The matrix of equation (1) from torques to wrenches in world axes, shape (6, nv)."""
    S = row_scales(LENGTH)
    SJ = S[:, None] * terms.J
    SJ_M_inv = np.linalg.solve(terms.M, SJ.T).T
    small = SINGULAR_VALUE**2 / (np.trace(terms.M) / len(terms.M))
    return S[:, None] * np.linalg.solve(SJ_M_inv @ SJ.T + small * np.eye(6), SJ_M_inv)  # (1)
