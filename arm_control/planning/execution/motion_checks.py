"""Whether a trajectory keeps the limits of an arm, and when something touches it."""

from __future__ import annotations

import numpy as np

from arm_control.collision import DEVIATIONS, Validity, chords
from arm_control.core import exclusive
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import JointTrajectory
from arm_control.planning.time_scaling import PathLimits

ROUNDING = 1e-6
"""Share of a limit that counts as rounding."""
LOOKS = 2000
"""Largest number of places of one chord that are looked at."""


class LimitCheck:
    """Checks trajectories of one arm against limits; torque by inverse dynamics.

    Parameters
    ----------
    model : RobotModel
        The arm, with what is attached to it now.
    limits : PathLimits
        Its limits; the tip's speed is not checked.
    """

    def __init__(self, model: RobotModel, limits: PathLimits) -> None:
        self.model, self.limits = model, limits
        self._torque = model.batch("tau")

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Torque of motions, shape (k, n) [N m or N].

        Parameters
        ----------
        q, v, a : ndarray, shape (k, n)
            Positions, velocities and accelerations.
        """
        return self._torque(q, v, a, np.zeros((len(q), 6)))["tau"]

    def shares(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Speed, acceleration and torque of motions as shares of their limits, shape (k, n) each.

        Parameters
        ----------
        q, v, a : ndarray, shape (k, n)
            Positions, velocities and accelerations.
        """
        limits = self.limits
        shares = {"speed": v / limits.v_max, "torque": self.torques(q, v, a) / limits.tau_max}
        if limits.a_max is not None:
            shares["acceleration"] = a / limits.a_max
        return {name: np.abs(share) for name, share in shares.items()}

    def excess(self, trajectory: JointTrajectory) -> str:
        """Return which limit a trajectory exceeds most, in a sentence; empty for none.

        Looked at are 33 moments of each piece, its ends among them: where a rounded plan has its largest accelerations.
        """
        times, q, v, a = trajectory.samples()
        model = self.model
        beyond = np.maximum(model.q_min - q, q - model.q_max).max(axis=0)
        if (beyond > ROUNDING).any():
            worst_joint = int(beyond.argmax())
            return f"'{model.joint_names[worst_joint]}' goes {beyond[worst_joint]:.3g} beyond its limits of position"
        shares = self.shares(q, v, a)
        name = max(shares, key=lambda key: float(shares[key].max()))
        worst = shares[name]
        if worst.max() <= 1.0 + ROUNDING:
            return ""
        k, j = (int(i) for i in np.unravel_index(int(worst.argmax()), worst.shape))
        return f"'{model.joint_names[j]}' needs {worst[k, j]:.2f} of its largest {name} after {times[k]:.2f} s"


@exclusive
def contact_time(validity: Validity, trajectory: JointTrajectory, begin: float, until: float) -> float:
    """Time until which a trajectory, and the rest after it, is proved free; infinite where there is nothing in the way.

    Parameters
    ----------
    validity : Validity
        With the obstacles, on the clock of ``begin``.
    begin : float
        Time at which it begins [s].
    until : float
        Time up to which the arm rests at its end; what comes later is of no interest [s].
    """
    free_until = np.inf
    for largest in DEVIATIONS:
        parts = chords(trajectory, largest)
        stamps, qs = begin + parts.times, parts.qs
        found = validity.motions(qs[:-1], qs[1:], stamps[:-1], stamps[1:], parts.deviations, most_looks=LOOKS)
        is_blocked = ~found.is_free & (stamps[:-1] <= until)
        if not is_blocked.any():
            free_until = np.inf
            break
        k = int(is_blocked.argmax())
        free_until = float(stamps[k] + found.covered[k] * (stamps[k + 1] - stamps[k]))
    if free_until < np.inf or until <= (end := begin + trajectory.duration):
        return free_until
    q = trajectory.end.q_des[None]
    rest = validity.motions(q, q, end, until, is_first=True)
    return np.inf if rest.is_free[0] else float(end + rest.covered[0] * (until - end))
