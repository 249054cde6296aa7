"""References: the desired motion at one instant, which every source fills and every law reads.

Sources differ (a target, a trajectory, a planner); a law gets a :class:`Reference` of the end effector or a
:class:`JointReference` of the joints. They are two types, not one with optional parts: poses cannot be subtracted, a
twist has six entries for any arm, and a law whose part were missing could only stop in the middle of a tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose

SHAPES = (3, 3), (3,), (6,), (6,)
"""Shapes of the parts of a reference: R, p, V_des, A_des."""
FARTHEST = 1e6
"""A goal farther away than this is a mistake [m or rad]."""


@dataclass(frozen=True)
class Reference:
    """Desired motion of the end effector, in the world.

    Attributes
    ----------
    X_WT : Pose
        Desired pose; T is the target. A homogeneous matrix, shape (4, 4), becomes one.
    V_des : ndarray, shape (6,)
        Desired twist [m/s, rad/s].
    A_des : ndarray, shape (6,)
        Desired acceleration [m/s^2, rad/s^2].

    Raises
    ------
    InputError
        When a shape is wrong.

    Examples
    --------
    >>> Reference.at([0.4, 0.2, 0.4], [1, 0, 0, 0]).X_WT
    Pose.at([0.4, 0.2, 0.4], [1, 0, 0, 0])
    >>> Reference(np.eye(4)).X_WT
    Pose.at([0, 0, 0], [0, 0, 0, 1])
    """

    X_WT: Pose
    V_des: Array = field(default_factory=lambda: np.zeros(6))
    A_des: Array = field(default_factory=lambda: np.zeros(6))

    def __post_init__(self) -> None:
        X = self.X_WT
        if isinstance(X, Pose) and (X.R.shape, X.p.shape, self.V_des.shape, self.A_des.shape) == SHAPES:
            return
        if not isinstance(X, Pose):
            object.__setattr__(self, "X_WT", Pose.from_matrix(X))
        shapes = tuple(np.shape(part) for part in (*self.X_WT, self.V_des, self.A_des))
        if shapes != SHAPES:
            raise InputError(f"R, p, V_des and A_des have the shapes {shapes}; allowed: {SHAPES}")

    @classmethod
    def at(cls, position: npt.ArrayLike, quat_xyzw: npt.ArrayLike = (0.0, 0.0, 0.0, 1.0)) -> Reference:
        """Return the reference at rest in a pose; the arguments are those of :meth:`.Pose.at`."""
        return cls(Pose.at(position, quat_xyzw))


class JointReference(NamedTuple):
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


def stacked(states: Sequence[JointReference]) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations of states, shape (k, nv) each."""
    q, v, a = (np.array([getattr(state, name) for state in states]) for name in ("q_des", "v_des", "a_des"))
    return q, v, a


def check_distance(distance: float, what: str) -> None:
    """Raise an InputError where the distance of a goal [m] is no number, or :data:`FARTHEST` or more."""
    if not distance < FARTHEST:
        raise InputError(f"{what} is {distance:.3g} m away; allowed: less than {FARTHEST:g} m")
