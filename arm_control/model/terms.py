"""The model terms of one state: everything a control tick needs to know about the robot."""

from __future__ import annotations

from typing import NamedTuple

from arm_control.maths import Array, Pose


class Terms(NamedTuple):
    """Kinematics and dynamics of an arm in one state; ``M a + C v + g = tau`` is the sign convention.

    Attributes
    ----------
    q, v : ndarray, shape (nv,)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    X_WE : Pose
        Pose of the end effector (the model's ``tip``) in the world.
    V_WE : ndarray, shape (6,)
        Its twist, linear [m/s] then angular [rad/s], world axes.
    J : ndarray, shape (6, nv)
        Its Jacobian: ``V_WE = J v``.
    Jdot_v : ndarray, shape (6,)
        Its acceleration at zero joint acceleration: ``dV_WE/dt = J a + Jdot_v`` [m/s^2, rad/s^2].
    M : ndarray, shape (nv, nv)
        Mass matrix, armature included [kg m^2 or kg].
    g : ndarray, shape (nv,)
        Gravity torque [N m or N].
    h : ndarray, shape (nv,)
        Bias ``C v + g`` [N m or N].
    """

    q: Array
    v: Array
    X_WE: Pose
    V_WE: Array
    J: Array
    Jdot_v: Array
    M: Array
    g: Array
    h: Array
