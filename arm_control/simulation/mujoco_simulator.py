"""An arm in MuJoCo, built from the same URDF as the model that controls it.

MuJoCo reads a URDF in its own way: it drops the mass of links fixed to the world, merges links that fixed joints
connect, and invents mass for a link without an inertial. So the joints' armature and damping are set here explicitly,
and MuJoCo's mass matrix is compared with the model's before a simulation starts.

While it compiles, MuJoCo refuses a body that breaks the triangle inequality, even by rounding, as identified inertias
may. Such an arm is compiled with a possible inertia in each such link, and gets the inertia of each body afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import MissingExtra, ModelError, SimulationDiverged
from arm_control.maths import Array, Mover, Obstacle, quaternion_from_rotation
from arm_control.model import RobotModel, principal_moments, read_robot
from arm_control.simulation.plant_properties import PlantProperties, about_centre, body_errors, tilted_gravity
from arm_control.simulation.tip_contact import TipContact, add_contacts, add_movers, place_movers

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

MASS_TOLERANCE = 1e-6
"""Largest difference of the mass matrices, as a share of the largest entry."""


class MujocoSimulator:
    """A torque-controlled arm: motors without friction or delay, saturated at their effort limits.

    Of the arm only the end effector touches anything, a ball about its origin, and solid obstacles; or all links do,
    and obstacles that move.

    Parameters
    ----------
    model : RobotModel
        The arm; the simulation has its armature.
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; zero by default.
    timestep : float
        Duration of one step [s].
    damping : float or ndarray, shape (nv,)
        Viscous damping of every joint [N m s/rad]; the model has none.
    friction : ndarray, shape (nv,), optional
        Coulomb friction of the joints [N m or N]; by default none.
    solids : sequence of Obstacle
        What the end effector touches; by default nothing.
    movers : sequence of Mover
        Obstacles that move as they are told, at the time of the simulation, and touch the links; by default none.
    mujoco_model : mujoco.MjModel, optional
        Another arm with the model's joints, such as one from a file; damping and friction are added to its own. By
        default one is built from the model.
    differences : tuple of str
        Differences of such an arm to the model, one line each.

    Attributes
    ----------
    steps : int
        Steps since the start or the last :meth:`reset`.
    touching_steps : int
        Number of these in which anything touched.

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
        damping: float | Array = 0.0,
        friction: Array | None = None,
        solids: Sequence[Obstacle] = (),
        has_links: bool = False,
        movers: Sequence[Mover] = (),
        mujoco_model: mujoco.MjModel | None = None,
        differences: tuple[str, ...] = (),
    ) -> None:
        self.timestep, self.differences = timestep, differences
        self._robot = model
        self._q_initial = np.zeros(model.nq) if q_initial is None else np.array(q_initial, dtype=float)
        if self._q_initial.shape != (model.nq,):
            raise ModelError(f"{self._q_initial.size} initial positions for {model.nq} joints")
        own = mujoco_model
        if own is None:
            own = build_mujoco_model(model, timestep, damping, friction, solids, has_links=has_links, movers=movers)
        self.mujoco_model = own
        self.mujoco_data = mujoco.MjData(self.mujoco_model)
        self._contact = TipContact(self.mujoco_model, self.mujoco_data) if solids else None
        self._movers = tuple(movers)
        joints = [self.mujoco_model.joint(name) for name in model.joint_names]
        self._qpos = _index([joint.qposadr[0] for joint in joints])
        self._dof = _index([joint.dofadr[0] for joint in joints])
        self._motor = _index([self.mujoco_model.actuator(name).id for name in model.joint_names])
        self._bind()
        if mujoco_model is None:
            self._own_friction = np.zeros(model.nv)
            self._compare_mass_matrix()
        else:
            self._own_friction = mujoco_model.dof_frictionloss[self._dof].copy()
            mujoco_model.dof_damping[self._dof] += damping
            self.set_friction(np.zeros(model.nv) if friction is None else friction)
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
        """Apply a torque, shape (nv,) [N m or N], for one time step.

        Raises
        ------
        SimulationDiverged
            When the state or the torque is not finite, or too large for MuJoCo.
        """
        q, v = self._read_q(), self._read_v()
        self._write_torque(tau)
        if self._contact is not None:
            self._contact.rub()
        place_movers(self.mujoco_data, self._movers, self.steps * self.timestep)
        self._step()
        if self._may_touch:
            self.touching_steps += self.mujoco_data.ncon > 0
        self.steps += 1
        if self._warnings.tolist() != NO_WARNINGS:
            raise SimulationDiverged((self.steps - 1) * self.timestep, q, v)

    def place_movers(self, t: float) -> None:
        """Put the obstacles that move where they are at a time [s]; each step does so with its own."""
        place_movers(self.mujoco_data, self._movers, t)

    def load(self, tau: Array) -> None:
        """Set a torque on the joints beside that of the motors, shape (nv,) [N m or N], until the next call."""
        self._load[self._dof] = tau

    def set_friction(self, friction: Array) -> None:
        """Set the Coulomb friction of an arm that was made with some, shape (nv,) [N m or N], from now on."""
        self.mujoco_model.dof_frictionloss[self._dof] = self._own_friction + friction

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at time zero, at ``q``, shape (nq,) [rad or m], or the initial positions."""
        mujoco.mj_resetData(self.mujoco_model, self.mujoco_data)
        self.mujoco_data.qpos[self._qpos] = self._q_initial if q is None else q
        mujoco.mj_forward(self.mujoco_model, self.mujoco_data)
        self.steps = self.touching_steps = 0

    @property
    def contact_wrench(self) -> Array:
        """Wrench of solid obstacles on the end effector in the last step, shape (6,) [N, N m].

        About its origin, in world axes.
        """
        return np.zeros(6) if self._contact is None else self._contact.wrench

    def mass_matrix(self, q: Array) -> Array:
        """Return MuJoCo's mass matrix at ``q``, shape (nv, nv) [kg m^2 or kg]."""
        data = mujoco.MjData(self.mujoco_model)
        data.qpos[self._qpos] = q
        mujoco.mj_forward(self.mujoco_model, data)
        columns = np.zeros((self.mujoco_model.nv, self.mujoco_model.nv))
        for column, unit in zip(columns, np.eye(self.mujoco_model.nv), strict=True):
            mujoco.mj_mulM(self.mujoco_model, data, column, unit)
        return columns[self._dof][:, self._dof]

    def _bind(self) -> None:
        """Keep views of MuJoCo's arrays, whose addresses stay: a lookup takes as long as the access itself."""
        data = self.mujoco_data
        self._write_torque = _writer(data.ctrl, self._motor)
        self._load = data.qfrc_applied
        self._read_q = _reader(data.qpos, self._qpos)
        self._read_v = _reader(data.qvel, self._dof)
        self._warnings = memoryview(data.warning.number[_DIVERGENCE_WARNINGS])
        self._may_touch = not self.mujoco_model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
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


