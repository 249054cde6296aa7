"""An arm in MuJoCo, built from the same URDF as the model that controls it.

MuJoCo reads a URDF in its own way: it drops the mass of what is fixed to the world, lumps links that fixed
joints connect, and invents mass for a link without an inertial. So the joints' armature and damping are set
here, explicitly, and the mass matrix MuJoCo ends up with is compared with the model's before a simulation may
start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import MissingExtra, ModelError, SimulationDiverged
from arm_control.maths.poses import Array
from arm_control.model import RobotModel

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

MASS_TOLERANCE = 1e-6


class MujocoSimulator:
    """A torque-controlled arm: motors without friction or delay, cut at their effort limits; no contacts.

    Parameters
    ----------
    model : RobotModel
        The arm; its armature is the simulator's.
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; zero by default.
    timestep : float
        Duration of one step [s].
    damping : float
        Viscous damping of every joint [N m s/rad]; none in the model.

    Attributes
    ----------
    steps : int
        Steps since the start or the last :meth:`reset`.

    Raises
    ------
    ModelError
        When MuJoCo's mass matrix differs from the model's.
    """

    def __init__(
        self,
        model: RobotModel,
        q_initial: npt.ArrayLike | None = None,
        *,
        timestep: float = 1e-3,
        damping: float = 0.0,
    ) -> None:
        self.timestep = timestep
        self._robot = model
        self._q_initial = np.zeros(model.nq) if q_initial is None else np.array(q_initial, dtype=float)
        if self._q_initial.shape != (model.nq,):
            raise ModelError(f"{self._q_initial.size} initial positions for {model.nq} joints")
        self.mujoco_model = build_mujoco_model(model, timestep, damping)
        self.mujoco_data = mujoco.MjData(self.mujoco_model)
        joints = [self.mujoco_model.joint(name) for name in model.joint_names]
        self._qpos = _places([joint.qposadr[0] for joint in joints])
        self._dof = _places([joint.dofadr[0] for joint in joints])
        self._motor = _places([self.mujoco_model.actuator(name).id for name in model.joint_names])
        self._bind()
        self._compare_mass_matrix()
        self.reset()

    @property
    def q(self) -> Array:
        """Joint positions, shape (nq,) [rad or m]."""
        return self._read_q()

    @property
    def v(self) -> Array:
        """Joint velocities, shape (nv,) [rad/s or m/s]."""
        return self._read_v()

    def step(self, tau: Array) -> None:
        """Apply a torque for one time step.

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            Joint torque [N m or N].

        Raises
        ------
        SimulationDiverged
            When the state, or the torque, is no longer finite or beyond all measure.
        """
        q, v = self._read_q(), self._read_v()
        self._ctrl[self._motor] = tau
        self._step()
        self.steps += 1
        if any(self._warnings.tolist()):
            raise SimulationDiverged((self.steps - 1) * self.timestep, q, v)

    def load(self, tau: Array) -> None:
        """Let something else than the motors act on the joints, (nv,) [N m or N], until told otherwise."""
        self._load[self._dof] = tau

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at ``q`` or the initial positions, at time zero."""
        mujoco.mj_resetData(self.mujoco_model, self.mujoco_data)
        self.mujoco_data.qpos[self._qpos] = self._q_initial if q is None else q
        mujoco.mj_forward(self.mujoco_model, self.mujoco_data)
        self.steps = 0

    def mass_matrix(self, q: Array) -> Array:
        """MuJoCo's mass matrix at ``q``, shape (nv, nv) [kg m^2 or kg]."""
        data = mujoco.MjData(self.mujoco_model)
        data.qpos[self._qpos] = q
        mujoco.mj_forward(self.mujoco_model, data)
        columns = np.zeros((self.mujoco_model.nv, self.mujoco_model.nv))
        for column, unit in zip(columns, np.eye(self.mujoco_model.nv), strict=True):
            mujoco.mj_mulM(self.mujoco_model, data, column, unit)
        return columns[self._dof][:, self._dof]

    def _bind(self) -> None:
        """Keep MuJoCo's arrays, which stay where they are: to look one up takes as long as to read it."""
        data = self.mujoco_data
        self._ctrl, self._load = data.ctrl, data.qfrc_applied
        self._read_q, self._read_v = _reader(data.qpos, self._qpos), _reader(data.qvel, self._dof)
        self._warnings = data.warning.number[_BAD]
        self._step = partial(mujoco.mj_step, self.mujoco_model, data)

    def _compare_mass_matrix(self) -> None:
        rng = np.random.default_rng(0)
        for q in [self._q_initial, *rng.uniform(-1.5, 1.5, (3, self._robot.nq))]:
            ours, theirs = self._robot.mass_matrix(q), self.mass_matrix(q)
            difference = float(np.abs(ours - theirs).max() / np.abs(ours).max())
            if difference > MASS_TOLERANCE:
                raise ModelError(
                    f"MuJoCo's mass matrix differs from the model's by {difference:.1e} (allowed {MASS_TOLERANCE:g}):"
                    f" {theirs.diagonal().round(6).tolist()} against {ours.diagonal().round(6).tolist()}"
                )


Places: TypeAlias = "slice | Array"


def _places(numbers: Sequence[int]) -> Places:
    """Where a joint's entries are in an array of MuJoCo's: a slice, which is quicker, if they are in a row."""
    first, n = int(numbers[0]), len(numbers)
    return slice(first, first + n) if [*numbers] == [*range(first, first + n)] else np.array(numbers)


def _reader(array: Array, places: Places) -> Callable[[], Array]:
    """Return what copies these entries."""
    return array[places].copy if isinstance(places, slice) else partial(array.__getitem__, places)


_BAD = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)  # and QVEL, QACC
"""Warnings after which MuJoCo goes on with a state or a torque of its own: the initial one, or zero."""


def build_mujoco_model(model: RobotModel, timestep: float, damping: float = 0.0) -> mujoco.MjModel:
    """MuJoCo's model of the arm: its joints with one motor each, no contacts.

    Parameters
    ----------
    model : RobotModel
        The arm.
    timestep : float
        Duration of one step [s].
    damping : float
        Viscous damping of every joint [N m s/rad].

    Raises
    ------
    ModelError
        When MuJoCo refuses the arm, such as for a moving link without mass, or a joint mimics another one:
        MuJoCo's own coupling gives way.
    """
    followers = sorted({*model.urdf.movable_joints} - {*model.joint_names})
    if followers:
        raise ModelError(f"MuJoCo cannot simulate the mimic joints {', '.join(followers)} as rigid: leave them locked")
    compiler = '<mujoco><compiler inertiafromgeom="false" balanceinertia="false" fusestatic="true"/></mujoco>'
    text = model.urdf.without_meshes().replace("</robot>", compiler + "</robot>")
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = timestep
    for nothing in ("CONTACT", "LIMIT", "CONSTRAINT"):  # nothing is left for the solver
        spec.option.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{nothing}")
    spec.option.gravity = model.gravity_W
    for name in model.joint_names:
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    try:
        compiled = spec.compile()
    except ValueError as error:
        raise ModelError(f"MuJoCo cannot simulate this arm: {' '.join(str(error).split())}") from None
    dof = [compiled.joint(name).dofadr[0] for name in model.joint_names]
    compiled.dof_armature[dof], compiled.dof_damping[dof], compiled.dof_frictionloss[dof] = model.armature, damping, 0.0
    mujoco.mj_setConst(compiled, mujoco.MjData(compiled))
    return compiled
