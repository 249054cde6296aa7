"""References: the desired motion at one instant, which every source fills and every law reads.

Sources differ (a target, a trajectory, a planner); a law gets a :class:`Reference` of the end effector or a
:class:`JointReference` of the joints. They are two types, not one with optional parts: poses cannot be subtracted, a
twist has six entries for any arm, and a law whose part were missing could only stop in the middle of a tick.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array, Pose

FARTHEST = 1e6
"""A goal farther away than this is a mistake [m or rad]."""


@dataclass(frozen=True)
class Reference:
    """Desired motion of the end effector, in the world.

    Attributes
    ----------
    X_WT : Pose
        Desired pose; T is the target.
    V_des : ndarray, shape (6,)
        Desired twist [m/s, rad/s].
    A_des : ndarray, shape (6,)
        Desired acceleration [m/s^2, rad/s^2].
    """

    X_WT: Pose
    V_des: Array = field(default_factory=lambda: np.zeros(6))
    A_des: Array = field(default_factory=lambda: np.zeros(6))


@dataclass(frozen=True)
class JointReference:
    """Desired motion of the joints.

    Attributes
    ----------
    q_des, v_des, a_des : ndarray, shape (nv,)
        Position [rad or m], velocity [rad/s or m/s] and acceleration [rad/s^2 or m/s^2].
    """

    q_des: Array
    v_des: Array
    a_des: Array

    @classmethod
    def at_rest(cls, q_des: Array) -> JointReference:
        """Return the reference at rest at ``q_des``, shape (nv,) [rad or m]."""
        return cls(q_des, np.zeros_like(q_des), np.zeros_like(q_des))


def check_distance(distance: float, what: str) -> None:
    """Refuse a goal that is out of the world.

    Parameters
    ----------
    distance : float
        Its distance [m].
    what : str
        Its name, for the message.

    Raises
    ------
    InputError
        When the distance is :data:`FARTHEST` or more, or not a number.
    """
    if not distance < FARTHEST:
        raise InputError(f"{what} is {distance:.3g} m away; allowed: less than {FARTHEST:g} m")