_DIVERGENCE_WARNINGS = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)
"""Warnings (QPOS, QVEL, QACC, CTRL) after which MuJoCo goes on with the initial state, or without torque."""
NO_WARNINGS = [0] * (_DIVERGENCE_WARNINGS.stop - _DIVERGENCE_WARNINGS.start)


Index: TypeAlias = "slice | Array"


def _index(numbers: Sequence[int]) -> Index:
    """Return the index of some entries of an array: a slice, which is faster, if they are consecutive."""
    first, n = int(numbers[0]), len(numbers)
    return slice(first, first + n) if [*numbers] == [*range(first, first + n)] else np.array(numbers)


def _reader(array: Array, index: Index) -> Callable[[], Array]:
    """Return a function that copies these entries."""
    return array[index].copy if isinstance(index, slice) else partial(array.__getitem__, index)


def _writer(array: Array, index: Index) -> Callable[[Array], None]:
    """Return a function that sets these entries."""
    if isinstance(index, slice):
        return partial(array[index].__setitem__, ...)
    return partial(array.__setitem__, index)


def build_mujoco_model(
    model: RobotModel,
    timestep: float,
    damping: float | Array = 0.0,
    friction: Array | None = None,
    solids: Sequence[Obstacle] = (),
    *,
    has_links: bool = False,
    movers: Sequence[Mover] = (),
) -> mujoco.MjModel:
    """Return MuJoCo's model of the arm: one motor for each joint, contacts of the end effector only.

    Parameters are those of :class:`MujocoSimulator`.

    Raises
    ------
    ModelError
        When MuJoCo refuses the arm, for example for a moving link without mass, or when a joint mimics another one:
        MuJoCo's own coupling is soft.
    """
    mimic_joints = sorted({*model.urdf.movable_joints} - {*model.joint_names})
    if mimic_joints:
        raise ModelError(
            f"MuJoCo cannot simulate the mimic joints {', '.join(mimic_joints)} as rigid: leave them locked"
        )
    has_contacts = bool(solids or movers) or has_links
    needs_solver = friction is not None or has_contacts
    features = ("LIMIT", *(() if has_contacts else ("CONTACT",)), *(() if needs_solver else ("CONSTRAINT",)))
    compiled = _compiled(model, partial(_spec, model, timestep, features, solids, movers, has_links or bool(movers)))
    dof = [compiled.joint(name).dofadr[0] for name in model.joint_names]
    compiled.dof_armature[dof] = model.armature
    compiled.dof_damping[dof] = damping
    compiled.dof_frictionloss[dof] = 0.0 if friction is None else friction
    mujoco.mj_setConst(compiled, mujoco.MjData(compiled))
    return compiled


