"""Operational space control as somebody careful writes it with NumPy, LAPACK and Pinocchio: to compare with.

The same law as ``arm_control.control.osc.osc_law`` away from singularities, without an explicit inverse:
``M = L L^T``, ``X = L^-1 J^T``, ``Lambda^-1 = X^T X``, few temporaries, Python's own numbers where NumPy's are slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from pinocchio_calls import AXES, PinocchioArm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from arm_control import OscParameters, Reference, RobotModel


def careful_osc(model: RobotModel, p: OscParameters, reference: Reference) -> Callable[[Any, Any], Any]:
    """Return a function of joint positions and velocities that returns the torque."""
    arm = PinocchioArm(model)
    robot, data, tip, rest = arm.model, arm.data, arm.tip, np.zeros(model.nv)
    R_WT, p_WT = reference.X_WT
    kp = np.repeat([p.kp_linear, p.kp_angular], 3)
    kv = 2.0 * p.damping_ratio * np.sqrt(kp)
    ratio, posture, v_max, dot = kp / kv, np.array(p.posture), model.v_max, np.dot
    speeds, accelerations = [
        (getattr(p, f"{what}_limit_linear"), getattr(p, f"{what}_limit_angular")) for what in ("speed", "acceleration")
    ]

    def cut(twist: Any, longest: tuple[float, float]) -> None:
        x, y, z, a, b, c = twist.tolist()
        linear, angular = math.sqrt(x * x + y * y + z * z), math.sqrt(a * a + b * b + c * c)
        if linear > longest[0]:
            twist[:3] *= longest[0] / linear
        if angular > longest[1]:
            twist[3:] *= longest[1] / angular

    def tick(q: Any, v: Any) -> Any:
        M, h = pin.crba(robot, data, q), pin.nonLinearEffects(robot, data, q, v)
        J = pin.computeFrameJacobian(robot, data, q, tip, AXES)
        pin.forwardKinematics(robot, data, q, v, rest)
        X = pin.updateFramePlacement(robot, data, tip)
        drift = pin.getFrameClassicalAcceleration(robot, data, tip, AXES).vector
        e = np.empty(6)
        e[:3] = p_WT - X.translation
        e[3:] = pin.log3(dot(R_WT, X.rotation.T))
        L, _ = dpotrf(M, lower=1, clean=0)
        Y, _ = dtrtrs(L, J.T, lower=1)
        C, _ = dpotrf(dot(Y.T, Y), lower=1, clean=0)
        V = ratio * e
        cut(V, speeds)
        V += reference.V_des
        f, _ = dpotrs(C, V, lower=1)
        v_cmd, _ = dtrtrs(L, dot(Y, f), lower=1, trans=1)
        share = np.abs(v_cmd / v_max).max()
        if share > p.joint_speed_share:
            V *= p.joint_speed_share / share
        A = kv * (V - dot(J, v))
        cut(A, accelerations)
        A += reference.A_des
        a = p.kp_posture * (posture - q)
        a -= p.kv_posture * v
        A -= drift
        A -= dot(J, a)
        f, _ = dpotrs(C, A, lower=1)
        tau = dot(f, J)
        tau += dot(M, a)
        tau += h
        return tau

    return tick
