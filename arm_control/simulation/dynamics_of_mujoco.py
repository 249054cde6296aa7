"""MuJoCo's functions for :mod:`arm_control.simulation.compared_dynamics`."""

from __future__ import annotations

from functools import partial

import numpy as np

from arm_control.exceptions import MissingExtra
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.simulation.compared_dynamics import Dynamics
from arm_control.simulation.mujoco_simulator import build_mujoco_model

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

MUJOCO_VERSION: str = mujoco.__version__


def mujoco_dynamics(model: RobotModel) -> Dynamics:
    """Return MuJoCo's functions for an arm.

    Raises
    ------
    ModelError
        When MuJoCo refuses the arm.
    """
    arm = _MujocoArm(model)
    return {"M": arm.mass_matrix, "h": arm.bias, "g": arm.gravity, "J": arm.jacobian, "a": arm.forward_dynamics}


class _MujocoArm:
    """MuJoCo's model of an arm, without contacts and limits of position."""

    def __init__(self, model: RobotModel) -> None:
        self._model = m = build_mujoco_model(model, 1e-3)
        self._data = mujoco.MjData(m)
        joints = [m.joint(name) for name in model.joint_names]
        self._qpos = np.array([joint.qposadr[0] for joint in joints])
        self._dof = np.array([joint.dofadr[0] for joint in joints])
        self._body = int(m.joint(model.urdf.chain(model.tip)[-1]).bodyid[0])
        rest, link = np.zeros(model.nq), m.body(self._body).name
        self._p_LE = (model.pose(rest, link).inverse() @ model.pose(rest)).p
        self._M, self._h, self._J = np.zeros((m.nv, m.nv)), np.zeros(m.nv), np.zeros((6, m.nv))
        self._inertia = getattr(mujoco, "mj_makeM", mujoco.mj_crb)
        sparse = getattr(self._data, "qM", None)  # of MuJoCo before 4
        arguments = (m, self._data, self._M) if sparse is None else (m, self._M, sparse)
        self._unpack = partial(mujoco.mj_fullM, *arguments)

    def _move(self, q: Array, v: Array | None = None) -> None:
        """Positions, and where they count velocities, of all bodies."""
        self._data.qpos[self._qpos] = q
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        if v is not None:
            self._data.qvel[self._dof] = v
            mujoco.mj_comVel(self._model, self._data)

    def mass_matrix(self, q: Array, v: Array, tau: Array) -> Array:
        self._move(q)
        self._inertia(self._model, self._data)
        self._unpack()
        return self._M[self._dof][:, self._dof]

    def bias(self, q: Array, v: Array, tau: Array) -> Array:
        self._move(q, v)
        mujoco.mj_rne(self._model, self._data, 0, self._h)
        return self._h[self._dof]

    def gravity(self, q: Array, v: Array, tau: Array) -> Array:
        return self.bias(q, np.zeros_like(v), tau)

    def jacobian(self, q: Array, v: Array, tau: Array) -> Array:
        self._move(q)
        d, body = self._data, self._body
        p_WE = d.xpos[body] + d.xmat[body].reshape(3, 3) @ self._p_LE
        mujoco.mj_jac(self._model, d, self._J[:3], self._J[3:], p_WE, body)
        return self._J[:, self._dof]

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        d = self._data
        d.qpos[self._qpos], d.qvel[self._dof], d.qfrc_applied[self._dof] = q, v, tau
        mujoco.mj_forward(self._model, d)
        return d.qacc[self._dof]