def save_mujoco_model(path: Path, model: RobotModel, timestep: float) -> None:
    """Write the arm for programs with this version of MuJoCo, which read it to the last bit.

    Parameters
    ----------
    path : Path
        The file; its name ends in ``.mjb``.
    timestep : float
        Duration of one step [s].
    """
    mujoco.mj_saveModel(build_mujoco_model(model, timestep), str(path), None)


def _compiled(model: RobotModel, spec_of: Callable[[str], mujoco.MjSpec]) -> mujoco.MjModel:
    """Compile the arm; where MuJoCo refuses an identified inertia, with the model's inertias put in afterwards."""
    text = model.urdf.without_meshes()
    try:
        return spec_of(text).compile()
    except ValueError as error:
        possible, is_changed = possible_inertias(text)
        if not is_changed:
            raise _refusal(error) from None
    try:
        compiled = spec_of(possible).compile()
    except ValueError as error:
        raise _refusal(error) from None
    set_inertias(model, compiled)
    return compiled


def _refusal(error: ValueError) -> ModelError:
    return ModelError(f"MuJoCo cannot simulate this arm, `engine: rigid_body` may: {' '.join(str(error).split())}")


def _spec(
    model: RobotModel,
    timestep: float,
    disabled: Sequence[str],
    solids: Sequence[Obstacle],
    movers: Sequence[Mover],
    has_links: bool,
    text: str,
) -> mujoco.MjSpec:
    """Return the arm as MuJoCo compiles it, with motors and solid obstacles, without some features."""
    compiler = '<mujoco><compiler inertiafromgeom="false" balanceinertia="false" fusestatic="true"/></mujoco>'
    spec = mujoco.MjSpec.from_string(text.replace("</robot>", compiler + "</robot>"))
    spec.option.timestep = timestep
    for feature in disabled:
        spec.option.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{feature}")
    spec.option.gravity = model.gravity_W
    make_changeable(spec)
    for name in model.joint_names:
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    if solids or has_links:
        add_contacts(spec, model, solids, has_links=has_links)
    add_movers(spec, movers)
    return spec


def make_changeable(spec: mujoco.MjSpec) -> None:
    """Let masses, centres of mass and payloads of all bodies change after compilation, in any version of MuJoCo."""
    if hasattr(mujoco.MjsBody, "simple"):  # else MuJoCo allows it by itself
        for body in spec.bodies:
            body.simple = False


INERTIA_MARGIN = 1e-9
"""Share of the largest principal moment that MuJoCo must have to spare."""


def possible_inertias(text: str) -> tuple[str, bool]:
    """Return the URDF with a ball of the same trace in place of each inertia that no body can have."""
    robot, is_changed = read_robot(text), False
    for inertia in robot.iterfind("link/inertial/inertia"):
        moments = np.array(principal_moments(inertia))
        if not is_possible(moments):
            moment = repr(float(np.abs(moments).sum() / 3.0))
            inertia.attrib.update(ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0")
            is_changed = True
    return (ElementTree.tostring(robot, encoding="unicode"), True) if is_changed else (text, False)


def is_possible(moments: Array) -> bool:
    """Whether principal moments (3,), ascending [kg m^2], are clearly those of a body, or all zero."""
    low, middle, high = moments
    return not moments.any() or bool(low > INERTIA_MARGIN * high and low + middle > (1.0 + INERTIA_MARGIN) * high)


def set_inertias(model: RobotModel, mujoco_model: Any) -> None:
    """Give every moving body of MuJoCo's model, one for each joint, the mass and inertia of the model."""
    for joint, body in zip(model.joint_names, model.tree.bodies, strict=True):
        link = model.urdf.robot.joint_map[joint].child
        inertia = body.inertia.in_parent(model.tree.frames[link].X_BF.inverse())
        centre, J = about_centre(inertia)
        moments, axes = np.linalg.eigh(J)
        axes[:, 0] *= np.linalg.det(axes)
        x, y, z, w = quaternion_from_rotation(axes)
        target = mujoco_model.body(link)
        target.mass[:], target.ipos[:], target.inertia[:], target.iquat[:] = inertia.m, centre, moments, (w, x, y, z)


RIGID = np.array([0.999, 0.999, 0.001, 0.5, 2.0])
"""Impedance of MuJoCo's friction: with its own, 0.9, a joint creeps under a load that friction should hold."""


def change_bodies(arm: MujocoSimulator, model: RobotModel, p: PlantProperties) -> None:
    """Change the bodies and rotors of MuJoCo's model.

    Parameters
    ----------
    arm : MujocoSimulator
        The arm, which is its model so far.
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
