"""An arm in MuJoCo with the masses, rotors, payload and base of :mod:`arm_control.simulation.plant_properties`."""

from __future__ import annotations

import mujoco
import numpy as np

from arm_control.model import RobotModel
from arm_control.simulation.changed_model import body_errors, tilted_gravity
from arm_control.simulation.mujoco_simulator import MujocoSimulator
from arm_control.simulation.plant_properties import PlantProperties

RIGID = np.array([0.999, 0.999, 0.001, 0.5, 2.0])
"""Impedance of MuJoCo's friction: with its own, 0.9, a joint creeps under a load that friction should hold."""


def change_bodies(arm: MujocoSimulator, model: RobotModel, p: PlantProperties) -> None:
    """Change the bodies and rotors of MuJoCo's model.

    Parameters
    ----------
    arm : MujocoSimulator
        The arm, which is its model so far.
    model : RobotModel
        The model.
    p : PlantProperties
        The differences, with a number for each joint in every list.
    """
    m = arm.mujoco_model
    shifts, factors = body_errors(p, m.nbody - 1)
    m.body_ipos[1:] += shifts
    m.body_mass[1:] *= 1.0 + p.mass_error
    m.body_inertia[1:] *= factors[:, None]
    if p.payload_mass:
        _add_payload(arm, model, p)
    joints = [m.joint(name).dofadr[0] for name in model.joint_names]
    m.dof_armature[joints] += p.rotor_inertia
    m.opt.gravity[:] = tilted_gravity(p, m.opt.gravity)
    m.dof_solimp[:] = RIGID
    mujoco.mj_setConst(m, mujoco.MjData(m))


def _add_payload(arm: MujocoSimulator, model: RobotModel, p: PlantProperties) -> None:
    """Merge a point mass with the body that carries the tip."""
    m, data = arm.mujoco_model, arm.mujoco_data
    mujoco.mj_kinematics(m, data)  # with the centres of mass shifted
    body = int(m.joint(model.urdf.chain(model.tip)[-1]).bodyid[0])
    X_WE = model.pose(arm.q)
    points = [data.xipos[body], X_WE.R @ np.array(p.payload_position) + X_WE.p]
    masses = [float(m.body_mass[body]), p.payload_mass]
    centre = np.average(points, axis=0, weights=masses)
    R_WI = data.ximat[body].reshape(3, 3)
    inertia = R_WI @ np.diag(m.body_inertia[body]) @ R_WI.T
    for mass, point in zip(masses, points, strict=True):
        d = point - centre
        inertia = inertia + mass * (d @ d * np.eye(3) - np.outer(d, d))
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.linalg.det(axes)
    R_WB = data.xmat[body].reshape(3, 3)
    mujoco.mju_mat2Quat(m.body_iquat[body], (R_WB.T @ axes).ravel())
    m.body_mass[body], m.body_inertia[body] = sum(masses), moments
    m.body_ipos[body] = R_WB.T @ (centre - data.xpos[body])
