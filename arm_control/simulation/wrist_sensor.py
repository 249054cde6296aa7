"""A force-torque sensor at the end effector E: the wrench that all beyond it exerts on the arm, in the axes of E.

Beyond it are what the end effector touches, and the body that it carries: the links behind E, the payload of the model
and the payload of the plant. That body has the mass m, the first moment h = m c and the second moment J about E.

    (1)  f_E = R^T f_ext - m (a - g) - alpha x h - omega x (omega x h)
    (2)  n_E = R^T n_ext - J alpha - omega x J omega - h x (a - g)

So a payload at rest gives its weight, and a wall that is pressed gives its reaction.

    f_ext, n_ext    wrench of contacts and pushes on E, about its origin, world axes    [N, N m]
    a, alpha        acceleration of E's origin, and of E, in its axes                   [m/s^2, rad/s^2]
    omega, g        angular velocity of E, and gravity, in its axes                     [rad/s, m/s^2]
    R               orientation of E in the world

Source: R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, chapter 2, the equation
of motion of a rigid body by its rows.
"""

from __future__ import annotations

import numpy as np

from arm_control.maths import Array, Pose
from arm_control.model import ArmParameters, Inertia, RobotModel, Terms, inertia_in, read_robot
from arm_control.simulation.plant_properties import PlantProperties


def wrist_wrench(t: Terms, joint_acceleration: Array, body: Inertia, g_W: Array, F_ext: Array) -> Array:
    """What the sensor measures, equations (1) and (2).

    Parameters
    ----------
    joint_acceleration : ndarray, shape (nv,)
        [rad/s^2 or m/s^2].
    body : Inertia
        The body beyond E, in the frame of E.
    g_W : ndarray, shape (3,)
        Acceleration of free fall, world axes [m/s^2].
    F_ext : ndarray, shape (6,)
        Wrench of contacts and pushes on E, about its origin, world axes [N, N m].

    Returns
    -------
    ndarray, shape (6,)
        Force [N] and moment [N m] on the arm about the origin of E, in the axes of E.
    """
    A = t.J @ joint_acceleration + t.Jdot_v
    R_T, m, h, J = t.X_WE.R.T, body.m, body.h, body.J
    a_g, alpha, omega = R_T @ (A[:3] - g_W), R_T @ A[3:], R_T @ t.V_WE[3:]
    f = R_T @ F_ext[:3] - m * a_g - np.cross(alpha, h) - np.cross(omega, np.cross(omega, h))  # (1)
    n = R_T @ F_ext[3:] - J @ alpha - np.cross(omega, J @ omega) - np.cross(h, a_g)  # (2)
    return np.concatenate([f, n])


def carried_body(model: RobotModel, arm: ArmParameters, plant: PlantProperties) -> Inertia:
    """Return the body beyond the end effector, in its frame.

    Parameters
    ----------
    model : RobotModel
        The arm; links behind its tip count with the masses of the model.
    """
    known = _point_mass(arm.payload_mass, arm.payload_centre)
    return _links_behind_tip(model) + known + _point_mass(plant.payload_mass, plant.payload_position)


def _links_behind_tip(model: RobotModel) -> Inertia:
    elements = {link.get("name"): link for link in read_robot(model.urdf.text).iterfind("link")}
    frames, tip = model.tree.frames, model.tree.frames[model.tip]
    total = Inertia.zero()
    for _, link in model.urdf.below(model.tip):
        if frames[link].body == tip.body:
            total += inertia_in(elements[link]).in_parent(tip.X_BF.inverse() @ frames[link].X_BF)
    return total


def _point_mass(mass: float, position: tuple[float, ...]) -> Inertia:
    return Inertia(mass, np.zeros(3), np.zeros((3, 3))).in_parent(Pose(np.eye(3), np.array(position)))
